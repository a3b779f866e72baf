"""The year of the flights example, from empty to up to date, and what a change of code makes of it (in `make prove`)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from partita.core.runtime.deployed import Deployed

from .conftest import Deploy
from .flights_copy import CONFIG, MARTS, copy_flights, edit, reformatted, reload, with_gusts


@pytest.mark.prove
@pytest.mark.timeout(3600)
def test_the_year(deploy: Deploy, scratch: Path, flights_source: Path) -> None:
    copy_flights(scratch / "project")
    deployment = deploy({"partita.toml": CONFIG}, env={"FLIGHTS_SOURCE": str(flights_source)})
    deployment.start("dev")
    deployment.wait_serving()
    deployment.run("backfill", "create", "*", "--from", "2013-01-01", "--to", "2013-12-31", "--yes")
    assert "Nothing to do" in deployment.run("plan", "*")
    edit(deployment, MARTS, reformatted)
    reload(deployment)
    assert "Nothing to do" in deployment.run("plan", "*")
    edit(deployment, MARTS, with_gusts)
    reload(deployment)
    stale = {asset["key"]: asset["cells"] for asset in json.loads(deployment.run("plan", "*", "--json"))["assets"]}
    # `delays` and what is made from it, whole; nothing beside and nothing above.
    assert stale == {"delays": 365, "carrier_month": 12 * 16, "origin_week": 51 * 3, "route_health": 365}
    assert unchanged_figures(deployment) == 365


def unchanged_figures(deployment: Deployed) -> int:
    """A plan changes nothing: every day of `delays` still is what was published."""
    [(days,)] = deployment.query(
        "SELECT count(*) FROM cell c JOIN asset a ON a.id = c.asset_id WHERE a.key = 'delays' AND c.data_version IS NOT NULL"
    )
    return int(days)
