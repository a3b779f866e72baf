"""`partita run`: one asset in a process of the terminal, as a person meets it (law 1, S-045)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from partita.assets import AssetKey, Daily, PartitaError, PartitionsDef
from partita.sdk import InputCell, Lake, Relation
from partita.sdk.io.base import WriteContext
from partita.sdk.runtime import TargetCell
from partita.sdk.testing import load, materialize_location
from partita.ui.cli import run

SHOP = '''
import os
from partita.sdk import Context, Daily, Relation, asset, check, defaults
from pydantic import BaseModel

defaults(owner="team:shop")
days = Daily("2026-03-01", end="2026-03-05")


class Scale(BaseModel):
    by: int = 1


@asset(key="raw/orders", partitions=days)
def orders(context: Context, scale: Scale) -> Relation:
    """Orders of a day."""
    print("printed by the asset")
    context.log.info("orders of %s", context.partition.key)
    assert "PARTITA_DATABASE_URL" not in os.environ
    return Relation.from_rows([{"day": context.partition.key, "amount": n * scale.by} for n in range(3)])


@asset(partitions=days)
def revenue(orders: Relation) -> Relation:
    """What a day earned."""
    return orders.sql("select day, sum(amount)::bigint as amount from self group by day")


@check(revenue)
def revenue_is_positive(revenue: Relation) -> bool:
    return bool(revenue.sql("select min(amount) > 0 from self").scalar())


@asset
def stopped() -> Relation:
    breakpoint()
    return Relation.from_rows([{"a": 1}])


@asset
def raises() -> Relation:
    raise ValueError("no such table")


@asset(io=None)
def by_itself() -> None:
    open("by_itself.txt", "w").close()
'''
HIDDEN = {"PARTITA_DATABASE_URL", "PARTITA_HOME", "PARTITA_PROJECT", "PARTITA_LAKE"}
CONFIG = '[[location]]\nname = "shop"\nmodules = ["shop"]\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "partita.toml").write_text(CONFIG)
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


def partita(project: Path, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    return subprocess.run(
        [sys.executable, "-m", "partita.ui.cli", *arguments],
        cwd=project, env={**env, "PYTHONDONTWRITEBYTECODE": "1"}, input=typed, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip


def told(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


def files(project: Path) -> set[str]:
    return {one.name for one in project.iterdir()}


def test_one_partition_with_its_upstream_and_nothing_is_written(project: Path) -> None:
    before = files(project)
    done = partita(project, "run", "shop.py::revenue", "--partition", "2026-03-02", "--upstream")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "revenue 2026-03-02: written, 1 rows" in done.stdout
    assert "check revenue_is_positive on revenue 2026-03-02: passed" in done.stdout
    assert "orders of 2026-03-02" in done.stderr, "logs are seen while it runs"
    assert "Nothing was kept" in done.stdout
    assert files(project) == before


def test_what_it_prints_and_json_do_not_mix_and_params_reach_it(project: Path) -> None:
    done = partita(project, "run", "raw/orders", "--partitions", "latest 2", "--param", "by=5", "--json")
    assert done.returncode == 0, done.stderr
    found = told(done)
    assert [one["partition"] for one in found["cells"]] == ["2026-03-03", "2026-03-04"]
    assert [one["amount"] for one in found["rows"]["raw/orders"]] == [0, 5, 10, 0, 5, 10]
    assert "printed by the asset" in done.stderr


def test_write_keeps_the_files_apart(project: Path) -> None:
    done = partita(project, "run", "orders", "--partition", "2026-03-01", "--write", "kept", "--json")
    assert done.returncode == 0, done.stderr
    assert told(done)["folder"] == str(project / "kept")
    assert list((project / "kept" / "raw" / "orders").glob("*.parquet"))


def test_a_breakpoint_stops_in_this_terminal(project: Path) -> None:
    done = partita(project, "run", "shop.py::stopped", typed="p 6 * 7\nc\n")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "(Pdb) 42" in done.stdout
    assert "stopped: written, 1 rows" in done.stdout


def test_what_fails_says_where(project: Path) -> None:
    done = partita(project, "run", "raises")
    assert done.returncode == 1
    assert "ValueError: no such table" in done.stdout
    assert 'shop.py", line' in done.stdout


def test_refusals_name_the_thing_the_rule_and_the_fix(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The terminal's side in this process, the location's in one of its own."""
    monkeypatch.chdir(project)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    for name in HIDDEN:
        monkeypatch.delenv(name, raising=False)
    before = files(project)
    for arguments, expected in (
        (["shop.py::revenue", "--partition", "2026-03-02"], "this project has no deployment yet"),
        (["shop.py::revenu"], "did you mean 'revenue'?"),
        (["shop.py::revenue"], "no partitions were asked for"),
        (["shop.py::revenue", "--partition", "2027-01-01"], "2027-01-01"),
        (["nowhere.py::revenue"], "there is no file"),
        (["partita.toml::revenue"], "belongs to no location"),
        (["by_itself"], "--write FOLDER"),
        (["revenue", "--location", "shoop"], "did you mean 'shop'?"),
    ):
        capfd.readouterr()
        code = run(["run", *arguments])
        said = capfd.readouterr()
        assert code == 2, (arguments, said)
        assert expected in said.err, (arguments, said)
    assert files(project) == before


