#!/usr/bin/env bash
# Installs Debian's Chromium, which the browser tests drive; does nothing when there is one already.
#
# Playwright's own browser builds are not used: they come from a host that is no package registry.
set -euo pipefail

if command -v chromium >/dev/null 2>&1; then
    exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "install-chromium: no apt-get here; install Chromium by hand so that 'chromium' is on PATH" >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 || {
        echo "install-chromium: needs root; run as root: apt-get install chromium fonts-dejavu-core" >&2
        exit 1
    }
    as_root=(sudo)
fi
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    chromium fonts-dejavu-core >/dev/null
command -v chromium >/dev/null
