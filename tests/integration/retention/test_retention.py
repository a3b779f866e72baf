"""S-231: finished history that is old is exported by day and then deleted; nothing is lost, nothing stands in the export twice,
and what is open, and what cells hold, stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from partita.assets import AssetKey, Daily, DynamicPartitions, EagerSpec, EvaluatorSpec
from partita.core.decide.evaluators import loaded
from partita.core.duties.dynamic import add_keys, remove_keys
from partita.core.duties.evaluators import pause as pause_evaluator
from partita.core.retention import Retained, retain
from partita.core.store.memory import MemoryStore
from partita.core.store.values_retention import ArchiveState

DAYS = Daily("2024-01-01", end="2024-01-08")
KEEP = 90.0
KEPT_FOR_EVER = ("cell", "cell_page", "cell_change", "asset", "snapshot", "audit", "fingerprint")
TIMES = {
    "run": ("created_at", "finished_at"),
    "task": ("created_at", "finished_at"),
    "event": ("at",),
    "automation_request": ("at",),
    "dynamic_key": ("ended_at",),
}
HISTORY = ("run", "run_pin", "task", "task_cell", "attempt", "automation_request", "event")


class Died(BaseException):
    """The process ends here."""


def dump(stage: Any) -> dict[str, list[dict[str, Any]]]:
    """The tables that matter here, rows in some order that is the same each time."""
    tables = (*HISTORY, *KEPT_FOR_EVER, "open_cell", "task_edge")
    if isinstance(stage.store, MemoryStore):
        return {name: stage.store.rows(name) for name in tables}
    found = {}
    with psycopg.connect(stage.store.url, row_factory=psycopg.rows.dict_row) as connection:
        for name in tables:
            rows = connection.execute(f"SELECT * FROM {name}".encode()).fetchall()
            found[name] = sorted(rows, key=str)
    return found


def age(stage: Any, days: float, *tables: str, where: str = "true", only: Callable[[Any], bool] = bool) -> None:
    """Rows become so many days older; `where` says which of them on Postgres, `only` in memory."""
    by = timedelta(days=days)
    for name in tables or TIMES:
        if isinstance(stage.store, MemoryStore):
            table = stage.store.database.tables()[name]
            with stage.store.begin():
                for row in [row for row in table if only(row)]:
                    older = {column: row[column] - by for column in TIMES[name] if row.get(column) is not None}
                    table.put(row | older)
            continue
        sets = ", ".join(f"{column} = {column} - %(by)s" for column in TIMES[name])
        with psycopg.connect(stage.store.url) as connection:
            connection.execute(f"UPDATE {name} SET {sets} WHERE {where}".encode(), {"by": by})


@dataclass
class Files:
    """An export of what a test's store holds, as JSON lines: what `Archive` does with files of the server."""

    stage: Any
    folder: Path
    exports: int = 0
    dies: list[str] = field(default_factory=list)
    """Where it dies next: "publish" after the files have their names, before that is committed."""

    def __call__(self, day: date) -> _Written:
        self.exports += 1
        rows = dump(self.stage)
        runs = {row["id"] for row in rows["run"] if row["finished_at"] is not None and row["finished_at"].date() == day}
        tasks = {row["id"] for row in rows["task"] if row["run_id"] in runs}
        chosen = {
            "run": [row for row in rows["run"] if row["id"] in runs],
            "run_pin": [row for row in rows["run_pin"] if row["run_id"] in runs],
            "task": [row for row in rows["task"] if row["id"] in tasks],
            "task_cell": [row for row in rows["task_cell"] if row["task_id"] in tasks],
            "attempt": [row for row in rows["attempt"] if row["task_id"] in tasks],
            "automation_request": [row for row in rows["automation_request"] if row["at"].date() == day],
            "event": [row for row in rows["event"] if row["at"].date() == day],
        }
        return _Written(self, day, chosen)

    def read(self, table: str) -> list[Any]:
        """All that stands in the files of a table."""
        return [
            json.loads(line)
            for file in sorted(self.folder.glob(f"{table}-*"))
            for line in file.read_text().splitlines()
        ]


@dataclass
class _Written:
    files: Files
    day: date
    chosen: dict[str, list[Any]]
    discarded: bool = False

    @property
    def rows(self) -> dict[str, int]:
        return {name: len(rows) for name, rows in self.chosen.items()}

    def publish(self) -> None:
        for name, rows in self.chosen.items():
            text = "".join(json.dumps(row, default=str) + "\n" for row in rows)
            (self.files.folder / f"{name}-{self.day}").write_text(text)
        if "publish" in self.files.dies:
            self.files.dies.remove("publish")
            raise Died

    def discard(self) -> None:
        self.discarded = True


