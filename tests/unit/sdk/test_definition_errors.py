"""Wrong definitions get an error that names the thing, the rule and the fix (law 10)."""

from __future__ import annotations

from typing import Any

import pytest

Load = Any

CASES = {
    "unknown input": (
        "@asset\ndef orders() -> Relation: ...\n@asset\ndef totals(order: Relation) -> Relation: ...\n",
        ["asset 'totals': input 'order'", "no asset of this location is called 'order'", "did you mean 'orders'"],
    ),
    "ambiguous input": (
        ("@asset(key='a/orders')\ndef a() -> Relation: ...\n@asset(key='b/orders')\ndef b() -> Relation: ...\n"
        "@asset\ndef totals(orders: Relation) -> Relation: ...\n"),
        ["the name 'orders' is ambiguous: 'a/orders' and 'b/orders'", 'From("a/orders")'],
    ),
    "no annotation": (
        "@asset\ndef totals(orders) -> Relation: ...\n",
        ["asset 'totals': parameter 'orders' has no annotation", "`orders: Relation`"],
    ),
    "annotation unknown at run time": (
        "@asset\ndef totals(orders: 'Frame') -> Relation: ...\n",
        ["asset 'totals': the annotation 'Frame' is not known at run time", "TYPE_CHECKING"],
    ),
    "varargs": ("@asset\ndef totals(*orders: Relation) -> Relation: ...\n", ["parameter 'orders' is variadic positional"]),
    "default": ("@asset\ndef totals(n: int = 3) -> Relation: ...\n", ["parameter 'n' has a default value"]),
    "two params models": (
        "from pydantic import BaseModel\nclass P(BaseModel): x: int = 1\n@asset\ndef totals(a: P, b: P) -> Relation: ...\n",
        ["'a' and 'b' are both params models"],
    ),
    "unknown zone": (
        "days = Daily('2013-01-01', tz='America/New_Yorc')\n",
        ["time zone 'America/New_Yorc' is not known", "America/New_York"],
    ),
    "start with an offset": (
        "import datetime as d\ndays = Daily(d.datetime(2013, 1, 1, tzinfo=d.UTC), tz='Europe/Berlin')\n",
        ["carries an offset", "local wall times in tz"],
    ),
    "key twice": (
        "@asset(key='a')\ndef one() -> Relation: ...\n@asset(key='a')\ndef two() -> Relation: ...\n",
        ["asset 'a' is defined twice: m.py:3 and m.py:5"],
    ),
    "illegal key": ("@asset(key='a b')\ndef one() -> Relation: ...\n", ["asset key 'a b' is not legal", "'a_b'"]),
    "value lost": ("@asset\ndef one() -> None: ...\n", ["asset 'one' returns None but io='lake'", "io=None"]),
    "unknown io": ("@asset(io='lak')\ndef one() -> Relation: ...\n", ["no IO manager is called 'lak'", "did you mean 'lake'"]),
    "partitions as text": ("@asset(partitions='daily')\ndef one() -> Relation: ...\n", ["partitions='daily'", "Daily(...)"]),
    "no time at all": ("@asset(deadline='0s')\ndef one() -> Relation: ...\n", ["deadline='0s'", 'deadline="3h"']),
    "bad deadline": ("@asset(deadline='09:00')\ndef one() -> Relation: ...\n", ["deadline is '09:00'", '"30s"']),
    "bad duration": ("@asset(timeout='soon')\ndef one() -> Relation: ...\n", ["timeout is 'soon'", '"30s"']),
    "bad retries": ("defaults(retries=RetryPolicy(-1))\n", ["RetryPolicy(max_retries=-1)"]),
    "retries as a number": (
        "@asset(retries=3)\ndef one() -> Relation: ...\n",
        ["m.py:3", "asset 'one': retries=3", "write RetryPolicy(3)"],
    ),
    "default retries as a number": ("defaults(retries=3)\n", ["defaults(): retries=3", "write RetryPolicy(3)"]),
    "unknown word for changed code": (
        "@asset(on_code_change='rebild')\ndef one() -> Relation: ...\n",
        ["asset 'one': on_code_change='rebild'", "'ignore'", "did you mean 'rebuild'"],
    ),
    "limit below zero": (
        "@asset(automatic_limit=-1)\ndef one() -> Relation: ...\n",
        ["asset 'one': automatic_limit=-1", "waits for a person"],
    ),
    "unknown option": (
        "@asset(partition=Daily('2013-01-01'))\ndef one() -> Relation: ...\n",
        ["@asset has no option 'partition'", "did you mean 'partitions'"],
    ),
    "per on one dimension": (
        "@asset(partitions=Daily('2013-01-01'), batch=per(day='7d'))\ndef one() -> Relation: ...\n",
        ["asset 'one': batch=per(...) on an asset with one dimension or none"],
    ),
    "per of no dimension": (
        "@asset(partitions=Multi(day=Daily('2013-01-01'), o=Static('a')), batch=per(dya='1d'))\ndef one() -> Relation: ...\n",
        ["per(dya=...) names no dimension", "did you mean 'day'"],
    ),
    "columns of one dimension": (
        ("@asset(partitions=Multi(day=Daily('2013-01-01'), o=Static('a')), partition_columns={'day': 'd'})\n"
        "def one() -> Relation: ...\n"),
        ["one column for each dimension: day, o"],
    ),
    "reading an external": (
        "src = external('source/orders')\n@asset\ndef orders_clean(o: Annotated[Relation, From(src)]) -> Relation: ...\n",
        ["input 'o' cannot be read: 'source/orders' is external", "deps=[...]"],
    ),
    "self": (
        "@asset\ndef one(one: Relation) -> Relation: ...\n",
        ["input 'one' is an asset of the step itself", "overlap(-1, -1)"],
    ),
    "defaults too late": (
        "@asset\ndef one() -> Relation: ...\ndefaults(group='x')\n",
        ["defaults() at m.py:5 comes after 'one' (m.py:3)"],
    ),
    "defaults twice": (
        "defaults(group='x')\ndefaults(group='y')\n",
        ["defaults() is called twice in module m: m.py:3 and m.py:4"],
    ),
    "check of an external": (
        "src = external('source/orders')\n@check(src)\ndef fine() -> bool: return True\n",
        ["check 'fine': 'source/orders' is external"],
    ),
    "check of another": (
        "@asset\ndef a() -> Relation: ...\n@asset\ndef b() -> Relation: ...\n@check(a)\ndef fine(b: Relation) -> bool: ...\n",
        ["check 'fine': parameter 'b' is neither the checked asset 'a' nor an input of it"],
    ),
    "check twice": (
        ("@asset\ndef a() -> Relation: ...\n@check(a)\ndef fine(a: Relation) -> bool: ...\n"
        "@check(a, name='fine')\ndef other(a: Relation) -> bool: ...\n"),
        ["check 'fine' of 'a' is defined twice: m.py:5 and m.py:7"],
    ),
    "check returns text": (
        "@asset\ndef a() -> Relation: ...\n@check(a)\ndef fine(a: Relation) -> str: ...\n",
        ["check 'fine' returns", "bool or CheckResult"],
    ),
    "a group as a reference": (
        "@multi_asset(outs=['a', 'b'])\ndef both() -> dict[str, Relation]: ...\n@asset(deps=[both])\ndef c() -> Relation: ...\n",
        ["m:both makes 2 assets", "a, b"],
    ),
    "pool without slots": ("@asset(pool={'w': 0})\ndef one() -> Relation: ...\n", ["pool 'w' with 0 slots"]),
    "automation not called": (
        "@asset(automation=eager)\ndef one() -> Relation: ...\n",
        ["asset 'one': automation=<function eager", "made by one of the automation words", "write eager()"],
    ),
    "batch as a number": ("@asset(batch=3)\ndef one() -> Relation: ...\n", ["asset 'one': batch=3", "write up_to(3)"]),
    "deps of a number": ("@asset(deps=[3])\ndef one() -> Relation: ...\n", ["asset 'one': deps=[3]", "name the assets"]),
    "one dep without a list": (
        "@asset\ndef a() -> Relation: ...\n@asset(deps=a)\ndef one() -> Relation: ...\n",
        ["asset 'one': deps=<asset a", "put it in a list: deps=[...]"],
    ),
    "tags without values": ("@asset(tags=['raw'])\ndef one() -> Relation: ...\n", ["asset 'one': tags=['raw']", "texts by name"]),
    "tags of numbers": ("@asset(tags={'tier': 1})\ndef one() -> Relation: ...\n", ["tags={'tier': 1}", "the values as texts"]),
    "owner as a number": ("@asset(owner=3)\ndef one() -> Relation: ...\n", ["asset 'one': owner=3", "team:shop", 'write "3"']),
    "default group as a number": ("defaults(group=3)\n", ["m.py:3", "defaults(): group=3", 'write "3"']),
    "priority as a word": ("@asset(priority='high')\ndef one() -> Relation: ...\n", ["priority='high'", "a whole number"]),
    "unknown isolation": (
        "@asset(isolation='spwan')\ndef one() -> Relation: ...\n",
        ["isolation='spwan'", "did you mean 'spawn'"]),
    "code version as a number": ("@asset(code_version=3)\ndef one() -> Relation: ...\n", ["code_version=3", 'write "3"']),
    "kinds as a text": ("@asset(kinds='sql')\ndef one() -> Relation: ...\n", ["kinds='sql'", "write ['sql']"]),
    "metadata that is not JSON": (
        "@asset(metadata={'a': object()})\ndef one() -> Relation: ...\n",
        ["asset 'one': metadata a is not JSON", "convert the value"],
    ),
    "pool as a list": ("@asset(pool=['w'])\ndef one() -> Relation: ...\n", ["pool=['w']", '{"db": 1}']),
    "key as a number": ("@asset(key=3)\ndef one() -> Relation: ...\n", ["key=3", "a text such as raw/orders"]),
    "io as a class": ("@asset(io=Lake)\ndef one() -> Relation: ...\n", ["io=<class", "write Lake(...), an object"]),
    "a class as a step": ("@asset\nclass One: ...\n", ["asset 'One' is a class", "a step is a function"]),
    "an async generator": (
        "@asset\nasync def one():\n    yield 1\n",
        ["asset 'one' is an async generator", "collect what it yields"],
    ),
    "subsettable without a context": (
        "@multi_asset(outs=['a', 'b'], subsettable=True)\ndef both() -> dict[str, Relation]: ...\n",
        ["group a, b is subsettable and its function takes no Context", "context.assets says", "add a parameter"],
    ),
    "subsettable as a text": (
        "@multi_asset(outs=['a', 'b'], subsettable='yes')\ndef both(context: Context) -> dict[str, Relation]: ...\n",
        ["subsettable='yes'", "True or False"],
    ),
    "a subsettable asset": (
        "@asset(subsettable=True)\ndef one(context: Context) -> Relation: ...\n",
        ["@asset has no option 'subsettable'"],
    ),
    "outs as a text": ("@multi_asset(outs='ab')\ndef one() -> dict[str, Relation]: ...\n", ["outs='ab'", "write outs=['ab']"]),
    "outs without Out": (
        "@multi_asset(outs={'a': 'lake'})\ndef one() -> dict[str, Relation]: ...\n",
        ["multi_asset(outs={'a': 'lake'})", "Out(...) by key"],
    ),
    "check of a number": ("@check(3)\ndef fine() -> bool: ...\n", ["check(3)", "an asset of this location, or its key"]),
    "static key as a number": ("o = Static(1, 2)\n", ["a static key is 1", "it is a text"]),
    "start as a number": ("days = Daily(2013)\n", ["start or end is 2013", "ISO text such as 2013-01-01"]),
    "start in another form": ("days = Daily('01.02.2026')\n", ["'01.02.2026' is not a wall time", "2013-01-01T06:00"]),
    "end with an offset": (
        "import datetime as d\ndays = Daily('2026-01-01', end=d.datetime(2026, 2, 1, tzinfo=d.UTC))\n",
        ["end 2026-02-01T00:00:00+00:00 carries an offset", "write it without offset"],
    ),
    "zone as a number": ("days = Daily('2013-01-01', tz=3)\n", ["tz is 3", "Europe/Berlin"]),
    "horizon as a text": ("days = Daily('2013-01-01', horizon='1')\n", ["horizon is '1'", "a whole number of windows"]),
    "dimension as a text": ("m = Multi(day='daily', o=Static('a'))\n", ["dimension day='daily' is no partition scheme"]),
    "short cron": ("w = TimeWindows('* * *', '2026-01-01')\n", ["cron '* * *' has 3 fields", "five fields"]),
    "input of a type that no store gives": (
        "@asset\ndef a() -> Relation: ...\n@asset\ndef b(a: int) -> Relation: ...\n",
        ["m.py:5", "asset 'b': input 'a' is annotated", "int", "handed over as Relation", "annotate it Relation"],
    ),
    "optional input of such a type": (
        "@asset\ndef a() -> Relation: ...\n@asset\ndef b(a: 'dict[str, int] | None') -> Relation: ...\n",
        ["asset 'b': input 'a' is annotated", "handed over as Relation"],
    ),
    "checked cell of such a type": (
        "@asset\ndef a() -> Relation: ...\n@check(a)\ndef fine(a: int) -> bool: ...\n",
        ["check 'fine': parameter 'a' is annotated", "annotate it Relation"],
    ),
    "result that no store takes": (
        "@asset\ndef one() -> int: ...\n",
        ["asset 'one' returns int", "a store of rows takes a Relation", "io=None"],
    ),
    "output that no store takes": (
        "from collections.abc import Iterator\n@asset\ndef one() -> Iterator[Output[str]]: ...\n",
        ["asset 'one' returns str", "io=None"],
    ),
    "specific key that can never exist": (
        ("@asset(partitions=Static('EWR', 'JFK'))\ndef a() -> Relation: ...\n"
         "@asset\ndef b(a: Annotated[Relation, From(a, specific('JFX'))]) -> Relation: ...\n"),
        ["asset 'b': input 'a' from 'a': partition 'JFX' is needed and can never exist", "the keys EWR, JFK", "mean 'JFK'"],
    ),
    "specific window that can never exist": (
        ("@asset(partitions=Daily('2026-01-01'))\ndef a() -> Relation: ...\n"
         "@asset\ndef b(a: Annotated[Relation, From(a, specific('2026-02-30'))]) -> Relation: ...\n"),
        ["partition '2026-02-30' is needed and can never exist", "the windows of '0 0 * * *' in UTC, the first 2026-01-01"],
    ),
    "table of unknown upstream keys": (
        ("@asset(partitions=Static('EWR', 'JFK'))\ndef a() -> Relation: ...\n@asset(partitions=Static('east'))\n"
         "def b(a: Annotated[Relation, From(a, table({'east': ['EWR', 'LGA']}))]) -> Relation: ...\n"),
        ["partition 'LGA' is needed and can never exist", "the keys EWR, JFK"],
    ),
    "table of unknown own keys": (
        ("@asset(partitions=Static('EWR'))\ndef a() -> Relation: ...\n@asset(partitions=Static('east'))\n"
         "def b(a: Annotated[Relation, From(a, table({'esat': 'EWR'}))]) -> Relation: ...\n"),
        ["the table has a row for 'esat', which is no own partition", "did you mean 'east'"],
    ),
    "static keys that the upstream has not": (
        ("@asset(partitions=Static('EWR', 'JFK'))\ndef a() -> Relation: ...\n"
         "@asset(partitions=Static('EWR', 'JFK', 'LGA'))\ndef b(a: Relation) -> Relation: ...\n"),
        ["partition 'LGA' is needed and can never exist", "the keys EWR, JFK"],
    ),
    "time over keys": (
        ("@asset(partitions=Static('a'))\ndef a() -> Relation: ...\n@asset(partitions=Daily('2026-01-01'))\n"
         "def b(a: Annotated[Relation, From(a, overlap(-1, 0))]) -> Relation: ...\n"),
        ["input 'a' from 'a': a time overlap meets a scheme without time", "map by dimension, or use All"],
    ),
    "unknown dimension": (
        ("@asset(partitions=Multi(day=Daily('2026-01-01'), o=Static('a')))\ndef a() -> Relation: ...\n"
         "@asset(partitions=Daily('2026-01-01'))\n"
         "def b(a: Annotated[Relation, From(a, by_dimension(dya=''))]) -> Relation: ...\n"),
        ["there is no upstream dimension 'dya'", "did you mean 'day'"],
    ),
    "same key of one partition": (
        ("@asset(partitions=Daily('2026-01-01'))\ndef a() -> Relation: ...\n"
         "@asset\ndef b(a: Annotated[Relation, From(a, same())]) -> Relation: ...\n"),
        ["only one of the two is partitioned", "leave the mapping out"],
    ),
    "a mapping function that fails": (
        ("@asset(partitions=Static('a'))\ndef a() -> Relation: ...\n@asset(partitions=Static('x'))\n"
         "def b(a: Annotated[Relation, From(a, enumerated(lambda key: [][0]))]) -> Relation: ...\n"),
        ["the mapping function failed for partition 'x': IndexError", "when the location is loaded"],
    ),
    "params without a JSON form": (
        ("from collections.abc import Callable\nfrom pydantic import BaseModel\n"
         "class P(BaseModel):\n    f: Callable[[int], int]\n@asset\ndef one(p: P) -> Relation: ...\n"),
        ["asset 'one': params model P has no JSON form", "params are given as JSON"],
    ),
    "params that automation cannot give": (
        ("from pydantic import BaseModel\nclass P(BaseModel):\n    floor: int\n@asset\ndef a() -> Relation: ...\n"
         "@asset(automation=eager())\ndef one(a: Relation, p: P) -> Relation: ...\n"),
        ["asset 'one': the params 'floor' have no default", "without a person", "give them defaults"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "said"), CASES.values(), ids=CASES)
def test_the_error_names_the_thing_the_rule_and_the_fix(load: Load, body: str, said: list[str]) -> None:
    location = load({"m.py": body})
    (module,) = location.snapshot.modules
    assert not module.ok
    for part in said:
        assert part in module.error
    assert location.snapshot.assets == ()


RIGHT = {
    "rows as dicts": ("@asset\ndef a() -> Relation: ...\n@asset\ndef b(a: list[dict[str, Any]]) -> Relation: ...\n"),
    "the files": (
        "from pathlib import Path\n@asset\ndef a() -> Relation: ...\n@asset\ndef b(a: list[Path]) -> Relation: ...\n"
    ),
    "an optional input": "@asset\ndef a() -> Relation: ...\n@asset\ndef b(a: 'Relation | None') -> Relation: ...\n",
    "a coroutine": "@asset\nasync def a() -> Relation: ...\n",
    "keys of a dynamic scheme": (
        "@asset(partitions=Dynamic('tenants'))\ndef a() -> Relation: ...\n"
        "@asset\ndef b(a: Annotated[Relation, From(a, specific('acme'))]) -> Relation: ...\n"
    ),
    "a table of some keys": (
        "@asset(partitions=Static('EWR', 'JFK'))\ndef a() -> Relation: ...\n@asset(partitions=Static('east', 'west'))\n"
        "def b(a: Annotated[Relation, From(a, table({'east': 'EWR'}))]) -> Relation: ...\n"
    ),
    "params that a person gives": (
        "from pydantic import BaseModel\nclass P(BaseModel):\n    floor: int\n@asset\ndef one(p: P) -> Relation: ...\n"
    ),
}


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_right_definitions_load(load: Load, body: str) -> None:
    (module,) = load({"m.py": body}).snapshot.modules
    assert module.ok, module.error


def test_a_broken_definition_leaves_the_other_modules(load: Load) -> None:
    """S-063: what no store hands over breaks its own module, and those that read it, only."""
    location = load(
        {
            "good.py": "@asset\ndef orders() -> Relation: ...\n",
            "bad.py": "@asset\ndef totals(orders: int) -> Relation: ...\n",
        }
    )
    assert [one.name for one in location.snapshot.modules if not one.ok] == ["bad"]
    assert [one.key for one in location.snapshot.assets] == ["orders"]
