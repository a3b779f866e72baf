#!/usr/bin/env bash
# Makes .venv from the hashed requirements, and nothing else. `make setup` calls it when an input changed.
#
# Needs Python 3.11+, and reaches package registries only through the clients' own configuration: no host is named.
# Works as root and as an ordinary user. uv lives in .tools, outside .venv (uv refuses a .venv it did not make).
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-$(command -v python3.11 || command -v python3 || true)}
export UV_PYTHON_DOWNLOADS=never # never fetch an interpreter
export PIP_DISABLE_PIP_VERSION_CHECK=1
unset VIRTUAL_ENV || true

fail() {
    echo "setup: $*" >&2
    exit 1
}
[ -n "$PYTHON" ] || fail "no python3 on PATH; install Python 3.11 or newer, or say make setup PYTHON=/path/to/python"
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$PYTHON is $("$PYTHON" --version 2>&1), partita needs 3.11 or newer; say make setup PYTHON=/path/to/python"

if ! cmp -s requirements/bootstrap.txt .tools/bootstrap.txt; then
    echo "setup: uv into .tools"
    "$PYTHON" -m venv --clear .tools || fail "python -m venv failed (on Debian: apt-get install python3-venv)"
    .tools/bin/python -m pip install -q --require-hashes -r requirements/bootstrap.txt
    cp requirements/bootstrap.txt .tools/bootstrap.txt
fi
UV=.tools/bin/uv
if ! .venv/bin/python -c '' 2>/dev/null; then
    "$UV" venv -q --clear --python "$PYTHON" .venv
fi

echo "setup: packages into .venv"
into=(--python .venv/bin/python -q)
"$UV" pip sync "${into[@]}" --require-hashes requirements/dev.txt
# Data and tools that come without what they declare, and sdists that build with the setuptools just installed.
extra=(-r requirements/examples.txt)
if ! scripts/node-fits.sh; then
    echo "setup: no fitting Node on this machine, taking the one from its wheel"
    extra+=(-r requirements/node.txt)
fi
"$UV" pip install "${into[@]}" --require-hashes --no-deps --no-build-isolation "${extra[@]}"
"$UV" pip install "${into[@]}" --no-deps --no-build-isolation -e .
