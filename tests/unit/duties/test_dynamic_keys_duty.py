"""What a change of dynamic keys writes; and that it is what the value of the model would hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.assets import DefinitionError, Dynamic, DynamicKeys, UnknownPartition
from partita.core.duties.dynamic import add_keys, expire_keys, remove_keys
from partita.core.store.memory import MemoryStore

T0 = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Clock:
    def __init__(self) -> None:
        self.now = T0

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> MemoryStore:
    return MemoryStore(clock)


def there(store: MemoryStore) -> list[str]:
    rows = [row for row in store.rows("dynamic_key") if row["ended"] is None]
    return [row["key"] for row in sorted(rows, key=lambda row: (row["revision"], row["place"]))]


def test_adding_is_idempotent_and_keeps_the_order(store: MemoryStore) -> None:
    customers = Dynamic("customers")
    first = add_keys(store, customers, ["b", "a", "b"], who="ann", metadata={"from": "crm"})
    assert (first.added, first.present, first.revision) == (2, 2, 1)
    again = add_keys(store, customers, ["a", "c"], who="bob", metadata={"tier": "1"})
    assert (again.added, again.prolonged, again.present, again.revision) == (1, 1, 3, 2)
    assert there(store) == ["b", "a", "c"]
    rows = {row["key"]: row for row in store.rows("dynamic_key")}
    assert rows["a"]["metadata"] == {"from": "crm", "tier": "1"}
    assert rows["a"]["added_by"] == "ann"
    same = add_keys(store, customers, ["c"], who="bob")
    assert (same.added, same.unchanged, same.revision, same.channels) == (0, 1, 2, ())


def test_a_refused_change_changes_nothing_and_names_every_bad_key(store: MemoryStore) -> None:
    customers = Dynamic("customers", cap=3)
    add_keys(store, customers, ["a", "b"], who="ann")
    before = store.dump()
    with pytest.raises(DefinitionError) as refused:
        add_keys(store, customers, ["ok", " x", "", "tab\t"], who="ann")
    assert "3 of 4 keys for dynamic partitions 'customers' cannot be" in refused.value.what
    for part in (
        "' x' is not legal: a partition key neither begins",
        "'' is not legal: a partition key is not empty",
        "'tab\\t'",
    ):
        assert part in refused.value.what
    with pytest.raises(
        DefinitionError, match=r"'customers' would have 4 keys \(2 and 2 more\); the cap is 3; remove keys"
    ):
        add_keys(store, customers, ["a", "c", "d"], who="ann")
    with pytest.raises(UnknownPartition, match="'customers' have no keys 'x', 'y'"):
        remove_keys(store, customers, ["a", "x", "y"], who="ann")
    with pytest.raises(DefinitionError, match="a time to live is more than nothing"):
        add_keys(store, customers, ["c"], who="ann", ttl=timedelta(0))
    assert store.dump() == before


def test_ten_thousand_keys_in_one_call(store: MemoryStore) -> None:
    done = add_keys(store, Dynamic("files"), [f"file-{n:05}" for n in range(10_000)], who="ann")
    assert (done.added, done.revision) == (10_000, 1)
    assert len(store.rows("audit")) == 1


def test_removed_keys_leave_a_row_and_may_come_back(store: MemoryStore, clock: Clock) -> None:
    customers = Dynamic("customers")
    add_keys(store, customers, ["a", "b"], who="ann")
    clock.now += HOUR
    assert remove_keys(store, customers, ["a"], who="bob").removed == 1
    (ended,) = [row for row in store.rows("dynamic_key") if row["ended"] is not None]
    assert (ended["key"], ended["ended_by"], ended["ended_at"], ended["ended"]) == ("a", "bob", clock.now, 2)
    add_keys(store, customers, ["a"], who="ann")
    assert there(store) == ["b", "a"]


def test_keys_expire_when_their_time_is_over(store: MemoryStore, clock: Clock) -> None:
    sessions = Dynamic("sessions", cap=2, ttl=2 * HOUR)
    add_keys(store, sessions, ["s"], who="ann")
    add_keys(store, sessions, ["t"], who="ann", ttl=HOUR)
    clock.now += HOUR
    # Past its time it counts no more, although the duty has not been here.
    assert add_keys(store, sessions, ["u"], who="ann").present == 2
    assert expire_keys(store).keys == 1
    assert expire_keys(store).keys == 0
    assert there(store) == ["s", "u"]
    clock.now += HOUR
    # Coming back after its time is a new life, not a longer one.
    again = add_keys(store, sessions, ["s"], who="ann")
    assert (again.added, again.prolonged) == (1, 0)
    assert [row["ended_by"] for row in store.rows("dynamic_key") if row["key"] == "s"] == ["ttl", None]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "remove", "wait", "expire"]),
        st.lists(st.sampled_from("abcd"), max_size=3),
        st.sampled_from([None, HOUR, 3 * HOUR]),
    ),
    max_size=25,
)


@given(STEPS)
def test_the_store_holds_what_the_value_holds(steps: list[tuple[str, list[str], timedelta | None]]) -> None:
    """The duty over the rows against `DynamicKeys`, which holds all keys: equal keys, equal refusals."""
    clock = Clock()
    store, scheme = MemoryStore(clock), Dynamic("d", cap=3)
    value = DynamicKeys(scheme)
    for verb, keys, ttl in steps:
        if verb == "wait":
            clock.now += HOUR
            continue
        if verb == "expire":
            expire_keys(store)
            continue
        expected: DynamicKeys | type[Exception]
        try:
            expected = value.add(keys, clock.now, ttl=ttl) if verb == "add" else value.remove(keys, clock.now)
        except (DefinitionError, UnknownPartition) as refused:
            expected = type(refused)
        try:
            if verb == "add":
                add_keys(store, scheme, keys, who="me", ttl=ttl)
            else:
                remove_keys(store, scheme, keys, who="me")
            found: object = value
        except (DefinitionError, UnknownPartition) as refused:
            found = type(refused)
        if isinstance(expected, DynamicKeys):
            assert found is value
            value = expected
        else:
            assert found is expected
        alive = [
            row
            for row in store.rows("dynamic_key")
            if row["ended"] is None and (row["expires_at"] is None or row["expires_at"] > clock.now)
        ]
        alive.sort(key=lambda row: (row["revision"], row["place"]))
        assert [row["key"] for row in alive] == list(value.keys(clock.now))
