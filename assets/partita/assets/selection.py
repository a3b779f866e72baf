"""The selection grammar of assets, one for SDK, CLI, API and UI.

*                          every asset                    raw/orders      one asset; "orders" when only one ends so
raw/*                      a glob over keys               "raw/orders"    exactly this key
+orders  2+orders          with all / 2 levels of upstream
orders+  orders+1          with all / 1 level of downstream
tag:k  tag:k=v  group:g  owner:o  kind:k  location:l      by attribute; values may be globs or quoted
a and b, a or b, not a, (a or b)+                          a comma means or; not binds before and before or
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import translate

from partita.assets.errors import SelectionError, suggest
from partita.assets.graph import AssetGraph, AssetNode
from partita.assets.keys import AssetKey

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<punct>[(),])
      | (?P<up>\d*)\+(?=[^\s,)+])
      | (?P<field>[a-z]+):(?:"(?P<quoted_value>[^"]*)"|(?P<value>[^\s(),+"]+))
      | "(?P<quoted>[^"]*)"
      | (?P<word>[^\s(),+":]+)
    )""",
    re.VERBOSE,
)
_FIELDS: dict[str, Callable[[AssetNode, str], Iterable[str]]] = {
    "tag": lambda spec, location: [*spec.tags, *(f"{name}={value}" for name, value in spec.tags.items())],
    "group": lambda spec, location: [spec.group],
    "owner": lambda spec, location: [spec.owner] if spec.owner else [],
    "kind": lambda spec, location: [spec.kind, *spec.kinds],
    "location": lambda spec, location: [location],
}
_DOWN = re.compile(r"\+(\d*)")
_SHOWN = 8
_DEEPEST = 100  # of brackets and `not` within each other: the parser descends by calls
Keys = frozenset[AssetKey]


def select_assets(graph: AssetGraph, text: str) -> tuple[AssetKey, ...]:
    """The selected assets in topological order; raises SelectionError, with a suggestion for unknown names.

    >>> def reads(key: str, *upstream: str) -> AssetSpec:
    ...     return AssetSpec(key=key, inputs=[InputSpec(name=up, upstream=up, mapping=AllSpec()) for up in upstream])
    >>> graph = AssetGraph([reads("raw/flights"), reads("delays", "raw/flights"), reads("report", "delays")])
    >>> select_assets(graph, "flights+1")
    ('raw/flights', 'delays')
    >>> select_assets(graph, "+report and not raw/*")
    ('delays', 'report')
    """
    tokens = _tokens(text)
    if not tokens:
        raise SelectionError("the asset selection is empty", fix="write '*' for every asset")
    parser = _Parser(graph, text, tokens)
    chosen = parser.alternatives()
    if parser.peek() is not None:
        raise parser.wrong("expected 'and', 'or' or a comma")
    return graph.sort(chosen)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # punct, up, down, field, quoted, word
    text: str
    field: str
    at: int


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        last = tokens[-1] if tokens else None
        down = _DOWN.match(text, at) if last is not None and (last.kind in _ATOMS or last.text == ")") else None
        if down:  # directly behind an atom; elsewhere a plus asks for upstream
            tokens.append(_Token("down", down[1], "", at))
            at = down.end()
            continue
        found = _TOKEN.match(text, at)
        if not found:
            raise SelectionError(f"selection {text!r}: can not read {text[at:].strip()!r}", fix="quote unusual names")
        groups = {name: value for name, value in found.groupdict().items() if value is not None}
        name = next(iter(groups))
        if name == "field":
            value = groups.get("value", groups.get("quoted_value", ""))
            tokens.append(_Token("field", value, groups["field"], at))
        else:
            tokens.append(_Token(name, groups[name], "", at))
        at = found.end()
    return tokens


