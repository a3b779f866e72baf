"""Database URLs: ours in any spelling, the others refused without repeating a password."""

from __future__ import annotations

import pytest

from partita.core.store.urls import DatabaseUrlError, conninfo_of, shown


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_every_spelling_is_the_same_database(scheme: str) -> None:
    assert conninfo_of(f"{scheme}://ann:s%40cret@db:5433/partita?sslmode=require") == (
        "postgresql://ann:s%40cret@db:5433/partita?sslmode=require"
    )


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("mysql://ann:secret@db/partita", "begins with 'mysql'"),
        ("sqlite:///secret.db", "begins with 'sqlite'"),
        ("postgresql://ann:secret@db:54x3/partita", "cannot be read"),
        ("postgresql://ann:secret@db/partita?nonsense=1", "cannot be read"),
        ("host=db password=secret", "cannot be read"),
        ("", "cannot be read"),
    ],
)
def test_others_are_refused_without_their_secrets(url: str, what: str) -> None:
    with pytest.raises(DatabaseUrlError, match=what) as refused:
        conninfo_of(url)
    assert "postgresql://user@host:port/database" in refused.value.fix
    assert "secret" not in str(refused.value)


def test_a_database_is_shown_without_its_password() -> None:
    assert shown("postgresql://ann:secret@db:5433/partita") == "host=db port=5433 dbname=partita user=ann"
