"""Captured output becomes bounded, clean lines, however it arrives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.grpc.limits import MAX_LINE_CHARS
from partita.grpc.server.lines import Bucket, LineSplitter, LogGate, clean_text


@given(st.binary(max_size=300), st.lists(st.integers(1, 30)))
def test_lines_do_not_depend_on_how_the_bytes_arrive(output: bytes, sizes: list[int]) -> None:
    at_once = LineSplitter()
    expected = at_once.feed(output) + at_once.flush()
    piecewise, lines, rest = LineSplitter(), [], output
    for size in [*sizes, len(output)]:
        lines += piecewise.feed(rest[:size])
        rest = rest[size:]
    assert lines + piecewise.flush() == expected


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n\x00"), max_size=50)))
def test_ordinary_lines_come_through_unchanged(lines: list[str]) -> None:
    splitter = LineSplitter()
    assert splitter.feed("".join(f"{line}\n" for line in lines).encode()) == lines
    assert splitter.flush() == []


@given(st.text(st.characters()))
def test_clean_text_is_what_utf8_and_postgres_hold(text: str) -> None:
    clean = clean_text(text)
    clean.encode("utf-8")
    assert "\x00" not in clean


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        (b"one\r\ntwo\n", ["one", "two"]),
        (b" 10%\r 99%\r100%\n", ["100%"]),
        (b"no newline", ["no newline"]),
        (b"\n\n", ["", ""]),
        (b"bad \xff", ["bad \N{REPLACEMENT CHARACTER}"]),
    ],
)
def test_terminal_habits(output: bytes, lines: list[str]) -> None:
    splitter = LineSplitter()
    assert splitter.feed(output) + splitter.flush() == lines


def test_a_line_without_end_takes_bounded_memory_and_says_what_was_cut() -> None:
    splitter = LineSplitter()
    for _ in range(1000):
        assert splitter.feed(b"x" * 1000) == []
    (line,) = splitter.feed(b"\nnext")
    assert len(line) < MAX_LINE_CHARS + 200
    assert "cut" in line
    assert splitter.flush() == ["next"]


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 10)), max_size=60))
def test_a_bucket_never_gives_more_than_burst_and_rate(steps: list[tuple[float, float]]) -> None:
    bucket, now_s, given_away = Bucket(per_s=2, burst=5), 0.0, 0.0
    for wait_s, amount in steps:
        now_s += wait_s
        given_away += amount if bucket.take(amount, now_s) else 0
        assert given_away <= 5 + 2 * now_s + 1e-6


def test_dropped_lines_are_counted_and_told_once_a_second() -> None:
    gate = LogGate(lines_per_s=1, burst_lines=2)
    assert [gate.admit("x", 0.0) for _ in range(5)] == [True, True, False, False, False]
    assert gate.take_notice(0.5) == ""
    assert gate.admit("x", 1.0)
    assert gate.take_notice(1.0).startswith("3 log lines dropped")
    assert gate.take_notice(1.0) == ""
    assert not gate.admit("x", 1.1)
    assert gate.take_notice(1.2, last=True).startswith("1 log lines dropped")
