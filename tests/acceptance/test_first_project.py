"""From nothing to a project that runs, follows edits: init, check, dev, materialize, edit (S-045)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from partita.core.runtime.deployed import Deployed
from partita.ui.cli import run

CHANGED = ("10 + hour / 2", "11 + hour / 2")
BREAKS = ("days = Daily", "raise RuntimeError('typo')\ndays = Daily")


@pytest.fixture
def project(scratch: Path) -> Path:
    """A project as `partita init` makes it."""
    assert run(["init", str(scratch / "weather"), "--json"]) == 0
    return scratch / "weather"


def test_a_new_project_runs_and_follows_edits(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    module = project / "weather.py"
    with Deployed(project) as deployment:
        assert "2 assets" in deployment.run("check")
        deployment.start("dev")
        deployment.wait_serving()
        deployment.run("materialize", "readings", "--partitions", "all", "--yes")
        deployment.wait(
            "the summary follows by itself",
            lambda: states(deployment, "summary") == {"fresh": 7},
        )

        # A run of the terminal reads what is published, says what it made, and publishes nothing.
        tried = json.loads(deployment.run("run", "weather.py::summary", "--partitions", "latest", "--json"))
        assert [(one["n"], one["mean"]) for one in tried["rows"]["summary"]] == [(24, 15.75)]
        assert states(deployment, "summary") == {"fresh": 7}

        module.write_text(module.read_text().replace(*CHANGED))
        deployment.wait("changed code makes stale", lambda: states(deployment, "readings") == {"stale": 7})

        good = module.read_text()
        module.write_text(good.replace(*BREAKS))
        deployment.wait(
            "a broken module is told",
            lambda: "typo" in deployment.run("locations"),
        )
        module.write_text(good)
        deployment.wait(
            "and mended",
            lambda: deployment.query("SELECT state FROM location") == [("serving",)],
        )
        assert states(deployment, "readings") == {"stale": 7}


def test_diff_tells_what_a_deployment_would_do_before_it_happens(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """S-055, S-056, law 6."""
    capsys.readouterr()
    module = project / "weather.py"
    good = module.read_text()
    with Deployed(project) as deployment:
        deployment.start("dev", "--no-reload")
        deployment.wait_serving()
        deployment.run("materialize", "*", "--partitions", "all", "--yes")
        assert diff(deployment) == (0, {"empty": True, "outcome": "nothing_stale"})

        module.write_text(
            good.replace("return Relation.from_rows", "# only told otherwise\n    return Relation.from_rows")
        )
        assert diff(deployment) == (0, {"empty": True, "outcome": "nothing_stale"})

        module.write_text(good.replace(*CHANGED))
        code, told = diff(deployment, "weather")
        assert (code, told["outcome"]) == (1, "costs")
        assert told["locations"][0]["changed"][0]["code"]["text"] == "weather.readings changed"
        assert {one["asset"]: (one["stale"], one["upstream_stale"]) for one in told["impacts"]} == {
            "readings": (7, 0),
            "summary": (0, 7),
        }
        text = deployment.run("diff", ok=(1,))
        assert "~ readings  7 of 7 published become stale" in text
        assert "code: weather.readings changed" in text

        module.write_text(
            good.replace("def summary(", "def day_summary(").replace("@check(summary", "@check(day_summary")
        )
        code, told = diff(deployment)
        assert code == 2, "its check reads a parameter by the asset's name"
        assert told["problems"]

        module.write_text(
            good.replace("@asset(partitions=days, auto", '@asset(key="marts/summary", partitions=days, auto')
        )
        code, told = diff(deployment)
        assert (code, told["locations"][0]["removed"]) == (1, ["summary"])
        assert [one["after"] for one in told["locations"][0]["likely_renames"]] == ["marts/summary"]

        module.write_text(good.replace(*BREAKS))
        code, told = diff(deployment)
        assert (code, told["outcome"]) == (2, "refused")
        assert "typo" in told["problems"][0]
        assert states(deployment, "summary") == {"fresh": 7}, "nothing of all this was deployed"


def diff(deployment: Deployed, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit code and answer; of an answer without problems and differences only the verdict."""
    done = deployment.complete("diff", *arguments, "--json")
    told = json.loads(done.stdout)
    assert done.returncode == {"nothing_stale": 0, "costs": 1, "refused": 2}[told["outcome"]]
    return done.returncode, {name: told[name] for name in ("empty", "outcome")} if told["empty"] else told


def states(deployment: Deployed, key: str) -> dict[str, int]:
    found = json.loads(deployment.run("assets", key, "--json"))["assets"]
    counts: dict[str, int] = found[0]["counts"]
    return counts
