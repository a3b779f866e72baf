"""Sending one message to one address, through the apprise library: chat, mail, pagers, webhooks.

Owns the time limit and that nothing of an address ever leaves: the library's own log lines may quote it, so they are taken here
and cleaned, and what is told of a failure is the cleaned line. Refuses to decide anything.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from partita.core.store.values_alerts import NoticeKind

TIME_LIMIT_S = 20.0

_PARTS = re.compile(r"[/:@?&=,#\s]+")
_SHORTEST_SECRET = 3


class Send(Protocol):
    def __call__(self, url: str, title: str, body: str, kind: NoticeKind, /) -> str | None:
        """None when the other side took it, else why not, in words that hold nothing of the address."""


def problem_of(url: str) -> str | None:
    """Why this is no address that can be sent to; None when it is one."""
    import apprise

    with _heard():
        known = apprise.Apprise.instantiate(url) is not None if "://" in url else False
    return None if known else "this is no address that the apprise library knows"


def send(url: str, title: str, body: str, kind: NoticeKind, *, limit_s: float = TIME_LIMIT_S) -> str | None:
    """`Send` through apprise. A send that does not end within `limit_s` is given up: its thread is left to the end of its own
    connection, and it may still arrive."""
    outcome = _Outcome()
    thread = threading.Thread(target=_send, args=(url, title, body, kind, outcome), name="send", daemon=True)
    thread.start()
    thread.join(limit_s)
    if thread.is_alive():
        return f"the other side did not answer within {limit_s:g} s"
    return None if outcome.taken else outcome.why or "the other side did not take it"


@dataclass(slots=True)
class _Outcome:
    taken: bool = False
    why: str = ""


def _send(url: str, title: str, body: str, kind: NoticeKind, outcome: _Outcome) -> None:
    import apprise

    types = {NoticeKind.PROBLEM: apprise.NotifyType.FAILURE, NoticeKind.RECOVERY: apprise.NotifyType.SUCCESS}
    with _heard() as lines:
        try:
            # The plug-in itself, in this thread: the library's front would send in one of its own, which no limit of ours ends.
            sender = apprise.Apprise.instantiate(url)
            if not sender:
                outcome.why = "this is no address that the apprise library knows"
                return
            notify_type = types.get(kind, apprise.NotifyType.INFO)
            outcome.taken = bool(sender.notify(body=body, title=title, notify_type=notify_type))
        except Exception as error:  # a plug-in's bug must not end the duty
            lines.append(f"{type(error).__name__}: {error}")
        if not outcome.taken:
            outcome.why = cleaned("; ".join(dict.fromkeys(lines[-3:])), url)


def cleaned(text: str, url: str) -> str:
    """`text` without anything that stands in the address.

    >>> cleaned("POST to json://hooks.example.com/s3cret failed (404)", "json://hooks.example.com/s3cret")
    'POST to …://…/… failed (404)'
    """
    from urllib.parse import unquote

    raw = _PARTS.split(url)
    for part in sorted({*raw, *map(unquote, raw), *_PARTS.split(unquote(url))}, key=len, reverse=True):
        if len(part) >= _SHORTEST_SECRET:
            text = text.replace(part, "…")
    return text[:300]


_EARS: dict[int, list[str]] = {}  # what the library said, by the thread that sends


class _Ear(logging.Filter):
    """Stops every line of the library at its logger, whatever handlers there are; the warnings go to the thread's ear."""

    def filter(self, record: logging.LogRecord) -> bool:
        lines = _EARS.get(record.thread or 0)
        if lines is not None and record.levelno >= logging.WARNING:
            lines.append(record.getMessage())
        return False


_EAR = _Ear()


@contextmanager
def _heard() -> Iterator[list[str]]:
    logging.getLogger("apprise").addFilter(_EAR)  # once: adding it again changes nothing
    logging.getLogger("urllib3").setLevel(logging.WARNING)  # below that it logs paths
    me = threading.get_ident()
    lines = _EARS[me] = []
    try:
        yield lines
    finally:
        del _EARS[me]
