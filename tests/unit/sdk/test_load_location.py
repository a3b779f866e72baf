"""Loading a location: isolation of modules, attribution, roll-back (S-027, S-055, S-056, S-060, S-063)."""

from __future__ import annotations

import json
import os
import py_compile
from typing import Any

import pytest

from partita.assets import DefinitionError, canonical_json, snapshot_hash
from partita.sdk.runtime import load_location

Load = Any
GOOD = "@asset(io=None)\ndef good() -> None: print(1)\n"


def errors_of(location: Any) -> dict[str, str]:
    return {one.name: one.error or "" for one in location.snapshot.modules if not one.ok}


def keys_of(location: Any) -> list[str]:
    return [one.key for one in location.snapshot.assets]


def test_a_module_that_raises_is_rolled_back_and_reported_and_the_others_load(load: Load) -> None:
    heard: list[tuple[str, str]] = []
    bad = "@asset(io=None)\ndef half() -> None: print(1)\nraise RuntimeError('no warehouse')\n"
    location = load({"good.py": GOOD, "bad.py": bad, "late.py": GOOD.replace("good", "late")}, heard=heard)
    assert keys_of(location) == ["good", "late"]
    error = errors_of(location)["bad"]
    assert error.splitlines()[-1] == "RuntimeError: no warehouse"
    assert "bad.py:5 in <module>" in error
    assert heard == [
        ("importing", "good"), ("imported", "good"), ("importing", "bad"), ("broken", "bad"),
        ("importing", "late"), ("imported", "late"),
    ]  # fmt: skip


@pytest.mark.parametrize("bad", ["def x(:\n", "import sys; sys.exit(3)\n", "import nowhere_to_be_found\n", "1 / 0\n"])
def test_every_way_to_break_is_isolated_and_its_text_names_no_machine_path(load: Load, bad: str, tmp_path: Any) -> None:
    location = load({"good.py": GOOD, "bad.py": bad})
    assert keys_of(location) == ["good"]
    assert str(tmp_path) not in errors_of(location)["bad"]


def test_a_module_left_out_is_not_imported(load: Load) -> None:
    location = load(
        {"good.py": GOOD, "hangs.py": "while True: pass\n"}, left_out={"hangs": "import took longer than 60 s"}
    )
    assert errors_of(location) == {"hangs": "import took longer than 60 s"}


def test_a_helper_that_only_a_broken_module_imported_is_imported_again(load: Load) -> None:
    files = {
        "bad.py": "import factory\nfactory.make('from_bad')\nraise ValueError\n",
        "factory.py": "@asset(io=None)\ndef shared() -> None: print(1)\n"
        "def make(key):\n    @asset(key=key, io=None)\n    def made() -> None: print(key)\n    return made\n",
        "good.py": "import factory\nfactory.make('from_good')\n",
    }
    location = load(files, "bad", "good")
    assert keys_of(location) == ["from_good", "shared"]
    assert {one.source.module for one in location.snapshot.assets} == {"good"}


def test_a_listed_module_imported_by_another_registers_once_and_keeps_its_name(load: Load) -> None:
    files = {
        "marts.py": "import raw\n@asset\ndef mart(good: Relation) -> Relation: return good\nraise ValueError\n",
        "raw.py": GOOD.replace("io=None", "").replace("-> None", "-> Relation"),
    }
    location = load(files, "marts", "raw")
    assert keys_of(location) == ["good"]
    assert location.snapshot.assets[0].source.module == "raw"


def test_factories_and_unbound_definitions_register(load: Load) -> None:
    body = """
    defaults(group="made")
    def make(region):
        @asset(key=f"sales/{region}", io=None)
        def sales() -> None:
            print(region)
    for one in ("eu", "us"):
        make(one)
    """
    location = load({"sales.py": body})
    specs = {one.key: one for one in location.snapshot.assets}
    assert list(specs) == ["sales/eu", "sales/us"]
    assert specs["sales/eu"].fingerprint != specs["sales/us"].fingerprint
    assert {one.group for one in specs.values()} == {"made"}


def test_defaults_of_an_importing_module_do_not_leak(load: Load) -> None:
    files = {
        "a.py": "defaults(group='a')\nimport b\n@asset(io=None)\ndef in_a() -> None: print(1)\n",
        "b.py": "@asset(io=None)\ndef in_b() -> None: print(1)\n",
    }
    location = load(files, "a", "b")
    assert {one.key: one.group for one in location.snapshot.assets} == {"in_a": "a", "in_b": "default"}


def test_the_same_key_in_two_modules_breaks_the_second_and_names_both_places(load: Load) -> None:
    location = load({"one.py": GOOD, "two.py": GOOD})
    assert keys_of(location) == ["good"]
    error = errors_of(location)["two"]
    assert "asset 'good' is defined twice: one.py:3 and two.py:3" in error


