"""From nothing to a project that runs, follows edits: init, check, dev, materialize, edit (S-045)."""

from __future__ import annotations

import json
from pathlib import Path

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


def states(deployment: Deployed, key: str) -> dict[str, int]:
    found = json.loads(deployment.run("assets", key, "--json"))["assets"]
    counts: dict[str, int] = found[0]["counts"]
    return counts
