"""How a command fails: what, rule and fix on stderr, and the exit code.

Exit codes: 0 done, 1 a run failed or a check found something, 2 refused, 130 interrupted. Owns the mapping; recognises errors of
floors that are only loaded when a command needs them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from partita.assets import PartitaError

FAILED = 1
REFUSED = 2
INTERRUPTED = 130

_AWAY = "the database does not answer"


class UsageProblem(PartitaError):
    """Options that cannot be meant together, or texts that are not what they should be."""


class NotConfirmed(PartitaError):
    """A command that changes something was not confirmed."""


def explained(error: BaseException) -> Mapping[str, str] | None:
    """what, rule and fix of an error that is somebody's to mend; None for a bug."""
    if isinstance(error, PartitaError):
        return {"what": error.what, "rule": error.rule, "fix": error.fix}
    pydantic = _validation(error)
    if pydantic is not None:
        return pydantic
    for module, name in (
        ("partita.core.store.port", "Unavailable"),
        ("psycopg", "OperationalError"),
    ):
        if _is(error, module, name):
            return {
                "what": f"{_AWAY}: {' '.join(str(error).removeprefix(_AWAY).removeprefix(':').split())}",
                "rule": "every command but check talks to Postgres",
                "fix": "start it, or correct PARTITA_DATABASE_URL or url under [database] in partita.toml",
            }
    if isinstance(error, PermissionError) and error.filename is not None:
        return {
            "what": f"{error.filename} may not be read or written by this user",
            "rule": "commands read logs and the embedded Postgres in the home folder of the deployment",
            "fix": "run it as the user of the deployment, or correct the owner of that folder",
        }
    if _is(error, "psycopg.errors", "NumericValueOutOfRange"):
        return {
            "what": "a number is larger than any that there is",
            "rule": "ids and counts are below 2^63",
            "fix": "look it up: `partita runs`, `partita backfill list`, `partita audit`",
        }
    for module, name in (
        ("partita.core.store.port", "StoreError"),
        ("partita.core.duties.launch", "LaunchRefused"),
        ("partita.core.embedded", "EmbeddedPostgresError"),
    ):
        if _is(error, module, name):
            return {"what": str(error), "rule": "", "fix": "try again; read the log of the schedulers when it stays"}
    return None


def _is(error: BaseException, module: str, name: str) -> bool:
    """Whether it is of a class whose module is loaded; an error of a module that is not loaded cannot be here."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(error, kind)


def _validation(error: BaseException) -> Mapping[str, str] | None:
    if not _is(error, "pydantic", "ValidationError"):
        return None
    first = error.errors()[0]  # type: ignore[attr-defined]
    where = ".".join(str(part) for part in first["loc"]) or "the request"
    return {"what": f"{where} cannot be used", "rule": str(first["msg"]), "fix": "correct it"}
