"""Messages on their real way: Postgres, the outbox, apprise, a mail server, a webhook (S-202)."""

from __future__ import annotations

import logging
import threading
from typing import Any

import psycopg
import pytest

from partita.core.alerts import Matchers, Routing, deliver, raise_alerts, watch_alerts
from partita.core.catalog import CatalogInputs
from partita.core.config_alerts import AlertConfig, OwnerConfig
from partita.core.duties.claim import claim
from partita.core.duties.leases import register
from partita.core.store.values import WorkerId

SECRET = "T0ps3cret"


@pytest.fixture
def failing(world: Any) -> Any:
    """Three partitions of `raw/flights` failed for good."""
    world.activate([one.model_copy(update={"owner": "team:ops"}) for one in world.assets])
    world.launch("raw/flights", partitions="2013-01-01..2013-01-03")
    world.work(result=world.failed)
    return world


def routing_of(*rules: AlertConfig, ops: OwnerConfig | None = None) -> Routing:
    owners = {} if ops is None else {"team:ops": ops}
    return Routing(rules, owners, link="https://partita.example.com", environ={})


def rule(*to: str, **more: Any) -> AlertConfig:
    return AlertConfig(name="nightly", on=("retries_exhausted",), to=to, wait=0, every=0, **more)


def raised(world: Any, routing: Routing) -> None:
    while raise_alerts(world.store, Matchers(routing, world.catalogs)).more:
        pass


def states(world: Any) -> list[tuple[str, int, str | None]]:
    with psycopg.connect(world.url) as connection:
        return connection.execute("SELECT state, tries, error FROM notice ORDER BY id").fetchall()


def due_now(world: Any) -> None:
    with psycopg.connect(world.url) as connection:
        connection.execute("UPDATE notice SET due_at = now()")


def test_the_owner_gets_one_mail_with_what_failed(failing: Any, mail: Any) -> None:
    url = f"mailto://127.0.0.1:{mail.port}?from=partita@example.com&to=ops@example.com&format=text"
    routing = routing_of(rule(), ops=OwnerConfig(to=(url,), runbook="https://wiki.example.com/flights"))
    raised(failing, routing)
    assert deliver(failing.store, routing).sent == 1
    (message,) = mail.messages
    assert message["Subject"] == "[warning] 3 cells of 1 asset failed"
    assert message["To"] == "ops@example.com"
    body = message.get_content()
    assert "raw/flights 2013-01-02 failed and is not tried again: ValueError: no such column 'dep_delay'" in body
    assert "runbook: https://wiki.example.com/flights" in body
    assert "https://partita.example.com/alerts" in body
    assert deliver(failing.store, routing).sent == 0


def test_a_webhook_gets_the_problem_and_its_end(failing: Any, hook: Any) -> None:
    routing = routing_of(rule(hook.url("/one"), recovery=True))
    raised(failing, routing)
    assert deliver(failing.store, routing).sent == 1
    failing.launch("raw/flights", partitions="2013-01-01..2013-01-03")
    failing.work()
    assert watch_alerts(failing.store, Matchers(routing, failing.catalogs)).ended == 3
    assert deliver(failing.store, routing).sent == 1
    assert [(one["title"], one["type"], one["path"]) for one in hook.bodies] == [
        ("[warning] 3 cells of 1 asset failed", "failure", "/one"),
        ("[over] 3 cells of 1 asset failed", "success", "/one"),
    ]


def test_what_a_server_refuses_is_sent_later_and_its_address_is_told_nowhere(
    failing: Any, mail: Any, hook: Any, caplog: pytest.LogCaptureFixture
) -> None:
    hook.status = 500
    mail.refuse = 1
    post = f"mailto://127.0.0.1:{mail.port}?from=partita@example.com&to=ops@example.com"
    routing = routing_of(rule(post, hook.url(f"/{SECRET}?+Authorization={SECRET}")))
    raised(failing, routing)
    with caplog.at_level(logging.DEBUG):
        assert deliver(failing.store, routing).again == 2
    told = [error for _, _, error in states(failing)]
    assert all(told)
    assert SECRET not in caplog.text + "".join(filter(None, told))
    assert "(json), try 1" in caplog.text
    hook.status = 200
    due_now(failing)
    assert deliver(failing.store, routing).sent == 2
    assert (len(mail.messages), len(hook.bodies)) == (1, 2)
    assert [(state, tries) for state, tries, _ in states(failing)] == [("sent", 2)] * 2