@pytest.fixture
def files(history: Any, tmp_path: Path) -> Files:
    return Files(history, tmp_path)


@pytest.fixture
def history(stage: Any, asset_of: Any) -> Any:
    """Two runs and what followed from them, all of it done."""
    stage.define([asset_of("raw", DAYS), asset_of("mart", DAYS, {"raw": (DAYS, None)}, automation=EagerSpec())])
    stage.request("raw", partitions="2024-01-02..2024-01-04")
    stage.settle()
    return stage


def go(stage: Any, files: Files, limit: int = 2) -> list[Retained]:
    """Visits until nothing is due, each of few rows."""
    done = []
    for _ in range(500):
        done.append(retain(stage.store, files, keep_days=KEEP, limit=limit))
        with stage.store.begin() as tx:
            under_way = tx.archive_under_way()
        if not done[-1].more and under_way is None:
            return done
    raise AssertionError("it does not come to an end")


def stays(stage: Any, files: Files) -> str:
    """Nothing goes; why."""
    before = dump(stage)
    done = go(stage, files)
    assert dump(stage) == before
    assert files.exports == 0
    return done[-1].why


def test_old_history_goes_and_stands_in_the_files_once(history: Any, files: Files) -> None:
    age(history, 100)
    before = dump(history)
    done = go(history, files)
    after = dump(history)
    assert {name: after[name] for name in (*HISTORY, "task_edge")} == {name: [] for name in (*HISTORY, "task_edge")}
    assert {name: after[name] for name in KEPT_FOR_EVER} == {name: before[name] for name in KEPT_FOR_EVER}
    for name in HISTORY:
        assert sorted(map(str, files.read(name))) == sorted(
            str(json.loads(json.dumps(row, default=str))) for row in before[name]
        ), name
    assert max(one.deleted for one in done) <= 2, "a visit takes few rows"
    with history.store.begin() as tx:
        (day,) = tx.archive_days(10)
    assert (day.state, day.rows["task"]) == (ArchiveState.DONE, len(before["task"]))


def test_what_is_young_stays(history: Any, files: Files) -> None:
    age(history, 88)
    assert stays(history, files) == ""


def test_what_went_is_planned_as_ever(history: Any, files: Files) -> None:
    """Cells know what they hold without the runs that made them; a changed upstream is followed as before."""
    age(history, 100)
    go(history, files)
    assert history.request("raw, mart") is not None  # the other days
    history.settle()
    history.version = lambda key, partition: "v2"
    history.request("raw", ("all",), partitions="2024-01-02")
    history.settle()
    assert history.attempts[-2:] == [("raw", "2024-01-02"), ("mart", "2024-01-02")]


def test_what_finished_lately_stays_when_older_days_go(history: Any, files: Files) -> None:
    age(history, 100)
    history.request("raw", ("all",), partitions="2024-01-05")
    history.settle()
    young = {row["id"] for row in dump(history)["run"] if row["finished_at"] > datetime.now(UTC) - timedelta(days=1)}
    go(history, files)
    assert {row["id"] for row in dump(history)["run"]} == young


@pytest.mark.parametrize("dies", [["publish"], ["publish", "publish"]])
def test_dying_between_the_export_and_the_deletion_loses_and_doubles_nothing(
    history: Any, files: Files, dies: list[str]
) -> None:
    age(history, 100)
    before = dump(history)
    files.dies = list(dies)
    for _ in dies:
        with pytest.raises(Died):
            go(history, files)
        assert dump(history) == before, "no row goes before its export is known to be whole"
    go(history, files)
    assert files.exports == len(dies) + 1
    assert sorted(row["id"] for row in files.read("task")) == sorted(row["id"] for row in before["task"])
    assert dump(history)["task"] == []


def test_dying_amid_the_deletion_exports_nothing_again(history: Any, files: Files) -> None:
    age(history, 100)
    before = dump(history)
    while not retain(history.store, files, keep_days=KEEP, limit=1).deleted:
        pass
    go(history, files)  # as another process would
    assert files.exports == 1
    assert len(files.read("task")) == len(before["task"])


def test_of_two_that_export_a_day_at_once_the_first_counts(history: Any, files: Files) -> None:
    """The second one's files may lack what the first has deleted already; they never take their names."""
    age(history, 100)
    before = dump(history)

    def slow(day: date) -> Any:
        mine = files(day)
        go(history, files)
        return mine

    while not (done := retain(history.store, slow, keep_days=KEEP, limit=2)).day:
        pass
    assert done.exported == 0
    assert len(files.read("task")) == len(before["task"])