def test_what_depends_on_a_broken_module_is_broken_with_it_and_nothing_else(load: Load) -> None:
    files = {
        "raw.py": "@asset\ndef orders() -> Relation: ...\nraise ValueError('raw')\n",
        "mart.py": "@asset\ndef totals(orders: Relation) -> Relation: ...\n",
        "top.py": "@asset\ndef report(totals: Relation) -> Relation: ...\n",
        "other.py": GOOD,
    }
    location = load(files)
    assert keys_of(location) == ["good"]
    errors = errors_of(location)
    assert set(errors) == {"raw", "mart", "top"}
    assert "no asset of this location is called 'orders'" in errors["mart"]
    assert "modules that do not load: raw" in errors["mart"]


def test_a_cycle_over_modules_names_its_path_and_breaks_both(load: Load) -> None:
    """S-064."""
    files = {
        "a.py": "@asset\ndef one(two: Relation) -> Relation: ...\n",
        "b.py": "@asset\ndef two(one: Relation) -> Relation: ...\n",
        "c.py": GOOD,
    }
    location = load(files)
    assert keys_of(location) == ["good"]
    errors = errors_of(location)
    assert set(errors) == {"a", "b"}
    assert "two -> one -> two" in errors["a"] or "one -> two -> one" in errors["a"]


def test_a_package_star_lists_its_modules(load: Load) -> None:
    files = {"pkg/__init__.py": "", "pkg/b.py": GOOD, "pkg/a.py": "raise ValueError\n"}
    location = load(files, "pkg.*")
    assert [(one.name, one.ok) for one in location.snapshot.modules] == [("pkg.a", False), ("pkg.b", True)]


def test_a_second_load_sees_the_new_code(load: Load) -> None:
    first = load({"good.py": GOOD})
    second = load({"good.py": GOOD.replace("print(1)", "print(10_000)")})
    assert first.snapshot.assets[0].fingerprint != second.snapshot.assets[0].fingerprint


def test_equal_definitions_give_equal_bytes_in_any_folder_and_order_of_modules(load: Load) -> None:
    files = {
        "a.py": GOOD,
        "b.py": "@asset\ndef up() -> Relation: ...\n@check(up)\ndef fine(up: Relation) -> bool: return True\n",
        "bad.py": "open('/nope')\n",
    }
    one = load(files, "a", "b", "bad", folder="one").snapshot
    other = load(files, "bad", "b", "a", folder="other/deep").snapshot
    assert canonical_json(one) == canonical_json(other)
    assert snapshot_hash(one) == snapshot_hash(other)
    assert "/nope" in json.dumps(errors_of(type("L", (), {"snapshot": one})))


def test_a_missing_folder_and_no_modules_are_errors_of_the_location(load: Load, tmp_path: Any) -> None:
    from partita.sdk.runtime import load_location

    with pytest.raises(DefinitionError, match="is no folder"):
        load_location("here", tmp_path / "nowhere", ["a"])
    with pytest.raises(DefinitionError, match="names no module"):
        load_location("here", tmp_path, [])


@pytest.mark.parametrize("changed", ["return 'b'", "factor: int = 3", "def used() -> int: return 2"])
def test_resources_params_and_helpers_are_code_of_the_asset(load: Load, changed: str) -> None:
    body = """
    from pydantic import BaseModel
    def used() -> int: return 1
    class Params(BaseModel):
        factor: int = 2
    class Shop(Resource):
        def query(self) -> str:
            return 'a'
    @asset(io=None)
    def orders(shop: Shop, params: Params) -> None:
        print(shop.query(), used())
    @asset(io=None)
    def apart() -> None:
        print('nothing of it')
    """
    original = {"return 'b'": "return 'a'", "factor: int = 3": "factor: int = 2"}.get(
        changed, "def used() -> int: return 1"
    )
    one = {spec.key: spec.fingerprint for spec in load({"m.py": body}).snapshot.assets}
    other = {spec.key: spec.fingerprint for spec in load({"m.py": body.replace(original, changed)}).snapshot.assets}
    assert one["orders"] != other["orders"]
    assert one["apart"] == other["apart"]


def test_the_body_of_an_upstream_is_not_code_of_its_consumer(load: Load) -> None:
    body = """
    @asset
    def up() -> Relation:
        return Relation.from_sql("select 1")
    @asset
    def down(rows: Annotated[Relation, From(up)]) -> Relation:
        return rows
    """
    one = {spec.key: spec for spec in load({"m.py": body}).snapshot.assets}
    other = {spec.key: spec for spec in load({"m.py": body.replace("select 1", "select 2")}).snapshot.assets}
    assert one["up"].fingerprint != other["up"].fingerprint
    assert one["down"].fingerprint == other["down"].fingerprint
    assert one["down"].dependency_hash == other["down"].dependency_hash