def test_one_that_hangs_keeps_no_other_waiting_for_longer_than_its_limit(
    failing: Any, hook: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from functools import partial

    from partita.core.alerts.sending import send

    routing = routing_of(rule(hook.url("/slow")))
    hook.gate.clear()
    raised(failing, routing)
    assert deliver(failing.store, routing, send=partial(send, limit_s=0.2)).again == 1
    hook.gate.set()
    ((_, _, error),) = states(failing)
    assert error == "the other side did not answer within 0.2 s"


def test_while_one_sends_nobody_else_does(failing: Any, hook: Any) -> None:
    routing = routing_of(rule(hook.url()))
    raised(failing, routing)
    hook.gate.clear()
    first: list[int] = []
    thread = threading.Thread(target=lambda: first.append(deliver(failing.store, routing).sent))
    thread.start()
    assert hook.came.wait(60)
    assert deliver(failing.store, routing).sent == 0, "leased to the other one"
    hook.gate.set()
    thread.join(60)
    assert (first, len(hook.bodies)) == ([1], 1)


def test_raisers_at_one_time_raise_each_cause_once(failing: Any, hook: Any) -> None:
    routing = routing_of(rule(hook.url()))
    threads = [threading.Thread(target=raised, args=(failing, routing)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    with psycopg.connect(failing.url) as connection:
        assert connection.execute("SELECT count(*), count(DISTINCT cause) FROM alert").fetchone() == (3, 3)
        assert connection.execute("SELECT count(*) FROM alert_signal").fetchone() == (0,)


def test_locations_that_are_sick_are_told_by_owner_and_over_when_they_are_well(world: Any, hook: Any) -> None:
    from partita.assets import ModuleSpec
    from partita.core.store.values_definitions import LocationState

    on = ("load_error", "location_down")
    sick = AlertConfig(name="sick", on=on, owner="team:ops", to=(hook.url(),), wait=0, every=0, recovery=True)
    routing = routing_of(sick)
    matchers = Matchers(routing, world.catalogs)
    owned = [one.model_copy(update={"owner": "team:ops"}) for one in world.assets]
    broken = ModuleSpec(name="flights.broken", ok=False, error="SyntaxError")
    world.activate(owned, modules=(ModuleSpec(name="flights.assets"), broken))
    assert watch_alerts(world.store, matchers).raised == 1
    assert watch_alerts(world.store, matchers).raised == 0
    deliver(world.store, routing)
    world.activate(owned)
    assert watch_alerts(world.store, matchers).ended == 1
    deliver(world.store, routing)
    world.activate(owned, state=LocationState.DOWN)
    assert watch_alerts(world.store, matchers).raised == 0, "it may only be starting again"
    with psycopg.connect(world.url) as connection:
        connection.execute("UPDATE location SET state_since = now() - interval '2 minutes'")
    assert watch_alerts(world.store, matchers).raised == 1
    deliver(world.store, routing)
    assert [one["title"] for one in hook.bodies] == [
        "[warning] location flights does not load: flights.broken",
        "[over] location flights does not load: flights.broken",
        "[warning] location flights has no live code server",
    ]


def test_a_step_without_a_worker_of_its_queue_is_told_and_over_when_one_has_come(world: Any, hook: Any) -> None:
    """S-163, S-206, S-246: which reason keeps it, once for its tasks, and not before the time that the rule allows."""
    blocked = AlertConfig(
        name="stuck", on=("blocked",), blocked_after="2h", to=(hook.url(),), wait=0, every=0, recovery=True
    )
    routing = routing_of(blocked)
    matchers = Matchers(routing, world.catalogs)
    world.activate([one.model_copy(update={"queue": "gpu"}) for one in world.assets])
    register(world.store, WorkerId("cpu"), host="h", pid=1, capacity=8)
    run = world.launch("raw/flights", partitions="2013-01-01..2013-01-03")
    assert world.claim(9) == [], "the worker that lives serves another queue"
    assert watch_alerts(world.store, matchers).raised == 0, "it has not waited for long"
    with psycopg.connect(world.url) as connection:
        for table in ("run", "task"):
            connection.execute(f"UPDATE {table} SET created_at = created_at - interval '3 hours'".encode())
    assert watch_alerts(world.store, matchers).raised == 1
    assert watch_alerts(world.store, matchers).raised == 0
    assert deliver(world.store, routing).sent == 1
    assert watch_alerts(world.store, matchers).ended == 0

    gpu = WorkerId("gpu")
    register(world.store, gpu, host="h", pid=2, capacity=8, queues=["gpu"])
    assert world.claim(9) == []
    with world.store.read() as reader:
        pins = list(reader.active_vector())
    inputs = CatalogInputs(world.catalogs.of_run)
    started = claim(world.store, gpu, pins, 9, inputs, lambda *_: None, queues=["gpu"]).claimed
    assert len(started) == 3
    assert watch_alerts(world.store, matchers).ended == 1, "none of them waits any more"
    assert deliver(world.store, routing).sent == 1
    problem, over = hook.bodies
    assert problem["title"].startswith("[warning] raw/flights waits since ")
    assert problem["title"].endswith(f" in run {run}: 3 tasks, no worker")
    assert (over["title"].startswith("[over] raw/flights waits since "), over["type"]) == (True, "success")
    world.finish([world.written(one) for one in started])
    assert (watch_alerts(world.store, matchers).raised, deliver(world.store, routing).sent) == (0, 0)
