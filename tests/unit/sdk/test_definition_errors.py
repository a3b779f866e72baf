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
    "bad duration": ("@asset(timeout='soon')\ndef one() -> Relation: ...\n", ["timeout is 'soon'", '"30s"']),
    "bad retries": ("defaults(retries=RetryPolicy(-1))\n", ["RetryPolicy(max_retries=-1)"]),
    "retries as a number": (
        "@asset(retries=3)\ndef one() -> Relation: ...\n",
        ["m.py:3", "asset 'one': retries=3", "write RetryPolicy(3)"],
    ),
    "default retries as a number": ("defaults(retries=3)\n", ["defaults(): retries=3", "write RetryPolicy(3)"]),
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
}  # fmt: skip


@pytest.mark.parametrize(("body", "said"), CASES.values(), ids=CASES)
def test_the_error_names_the_thing_the_rule_and_the_fix(load: Load, body: str, said: list[str]) -> None:
    location = load({"m.py": body})
    (module,) = location.snapshot.modules
    assert not module.ok
    for part in said:
        assert part in module.error
    assert location.snapshot.assets == ()
