"""What the tables hold as text: canonical, readable by Postgres, the same for both stores."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.core.store.encode import (
    as_stored,
    clean_text,
    pool_set_of,
    pool_set_text,
    retry_of,
    retry_text,
    to_json,
)
from partita.core.store.postgres.base import to_signed, to_unsigned
from partita.core.store.values import PoolUse, RetryPolicy

any_text = st.text(st.characters(codec=None, categories=None))
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)
pool_uses = st.lists(
    st.builds(PoolUse, st.text(min_size=1), st.integers(1, 9)), max_size=4, unique_by=lambda use: use.name
)


@given(any_text)
def test_cleaned_text_can_be_stored(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode()
    assert "\x00" not in cleaned
    assert clean_text(cleaned) == cleaned


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00")))
def test_printable_text_stays_as_it_is(text: str) -> None:
    assert clean_text(text) == text


@given(any_json)
def test_any_metadata_becomes_json_that_postgres_accepts(value: object) -> None:
    text = to_json(value)
    text.encode()
    assert "\\u0000" not in text
    assert as_stored(as_stored(value)) == as_stored(value)
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


@given(pool_uses, st.randoms())
def test_a_pool_set_has_one_text_whatever_the_order(uses: list[PoolUse], random: Random) -> None:
    shuffled = random.sample(uses, len(uses))
    assert pool_set_text(tuple(uses)) == pool_set_text(tuple(shuffled))
    assert pool_set_of(pool_set_text(tuple(uses))) == tuple(sorted(uses, key=lambda use: use.name))


@given(
    st.builds(
        RetryPolicy,
        st.integers(0, 9),
        st.floats(0, 1e6),
        st.sampled_from(["fixed", "exponential"]),
        st.none() | st.floats(0, 1e6),
        st.floats(0, 1),
    )
)
def test_a_retry_policy_survives(retry: RetryPolicy) -> None:
    assert retry_of(retry_text(retry)) == retry


@given(st.integers(0, (1 << 64) - 1))
def test_digests_keep_their_bits(digest: int) -> None:
    assert to_unsigned(to_signed(digest)) == digest
    assert -(1 << 63) <= to_signed(digest) < 1 << 63


@pytest.mark.parametrize("digest", [-1, 1 << 64])
def test_other_numbers_are_no_digests(digest: int) -> None:
    with pytest.raises(ValueError, match="unsigned 64 bit"):
        to_signed(digest)
