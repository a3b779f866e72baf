"""Code that changed while its server was down is active soon after it starts again, however the old server ended (S-060)."""

from __future__ import annotations

import pytest

from partita.core.runtime.deployed import Deployed

from .conftest import Deploy

TOML = """
[[location]]
name = "shop"
root = "."
modules = ["assets"]
"""

ASSETS = """
from partita.sdk import Relation, asset


@asset
def {name}() -> Relation: ...
"""


def write(deployment: Deployed, name: str) -> None:
    (deployment.folder / "assets.py").write_text(ASSETS.format(name=name))


def wait_active(deployment: Deployed, name: str) -> None:
    deployment.wait(f"{name} is active", lambda: name in deployment.run("assets"))


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_dev_that_starts_again_serves_the_code_of_now(deploy: Deploy, end: str) -> None:
    shop = deploy({"partita.toml": TOML, "assets.py": ASSETS.format(name="before")})
    shop.start("dev")
    wait_active(shop, "before")
    if end == "stop":
        shop.stop("dev")
    else:
        shop.kill("dev")
    write(shop, "afterwards")
    shop.start("dev")
    wait_active(shop, "afterwards")


def test_a_newer_server_takes_over_once_the_older_one_is_gone(deploy: Deploy) -> None:
    shop = deploy({"partita.toml": TOML, "assets.py": ASSETS.format(name="before")})
    shop.start("scheduler")
    shop.start("code-server", "--location", "shop", name="older")
    wait_active(shop, "before")
    shop.stop("scheduler")
    write(shop, "afterwards")
    shop.start("code-server", "--location", "shop", name="newer")
    shop.wait("both have loaded", lambda: shop.log.read_text().count("serves version") == 2)
    shop.start("scheduler")
    said = "is not made active while another server has the active one"
    shop.wait("the newer one is behind", lambda: said in shop.log.read_text())
    assert "before" in shop.run("assets"), "which of two servers is met second must not decide (S-068)"
    shop.stop("older")
    wait_active(shop, "afterwards")
