"""Reports by their keys: news, repeats, contradictions (S-174)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.assets import PartitaError
from partita.core.decide.intake import Report, ReportContradicts, answers_of, check, known_of, sort_out
from partita.core.store.values_ids import AssetId, CellRef
from partita.core.store.values_reports import KnownReport, ReportKey

T0 = datetime(2026, 3, 10, 5, tzinfo=UTC)


def report(key: str | None = "k", version: str = "v1", partition: str = "2026-03-09", **more: Any) -> Report:
    return Report("source/orders", partition, version, None if key is None else ReportKey("till", key), **more)


def known(one: Report, at: int = 0) -> dict[ReportKey, KnownReport]:
    answers = answers_of({at: one}, {at: CellRef(AssetId(1), one.partition)}, (), T0)
    return {kept.id: kept for kept in known_of({at: one}, answers, T0)}


def test_a_repeat_is_answered_as_the_first_was() -> None:
    before = known(report())
    found = sort_out([report("other"), report()], before)
    assert list(found.news) == [0]
    assert found.known == {1: before[ReportKey("till", "k")].answer}


def test_the_same_key_with_another_content_is_refused_and_both_are_named() -> None:
    with pytest.raises(ReportContradicts) as refused:
        sort_out([report(version="v2")], known(report()))
    assert str(refused.value) == (
        "key 'k' of scope 'till' was used for source/orders 2026-03-09 at version 'v1' at 2026-03-10T05:00:00+00:00; now it "
        "comes for source/orders 2026-03-09 at version 'v2'; a key stands for one report, so that a repeat changes nothing; "
        "give every report a key of its own, or repeat the first as it was"
    )
    with pytest.raises(ReportContradicts, match="with other metadata; a key"):
        sort_out([report(metadata={"rows": 2})], known(report(metadata={"rows": 1})))
    with pytest.raises(ReportContradicts, match="in the same batch"):
        sort_out([report(), report(version="v2")], {})


def test_keys_of_other_scopes_and_no_keys_have_nothing_to_do_with_each_other() -> None:
    elsewhere = Report("source/orders", "2026-03-09", "v2", ReportKey("web", "k"))
    assert list(sort_out([elsewhere, report(None, "v3"), report(None, "v3")], known(report())).news) == [0, 1, 2]


def test_of_a_cell_that_one_batch_names_twice_the_last_word_counts() -> None:
    cell = CellRef(AssetId(1), "2026-03-09")
    answers = answers_of({0: report("a"), 1: report("b", "v2")}, {0: cell, 1: cell}, [cell], T0)
    assert [answers[at]["outcome"] for at in (0, 1)] == ["replaced", "observed"]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ({"data_time": datetime(2026, 3, 9, 23)}, "2026-03-09T23:00:00 has no time zone"),  # noqa: DTZ001 - the fault
        ({"metadata": {"observed_by": "me"}}, "metadata name 'observed_by' is partita's own"),
        ({"metadata": {"text": "x" * 70_000}}, "metadata takes 70,012 bytes; .* at most 65,536 bytes"),  # S-209
        ({"keep": timedelta(0)}, "known for 0 s"),
        ({"keep": timedelta(days=91)}, "at most 90 days"),
    ],
)
def test_what_no_definition_could_make_right_is_refused(bad: dict[str, Any], why: str) -> None:
    with pytest.raises(PartitaError, match=why):
        check(report(**bad))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["v1", "v2"])), max_size=6))
def test_every_report_of_a_batch_is_news_or_a_repeat_or_all_are_refused(said: list[tuple[str, str]]) -> None:
    reports = [report(key, version) for key, version in said]
    versions = {key: {version for other, version in said if other == key} for key, _ in said}
    if any(len(one) > 1 for one in versions.values()):
        with pytest.raises(ReportContradicts):
            sort_out(reports, {})
        return
    found = sort_out(reports, {})
    assert found.news.keys() | found.repeats.keys() == set(range(len(said)))
    assert len(found.news) == len(versions)
    assert all(reports[at].key == reports[first].key for at, first in found.repeats.items())
