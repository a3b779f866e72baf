"""The data version of stored rows: a digest of their schema and values that does not depend on their order.

Owns the canonical text of a row. Equal rows give equal digests whatever file, compression, row group or DuckDB version
holds them: each value is written as text with its length, each row hashed by MD5, and the hashes are summed modulo 2^64.
"""

from __future__ import annotations

from collections.abc import Mapping

from partita.assets import hash64
from partita.sdk.engine import identifier

_MODULUS = 1 << 64


def row_hash(columns: Mapping[str, str]) -> str:
    """SQL for the 64-bit hash of one row with these columns (names to SQL types)."""
    if not columns:
        return "0::ubigint"
    texts = ", ".join(_text(identifier(name), kind) for name, kind in columns.items())
    return f"md5_number_lower(concat({texts}))"


def data_version(columns: Mapping[str, str], rows: int, row_sum: int) -> str:
    """The version of a cell: 16 hex digits, and the number of rows for the reader's eye."""
    schema = hash64(*(part for pair in columns.items() for part in pair))
    return f"{(schema + row_sum) % _MODULUS:016x}-{rows}"


def _text(column: str, kind: str) -> str:
    # A time with zone is an instant: its text would depend on the session's zone.
    value = f"epoch_us({column})::varchar" if kind == "TIMESTAMP WITH TIME ZONE" else f"{column}::varchar"
    return f"coalesce(length({value}) || ':' || {value}, '-')"
