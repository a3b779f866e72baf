#!/usr/bin/env bash
# Generates the Python code of the wire contract beside its .proto files.
#
#   scripts/proto.sh           write the generated code
#   scripts/proto.sh --check   generate into a scratch folder and fail when the committed code differs
set -euo pipefail
cd "$(dirname "$0")/.."

PY=${PY:-.venv/bin/python}
shopt -s nullglob globstar
protos=(grpc/partita/**/*.proto)
((${#protos[@]})) || {
    echo "proto: no .proto file under grpc/partita; the wire contract is missing" >&2
    exit 1
}
generate() { # generate OUTPUT_FOLDER
    "$PY" -m grpc_tools.protoc -I grpc --python_out="$1" --pyi_out="$1" --grpc_python_out="$1" "${protos[@]#grpc/}"
}
if [ "${1:-}" != --check ]; then
    generate grpc
    exit 0
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
generate "$scratch"
differ=0
for fresh in "$scratch"/**/*_pb2*.py*; do
    committed=grpc/${fresh#"$scratch"/}
    diff -u "$committed" "$fresh" || differ=1
done
for committed in grpc/partita/**/*_pb2*.py grpc/partita/**/*_pb2*.pyi; do
    [ -e "$scratch/${committed#grpc/}" ] || {
        echo "proto: $committed has no .proto any more"
        differ=1
    }
done
((differ == 0)) || {
    echo "proto: the generated code differs from the contract; run make proto and commit the result" >&2
    exit 1
}
