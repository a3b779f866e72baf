"""A deployment over its life: modules that break, code that changes, code that is only reformatted (S-055, S-056, S-060)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from partita.core.runtime.deployed import Deployed

from .conftest import Deploy
from .flights_copy import CONFIG, MARTS, RAW, broken_by, copy_flights, edit, reformatted, reload, with_gusts

DAYS = ("--from", "2013-01-07", "--to", "2013-01-08")


@pytest.fixture(scope="module")
def deployment(deploy_shared: Deploy, shared_scratch: Path, flights_source: Path) -> Deployed:
    """The flights example in a folder that may be changed, served by `partita dev`. Each test leaves the code as it was."""
    copy_flights(shared_scratch / "project")
    made = deploy_shared({"partita.toml": CONFIG}, env={"FLIGHTS_SOURCE": str(flights_source)})
    made.start("dev")
    made.wait_serving()
    return made


@pytest.mark.parametrize(
    ("breakage", "complaint"),
    [
        ("raise RuntimeError('typo')", "typo"),
        # Costs its limit; in `make test` tests/integration/code_location has one that hangs.
        pytest.param("import time; time.sleep(3600)", "20 s", marks=pytest.mark.prove),
    ],
)
def test_a_broken_module_breaks_only_itself(deployment: Deployed, breakage: str, complaint: str) -> None:
    materialize(deployment, "raw/airlines", "--mode", "all")
    good = (deployment.folder / RAW).read_text()
    edit(deployment, RAW, broken_by(breakage))
    reload(deployment, loads=False)
    flights = location(deployment, "flights")
    broken = {module["name"]: module["error"] for module in flights["modules"] if not module["ok"]}
    assert complaint in broken["flights_location.raw"]
    # What reads the broken module's assets by their names cannot be resolved anew, and says why.
    assert "flights_location.raw" in broken["flights_location.marts"]
    assert complaint in deployment.run("locations")
    # Its assets keep their last good definitions, are shown with the error, and run on the version that has them.
    assets = {asset["key"]: asset for asset in json.loads(deployment.run("assets", "--json"))["assets"]}
    assert assets["raw/flights"]["load_error"]
    assert not assets["route_health"]["load_error"]
    materialize(deployment, "raw/airlines", "--mode", "all")
    # All the others run too: of the same location, and of another one.
    materialize(deployment, "delays or route_health", *DAYS, "--upstream")
    (deployment.folder / RAW).write_text(good)
    reload(deployment)
    assert all(module["ok"] for module in location(deployment, "flights")["modules"])


def test_only_changed_code_makes_stale_and_only_what_it_reaches(deployment: Deployed) -> None:
    materialize(deployment, "raw/* or delays or route_health", *DAYS)
    materialize(
        deployment, "carrier_month or origin_week", *DAYS, ok=(1,)
    )  # of their weeks and months only two days are there
    assert planned(deployment) == {}
    # Comments, docstrings and line breaks are not code.
    edit(deployment, MARTS, reformatted)
    reload(deployment)
    assert planned(deployment) == {}
    edit(deployment, MARTS, with_gusts)
    reload(deployment)
    stale = planned(deployment)
    assert set(stale) == {"delays", "route_health"}
    assert stale["delays"]["stale_code"] == 2
    assert stale["route_health"] == {"stale_data": 2}


def location(deployment: Deployed, name: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = json.loads(deployment.run("locations", "--json"))
    return next(one for one in found if one["name"] == name)


def materialize(deployment: Deployed, selection: str, *options: str, ok: tuple[int, ...] = (0,)) -> None:
    deployment.run("materialize", selection, *options, "--yes", ok=ok)


def planned(deployment: Deployed) -> dict[str, dict[str, int]]:
    """What a plan of the two days would make, by asset and reason."""
    selection = "raw/* or delays or route_health"
    plan = json.loads(deployment.run("plan", selection, *DAYS, "--json"))
    return {
        asset["key"]: {reason: found["count"] for reason, found in asset["by_reason"].items() if found["count"]}
        for asset in plan["assets"]
    }
