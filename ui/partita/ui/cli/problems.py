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
        ("sqlalchemy.exc", "OperationalError"),
    ):
        if _is(error, module, name):
            told = (
                getattr(error, "orig", None) or error
            )  # SQLAlchemy adds its own name and a link to the driver's words
            return {
                "what": f"the database does not answer: {' '.join(str(told).split())}",
                "rule": "every command but check talks to Postgres",
                "fix": "start it, or correct PARTITA_DATABASE_URL or url under [database] in partita.toml",
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