def test_another_upstream_or_mapping_is_another_dependency(load: Load) -> None:
    body = """
    @asset
    def up() -> Relation: ...
    @asset
    def up2() -> Relation: ...
    @asset
    def down(rows: Annotated[Relation, From("up")]) -> Relation:
        return rows
    """
    variants = [
        body,
        body.replace('From("up")', 'From("up2")'),
        body.replace('From("up")', 'From("up", last())'),
    ]
    found = [load({"m.py": one}).snapshot.assets[0] for one in variants]
    assert len({one.dependency_hash for one in found}) == 3
    assert len({one.fingerprint for one in found}) == 1


def test_an_error_text_holds_nothing_that_changes_from_run_to_run(load: Load) -> None:
    location = load({"bad.py": "raise ValueError(object())\n"})
    assert errors_of(location)["bad"].endswith("ValueError: <object object at 0x...>")


def test_the_snapshot_carries_every_option(load: Load) -> None:
    body = """
    from pydantic import BaseModel
    class P(BaseModel):
        n: int = 1
    @asset(key="a/b", partitions=Static("x"), retries=RetryPolicy(2), timeout="5m", deadline="9h", pool={"w": 2}, priority=3,
           batch=up_to(4), automation=eager(), code_version="7", group="g", owner="o", tags={"t": "1"}, kinds=["sql"],
           description="D", isolation="spawn", metadata={"m": 1}, io="duckdb:shop.duckdb", deps=["far/away"])
    def made(params: P) -> Relation: ...
    """
    (spec,) = load({"m.py": body}).snapshot.assets
    assert spec.deadline_s == 32_400.0
    assert (spec.key, spec.step, spec.timeout_s, spec.priority, spec.batch.type) == ("a/b", "a/b", 300.0, 3, "up_to")
    assert [(one.name, one.slots) for one in spec.pools] == [("duckdb:shop.duckdb", 1), ("w", 2)]
    assert (spec.automation.type, spec.code_version, spec.group, spec.owner) == ("eager", "7", "g", "o")
    assert (spec.tags, spec.kinds, spec.description, spec.isolation) == ({"t": "1"}, ("sql",), "D", "spawn")
    assert (spec.metadata, spec.io) == ({"m": 1}, "duckdb:shop.duckdb")
    assert [(one.name, one.upstream, one.kind) for one in spec.inputs] == [("dep:far/away", "far/away", "order")]
    assert spec.params_schema["properties"]["n"]["default"] == 1
    assert (spec.source.module, spec.source.file) == ("m", "m.py")


def test_a_module_is_what_its_text_says_even_when_it_changed_within_the_second(load: Load, tmp_path: Any) -> None:
    """A cache of byte code goes by whole seconds and sizes: here both are the same, and a cache lies there."""
    body = "@asset(io=None, tags={'answer': '%s'})\ndef one() -> None: print(1)\n"
    first = load({"twice.py": body % "1"})
    file = tmp_path / "location" / "twice.py"
    py_compile.compile(str(file), doraise=True)
    kept = file.stat()
    load({"twice.py": body % "2"})
    os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    again = load_location("here", tmp_path / "location", ["twice"])
    assert [dict(one.snapshot.assets[0].tags) for one in (first, again)] == [{"answer": "1"}, {"answer": "2"}]


@pytest.mark.parametrize(("pinned", "moves"), [("", True), (', code_version="1"', False)])
def test_other_partition_columns_are_other_code(load: Load, pinned: str, moves: bool) -> None:
    """They say which rows lie in which partition: what lies elsewhere now must not count as fresh."""
    body = """
        from partita.sdk import asset
        @asset(partitions=Static("a", "b"), batch=any_size(), partition_columns={columns!r}{pinned})
        def orders(context: Context) -> Relation:
            return Relation.from_rows([{{"shop": "a", "seller": "b"}}])
        """
    first, second, again = (
        load({"m.py": body.format(columns=columns, pinned=pinned)}, folder=f"location{at}").snapshot
        for at, columns in enumerate(("shop", "seller", "shop"))
    )
    assert snapshot_hash(first) == snapshot_hash(again) != snapshot_hash(second), "the version of the location says so"
    assert (first.assets[0].fingerprint != second.assets[0].fingerprint) is moves
    told = {name for name in first.steps[0].code if first.steps[0].code[name] != second.steps[0].code[name]}
    assert told == {"partition_columns of orders"}
