"""The stories are sharp: each way to break a duty that we know of is noticed by one of them (DESIGN section 8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.duties.story import tell

from partita.core.decide import finish as finish_decider
from partita.core.decide import retry as retry_decider
from partita.core.decide import settle as settle_decider
from partita.core.duties import consequences
from partita.core.duties import runs as runs_duty
from partita.core.store.memory.store import MemoryTx
from partita.core.store.values import Task


def _no_fence_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finish_decider, "refusal", lambda task, result: None if task else "unknown")


def _lost_decrement(monkeypatch: pytest.MonkeyPatch) -> None:
    right = settle_decider.settle

    def forgets_one(ended: Any, edges: Any, dependents: Any, **options: Any) -> Any:
        return right(ended, list(edges)[1:], dependents, **options)

    monkeypatch.setattr(consequences, "settle", forgets_one)


def _late_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure that is not followed below the direct dependents."""
    right = settle_decider.settle

    def not_beyond(*args: Any, **options: Any) -> Any:
        return replace(right(*args, **options), beyond=frozenset())

    monkeypatch.setattr(consequences, "settle", not_beyond)


def _slots_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryTx, "release_slots", lambda self, ids: None)


def _owner_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryTx, "close_cells", lambda self, ids: None)


def _slots_counted_before_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryTx, "held_slots", lambda self, names: dict.fromkeys(names, 0))


def _published_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A retry that carries the cells which were published already."""
    monkeypatch.setattr(MemoryTx, "write_task_cells", lambda self, updates: None)


def _one_retry_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    right = retry_decider.after_failure

    def generous(task: Task, now: Any, **options: Any) -> Any:
        kinder = replace(task, retry=replace(task.retry, max_retries=task.retry.max_retries + 1))
        return right(kinder, now, **options)

    monkeypatch.setattr(retry_decider, "after_failure", generous)


def _a_skip_is_a_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle_decider, "_counts_as_skip", lambda end, task: False)


def _revived_by_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may start again after its run was cancelled."""
    monkeypatch.setattr(runs_duty, "cancel", lambda task, now: None)


MUTANTS = [
    _no_fence_check,
    _lost_decrement,
    _late_failure,
    _slots_kept,
    _owner_kept,
    _slots_counted_before_the_lock,
    _published_again,
    _one_retry_too_many,
    _a_skip_is_a_success,
    _revived_by_retry,
]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broken_duty_is_noticed(
    mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stories would notice (DESIGN section 8)."""
    mutant(monkeypatch)
    for seed in range(100):
        try:
            tell(seed, 60)
        except Exception:
            return
    pytest.fail("no story noticed")
