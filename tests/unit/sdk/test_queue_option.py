"""`queue=`: which workers run a step (S-148, S-178)."""

from __future__ import annotations

from typing import Any

import pytest

from partita.assets import DefinitionError
from partita.sdk import asset
from partita.sdk.testing import definitions

Load = Any
PLAIN = "@asset(io=None)\ndef model() -> None: print(1)\n"
GROUP = (
    "@multi_asset(outs=['one', 'two'], queue='high-memory')\ndef both() -> dict[str, Relation]:\n"
    "    return {'one': Relation.from_rows([{'n': 1}]), 'two': Relation.from_rows([{'n': 2}])}\n"
)


def queues_of(location: Any) -> dict[str, str]:
    return {one.key: one.queue for one in location.snapshot.assets}


def test_the_snapshot_says_the_queue_of_each_asset(load: Load) -> None:
    location = load({"plain.py": PLAIN, "group.py": GROUP})
    assert queues_of(location) == {"model": "default", "one": "high-memory", "two": "high-memory"}


def test_a_module_may_say_it_for_all_its_steps(load: Load) -> None:
    said = "defaults(queue='gpu')\n"
    own = said + PLAIN + "@asset(io=None, queue='default')\ndef light() -> None: print(2)\n"
    assert queues_of(load({"own.py": own})) == {"model": "gpu", "light": "default"}


def test_another_queue_makes_nothing_stale(load: Load) -> None:
    """Where a step runs is no part of its code."""
    said = "from partita.sdk import asset\n" + PLAIN
    files = {f"{name}.py": said.replace("io=None", f"key='{name}', io=None") for name in ("here", "there")}
    files["there.py"] = files["there.py"].replace("io=None", "io=None, queue='gpu'")
    one, other = load(files).snapshot.assets
    assert (one.queue, other.queue) == ("default", "gpu")
    assert (one.fingerprint, one.dependency_hash) == (other.fingerprint, other.dependency_hash)


@pytest.mark.parametrize("queue", ["", "gpu,big", "high memory", "*", 7, ["gpu"], "q" * 64])
def test_a_name_that_no_worker_could_be_given_is_refused(queue: Any) -> None:
    with (
        definitions(),
        pytest.raises(DefinitionError, match=r"asset 'model': queue .*; the name of a queue is one text"),
    ):

        @asset(queue=queue, io=None)
        def model() -> None: ...
