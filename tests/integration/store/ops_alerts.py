"""Random alerts and notices on both stores: signalled, raised, told, snoozed, ended, forgotten."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.integration.store.differential_world import Op, World

from partita.core.store.port import Tx
from partita.core.store.values import RunId, TaskId
from partita.core.store.values_alerts import (
    AlertId,
    AlertKind,
    AlertUpdate,
    NewAlert,
    NewNotice,
    NewSignal,
    NoticeEnd,
    NoticeItem,
    NoticeKind,
    NoticeState,
    Severity,
)

_CAUSES = ("a", "B", "ö", "日本", "x|y")
_LINES = (("nightly", "rule:nightly#1"), ("nightly", "owner:ops#1"), ("Größe", "rule:Größe#1"))
_CELL_KINDS = (AlertKind.FAILED, AlertKind.RETRIES_EXHAUSTED, AlertKind.LATE, AlertKind.CHECK_FAILED)


def signals(w: World) -> Op:
    made = [
        NewSignal(w.one(AlertKind), w.one([None, w.cell()]), RunId(w.random.randint(1, 9)), None, {"text": w.text()})
        for _ in range(w.random.randint(0, 3))
    ]
    limit = w.random.randint(1, 3)

    def append(tx: Tx) -> None:
        tx.append_signals(made)

    def take(tx: Tx) -> Any:
        return [(one.id, one.kind, one.cell, one.run_id, one.detail) for one in tx.take_signals_skip(limit)]

    return w.op([append, take])


def raised(w: World) -> Op:
    causes = sorted(set(w.some(_CAUSES)))
    kinds = [w.one(AlertKind) for _ in causes]
    cells = [w.one([*w.known_cells(), w.cell()]) for _ in causes]
    runs = sorted(w.db.run.rows) or [1]
    tasks = sorted(w.db.task.rows)
    steps = sorted({row["step"] for row in w.db.task}) or ["s"]
    names = sorted(row["name"] for row in w.db.location) or ["main"]
    of_cells = [kind is not AlertKind.LATE or w.maybe() for kind in kinds]
    snooze_s = [w.one([None, None, -5.0, 3600.0]) for _ in causes]
    since_s = [w.one([-3600.0, 0.0, 3600.0]) for _ in causes]
    subjects = [w.one(names) if kind.name.startswith("LO") else w.text() for kind in kinds]
    details = [{"step": w.one(steps), "text": w.text(), "asset": w.one(w.assets())} for _ in causes]
    run_ids, task_ids = [w.one(runs) for _ in causes], [w.one([None, *tasks]) for _ in causes]
    severities = [w.one(Severity) for _ in causes]

    def put(tx: Tx) -> Any:
        return tx.put_alerts(
            [
                NewAlert(
                    cause,
                    kinds[i],
                    severities[i],
                    subjects[i],
                    cells[i] if kinds[i] in _CELL_KINDS and of_cells[i] else None,
                    RunId(run_ids[i]),
                    None if task_ids[i] is None else TaskId(task_ids[i]),
                    ("team:ops", "ö"),
                    ("nightly",),
                    details[i],
                    tx.now() + timedelta(seconds=since_s[i]),
                    None if snooze_s[i] is None else tx.now() + timedelta(seconds=snooze_s[i]),
                    None if snooze_s[i] is None else "ada",
                )
                for i, cause in enumerate(causes)
            ]
        ), sorted(tx.open_causes([*causes, "none"]))

    return put


def looked_at(w: World) -> Op:
    ids = [AlertId(one) for one in w.some(sorted(w.db.alert.rows))]
    limit = w.random.randint(1, 4)
    ends, acks = w.maybe(), w.maybe()
    note = w.text()

    def over(tx: Tx) -> Any:
        found = tx.lock_over_alerts_skip(limit)
        tx.write_alerts([AlertUpdate.of(one, ended_at=tx.now()) for one in found if ends])
        return found

    def unsnoozed(tx: Tx) -> Any:
        found = tx.lock_unsnoozed_skip(limit)
        tx.write_alerts([AlertUpdate.of(one, snoozed_until=None, round=one.round + 1) for one in found])
        return found

    def by_hand(tx: Tx) -> Any:
        found = tx.lock_alerts([*ids, AlertId(10**9)])
        changes: dict[str, Any] = {"acked_at": tx.now(), "acked_by": "ada"} if acks else {"snoozed_until": tx.now()}
        tx.write_alerts([AlertUpdate.of(one, note=note, **changes) for one in found])
        return found

    return w.op([over, unsnoozed, by_hand])


def facts(w: World) -> Op:
    limit = w.random.randint(1, 4)
    ahead_s = w.one([-5.0, 60.0])
    run_id = RunId(w.one(sorted(w.db.run.rows) or [1]))
    ids = [AlertId(one) for one in w.some(sorted(w.db.alert.rows))]
    return lambda tx: (
        tx.waiting_steps(tx.now() + timedelta(seconds=ahead_s), limit),
        tx.sick_locations(),
        tx.failed_assets(run_id),
        tx.told_of(ids),
    )


def notices(w: World) -> Op:
    made = [(w.one(_LINES), w.one(NoticeKind), w.one([-5.0, 3600.0])) for _ in range(w.random.randint(0, 3))]
    alerts = w.some(sorted(w.db.alert.rows))
    known = set(w.db.notice_item.rows)
    target, kind, notice = w.one(_LINES)[1], w.one(NoticeKind), w.one(sorted(w.db.notice.rows) or [1])
    free = [one for one in alerts if (one, target, kind.value, 1) not in known]
    doubled = w.maybe(0.02)
    limit, lease_s = w.random.randint(1, 4), w.one([-5.0, 60.0])
    rows = w.some(sorted(w.db.notice.rows))
    tries = [max(0, w.db.notice.rows[one]["tries"] - (w.maybe(0.2))) for one in rows]
    states, error = [w.one(NoticeState) for _ in rows], w.text()

    def insert(tx: Tx) -> Any:
        return tx.insert_notices(
            [NewNotice(line[0], line[1], kind, tx.now() + timedelta(seconds=s)) for line, kind, s in made]
        )

    def join(tx: Tx) -> None:
        chosen = alerts if doubled else free
        tx.insert_notice_items([NoticeItem(AlertId(one), target, kind, 1, notice) for one in chosen])

    def forming(tx: Tx) -> Any:
        return tx.lock_forming_notices_skip(_LINES[:2]), tx.last_notices(_LINES)

    def claim(tx: Tx) -> Any:
        claimed = tx.claim_notices_skip(limit, lease_s)
        return claimed, tx.alerts_of_notices([one.id for one in claimed])

    def end(tx: Tx) -> Any:
        return tx.end_notices(
            [NoticeEnd(one, t, s, tx.now(), error) for one, t, s in zip(rows, tries, states, strict=True)]
        )

    return w.op([insert, insert, join, forming, claim, end])


def maintenance(w: World) -> Op:
    lasts_s = -5.0 if w.maybe(0.02) else w.one([0.0, 3600.0])
    one = w.one(sorted(w.db.maintenance.rows) or [1])
    why, limit, ago_s = w.text(), w.random.randint(1, 3), w.one([-5.0, 3600.0])

    def insert(tx: Tx) -> Any:
        return tx.insert_maintenance("raw/*", tx.now(), tx.now() + timedelta(seconds=lasts_s), "ada", why)

    def end(tx: Tx) -> Any:
        tx.end_snoozes("ada")
        return tx.end_maintenance(one), tx.end_maintenance(10**9)

    def prune(tx: Tx) -> Any:
        return tx.prune_alerts(tx.now() - timedelta(seconds=ago_s), limit)

    return w.op([insert, end, lambda tx: tx.maintenances(), prune])
