"""Version 1 of the wire contract: `code_location.proto` and the code generated from it (`scripts/proto.sh`). No code of ours."""
