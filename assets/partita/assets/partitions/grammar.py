"""The selection grammar of partitions, one for SDK, CLI, API and UI.

    all | latest | latest N | KEY | FROM..TO | FROM.. | ..TO      ranges include both sides
    missing | stale | failed                                      by status, which the caller knows
    2013-01                                                       a period: every window that starts in it
    a, "b, c"                                                     union; a quoted key is taken as it stands
    hour=2013-01-01; origin=EWR, JFK                              per dimension of a multi scheme; others: all
    hour=2013-01-01; missing    latest 7; missing                 of these, those that the other clauses select too

Quoted text is JSON text, so every legal key can be written. Keys are never split: an unquoted text that is itself
an existing key names that key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from operator import and_

from partita.assets.errors import PartitaError, SelectionError, UnknownPartition, suggest
from partita.assets.partitions.boxes import boxes_of, product_set
from partita.assets.partitions.multi import ProductSpace
from partita.assets.partitions.sets import PartitionSet
from partita.assets.partitions.space import PartitionSpace

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_LATEST = re.compile(r"latest(?:\s+(\d+))?", re.IGNORECASE)
_DIMENSION = re.compile(r"\s*([^\W\d]\w*)\s*=")


STATUS_WORDS = ("missing", "stale", "failed")
StatusOf = Callable[[str], PartitionSet]
"""Gives the partitions that a status word means now."""


def select_partitions(space: PartitionSpace, text: str, status_of: StatusOf | None = None) -> PartitionSet:
    """The existing partitions that a text selects; raises SelectionError or UnknownPartition.

    `status_of` resolves the words of status; without it they are refused. In a clause `day=missing` they mean every key of
    the dimension with such a partition.
    """
    stripped = text.strip()
    if not stripped:
        if space.definition is None:
            return space.all()
        raise SelectionError("the partition selection is empty", fix="write 'all', a key, or FROM..TO")
    whole = space.find(stripped)
    if whole is not None and not _is_keyword(stripped):
        return PartitionSet(((whole, whole + 1),))
    clauses = list(_split(stripped, ";"))
    if isinstance(space, ProductSpace) and any(_DIMENSION.match(clause) for clause in clauses):
        return _by_dimension(space, clauses, status_of)
    if len(clauses) > 1 and any(map(_all_status, clauses)):
        return reduce(and_, (_union(space, clause, status_of) for clause in clauses))
    return _union(space, stripped, status_of)


def _union(space: PartitionSpace, text: str, status_of: StatusOf | None) -> PartitionSet:
    chosen = PartitionSet.empty()
    for item in _split(text, ","):
        chosen |= _item(space, item.strip(), text, status_of)
    return chosen


def _by_dimension(space: ProductSpace, clauses: Sequence[str], status_of: StatusOf | None) -> PartitionSet:
    among = space.all()
    chosen = {name: part.all() for name, part in zip(space.dims, space.parts, strict=True)}
    seen: set[str] = set()
    for clause in clauses:
        found = _DIMENSION.match(clause)
        if not found and _all_status(clause):
            among &= _union(space, clause, status_of)
            continue
        if not found:
            raise SelectionError(
                f"{clause.strip()!r} names no dimension", rule="a clause is DIMENSION=SELECTION, or a status"
            )
        name = found[1]
        if name not in chosen:
            raise SelectionError(
                f"there is no dimension {name!r}",
                rule=f"the dimensions are {', '.join(space.dims)}",
                fix=suggest(name, space.dims),
            )
        if name in seen:
            raise SelectionError(f"dimension {name!r} is selected twice", fix="join its parts by a comma")
        seen.add(name)
        inner = None if status_of is None else partial(_along, space, name, status_of)
        chosen[name] = select_partitions(space.part(name), clause[found.end() :], inner)
    return product_set(list(chosen.values()), space.sizes) & among


def _along(space: ProductSpace, name: str, status_of: StatusOf, word: str) -> PartitionSet:
    """The keys of a dimension with a partition of that status."""
    at = space.dims.index(name)
    return PartitionSet.from_ranges(one for box in boxes_of(status_of(word), space.sizes) for one in box[at].ranges)


def _all_status(clause: str) -> bool:
    return all(item.strip().lower() in STATUS_WORDS for item in _split(clause, ","))


def _item(space: PartitionSpace, item: str, whole: str, status_of: StatusOf | None) -> PartitionSet:
    if not item:
        raise SelectionError(f"{whole!r} has an empty part", rule="parts are joined by single commas")
    if item.lower() == "all":
        return space.all()
    latest = _LATEST.fullmatch(item)
    if latest:
        count = int(latest[1] or 1)
        if not count:
            raise SelectionError(f"{item!r} selects nothing", rule="it is latest N, at least 1", fix="latest 1")
        return space.latest(count)
    if item.lower() in STATUS_WORDS:
        if status_of is None:
            raise SelectionError(
                f"the status {item!r} is not known here",
                rule="missing, stale and failed select where a deployment knows the cells",
                fix=f'for a key of that name write "{item}" in quotes',
            )
        return status_of(item.lower()) & space.all()
    sides = list(_split(item, ".."))
    if len(sides) == 1:
        return _one(space, sides[0])
    if len(sides) > 2:
        raise SelectionError(f"{item!r} has more than one '..'", rule="a range is FROM..TO")
    lower, upper = (_text(side) if side.strip() else None for side in sides)
    chosen = space.span(lower, upper)
    if not chosen and space.size and lower is not None and upper is not None:
        raise SelectionError(f"range {item!r} is empty", rule="no partition lies between FROM and TO")
    return chosen


def _one(space: PartitionSpace, text: str) -> PartitionSet:
    key = _text(text)
    if _QUOTED.fullmatch(text.strip()):
        ordinal = space.ordinal_of(key)
        return PartitionSet(((ordinal, ordinal + 1),))
    found = space.locate(key)
    if not found:
        raise _unknown(space, key)
    return found


def _unknown(space: PartitionSpace, key: str) -> PartitaError:
    error = space.unknown(key)
    word = suggest(key.split(" ", maxsplit=1)[0].lower(), ("all", "latest", *STATUS_WORDS))
    if not word or "did you mean" in error.fix:
        return error
    return UnknownPartition(error.what, rule=error.rule, fix=f"{word} {error.fix}".strip())


def _text(side: str) -> str:
    stripped = side.strip()
    if not _QUOTED.fullmatch(stripped):
        return stripped
    try:
        return str(json.loads(stripped))
    except ValueError:
        raise SelectionError(f"{stripped} is not well quoted", rule="quoted keys are JSON text") from None


def _is_keyword(text: str) -> bool:
    return text.lower() in ("all", *STATUS_WORDS) or _LATEST.fullmatch(text) is not None


def _split(text: str, separator: str) -> Iterator[str]:
    """The parts between separators that stand outside quotes and JSON arrays."""
    at = begin = depth = 0
    while at < len(text):
        quoted = _QUOTED.match(text, at)
        if quoted:
            at = quoted.end()
        elif depth == 0 and text.startswith(separator, at):
            yield text[begin:at]
            at = begin = at + len(separator)
        else:
            depth = max(depth + (text[at] == "[") - (text[at] == "]"), 0)
            at += 1
    yield text[begin:]
