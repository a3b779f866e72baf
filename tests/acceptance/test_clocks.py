"""A deployment asks by itself for what closed last, and its consumers follow: nobody presses anything (S-002, S-049)."""

from __future__ import annotations

from partita.core.runtime.deployed import Deployed

from .conftest import Deploy

CONFIG = """
[[location]]
name = "nightly"
modules = ["nightly_assets"]
"""
ASSETS = """
from partita.sdk import Context, Daily, Output, asset, defaults, eager, on_close

defaults(owner="team:test")
days = Daily("2026-01-01", tz="Europe/Berlin")

@asset(partitions=days, automation=on_close("1s", catch_up="latest"), io=None)
def orders(context: Context) -> Output:
    return Output(data_version="1")

@asset(partitions=days, deps=["orders"], automation=eager(), io=None)
def totals(context: Context) -> Output:
    return Output(data_version="1")
"""


def test_what_closed_last_is_made_and_followed(deploy: Deploy) -> None:
    deployment = deploy({"partita.toml": CONFIG, "nightly_assets.py": ASSETS})
    deployment.start("dev")
    deployment.wait_serving()
    # Of whatever day closed last: midnight may pass in between.
    deployment.wait("totals follow", lambda: made(deployment, "totals") == made(deployment, "orders") != [])
    shown = deployment.run("automation")
    assert "on_close(lag='1s', catch_up='latest')" in shown
    told = deployment.run("automation", "test", "orders", "--partitions", made(deployment, "orders")[-1])
    assert "the condition of orders" in told


def made(deployment: Deployed, key: str) -> list[str]:
    found = deployment.query(
        "SELECT c.partition FROM cell c JOIN asset a ON a.id = c.asset_id WHERE a.key = %s AND c.data_version IS NOT NULL"
        " ORDER BY c.partition",
        key,
    )
    return [row[0] for row in found]
