"""The selection grammar of partitions, one for SDK, CLI, API and UI.

    all | latest | latest N | KEY | FROM..TO | FROM.. | ..TO      ranges include both sides
    2013-01                                                       a period: every window that starts in it
    a, "b, c"                                                     union; a quoted key is taken as it stands
    hour=2013-01-01; origin=EWR, JFK                              per dimension of a multi scheme; others: all

Quoted text is JSON text, so every legal key can be written. Keys are never split: an unquoted text that is itself
an existing key names that key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from partita.assets.errors import SelectionError, suggest
from partita.assets.partitions.boxes import product_set
from partita.assets.partitions.multi import ProductSpace
from partita.assets.partitions.sets import PartitionSet
from partita.assets.partitions.space import PartitionSpace

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_LATEST = re.compile(r"latest(?:\s+(\d+))?", re.IGNORECASE)
_DIMENSION = re.compile(r"\s*([^\W\d]\w*)\s*=")


def select_partitions(space: PartitionSpace, text: str) -> PartitionSet:
    """The existing partitions that a text selects; raises SelectionError or UnknownPartition."""
    stripped = text.strip()
    if not stripped:
        if space.definition is None:
            return space.all()
        raise SelectionError("the partition selection is empty", fix="write 'all', a key, or FROM..TO")
    whole = space.find(stripped)
    if whole is not None and not _is_keyword(stripped):
        return PartitionSet(((whole, whole + 1),))
    if isinstance(space, ProductSpace) and _DIMENSION.match(stripped):
        return _by_dimension(space, stripped)
    chosen = PartitionSet.empty()
    for item in _split(stripped, ","):
        chosen |= _item(space, item.strip(), stripped)
    return chosen


def _by_dimension(space: ProductSpace, text: str) -> PartitionSet:
    chosen = {name: part.all() for name, part in zip(space.dims, space.parts, strict=True)}
    seen: set[str] = set()
    for clause in _split(text, ";"):
        found = _DIMENSION.match(clause)
        if not found:
            raise SelectionError(f"{clause.strip()!r} names no dimension", rule="a clause is DIMENSION=SELECTION")
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
        chosen[name] = select_partitions(space.part(name), clause[found.end() :])
    return product_set(list(chosen.values()), space.sizes)


def _item(space: PartitionSpace, item: str, whole: str) -> PartitionSet:
    if not item:
        raise SelectionError(f"{whole!r} has an empty part", rule="parts are joined by single commas")
    if item.lower() == "all":
        return space.all()
    latest = _LATEST.fullmatch(item)
    if latest:
        return space.latest(int(latest[1] or 1))
    sides = list(_split(item, ".."))
    if len(sides) == 1:
        return _one(space, sides[0])
    if len(sides) > 2:
        raise SelectionError(f"{item!r} has more than one '..'", rule="a range is FROM..TO")
    lower, upper = (_text(side) if side.strip() else None for side in sides)
    chosen = space.span(lower, upper)
    if not chosen and space.size and lower is not None and upper is not None:
        raise SelectionError(f"range {item!r} is empty", rule="FROM lies before TO", fix="swap the two")
    return chosen


def _one(space: PartitionSpace, text: str) -> PartitionSet:
    key = _text(text)
    if _QUOTED.fullmatch(text.strip()):
        ordinal = space.ordinal_of(key)
        return PartitionSet(((ordinal, ordinal + 1),))
    found = space.locate(key)
    if not found:
        raise space.unknown(key)
    return found


def _text(side: str) -> str:
    stripped = side.strip()
    if not _QUOTED.fullmatch(stripped):
        return stripped
    try:
        return str(json.loads(stripped))
    except ValueError:
        raise SelectionError(f"{stripped} is not well quoted", rule="quoted keys are JSON text") from None


def _is_keyword(text: str) -> bool:
    return text.lower() == "all" or _LATEST.fullmatch(text) is not None


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
