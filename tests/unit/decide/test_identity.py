"""Who is who after an activation: renames, chains, swaps, roll-backs, and what is refused (DESIGN sections 1 and 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.assets import AssetKey, asset_key
from partita.core.decide.identity import Identities, contested, decide_identities
from partita.core.store.values import AssetId
from partita.core.store.values_identity import AssetRow, FormerKey

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass
class Names:
    """A store that knows names only: it writes what was decided."""

    rows: dict[AssetId, AssetRow] = field(default_factory=dict)
    former: list[FormerKey] = field(default_factory=list)
    held: dict[AssetId, int] = field(default_factory=dict)

    def deploy(self, **declared: str) -> Identities:
        """Key = its `renamed_from`, separated by blanks; a key of a path has `__` for `/`."""
        wanted = {
            asset_key(key.replace("__", "/")): tuple(map(asset_key, said.split())) for key, said in declared.items()
        }
        found = decide_identities(wanted, list(self.rows.values()), self.former, self.asked(wanted))
        if found.problems:
            return found
        for asset_id, key in found.keys.items():
            self._note(asset_id, key)
        known = {row.key for row in self.rows.values()}
        for key in sorted(wanted.keys() - known):
            asset_id = AssetId(len(self.rows) + 1)
            self.rows[asset_id] = AssetRow(asset_id, key, None, None, None)
        for asset_id, row in self.rows.items():
            self.rows[asset_id] = row._replace(retired_at=None if row.key in wanted else NOON)
        return found

    def asked(self, wanted: Mapping[AssetKey, tuple[AssetKey, ...]]) -> dict[AssetId, int]:
        """Only what the decider asks for, as the activation does."""
        return {one: self.held.get(one, 0) for one in contested(wanted, list(self.rows.values()), self.former)}

    def _note(self, asset_id: AssetId, key: AssetKey) -> None:
        row, number = self.rows[asset_id], len(self.former) + 1
        self.former.append(FormerKey(number, asset_id, row.key, NOON + timedelta(minutes=number)))
        self.rows[asset_id] = row._replace(key=key)

    def ids(self) -> dict[str, int]:
        return {row.key: asset_id for asset_id, row in sorted(self.rows.items()) if row.retired_at is None}


def test_a_renamed_asset_keeps_its_id_through_several_steps() -> None:
    names = Names()
    names.deploy(a="", other="")
    names.deploy(b="a", other="")
    names.deploy(b="a", other="")  # again: nothing happens
    assert names.ids() == {"b": 1, "other": 2}
    assert names.deploy(c="b", other="").keys == {1: "c"}
    assert names.ids() == {"c": 1, "other": 2}


def test_an_installation_that_missed_a_step_follows_the_whole_chain() -> None:
    names = Names()
    names.deploy(a="")
    assert names.deploy(c="b a").keys == {1: "c"}
    fresh = Names()
    assert fresh.deploy(c="b a") == Identities({})
    assert fresh.ids() == {"c": 1}


def test_a_rename_that_is_taken_back_finds_its_asset_again() -> None:
    """A deployment is rolled back: the old code knows nothing of the new key."""
    names = Names()
    names.deploy(a="")
    names.deploy(b="a")
    names.deploy(a="")
    assert names.ids() == {"a": 1}
    names.deploy(b="a")
    assert names.ids() == {"b": 1}


def test_a_retired_asset_comes_back_under_its_new_key() -> None:
    names = Names()
    names.deploy(a="", x="")
    names.deploy(x="")
    names.deploy(x="", b="a")
    assert names.ids() == {"b": 1, "x": 2}


def test_a_key_that_was_given_to_a_new_asset_is_that_asset() -> None:
    """`a` became `b`, and later another asset is called `a`."""
    names = Names()
    names.deploy(a="")
    names.deploy(b="a")
    names.deploy(b="", a="")
    assert names.ids() == {"b": 1, "a": 2}
    names.deploy(a="")  # b is retired, not taken for a
    assert names.ids() == {"a": 2}


def test_an_asset_without_cells_makes_room() -> None:
    """Deployed without renamed_from at first, and nothing was made since."""
    names = Names()
    names.deploy(a="")
    names.held = {AssetId(1): 9}
    names.deploy(b="")
    assert names.deploy(b="a").keys == {1: "b", 2: "a"}
    assert names.ids() == {"b": 1}
    assert names.deploy(a="").keys == {1: "a", 2: "b"}, "and a roll-back turns it round"


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ({"a": "", "b": "a"}, "'b' says renamed_from='a', and 'a' is still defined"),
        ({"b": "a", "a": "b"}, "two assets change places by hand, `partita assets rename a b`"),
        ({"b": "a", "c": "b"}, "rename one after the other, in two deployments, 'c' first"),
        ({"b": "a", "c": "a"}, "'b' and 'c' both say renamed_from='a'"),
        ({"b": "a", "c": "x a"}, "'b' and 'c' both say renamed_from='a'"),
    ],
)
def test_what_is_refused_names_the_keys(declared: Mapping[str, str], says: str) -> None:
    names = Names()
    names.deploy(a="", b="")
    before = names.ids()
    found = names.deploy(**declared)
    assert says in found.problems[0]
    assert (found.keys, names.ids()) == ({}, before)


def test_cells_of_ones_own_are_never_merged_or_hidden() -> None:
    names = Names()
    names.deploy(a="")
    names.deploy(b="")
    names.held = {AssetId(1): 9, AssetId(2): 1}
    [problem] = names.deploy(b="a").problems
    assert "'b' has 1 published cell of its own" in problem
    assert "partita assets rename a b" in problem


KEYS = st.sampled_from(["a", "b", "c", "d"])


@given(st.lists(st.dictionaries(KEYS, st.lists(KEYS, max_size=2, unique=True).map(" ".join), min_size=1), max_size=6))
def test_whatever_is_deployed_no_id_is_lost_and_no_key_has_two(deployments: list[dict[str, str]]) -> None:
    names = Names()
    for declared in deployments:
        plain = {key: " ".join(one for one in said.split() if one != key) for key, said in declared.items()}
        before = set(names.rows)
        found = names.deploy(**plain)
        names.held = {one: int(one) for one in names.rows}
        assert before <= set(names.rows)
        assert len({row.key for row in names.rows.values()}) == len(names.rows)
        if not found.problems:
            assert set(names.ids()) == set(plain)
            again = names.deploy(**plain)
            assert (again.keys, again.problems) == ({}, ()), "a deployment that is repeated changes nothing"
