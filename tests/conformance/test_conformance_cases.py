"""Every conformance case as a test, by the readers of `make conformance`; and the rules of judging."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.conformance.judging import Reader, judge
from tests.conformance.registry import READERS, case_files, cases_of


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each case."""
    if "case" in metafunc.fixturenames:
        cases = [(f"{file.stem}-{case['id']}", case) for file in case_files() for case in cases_of(file)]
        metafunc.parametrize("case", [pytest.param(case, id=name) for name, case in cases])


def test_case(case: dict[str, Any]) -> None:
    """The product answers as the case says (S-023, S-101 to S-103, S-108 to S-113, S-141 to S-149, S-157, S-219, S-224)."""
    verdict = judge(case, READERS)
    if verdict.kind == "later":
        pytest.skip(f"later: {verdict.why}")
    if verdict.kind == "optional":
        pytest.xfail(f"optional: {verdict.why}")
    assert verdict.kind == "passed", verdict.why


def _case(**more: Any) -> dict[str, Any]:
    return {"area": "x/y", "when": {"op": "ask"}, "given": {}, "expect": {"a": 1}, "note": "", "firm": "must"} | more


def _says(**got: Any) -> dict[str, dict[str, Reader | None]]:
    return {"x": {"ask": Reader(lambda case: got), "late": None}}


def test_unknown_operations_and_areas_fail() -> None:
    assert judge(_case(when={"op": "sing"}), _says(a=1)).kind == "failed"
    assert judge(_case(area="z"), _says(a=1)).kind == "failed"
    assert judge(_case(when={"op": "sing"}, firm="optional"), _says(a=1)).kind == "optional"


def test_verdicts() -> None:
    """Only asked fields count; errors are failures; optional cases may fail; readers may come later."""
    assert judge(_case(), _says(a=1, b=2)).kind == "passed"
    assert judge(_case(), _says(a=2)).kind == "failed"
    assert judge(_case(firm="optional"), _says(a=2)).kind == "optional"
    assert judge(_case(when={"op": "late"}), _says(a=1)).kind == "later"
    assert judge(_case(expect={"a": 1, "also_ok": [{"a": 2}]}), _says(a=2)).kind == "passed"
    assert judge(_case(expect={"utc": [1], "also_ok": [[2]]}), _says(utc=[2])).kind == "passed"
    assert judge(_case(), {"x": {"ask": Reader(lambda case: case["nothing"])}}).kind == "failed"


def test_nothing_is_left_for_later() -> None:
    own = Path(__file__).parent / "cases"
    for area in READERS:
        for case in cases_of(own / f"{area}.jsonl"):
            assert READERS[area][case["when"]["op"]] is not None
