"""The metrics in the text format of Prometheus: what waits, what holds slots, what the duties of each process cost.

Counters come from the processes: each writes what it has done since it started beside its sign of life, every ten seconds. Gauges
are read when somebody asks. No name of an asset, a person or a partition is a label: their number has no bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from partita.assets.queues import ALL_QUEUES, DEFAULT_QUEUE
from partita.core.decide.caps import cap_of
from partita.core.store.queries import api_system, metrics_read, tables_read
from partita.core.store.queries.api_read import Row, rows
from partita.core.store.queries.reader import Reader
from partita.core.store.values import UNLIMITED_SLOTS
from partita.ui.api.services.base import Backend

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_STATES = ("scheduled", "queued", "running", "up_for_retry")
_OF_QUEUES = ("scheduled", "queued", "running")
Sample = tuple[Mapping[str, str], float]


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    kind: Literal["counter", "gauge"]
    help: str
    samples: tuple[Sample, ...]


class MetricsService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def text(self) -> str:
        with self._backend.store.read() as reader:
            return exposition(
                [*_tasks(reader), *_pools(reader), *_around(reader), *_tables(reader), *_processes(reader)]
            )


def exposition(metrics: Iterable[Metric]) -> str:
    """One metric after the other, each with its help and its kind; those without a sample too, so that people see them."""
    lines: list[str] = []
    for metric in metrics:
        lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]
        lines += [f"{metric.name}{_labels(labels)} {value:.12g}" for labels, value in metric.samples]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _tasks(reader: Reader) -> Iterator[Metric]:
    found = rows(reader, metrics_read.TASKS)
    workers = rows(reader, metrics_read.WORKERS)
    lanes = {row["name"] for row in rows(reader, metrics_read.LANES)} | {row["lane"] for row in found}
    text = "Tasks by state and lane. Scale workers on queued."
    yield Metric("partita_tasks", "gauge", text, _counts(found, _STATES, "lane", lanes))
    yield Metric(
        "partita_task_oldest_seconds", "gauge", "How long the oldest task has been in its state.", _ages(found, "lane")
    )
    runs = tuple(({"lane": row["lane"]}, float(row["n"])) for row in rows(reader, metrics_read.OPEN_RUNS))
    yield Metric("partita_runs_open", "gauge", "Runs that have not ended.", runs)
    yield from _queues(found, workers)
    n: tuple[Sample, ...] = (({}, float(len(workers))),)
    yield Metric("partita_workers", "gauge", "Workers with a live lease.", n)
    slots: tuple[Sample, ...] = (({}, float(sum(row["capacity"] for row in workers))),)
    yield Metric("partita_worker_slots", "gauge", "Attempts that the live workers run at once at most.", slots)


def _queues(tasks: Sequence[Row], workers: Sequence[Row]) -> Iterator[Metric]:
    """Of the default queue, those that tasks wait for, and those that workers name. They stand in code and configuration: few."""
    named = {queue for row in workers for queue in row["queues"]} - {ALL_QUEUES}
    queues = {DEFAULT_QUEUE} | {row["queue"] for row in tasks} | named
    text = "Tasks by state and queue. Scale the workers of a queue on it."
    yield Metric("partita_queue_tasks", "gauge", text, _counts(tasks, _OF_QUEUES, "queue", queues))
    waiting = [row for row in tasks if row["state"] in _OF_QUEUES]
    text = "How long the oldest task of the queue has been in its state."
    yield Metric("partita_queue_oldest_seconds", "gauge", text, _ages(waiting, "queue"))
    own = {queue: [row for row in workers if {queue, ALL_QUEUES} & set(row["queues"])] for queue in sorted(queues)}
    places = tuple(({"queue": queue}, float(sum(row["capacity"] for row in found))) for queue, found in own.items())
    text = "Attempts that the live workers of the queue run at once at most."
    yield Metric("partita_queue_places", "gauge", text, places)
    free = tuple(({"queue": queue}, float(sum(map(_free, found)))) for queue, found in own.items())
    yield Metric("partita_queue_places_free", "gauge", "Those of them that no task of any queue runs on.", free)


def _free(worker: Row) -> int:
    return max(0, int(worker["capacity"]) - int(worker["running"]))


def _counts(tasks: Sequence[Row], states: Sequence[str], label: str, names: Iterable[str]) -> tuple[Sample, ...]:
    """Zeroes too: an alert on a series that is not there never fires."""
    found: Counter[tuple[str, str]] = Counter()
    for row in tasks:
        found[row["state"], row[label]] += row["n"]
    return tuple(
        ({"state": state, label: name}, float(found[state, name])) for state in states for name in sorted(names)
    )


def _ages(tasks: Sequence[Row], label: str) -> tuple[Sample, ...]:
    found: dict[tuple[str, str], float] = {}
    for row in tasks:
        if row["oldest_s"] is not None:
            place = row["state"], row[label]
            found[place] = max(found.get(place, 0.0), float(row["oldest_s"]))
    return tuple(({"state": state, label: name}, age) for (state, name), age in found.items())


def _pools(reader: Reader) -> Iterator[Metric]:
    waiting = {row["pool"]: float(row["n"]) for row in rows(reader, api_system.POOL_WAITING)}
    shown = [row for row in rows(reader, api_system.POOLS) if _is_shown(row["name"]) and row["slots"] < UNLIMITED_SLOTS]
    of = [({"pool": row["name"]}, row) for row in shown]
    yield Metric(
        "partita_pool_slots", "gauge", "Slots of a pool or cap.", tuple((at, float(row["slots"])) for at, row in of)
    )
    held = tuple((at, float(row["held"])) for at, row in of)
    yield Metric("partita_pool_slots_held", "gauge", "Slots that tasks hold.", held)
    waits = tuple((at, waiting.get(row["name"], 0.0)) for at, row in of)
    yield Metric("partita_pool_tasks_waiting", "gauge", "Ready tasks that want slots of the pool and hold none.", waits)


def _is_shown(pool: str) -> bool:
    cap = cap_of(pool)
    return cap is None or cap.kind in ("all", "location")


def _around(reader: Reader) -> Iterator[Metric]:
    events = rows(reader, metrics_read.EVENTS)
    n = tuple(({"consumer": row["consumer"]}, float(row["n"])) for row in events)
    yield Metric("partita_events_waiting", "gauge", "Events that a consumer has not taken.", n)
    lag = tuple(({"consumer": row["consumer"]}, max(0.0, float(row["oldest_s"]))) for row in events)
    yield Metric("partita_events_oldest_seconds", "gauge", "How long the oldest of them has waited.", lag)
    pulse: tuple[Sample, ...] = tuple(({}, float(row["age_s"])) for row in rows(reader, metrics_read.PULSE))
    yield Metric("partita_pulse_age_seconds", "gauge", "Since a scheduler last said that the database answers.", pulse)


def _tables(reader: Reader) -> Iterator[Metric]:
    found = [({"table": row["name"]}, row) for row in rows(reader, tables_read.TABLES)]
    for name, columns, text in (
        ("partita_table_bytes", ("bytes", "index_bytes"), "Size of a table with its indexes."),
        ("partita_table_dead_rows", ("dead",), "Rows that a vacuum would free, as the server last counted them."),
        ("partita_table_rows", ("rows",), "Rows of a table, as the server last counted them."),
    ):
        yield Metric(name, "gauge", text, tuple((at, float(sum(row[one] for one in columns))) for at, row in found))


_DUTIES = (
    ("runs", "partita_duty_runs_total", "How often a duty has run."),
    ("rows", "partita_duty_rows_total", "Tasks, events or keys that a duty has handled."),
    ("seconds", "partita_duty_seconds_total", "Time that a duty has taken."),
    ("cpu_seconds", "partita_duty_cpu_seconds_total", "Processor time of a duty, the database apart."),
    ("held", "partita_duty_held_total", "How often a duty was left because another scheduler was at it."),
    ("failures", "partita_duty_failures_total", "How often a duty has failed."),
)


def _processes(reader: Reader) -> Iterator[Metric]:
    found = rows(reader, metrics_read.PROCESSES)
    seen = tuple(({"process": row["id"], "kind": row["kind"]}, float(row["silent_s"])) for row in found)
    yield Metric("partita_process_seen_seconds", "gauge", "Since a process gave its last sign of life.", seen)
    for field, name, text in _DUTIES:
        yield Metric(name, "counter", text, tuple(_of_duties(found, field)))
    attempts = tuple(
        ({"process": row["id"], "outcome": outcome}, float(n))
        for row in found
        for outcome, n in sorted(row["counts"].get("attempts", {}).items())
    )
    yield Metric("partita_attempts_total", "counter", "Attempts that a worker has reported, by outcome.", attempts)


def _of_duties(processes: Iterable[Mapping[str, Any]], field: str) -> Iterator[Sample]:
    for row in processes:
        for duty, done in sorted(row["counts"].get("duties", {}).items()):
            yield {"process": row["id"], "duty": duty}, float(done.get(field, 0))
