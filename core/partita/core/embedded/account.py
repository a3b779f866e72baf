"""Which account runs the server: PostgreSQL refuses to run as root.

An ordinary user runs it as itself. Root runs it as `postgres`, else `nobody`, when every folder above the binaries and the
data lets that account pass; otherwise inside a user namespace (Linux `unshare`), which needs neither an account nor
ownership changes.
"""

from __future__ import annotations

import os
import pwd
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Account:
    """How to start a server process: a prefix of its command line, and the ids to switch to (None: stay as we are)."""

    name: str
    prefix: tuple[str, ...] = ()
    uid: int | None = None
    gid: int | None = None

    def popen_options(self) -> dict[str, object]:
        if self.uid is None or self.gid is None:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def own(self, *folders: Path) -> None:
        """Gives the folders, with what is in them, to the account."""
        if self.uid is None or self.gid is None:
            return
        for folder in folders:
            if folder.stat().st_uid == self.uid:
                continue
            for parent, names, files in os.walk(folder):
                for name in (".", *names, *files):
                    os.chown(Path(parent, name), self.uid, self.gid, follow_symlinks=False)


def choose_account(*needed: Path) -> Account:
    """The account for the current user; `needed` are the folders that the server must reach."""
    if os.geteuid() != 0:
        return Account(name=str(os.geteuid()))
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if _can_pass(entry.pw_uid, entry.pw_gid, needed):
            return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid)
    unshare = shutil.which("unshare")
    if unshare is None:
        raise PermissionError(
            "Embedded Postgres cannot run as root here: no account `postgres` or `nobody` can reach "
            f"{', '.join(map(str, needed))}, and `unshare` is not installed. Run partita as an ordinary user, choose a "
            "data folder that others may pass (chmod o+x on its parents), or set PARTITA_DATABASE_URL."
        )
    return Account(name="namespace", prefix=(unshare, "-U", "--map-user=1000", "--map-group=1000", "--"))


def _can_pass(uid: int, gid: int, paths: Sequence[Path]) -> bool:
    return all(_may_enter(folder, uid, gid) for path in paths for folder in path.resolve().parents)


def _may_enter(folder: Path, uid: int, gid: int) -> bool:
    info = folder.stat()
    if info.st_uid == uid:
        return bool(info.st_mode & stat.S_IXUSR)
    if info.st_gid == gid:
        return bool(info.st_mode & stat.S_IXGRP)
    return bool(info.st_mode & stat.S_IXOTH)
