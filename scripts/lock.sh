#!/usr/bin/env bash
# Regenerates requirements/*.txt from pyproject.toml: hashed, for every platform, without naming any host.
# Existing pins stay unless asked: `scripts/lock.sh --upgrade` or `scripts/lock.sh --upgrade-package NAME`.
set -euo pipefail
cd "$(dirname "$0")/.."
UV=${UV:-.tools/bin/uv}
compile() { # compile OUTPUT ARGS...
    local out=$1
    shift
    "$UV" pip compile --quiet --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
        --universal --python-version 3.11 --output-file "$out" "$@"
}
compile requirements/dev.txt pyproject.toml --extra server --extra lake --group dev "$@"
compile requirements/examples.txt --no-deps --group examples "$@"
compile requirements/node.txt --group node "$@"
if [ -n "${UV_VERSION:-}" ] || [ ! -s requirements/bootstrap.txt ]; then
    printf 'uv==%s\n' "${UV_VERSION:-$("$UV" --version | cut -d' ' -f2)}" | compile requirements/bootstrap.txt -
fi
if grep -nE '[a-z]+://|^ *--(extra-)?index|^ *--find-links' requirements/*.txt; then
    echo "lock: a requirements file names a host; nothing of that kind may be committed" >&2
    exit 1
fi
