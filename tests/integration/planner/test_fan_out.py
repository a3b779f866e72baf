"""Fan-out at run time: a run goes on over the keys that one of its tasks found (S-023, S-105)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.integration.planner.conftest import Stage

from partita.assets import AllSpec, AssetSpec, Dynamic, IdentitySpec, InputSpec, asset_key, to_spec
from partita.core.automation import run_fan_outs
from partita.core.catalog import Catalog
from partita.core.catalog.dynamic import KeysAt
from partita.core.duties.dynamic import add_keys, remove_keys
from partita.core.duties.finish import finish
from partita.core.duties.gates import open_gates
from partita.core.duties.runs import cancel_run, fold_tallies
from partita.core.duties.values_attempts import AddedKeys, Claimed
from partita.core.store.values import RunId

FILES = Dynamic("files")


def spec(key: str, sliced: bool, *inputs: tuple[str, Any]) -> AssetSpec:
    reads = tuple(InputSpec(name=up, upstream=asset_key(up), mapping=mapping) for up, mapping in inputs)
    return AssetSpec(key=key, step=key, partitions=to_spec(FILES) if sliced else None, inputs=reads, fingerprint=key)


@dataclass
class Inbox:
    """`inbox` finds files, `parsed` is made of each, `checked` of each parsed one beside `labels`, `report` of all parsed."""

    stage: Stage
    finds: tuple[str, ...] = ()
    keys: list[tuple[str, ...]] = field(default_factory=lambda: [()])  # by revision

    def define(self) -> None:
        self.stage.define(
            [
                spec("inbox", False),
                spec("labels", False),
                spec("parsed", True, ("inbox", AllSpec())),
                spec("checked", True, ("parsed", IdentitySpec()), ("labels", AllSpec())),
                spec("report", False, ("parsed", AllSpec())),
            ]
        )

    def of_run_at(self, run_id: RunId, keys_revision: int, /) -> Catalog:
        """The catalog with the keys of a revision."""
        return self.stage.catalog.with_keys(KeysAt(keys_revision, {"files": self.keys[keys_revision]}))

    def see(self, *keys: str) -> None:
        """From the next revision on these are the keys."""
        self.keys.append(keys)
        self.stage.catalog = self.of_run_at(RunId(0), len(self.keys) - 1)

    def end(self, claimed: Sequence[Claimed], *, fail: Sequence[str] = ()) -> None:
        """End these; `inbox` with the keys that it finds."""
        for one in claimed:
            key, partition = self._name(one)
            result = self.stage._result(one, failed=partition in fail)
            if key == "inbox" and self.finds:
                result = result._replace(added=(AddedKeys(FILES, self.finds, (), mapped=True),))
                finish(self.stage.store, [result])
                self.see(*dict.fromkeys([*self.keys[-1], *self.finds]))
            else:
                finish(self.stage.store, [result])

    def start(self) -> list[str]:
        self.claimed = self.stage.start()
        return sorted(" ".join(self._name(one)).rstrip() for one in self.claimed)

    def fan_out(self) -> int:
        """Cells that were added to runs."""
        cells = 0
        while (done := run_fan_outs(self.stage.store, self)).taken:
            cells += done.cells
            open_gates(self.stage.store)
        return cells

    def rest(self, *, fail: Sequence[str] = ()) -> list[str]:
        """Works until nothing is ready; what ran, wave by wave."""
        ran: list[str] = []
        while True:
            self.fan_out()
            if not (names := self.start()):
                break
            ran += names
            self.end(self.claimed, fail=fail)
            open_gates(self.stage.store)
        while fold_tallies(self.stage.store).more:
            pass
        return ran

    def runs(self) -> list[tuple[int, str]]:
        with self.stage.store.begin() as tx:
            return [(run.id, run.state.value) for run in tx.read_runs([RunId(n) for n in range(1, 9)])]

    def _name(self, one: Claimed) -> tuple[str, str]:
        (own,) = one.cells
        return self.stage.catalog.by_id[own.cell.asset_id].key, own.cell.partition


@pytest.fixture
def inbox(stage: Stage) -> Inbox:
    made = Inbox(stage)
    made.define()
    return made


@pytest.fixture
def known(inbox: Inbox) -> Inbox:
    """One file is known before the run is planned."""
    add_keys(inbox.stage.store, FILES, ["old"], who="ann")
    inbox.see("old")
    return inbox


def test_a_run_goes_on_over_the_keys_that_a_task_of_it_found(known: Inbox) -> None:
    known.stage.request("inbox, parsed, report")
    known.finds = ("a", "b")
    assert known.start() == ["inbox"]
    known.end(known.claimed)
    assert known.start() == [], (
        "nothing below it starts, and the run does not end, before the tasks over the keys are there"
    )
    assert known.fan_out() == 2
    assert known.start() == ["parsed a", "parsed b", "parsed old"]
    first, *others = sorted(known.claimed, key=lambda one: one.task.id)
    known.end([first])
    assert known.rest() == [], "the report waits for all of them, those found at run time too"
    known.end(others)
    open_gates(known.stage.store)
    assert known.rest() == ["report"]
    assert known.runs() == [(1, "success")]
    with known.stage.store.begin() as tx:
        facts = tx.read_cells([known.stage.ref("parsed", key) for key in ("a", "b", "old")])
        [run] = tx.read_runs([RunId(1)])
    assert all(fact.data_version for fact in facts.values())
    assert run.keys_revision == 2


def test_a_first_run_that_knows_no_key_makes_what_it_finds(inbox: Inbox) -> None:
    inbox.stage.request("inbox, parsed")
    inbox.finds = ("a", "b")
    assert inbox.rest() == ["inbox", "parsed a", "parsed b"]
    assert inbox.runs() == [(1, "success")]


def test_what_a_new_task_needs_and_others_are_making_is_waited_for(inbox: Inbox) -> None:
    inbox.stage.request("inbox, labels, parsed, checked")
    inbox.finds = ("a",)
    assert inbox.start() == ["inbox", "labels"]
    labels = [one for one in inbox.claimed if inbox._name(one)[0] == "labels"]
    inbox.end([one for one in inbox.claimed if one not in labels])
    assert inbox.rest() == ["parsed a"]
    inbox.end(labels)
    open_gates(inbox.stage.store)
    assert inbox.rest() == ["checked a"]
    assert inbox.runs() == [(1, "success")]


def test_once_found_they_are_keys_like_others(inbox: Inbox) -> None:
    inbox.stage.request("inbox, parsed")
    inbox.finds = ("a",)
    inbox.rest()
    inbox.stage.request("inbox, parsed", ("all",))
    assert inbox.rest() == ["inbox", "parsed a"]
    assert inbox.runs() == [(1, "success"), (2, "success")]


def test_a_request_that_does_not_cover_the_consumers_ends_as_it_was(known: Inbox) -> None:
    known.stage.request("inbox")
    known.finds = ("a",)
    assert known.rest() == ["inbox"]
    assert known.runs() == [(1, "success")]


def test_a_failure_over_a_new_key_fails_what_collects_it(known: Inbox) -> None:
    known.stage.request("inbox, parsed, report")
    known.finds = ("a",)
    assert known.rest(fail=["a"]) == ["inbox", "parsed a", "parsed old"]
    assert known.runs() == [(1, "failed")]
    with known.stage.store.begin() as tx:
        assert not tx.open_owners([known.stage.ref("report")]), "it ended as upstream_failed"


def test_a_run_that_was_cancelled_meanwhile_ends(known: Inbox) -> None:
    known.stage.request("inbox, parsed, report")
    known.finds = ("a",)
    known.start()
    known.end(known.claimed)
    cancel_run(known.stage.store, RunId(1), "ann")
    assert known.rest() == []
    assert known.runs() == [(1, "cancelled")]


def test_where_a_key_was_removed_meanwhile_what_is_found_is_a_run_of_its_own(known: Inbox) -> None:
    """The run sees what it saw; both say why. What collects in it is made again over all that exists."""
    stage = known.stage
    stage.request("inbox, parsed, report")
    known.start()
    remove_keys(stage.store, FILES, ["old"], who="ann")
    known.see()
    known.finds = ("a",)
    known.end(known.claimed)
    stage.pinned = {RunId(1): known.of_run_at(RunId(1), 1)}
    assert known.fan_out() == 1
    assert known.start() == ["parsed a", "parsed old"]
    known.end([one for one in known.claimed if known._name(one)[1] == "old"])
    claimed = known.claimed
    assert known.rest() == ["report"], "it was planned over what was known then"
    assert known.runs() == [(1, "success"), (2, "running")]
    known.end([one for one in claimed if known._name(one)[1] == "a"])
    open_gates(stage.store)
    known.rest()
    assert stage.replan().requested == 1
    assert known.rest() == ["report"]
    assert known.runs() == [(1, "success"), (2, "success"), (3, "success")]
    with stage.store.begin() as tx:
        _, apart, _ = tx.read_runs([RunId(1), RunId(2), RunId(3)])
    why = "run 1 found a, and does not grow itself: old was removed since it was planned"
    assert apart.cause == {"kind": "fan_out", "by": "me", "text": why, "run": 1}


def test_a_run_that_cannot_be_planned_over_what_it_found_says_why(known: Inbox) -> None:
    known.stage.request("inbox, parsed")
    known.start()
    known.finds = ("a",)
    known.end(known.claimed)

    class Broken:
        def of_run_at(self, run_id: RunId, keys_revision: int, /) -> Catalog:
            raise KeyError("a snapshot that nobody has")

    run_fan_outs(known.stage.store, Broken())
    assert known.rest() == ["parsed old"]
    assert known.runs() == [(1, "success")]
    assert "a snapshot that nobody has" in refusals(known.stage)


def refusals(stage: Stage) -> str:
    if hasattr(stage.store, "rows"):
        return str([row["detail"] for row in stage.store.rows("audit") if row["action"] == "fan_out_refused"])
    with stage.store.begin() as tx:
        cursor = tx._cursor  # type: ignore[attr-defined]
        return str(cursor.execute("SELECT detail FROM audit WHERE action = 'fan_out_refused'").fetchall())


def test_what_collects_waits_for_what_may_find_keys(inbox: Inbox) -> None:
    """A first run that knows no key: the report is made once, over what was found, not at once over nothing."""
    inbox.stage.request("inbox, parsed, report")
    inbox.finds = ("a", "b")
    assert inbox.rest() == ["inbox", "parsed a", "parsed b", "report"]
    assert inbox.runs() == [(1, "success")]


def test_what_collects_is_made_of_nothing_when_nothing_was_found(inbox: Inbox) -> None:
    inbox.stage.request("inbox, parsed, report")
    assert inbox.start() == ["inbox"]
    inbox.end(inbox.claimed)
    assert inbox.rest() == ["report"]
    assert inbox.runs() == [(1, "success")]


def test_what_collects_does_not_go_on_when_nothing_could_be_found(inbox: Inbox) -> None:
    inbox.stage.request("inbox, labels, parsed, report")
    assert inbox.rest(fail=[""]) == ["inbox", "labels"]
    assert inbox.runs() == [(1, "failed")]