def test_a_module_that_does_not_load_is_told(project: Path) -> None:
    (project / "shop.py").write_text("raise RuntimeError('the warehouse is closed')")
    done = partita(project, "run", "shop.py::revenue")
    assert done.returncode == 2
    assert "the warehouse is closed" in done.stderr


class Deployed:
    """A deployment as a run sees it: one lake file that is published as some partitions of assets of elsewhere."""

    def __init__(self, location: str, published: set[str]) -> None:
        self.location = location
        self.published = published
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def scheme(self, key: AssetKey) -> PartitionsDef | None:
        return Daily("2026-03-01", end="2026-03-05")

    def keys(self, scheme: str) -> Sequence[str]:
        return ("globex", "acme, inc") if scheme == "customers" else ()

    def cells(self, key: AssetKey, partitions: Sequence[str]) -> Mapping[str, InputCell]:
        self.asked.append((key, tuple(partitions)))
        return {one: InputCell(one, "v1", self.location) for one in partitions if one in self.published}


ELSEWHERE = """
from typing import Annotated
from partita.sdk import Daily, From, Relation, asset, overlap, remote

days = Daily("2026-03-01", end="2026-03-05")

@asset(partitions=days)
def total(
    prices: Annotated[Relation, From(remote("market/prices"))],
    total: Annotated[Relation | None, From("total", overlap(-1, -1))],
) -> Relation:
    before = 0 if total is None else total.scalar()
    return Relation.from_rows([{"n": prices.count() + before}])
"""


def test_upstreams_of_other_locations_and_its_own_earlier_partitions_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "elsewhere_totals.py").write_text(ELSEWHERE)
    location = load(tmp_path, "elsewhere_totals")
    rows = Relation.from_rows([{"n": 3}])
    cells = (TargetCell("market/prices", "2026-03-02"),)
    written = Lake(root=tmp_path / "lake").write(WriteContext(AssetKey("market/prices"), "a", 1, cells), rows)
    deployed = Deployed(written[0].location, {"2026-03-01", "2026-03-02"})
    result = materialize_location(location, ["total"], partitions="2026-03-02", published=deployed)
    assert result.read("total").scalar() == 1 + 3
    assert deployed.asked == [("market/prices", ("2026-03-02",)), ("total", ("2026-03-01",))]
    with pytest.raises(PartitaError, match="no published partition '2026-03-03'") as refused:
        materialize_location(location, ["total"], partitions="2026-03-03", published=deployed)
    assert refused.value.fix == "materialize it first: partita materialize market/prices"
