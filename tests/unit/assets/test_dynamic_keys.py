"""Keys that come and go: order, bulk, time to live, metadata, the cap (S-023, S-104)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.assets import DefinitionError, Dynamic, DynamicKeys, UnknownPartition, space_of

T0 = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def test_keys_are_added_in_bulk_and_removed() -> None:
    keys = DynamicKeys(Dynamic("customers")).add(["b", "a", "b"], T0, metadata={"from": "crm"})
    assert keys.keys(T0) == ("b", "a")
    assert keys.add(["c", "a"], T0).keys(T0) == ("b", "a", "c")
    assert keys.remove(["b"], T0).keys(T0) == ("a",)
    assert keys.entries["a"].metadata == {"from": "crm"}  # type: ignore[index]
    space = space_of(keys.definition, T0, {"customers": keys.keys(T0)})
    assert list(space.keys(space.all())) == ["b", "a"]


def test_a_key_lives_for_its_time_and_longer_when_added_again() -> None:
    keys = DynamicKeys(Dynamic("sessions", ttl=2 * HOUR)).add(["s"], T0).add(["t"], T0, ttl=HOUR)
    assert keys.keys(T0 + HOUR - timedelta(microseconds=1)) == ("s", "t")
    assert keys.keys(T0 + HOUR) == ("s",)
    again = keys.add(["s"], T0 + HOUR, metadata={"seen": "twice"})
    assert again.keys(T0 + 2 * HOUR) == ("s",)
    assert again.entries["s"].added_at == T0  # type: ignore[index]
    assert keys.expire(T0 + 2 * HOUR).entries == {}
    assert keys.expire(T0) is keys


def test_over_the_cap_nothing_is_added() -> None:
    """Whole or refused, and the error says the count and the cap."""
    keys = DynamicKeys(Dynamic("files", cap=3)).add(["a", "b"], T0)
    with pytest.raises(DefinitionError, match=r"'files' would have 4 keys.*the cap is 3"):
        keys.add(["c", "d"], T0)
    assert keys.add(["a", "c"], T0).keys(T0) == ("a", "b", "c")
    short = DynamicKeys(Dynamic("files", cap=1)).add(["a"], T0, ttl=HOUR)
    assert short.add(["b"], T0 + HOUR).keys(T0 + HOUR) == ("b",)


def test_what_is_wrong_changes_nothing() -> None:
    keys = DynamicKeys(Dynamic("customers")).add(["anna"], T0)
    with pytest.raises(UnknownPartition, match="did you mean 'anna'"):
        keys.remove(["ana"], T0)
    for wrong in (["ok", ""], [" a"], ["a\n"]):
        with pytest.raises(DefinitionError):
            keys.add(wrong, T0)
    with pytest.raises(DefinitionError, match="time to live"):
        keys.add(["x"], T0, ttl=timedelta(0))
    with pytest.raises(DefinitionError, match="cap=0"):
        Dynamic("x", cap=0)
    with pytest.raises(DefinitionError, match="more than nothing"):
        Dynamic("x", ttl=timedelta(0))


letters = st.sampled_from("abcd")
changes = st.lists(st.tuples(st.sampled_from(["add", "remove", "wait"]), st.lists(letters, max_size=3)), max_size=12)


@given(changes)
def test_keys_equal_a_plain_model(steps: list[tuple[str, list[str]]]) -> None:
    """Against an ordered dictionary of ends."""
    keys, model, now = DynamicKeys(Dynamic("d", cap=3, ttl=2 * HOUR)), dict[str, datetime](), T0
    for what, names in steps:
        model = {name: end for name, end in model.items() if now < end}
        if what == "wait":
            now += HOUR
        elif what == "add" and len({*model, *names}) <= 3:
            keys = keys.add(names, now)
            model |= dict.fromkeys(names, now + 2 * HOUR)
        elif what == "remove" and set(names) <= set(model):
            keys = keys.remove(names, now)
            model = {name: end for name, end in model.items() if name not in names}
        assert list(keys.keys(now)) == [name for name, end in model.items() if now < end]