def test_an_open_run_keeps_what_was_open_when_it_began(history: Any, files: Files) -> None:
    opened = history.request("raw", ("all",), partitions="2024-01-05")
    age(history, 100)
    why = stays(history, files)
    assert why.startswith(f"run {opened.run_id} has been open since ")
    history.settle()
    age(history, 100, "run", "event", where="true", only=lambda row: True)
    go(history, files)
    assert opened.run_id not in {row["id"] for row in dump(history)["run"] if row["finished_at"] is None}


def test_an_event_that_waits_for_who_follows_it_keeps_its_day(history: Any, files: Files) -> None:
    history.request("raw", ("all",), partitions="2024-01-02")
    history.version = lambda key, partition: "v3"
    history.work()
    age(history, 100)
    assert "waits for who follows it" in stays(history, files)
    history.settle()


def test_an_event_that_a_sensor_was_not_told_of_keeps_its_day(history: Any, files: Files) -> None:
    """Paused, its events wait for it, for as long again as history is kept; defined no more, it keeps nothing."""
    spec = EvaluatorSpec(name="watch_raw", kind="sensor", function="m:f", every_s=30.0, watches=(AssetKey("raw"),))
    other = EvaluatorSpec(name="a_clock", kind="sensor", function="m:f", every_s=30.0)
    location_id, snapshot_id = history.pin

    def load(*specs: EvaluatorSpec) -> None:
        with history.store.begin() as tx:
            before = tx.lock_evaluators_of(location_id)
            rows = loaded(specs, before, snapshot_id=snapshot_id, broken=(), now=tx.now(), position="0:0")
            tx.put_evaluators(location_id, rows)

    load(spec, other)
    with history.store.begin() as tx:
        (watching,) = [one for one in tx.lock_evaluators_of(location_id) if one.name == "watch_raw"]
    pause_evaluator(history.store, watching.id, who="ann")
    age(history, 120)
    assert "'watch_raw' is paused and was not told of all events" in go(history, files)[-1].why
    load(other)
    done = go(history, files)
    assert done[-1].why == ""
    assert sum(one.deleted for one in done) > 0


def test_what_a_sensor_was_told_of_goes(history: Any, files: Files) -> None:
    spec = EvaluatorSpec(name="watch_raw", kind="sensor", function="m:f", every_s=30.0, watches=(AssetKey("raw"),))
    location_id, snapshot_id = history.pin
    with history.store.begin() as tx:
        _, here = tx.read_news(None, (), (), 0)
        tx.put_evaluators(
            location_id, loaded((spec,), [], snapshot_id=snapshot_id, broken=(), now=tx.now(), position=here)
        )
    age(history, 120)
    assert go(history, files)[-1].why == ""


def test_ended_keys_go_once_no_open_run_sees_them(stage: Any, asset_of: Any, tmp_path: Path) -> None:
    """Cells of an ended key keep it as text (law 8); only the row that says when it came and went is forgotten."""
    keys = DynamicPartitions("shops")
    stage.define([asset_of("raw", DAYS)])
    add_keys(stage.store, keys, ["a", "b, c"], who="me")
    opened = stage.request("raw", partitions="2024-01-02")
    with stage.store.begin() as tx:
        revision = tx.lock_keys_revision()
    pin(stage, opened.run_id, revision)
    remove_keys(stage.store, keys, ["a"], who="me")
    files = Files(stage, tmp_path)
    assert retain(stage.store, files, keep_days=KEEP).keys == 0, "it ended just now"
    age(stage, 100, "dynamic_key", where="ended IS NOT NULL", only=lambda row: row["ended"] is not None)
    assert retain(stage.store, files, keep_days=KEEP).keys == 0, "an open run sees it"
    stage.work()
    assert retain(stage.store, files, keep_days=KEEP).keys == 1
    with stage.store.begin() as tx:
        assert [one.key for one in tx.read_keys("shops", ["a", "b, c"])] == ["b, c"]
        assert tx.lock_keys_revision() == revision + 1
    assert add_keys(stage.store, keys, ["a"], who="me").added == 1


def pin(stage: Any, run_id: int, revision: int) -> None:
    """The run sees the keys of a revision."""
    if isinstance(stage.store, MemoryStore):
        with stage.store.begin():
            stage.store.database.run.change(run_id, keys_revision=revision)
        return
    with psycopg.connect(stage.store.url) as connection:
        connection.execute("UPDATE run SET keys_revision = %s WHERE id = %s", [revision, run_id])