class _Parser:
    """Recursive descent; evaluates while it parses, since every node is a set of keys."""

    def __init__(self, graph: AssetGraph, text: str, tokens: list[_Token]) -> None:
        self._graph = graph
        self._text = text
        self._tokens = tokens
        self._at = 0
        self._deep = 0

    def peek(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def alternatives(self) -> Keys:
        chosen = self._conjunction()
        while self._take("punct", ",") or self._take("word", "or"):
            chosen |= self._conjunction()
        return chosen

    def wrong(self, expected: str) -> SelectionError:
        token = self.peek()
        where = f"at {self._text[token.at :].strip()!r}" if token else "at the end"
        return SelectionError(f"selection {self._text!r}: {expected} {where}")

    def _conjunction(self) -> Keys:
        chosen = self._negation()
        while self._take("word", "and"):
            chosen &= self._negation()
        return chosen

    def _negation(self) -> Keys:
        if self._take("word", "not"):
            with self._deeper():
                return frozenset(self._graph.assets) - self._negation()
        return self._reach()

    def _reach(self) -> Keys:
        up = self._take("up")
        chosen = self._atom()
        down = self._take("down")
        grown = set(chosen)
        if up is not None:
            grown |= self._graph.ancestors(*chosen, depth=_depth(up))
        if down is not None:
            grown |= self._graph.descendants(*chosen, depth=_depth(down))
        return frozenset(grown)

    def _atom(self) -> Keys:
        if self._take("punct", "("):
            with self._deeper():
                chosen = self.alternatives()
            if not self._take("punct", ")"):
                raise self.wrong("expected ')'")
            return chosen
        token = self.peek()
        if token is None or token.kind not in _ATOMS or token.text.lower() in _KEYWORDS_OF[token.kind]:
            raise self.wrong("expected an asset, an attribute or '('")
        self._at += 1
        if token.kind == "field":
            return self._by_field(token.field, token.text)
        return self._by_key(token.text) if token.kind == "word" else self._exactly(token.text)

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        self._deep += 1
        if self._deep > _DEEPEST:
            raise SelectionError(
                f"selection {self._text[:40]!r}... is nested more than {_DEEPEST} deep",
                fix="leave out brackets and `not`",
            )
        yield
        self._deep -= 1

    def _take(self, kind: str, text: str | None = None) -> _Token | None:
        token = self.peek()
        if token is None or token.kind != kind or (text is not None and token.text.lower() != text):
            return None
        self._at += 1
        return token

    def _exactly(self, name: str) -> Keys:
        if name not in self._graph.assets:
            raise self._unknown(name)
        return frozenset((AssetKey(name),))

    def _by_key(self, name: str) -> Keys:
        if any(sign in name for sign in "*?["):
            matches = _glob(name)
            found = frozenset(key for key in self._graph.assets if matches(key))
            if not found and name != "*":
                raise SelectionError(f"no asset matches {name!r}", fix=suggest(name.rstrip("*/"), self._graph.assets))
            return found
        if name in self._graph.assets:
            return frozenset((AssetKey(name),))
        ending = [key for key in self._graph.assets if key.endswith(f"/{name}")]
        if len(ending) > 1:
            raise SelectionError(f"asset {name!r} is ambiguous", rule=f"it may be {' or '.join(ending)}")
        if not ending:
            raise self._unknown(name)
        return frozenset(ending)

    def _by_field(self, field: str, value: str) -> Keys:
        read = _FIELDS.get(field)
        if read is None:
            raise SelectionError(
                f"there is no attribute {field!r}",
                rule=f"attributes are {', '.join(_FIELDS)}",
                fix=suggest(field, _FIELDS),
            )
        graph, matches = self._graph, _glob(value)
        found = frozenset(
            key for key, spec in graph.assets.items() if any(map(matches, read(spec, graph.location_of(key))))
        )
        if not found:
            known = sorted({one for key, spec in graph.assets.items() for one in read(spec, graph.location_of(key))})
            shown = ", ".join(known[:_SHOWN]) + (f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else "")
            raise SelectionError(
                f"no asset has {field} {value!r}",
                rule=f"{field}s are {shown}" if known else f"no asset has a {field} at all",
                fix=suggest(value, known),
            )
        return found

    def _unknown(self, name: str) -> SelectionError:
        short = {key.rsplit("/", 1)[-1]: key for key in self._graph.assets}
        near = suggest(name, [*self._graph.assets, *short])
        if not self._graph.assets:
            return SelectionError(
                f"asset {name!r} does not exist",
                rule="no asset is known yet: no code location has been loaded",
                fix="start its server (`partita dev` starts all); `partita locations` says what does not load",
            )
        return SelectionError(f"asset {name!r} does not exist", fix=near or "`partita assets` lists what there is")


_ATOMS = ("field", "quoted", "word")
_KEYWORDS_OF: dict[str, tuple[str, ...]] = {"word": ("and", "or", "not"), "quoted": (), "field": ()}


def _glob(pattern: str) -> Callable[[str], object]:
    """Whether a text matches; compiled once, because `fnmatchcase` looks its pattern up for each text."""
    return re.compile(translate(pattern)).match


def _depth(token: _Token) -> int | None:
    # More digits than any graph is deep mean all of it (and int() refuses thousands of them).
    return int(token.text) if token.text and len(token.text) < 10 else None
