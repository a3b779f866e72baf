"""The live feed and the logs: order, resuming, resync, filters, and their ends."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import httpx

from partita.core.store.values import NewEvent
from partita.ui.api.models import LiveEvent
from partita.ui.api.services import events as feed_module
from partita.ui.api.services.events import Message


@contextmanager
def stream(address: str, path: str, *, last: int | None = None) -> Iterator[Iterator[dict[str, str]]]:
    headers = {"Last-Event-ID": str(last)} if last is not None else {}
    with (
        httpx.Client(base_url=address, timeout=60) as client,
        client.stream("GET", f"/api/v1{path}", headers=headers) as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        assert next(lines) == "retry: 2000"  # from here on nothing that happens is missed
        yield messages(lines)


def messages(lines: Iterator[str]) -> Iterator[dict[str, str]]:
    message: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            message[name] = message[name] + "\n" + value if name in message else value
        elif "data" in message:
            yield message
            message = {}
        else:
            message = {}


def put(world: Any, *states: str) -> None:
    for state in states:
        with world.store.begin() as tx:
            tx.append_events([NewEvent("run", body={"state": state})])


def test_events_come_in_order_and_resume_after_the_last_one_seen(world: Any, address: str) -> None:
    with stream(address, "/events/stream") as events:
        with stream(address, "/events/stream"):
            put(world, "a", "b", "c")
        seen = [next(events) for _ in range(3)]
    assert [json.loads(one["data"])["state"] for one in seen] == ["a", "b", "c"]
    with stream(address, "/events/stream", last=int(seen[0]["id"])) as events:
        assert [json.loads(next(events)["data"])["state"] for _ in range(2)] == ["b", "c"]


def test_an_unknown_position_gets_one_resync(world: Any, address: str) -> None:
    put(world, "a")
    with stream(address, "/events/stream") as events:
        put(world, "b")
        next(events)  # the feed has a position
        with stream(address, "/events/stream", last=10**9) as resumed:
            assert next(resumed)["event"] == "resync"


def test_events_before_the_feed_started_are_read_from_the_table(world: Any, pg_url: str) -> None:
    async def main() -> list[str | None]:
        put(world, "a", "b", "c")
        with world.store.read() as reader:
            from partita.core.store.queries import api_system
            from partita.core.store.queries.api_read import rows

            first = rows(reader, api_system.EVENTS_AFTER, xid=0, id=0, limit=1)[0]["id"]
        feed = world.new_services().events
        async with feed.running(), feed.subscribe(first) as subscription:
            found = [await subscription.next() for _ in range(2)]
        return [one.event.state if one is not None and one.event is not None else None for one in found]

    assert asyncio.run(main()) == ["b", "c"]


def test_a_client_that_leaves_is_forgotten(world: Any, address: str) -> None:
    feed = world.services.events
    with stream(address, "/events/stream") as events:
        put(world, "a")
        next(events)
        assert len(feed._subscriptions) == 1
    while feed._subscriptions:  # the server notices at its own pace; pytest's timeout bounds this
        threading.Event().wait(0.02)


def test_an_event_of_a_transaction_that_commits_late_is_not_lost(world: Any, address: str) -> None:
    """DESIGN section 6: ids commit out of order; a stream reads only below the oldest running transaction."""
    with stream(address, "/events/stream") as events:
        with world.store.begin() as late:
            late.append_events([NewEvent("run", body={"state": "first id, last commit"})])
            put(world, "second id, first commit")
        seen = [json.loads(next(events)["data"])["state"] for _ in range(2)]
    assert seen == ["first id, last commit", "second id, first commit"]


def test_a_stream_that_does_not_keep_up_holds_one_resync_and_not_everything() -> None:
    async def main() -> list[Message | None]:
        subscription = feed_module.Subscription()
        for position in range(feed_module.QUEUE_LIMIT + 1):
            subscription.put(Message(position, event("x")))
        subscription.put(Message(10**6, event("after")))
        subscription.close()
        return [await subscription.next() for _ in range(3)]

    resync, after, end = asyncio.run(main())
    assert resync == Message(feed_module.QUEUE_LIMIT, None)
    assert after is not None
    assert after.event == event("after")
    assert end is None


def event(state: str) -> LiveEvent:
    return LiveEvent(
        id=1,
        at=datetime(2024, 1, 1, tzinfo=UTC),
        kind="run",
        asset=None,
        partition=None,
        run_id=None,
        trace_id=None,
        task_id=None,
        state=state,
    )


def test_the_pages_of_a_log_filter_and_its_stream_ends_with_the_attempt(world: Any, address: str) -> None:
    """S-226, S-228: one log per attempt, read from the log store."""
    world.activate()
    world.launch("raw/flights", partitions="2013-01-01")
    [claimed] = world.claim()
    writer = world.logs.writer(claimed.log)
    at = 1_700_000_000_000_000
    writer.write(
        [
            (at, "stdout", "", "reading"),
            (at + 1, "log", "WARNING", "two rows\nwere odd"),
            (at + 2, "log", "INFO", "Ünïcode"),
        ]
    )
    path = f"/attempts/{claimed.attempt_id}/log"
    with httpx.Client(base_url=address, timeout=60) as client:
        page = client.get(f"/api/v1{path}").json()
        assert [line["text"] for line in page["lines"]] == ["reading", "two rows\nwere odd", "Ünïcode"]
        assert page["complete"] is False
        assert page["lines"][0]["at"] == "2023-11-14T22:13:20Z"
        only = client.get(f"/api/v1{path}", params={"level": "WARNING"}).json()
        assert [line["n"] for line in only["lines"]] == [1]
        only = client.get(f"/api/v1{path}", params={"search": "ünï"}).json()
        assert [line["n"] for line in only["lines"]] == [2]
        assert client.get("/api/v1/attempts/999/log").status_code == 404
    with stream(address, f"{path}/stream") as lines:
        first = next(lines)
        assert [line["text"] for line in json.loads(first["data"])] == ["reading", "two rows\nwere odd", "Ünïcode"]
        writer.write([(at + 3, "log", "ERROR", "last")])
        writer.close(at + 4)
        rest = list(lines)
    assert [one["event"] for one in rest] == ["lines", "end"]
    with stream(address, f"{path}/stream", last=int(first["id"])) as lines:
        assert [line["text"] for line in json.loads(next(lines)["data"])] == ["last"]


def test_the_log_of_a_killed_worker_ends_when_its_attempt_does(world: Any, address: str) -> None:
    world.activate()
    world.launch("raw/flights", partitions="2013-01-01")

    def killed(claimed: Any) -> Any:
        world.logs.writer(claimed.log).write([(1, "stdout", "", "half")])  # and no end
        return world.failed(claimed)

    world.work(result=killed)
    with stream(address, "/attempts/1/log/stream") as lines:
        assert [one["event"] for one in lines] == ["lines", "end"]
