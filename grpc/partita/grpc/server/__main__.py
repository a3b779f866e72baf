"""`python -m partita.grpc.server`: a code-location server without the command line tool of the control plane.

Owns the parsing of its own options only.
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from partita.grpc.server.main import serve


def main(argv: list[str] | None = None) -> int:
    """Parse the options and serve."""
    parser = argparse.ArgumentParser(prog="python -m partita.grpc.server", description="Serve one code location.")
    parser.add_argument("--location", required=True, help="name of the location")
    parser.add_argument("--root", type=Path, default=Path(), help="folder that the modules are imported from")
    parser.add_argument("--module", action="append", required=True, help="import name of a module; repeat for more")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--announce-fd", type=int, default=1, help="where the address is written as one JSON line")
    parser.add_argument(
        "--import-timeout", type=float, help="seconds per module; default PARTITA_IMPORT_TIMEOUT_S or 60"
    )
    parser.add_argument(
        "--drain", type=float, default=300.0, help="seconds that an old version is kept after its last attempt"
    )
    parser.add_argument("--parent-pid", type=int, help="stop when this process ends")
    options = parser.parse_args(argv)
    # As the control plane's: `partita dev` shows both in one terminal.
    form = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format=form)
    return serve(
        options.location,
        options.root,
        options.module,
        options.host,
        options.port,
        announce_fd=options.announce_fd,
        import_timeout_s=options.import_timeout,
        drain_s=options.drain,
        parent_pid=options.parent_pid,
    )


if __name__ == "__main__":
    sys.exit(main())
