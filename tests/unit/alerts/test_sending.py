"""Nothing of an address leaves the sender, whatever the library says of it."""

from __future__ import annotations

import logging

import pytest

from partita.core.alerts.rules import Routing, Target
from partita.core.alerts.sending import cleaned, problem_of, send
from partita.core.config_alerts import AlertConfig
from partita.core.store.values_alerts import NoticeKind

SECRET = "T0ps3cretT0ken"
REFUSED = f"json://user:{SECRET}@127.0.0.1:1/{SECRET}/hook?+X-Key={SECRET}"


def test_an_error_holds_nothing_of_the_address(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG):
        error = send(REFUSED, "title", "body", NoticeKind.PROBLEM)
    assert error is not None
    out, err = capfd.readouterr()
    for text in (error, caplog.text, out, err):
        assert SECRET not in text
        assert "user" not in text


def test_what_is_percent_encoded_is_cleaned_too() -> None:
    assert cleaned("login as p@ss word failed", "mailto://p%40ss%20word@mail.example.com") == "login as … failed"


def test_an_address_that_nobody_knows_is_refused() -> None:
    assert problem_of("nonsense") is not None
    assert problem_of("nosuch://host") is not None
    assert problem_of("json://localhost:8080/hook") is None
    assert send("nosuch://host", "t", "b", NoticeKind.TEST) == "this is no address that the apprise library knows"


def test_a_target_shows_its_scheme_only() -> None:
    routing = Routing(
        [AlertConfig(name="a", on=("late",), to=(REFUSED, "$HOOK"))], environ={"HOOK": f"slack://{SECRET}"}
    )
    targets = [routing.target(f"alert:a#{n}") for n in (1, 2)]
    assert [one.scheme for one in targets if isinstance(one, Target)] == ["json", "slack"]
    assert SECRET not in repr(targets)
