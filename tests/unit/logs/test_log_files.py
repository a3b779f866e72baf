"""Attempt logs as files: read while they grow, complete when closed, never a reason to fail (S-036, S-226, S-228)."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.core.logs import LogStore


def name_of(store: LogStore, partition: str) -> str:
    return store.name(asset="raw/flights", partition=partition, run_id=1, task_id=2, attempt_id=3)


def test_is_followed_while_it_grows(tmp_path: Path) -> None:
    store = LogStore(tmp_path)
    name = name_of(store, "2013-01-01")
    assert store.read(name).complete is False
    writer = store.writer(name)
    writer.write([(1, "stdout", "", "first"), (2, "log", "INFO", "second\nline")])
    page = store.read(name)
    assert [(line.n, line.text) for line in page.lines] == [(0, "first"), (1, "second\nline")]
    writer.write([(3, "stderr", "", "third")])
    writer.close(4)
    rest = store.read(name, offset=page.next_offset)
    assert [(line.n, line.stream, line.text) for line in rest.lines] == [(2, "stderr", "third")]
    assert rest.complete


def test_the_file_begins_with_the_trace(tmp_path: Path) -> None:
    """S-248: for whoever ships files. Readers see lines only."""
    store = LogStore(tmp_path)
    name = name_of(store, "")
    writer = store.writer(name, trace_id="4bf9")
    writer.write([])
    writer.write([(1, "stdout", "", "first")])
    writer.write([(2, "stdout", "", "second")])
    writer.close(3)
    assert (tmp_path / name).read_text().splitlines() == [
        '[-1,1,"trace","","4bf9"]', '[0,1,"stdout","","first"]', '[1,2,"stdout","","second"]', '[2,3,"end","",""]',
    ]  # fmt: skip
    assert [(line.n, line.text) for line in store.read(name).lines] == [(0, "first"), (1, "second")]


def test_a_page_has_a_limit_and_the_next_goes_on(tmp_path: Path) -> None:
    store = LogStore(tmp_path)
    name = name_of(store, "")
    writer = store.writer(name)
    writer.write((i, "stdout", "", f"line {i}") for i in range(10))
    writer.close(10)
    first = store.read(name, limit=4)
    second = store.read(name, offset=first.next_offset, limit=100)
    assert [line.n for line in (*first.lines, *second.lines)] == list(range(10))
    assert (first.complete, second.complete) == (False, True)


def test_a_half_written_line_is_not_shown(tmp_path: Path) -> None:
    store = LogStore(tmp_path)
    name = name_of(store, "x")
    store.writer(name).write([(1, "stdout", "", "whole")])
    with (tmp_path / name).open("ab") as file:
        file.write(b"[1,2,")
    assert [line.text for line in store.read(name).lines] == ["whole"]


def test_a_log_that_cannot_be_written_is_counted_not_raised(tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("a file where the folder should be")
    store = LogStore(tmp_path)
    writer = store.writer(name_of(store, "x"))
    writer.write([(1, "stdout", "", "lost")])
    assert (writer.lost, writer.why) == (1, "Not a directory")


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=300), st.text(max_size=50))
def test_any_key_and_any_text_has_a_place(tmp_path_factory: object, partition: str, text: str) -> None:
    folder = Path(tmp_path_factory.mktemp("logs"))  # type: ignore[attr-defined]
    store = LogStore(folder)
    name = name_of(store, partition)
    writer = store.writer(name)
    writer.write([(1, "stdout", "", text)])
    writer.close(2)
    assert (folder / name).resolve().is_relative_to(folder.resolve())
    assert [line.text for line in store.read(name).lines] == [text.encode(errors="replace").decode()]


def test_a_line_that_is_longer_than_a_page_is_read(tmp_path: Path) -> None:
    """A traceback of 64 Ki characters has more bytes than a page: its log used to end before it, for ever."""
    store = LogStore(tmp_path)
    name = name_of(store, "x")
    writer = store.writer(name)
    writer.write([(1, "system", "ERROR", "\x01" * 65_536), (2, "stdout", "", "behind")])
    writer.close(3)
    first = store.read(name)
    rest = store.read(name, offset=first.next_offset)
    assert [len(line.text) for line in (*first.lines, *rest.lines)] == [65_536, 6]
    assert rest.complete


def test_an_offset_inside_a_line_shows_what_follows_it(tmp_path: Path) -> None:
    store = LogStore(tmp_path)
    name = name_of(store, "x")
    store.writer(name).write([(1, "stdout", "", "one"), (2, "stdout", "", "two")])
    size = (tmp_path / name).stat().st_size
    for offset in range(1, size):
        assert {line.text for line in store.read(name, offset=offset).lines} <= {"two"}


def test_a_disk_that_fills_up_loses_lines_and_spoils_none(tmp_path: Path) -> None:
    store = LogStore(tmp_path)
    name = name_of(store, "x")
    writer = store.writer(name)
    writer.write([(1, "stdout", "", "before")])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / name).stat().st_size + 10, hard))
    try:
        writer.write([(2, "stdout", "", "lost")])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    writer.write([(3, "stdout", "", "after")])
    writer.close(4)
    page = store.read(name)
    assert [(line.n, line.text) for line in page.lines] == [
        (0, "before"),
        (1, "after"),
        (2, "1 lines of this log were lost: it could not be written (File too large)"),
    ]
    assert page.complete


def test_a_disk_without_any_room_is_said_by_its_own_words(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The kernel's full device; the worker's own log says it once, not for each line."""
    (tmp_path / "raw").mkdir()
    store = LogStore(tmp_path)
    writer = store.writer("raw/full.jsonl")
    (tmp_path / "raw" / "full.jsonl").symlink_to("/dev/full")
    for n in range(3):
        writer.write([(n, "stdout", "", "lost"), (n, "stdout", "", "too")])
    writer.close(4)
    assert (writer.lost, writer.why) == (6, "No space left on device")
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "No space left on device; its attempt goes on"
    ]


def test_a_name_that_no_file_can_have_is_an_empty_log(tmp_path: Path) -> None:
    store = LogStore(tmp_path)
    name = store.name(asset="é" * 100, partition="", run_id=1, task_id=2, attempt_id=3)
    store.writer(name).write([(1, "stdout", "", "nowhere")])
    assert store.read(name).lines == ()
