"""Judges the answers to conformance cases.

Verdicts: passed; `later` (the reader comes with a later issue: closed lists); `optional` (a case of firmness optional that does
not pass); everything else is failed, an unknown operation or field too. Asks, compares, and knows no product.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Case = dict[str, Any]
Kind = Literal["passed", "failed", "optional", "later"]


@dataclass(frozen=True, slots=True)
class Reader:
    """Asks the product about the operations of one area. `later` names what of a case has no reader yet."""

    answer: Callable[[Case], dict[str, Any]]
    later: Callable[[Case], Iterable[str]] = lambda case: ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one case; `why` tells it, "" when it passed."""

    kind: Kind
    why: str = ""


def only(given: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise ValueError for a field that a reader does not know: nothing of a case is passed over."""
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ValueError(f"unknown field {', '.join(unknown)}")


def judge(case: Case, readers: Mapping[str, Mapping[str, Reader | None]]) -> Verdict:
    """Ask the reader of the case's area and operation; a reader of None is not due yet."""
    area, operation = case["area"].split("/")[0], case["when"]["op"]
    optional = case["firm"] == "optional"
    if operation not in readers.get(area, {}):
        return Verdict("optional" if optional else "failed", f"unknown operation {operation!r} of {area!r}")
    reader = readers[area][operation]
    later = [f"operation {operation}"] if reader is None else sorted(set(reader.later(case)))
    if later or reader is None:
        return Verdict("later", ", ".join(later))
    try:
        wrong = _differences(case["expect"], reader.answer(case))
    except Exception as refused:
        wrong = [f"  {type(refused).__name__}: {refused}"]
    if not wrong:
        return Verdict("passed")
    told = f"{case['note']}\n  asked {case['when']}\n  of {case['given']}\n" + "\n".join(wrong)
    return Verdict("optional" if optional else "failed", told)


def _differences(expect: dict[str, Any], got: dict[str, Any]) -> list[str]:
    """Only the fields present in `expect` count; `also_ok` lists further answers to the whole, to its `utc` or `final`."""
    for other in expect.get("also_ok", ()):
        if any(_matches(alternative, got) for alternative in _alternatives(expect, other)):
            return []
    return [
        f"  {name}: expected {value!r}\n  {' ' * len(name)}  got      {got.get(name)!r}"
        for name, value in expect.items()
        if name not in _PROSE and got.get(name) != value
    ]


_PROSE = ("also_ok", "invariant")


def _alternatives(expect: dict[str, Any], other: Any) -> list[dict[str, Any]]:
    if not isinstance(other, dict):
        return [{**expect, "utc": other}]
    return [{**expect, "final": other}] if "final" in expect and "final" not in other else [other]


def _matches(expect: dict[str, Any], got: dict[str, Any]) -> bool:
    return all(got.get(name) == value for name, value in expect.items() if name not in _PROSE)
