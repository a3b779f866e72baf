"""Write the schema of the REST API to ui/openapi.json, from which the UI's types are generated.

`--check` writes nothing and ends with 1 when the committed file differs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from partita.ui.api.app import openapi_schema

TARGET = Path(__file__).parent.parent / "ui" / "openapi.json"


def rendered() -> str:
    return json.dumps(openapi_schema(), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def main() -> int:
    text = rendered()
    if "--check" in sys.argv[1:]:
        if not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != text:
            print("ui/openapi.json differs from the API; run: python scripts/export_openapi.py", file=sys.stderr)
            return 1
        return 0
    TARGET.write_text(text, encoding="utf-8")
    print(f"wrote {TARGET.name}: {len(text)} characters")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
