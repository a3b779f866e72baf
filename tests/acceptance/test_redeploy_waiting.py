"""New code while steps wait, over real processes: a reload leaves them to their version; a restart loses it, and they are
asked for again on the code of now, which says so (DESIGN section 6, "Snapshots").
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.acceptance.conftest import Deploy

from partita.core.runtime.deployed import Deployed

TOML = """
[[location]]
name = "shop"
root = "."
modules = ["assets"]
[triggerer]
lease_s = 3
[code_server]
version_grace_s = {grace}
"""

ASSETS = """
from partita.sdk import Context, Relation, asset
from partita.sdk.triggers import FileExists


@asset(wait_for=FileExists("{folder}/first.{kind}").within("1h", poll="0.2s"))
def first(context: Context) -> Relation:
    return Relation.from_rows([{{"file": context.events[0].payload[0]}}])


@asset
def second(context: Context) -> Relation:
    found = context.defer(FileExists("{folder}/second.{kind}"), deadline="1h", poll="0.2s")
    return Relation.from_rows([{{"file": found[0]}}])


@asset
def third(first: Relation) -> Relation:
    return first
"""

TASKS = "SELECT step, state FROM task WHERE run_id = %s ORDER BY step"
WATCHED = "SELECT count(*) FROM wait WHERE state = 'open' AND triggerer_id IS NOT NULL"
LAST_RUN = "SELECT max(id) FROM run"


@pytest.fixture
def folder(scratch: Path) -> Path:
    made = scratch / "in"
    made.mkdir()
    return made


def waiting(deploy: Deploy, folder: Path, *, grace_s: int) -> Deployed:
    """A deployment in which both steps wait for files that end in `csv`."""
    files = {"partita.toml": TOML.format(grace=grace_s), "assets.py": ASSETS.format(folder=folder, kind="csv")}
    deployment = deploy(files)
    for command in (("scheduler",), ("code-server", "--location", "shop"), ("worker",), ("triggerer",)):
        deployment.start(*command)
    deployment.wait_serving()
    deployment.run("materialize", "first or second or third", "--yes", "--no-wait")
    deployment.wait("both wait and are watched", lambda: deployment.query(WATCHED) == [(2,)])
    return deployment


def newer_code(deployment: Deployed, folder: Path) -> None:
    """Files that end in `json` are waited for now."""
    (deployment.folder / "assets.py").write_text(ASSETS.format(folder=folder, kind="json"))


def run_of(deployment: Deployed) -> int:
    return int(deployment.query(LAST_RUN)[0][0])


def test_a_reload_leaves_what_waits_to_its_version(deploy: Deploy, folder: Path) -> None:
    shop = waiting(deploy, folder, grace_s=1)
    newer_code(shop, folder)
    shop.run("locations", "reload", "shop", "--yes")
    shop.wait("the new version is active", lambda: len(shop.query("SELECT id FROM snapshot")) == 2)
    for name in ("first.csv", "second.csv"):
        (folder / name).touch()
    done = [("first", "success"), ("second", "success"), ("third", "success")]
    shop.wait("the files of the old code are found", lambda: shop.query(TASKS, run_of(shop)) == done)
    assert shop.query("SELECT count(*) FROM run") == [(1,)]


def test_a_restart_on_newer_code_asks_for_them_again(deploy: Deploy, folder: Path) -> None:
    shop = waiting(deploy, folder, grace_s=600)
    old = run_of(shop)
    shop.stop("code-server")
    newer_code(shop, folder)
    shop.start("code-server", "--location", "shop")
    said = "no server has had the version of its run since"
    shop.wait("it is said that nobody can look any more", lambda: said in " ".join(shop.run("why", "first").split()))
    assert "planned again on the code of now" in " ".join(shop.run("why", "second").split())
    assert shop.query("SELECT count(*) FROM run") == [(1,)], "for the grace they wait: the version may come back"

    shop.stop("scheduler")
    config = shop.folder / "partita.toml"
    config.write_text(config.read_text().replace("= 600", "= 1"))
    shop.start("scheduler")
    shop.wait("they are asked for again", lambda: shop.query(WATCHED) == [(2,)] and run_of(shop) > old)
    assert shop.query(TASKS, old) == [("first", "removed"), ("second", "removed"), ("third", "upstream_failed")]
    ((error,),) = shop.query("SELECT error FROM task WHERE run_id = %s AND step = 'second'", old)
    assert "no server of location shop has had version" in error
    assert "planned again on the code of now" in error
    for name in ("first.json", "second.json"):
        (folder / name).touch()
    done = [("first", "success"), ("second", "success"), ("third", "success")]
    shop.wait("the files of the new code are found", lambda: shop.query(TASKS, run_of(shop)) == done)
