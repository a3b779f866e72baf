"""Lists cross to Postgres as one text each: what arrives is what was sent, whatever it holds (S-137)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partita.core.store.arrays import ArrayText
from partita.core.store.postgres.store import PostgresStore

_BIG = st.integers(-(2**63), 2**63 - 1)
_TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])) | st.sampled_from(
    ["", "NULL", "null", '"', "\\", "a,b", "{}", "\x1f", 'x\x1f"y', " lead", "né\n"]
)
_INSTANTS = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds


@pytest.mark.parametrize(
    ("of", "elements"),
    [
        ("bigint", _BIG),
        ("text", _TEXTS),
        ("boolean", st.booleans()),
        ("float8", st.floats(allow_nan=False)),
        ("timestamptz", _INSTANTS),
    ],
)
@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
def test_what_arrives_is_what_was_sent(of: str, elements: Any, data: st.DataObject, store: PostgresStore) -> None:
    sent = data.draw(st.lists(elements | st.none()))
    with psycopg.connect(store.url, options="-c timezone=UTC") as connection:
        connection.adapters.register_dumper(list, ArrayText)
        row = connection.execute(f"SELECT CAST(%s AS {of}[])".encode(), (sent,)).fetchone()
    assert row == (sent,)


def test_the_stores_connections_send_so(store: PostgresStore) -> None:
    with store._duties.connection() as connection:
        assert connection.adapters.get_dumper(list, psycopg.adapt.PyFormat.AUTO) is ArrayText
