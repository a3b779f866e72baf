#!/usr/bin/env bash
# Exit code 0 when the machine has a Node (with npm) that Vite accepts: 20.19+, 22.12+ or newer.
set -euo pipefail
command -v npm >/dev/null 2>&1 || exit 1
version=$(node --version 2>/dev/null) || exit 1
IFS=. read -r major minor _ <<<"${version#v}"
((major == 20 && minor >= 19)) || ((major == 22 && minor >= 12)) || ((major > 22))
