"""The duty that sends notices: claimed by a lease, sent outside any transaction, ended by compare-and-set.

At least once: whoever dies after the other side took a message and before that was written leaves a lease behind, and when it has
lapsed the message is sent again. Nobody else sends it meanwhile. A try counts when it is claimed, so a message that kills its
sender is given up as any other.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from partita.core.alerts.decide import after_try, worth_telling
from partita.core.alerts.rules import Routing
from partita.core.alerts.sending import TIME_LIMIT_S, Send, send
from partita.core.alerts.words import message
from partita.core.duties.channels import Channel
from partita.core.store.port import Store, Tx
from partita.core.store.values import NewEvent
from partita.core.store.values_alerts import Alert, Notice, NoticeEnd, NoticeKind, NoticeState

log = logging.getLogger(__name__)

AT_ONCE = 8
LEASE_S = 2 * TIME_LIMIT_S


@dataclass(frozen=True, slots=True)
class Delivered:
    sent: int = 0
    again: int = 0
    failed: int = 0
    dropped: int = 0
    more: bool = False
    channels: tuple[Channel, ...] = ()

    @property
    def rows(self) -> int:
        return self.sent + self.again + self.failed + self.dropped


def deliver(store: Store, routing: Routing, *, send: Send = send, limit: int = AT_ONCE) -> Delivered:
    """Sends up to `limit` notices that are due, side by side: one that hangs costs the others its time limit at most."""
    due = store.run(lambda tx: _claim(tx, limit))
    if not due:
        return Delivered()
    with ThreadPoolExecutor(limit, thread_name_prefix="notice") as threads:
        errors = list(threads.map(lambda one: _send(one, routing, send), due))
    ended = store.run(lambda tx: _end(tx, due, errors))
    return _told(ended, more=len(due) == limit)


@dataclass(frozen=True, slots=True)
class _Due:
    notice: Notice
    alerts: tuple[Alert, ...]

    @property
    def empty(self) -> bool:
        return not self.alerts and self.notice.kind is not NoticeKind.TEST


def _claim(tx: Tx, limit: int) -> list[_Due]:
    claimed = tx.claim_notices_skip(limit, LEASE_S)
    alerts = tx.alerts_of_notices([one.id for one in claimed]) if claimed else {}
    return [_Due(one, tuple(worth_telling(one, alerts[one.id], tx.now()))) for one in claimed]


def _send(due: _Due, routing: Routing, send: Send) -> str | None:
    if due.empty:
        return None
    notice = due.notice
    target = routing.target(notice.target)
    if target is None:
        return f"the configuration that the scheduler started with names no {notice.target}; is partita.toml newer? Restart it"
    title, body = message(notice.kind, due.alerts, routing)
    error = send(target.url, title, body, notice.kind)
    if error is not None:
        log.warning(
            "notice %d of %s to %s (%s), try %d: %s",
            notice.id, notice.rule, notice.target, target.scheme, notice.tries, error,
        )  # fmt: skip
    return error


def _end(tx: Tx, due: Sequence[_Due], errors: Sequence[str | None]) -> list[NoticeEnd]:
    ends = [_outcome(one, error, tx) for one, error in zip(due, errors, strict=True)]
    written = set(tx.end_notices(ends))
    tx.append_events([NewEvent("alert", body={"notices": len(written)})] if written else [])
    return [one for one in ends if one.id in written]


def _outcome(due: _Due, error: str | None, tx: Tx) -> NoticeEnd:
    if due.empty:
        return NoticeEnd(due.notice.id, due.notice.tries, NoticeState.DROPPED, due.notice.due_at)
    return after_try(due.notice, error, tx.now())


def _told(ended: Sequence[NoticeEnd], *, more: bool) -> Delivered:
    counts = {state: sum(one.state is state for one in ended) for state in NoticeState}
    return Delivered(
        sent=counts[NoticeState.SENT],
        again=counts[NoticeState.PENDING],
        failed=counts[NoticeState.FAILED],
        dropped=counts[NoticeState.DROPPED],
        more=more,
        channels=(Channel.EVENT,) if ended else (),
    )
