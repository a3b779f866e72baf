"""Who may ask: other sites may not make a browser change something, nor reach a loopback API under a rebound name."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from partita.ui.api.guard import LOOPBACK, refused
from partita.ui.api.server import hosts_of

HERE = "127.0.0.1:4040"


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("POST", {"host": HERE}),  # a program
        ("POST", {"host": HERE, "origin": f"http://{HERE}", "sec-fetch-site": "same-origin"}),
        ("GET", {"host": "localhost:4040", "origin": "http://evil.example", "sec-fetch-site": "cross-site"}),
        ("GET", {"host": "[::1]:4040"}),
        ("GET", {"host": "partita.localhost:4040"}),
        ("GET", {}),
    ],
)
def test_own_pages_and_programs_pass(method: str, headers: dict[str, str]) -> None:
    assert refused(method, Headers(headers), LOOPBACK) is None


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("POST", {"host": HERE, "origin": "http://evil.example"}),
        ("POST", {"host": HERE, "origin": "null"}),
        ("POST", {"host": HERE, "sec-fetch-site": "cross-site"}),
        ("POST", {"host": HERE, "sec-fetch-site": "same-site"}),
        ("GET", {"host": "evil.example:4040"}),
        ("POST", {"host": "evil.example:4040", "origin": "http://evil.example:4040", "sec-fetch-site": "same-origin"}),
        ("GET", {"host": "[::1"}),
    ],
)
def test_other_sites_and_rebound_names_do_not(method: str, headers: dict[str, str]) -> None:
    assert refused(method, Headers(headers), LOOPBACK) is not None


def test_names_are_checked_on_loopback_and_left_to_the_proxy_elsewhere() -> None:
    assert hosts_of("127.0.0.1", ["data.example"]) == LOOPBACK | {"data.example"}
    assert hosts_of("0.0.0.0", []) is None
