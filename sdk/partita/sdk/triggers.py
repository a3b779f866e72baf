"""The triggers that ship: what a step can wait for without holding a slot. Small async classes with plain arguments.

A trigger is an immutable value that code locations run as a coroutine, thousands in one process.

>>> @asset(wait_for=triggers.FileExists("/data/in/orders.csv").within("6h", poll="5m"))
... def orders() -> Relation: ...
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from inspect import isawaitable
from typing import Any, ClassVar

from partita.assets.durations import seconds
from partita.sdk import looks
from partita.sdk.resources import Resource, ResourceScope
from partita.sdk.watching import Trigger, TriggerFailed, Watch, found_at


class After(Trigger):
    """A while after the step began to wait.

    >>> After("30m").within("1h").deadline_s
    3600.0
    """

    delay: str | float

    async def fired(self, watch: Watch) -> Any:
        """Sleep until then."""
        due = watch.since.timestamp() + seconds(self.delay, what="After(delay=)")
        return await _at(due)

    def __str__(self) -> str:
        return f"{self.delay} to pass"


class At(Trigger):
    """An instant: ISO text with an offset; `{end}` in `wait_for=` is the end of the partition's window.

    >>> At("2026-03-01T06:00:00+01:00").within("1d").trigger
    At(instant='2026-03-01T06:00:00+01:00')
    """

    instant: str

    async def fired(self, watch: Watch) -> Any:
        """Sleep until then."""
        due = datetime.fromisoformat(self.instant)
        if due.tzinfo is None:
            raise TriggerFailed(f"At({self.instant!r})", rule="an instant has an offset", fix='write "...+00:00"')
        return await _at(due.timestamp())

    def __str__(self) -> str:
        return self.instant


class FileExists(Trigger):
    """A file that matches a glob pattern, as the code location sees it. The payload is the list of the paths found.

    Also an object of a store, by its URL: `s3://`, `gs://`, `abfs://`, with the credentials that the location's environment has,
    and options of pyarrow's file systems after a question mark. A store that is away counts as not yet.

    >>> FileExists("s3://landing/{partition}/*.csv?region=eu-central-1").within("6h").poll_s is None
    True
    >>> FileExists("/data/in/{start:%Y-%m-%d}/*.csv").within("6h").trigger
    FileExists(pattern='/data/in/{start:%Y-%m-%d}/*.csv', at_least=1)
    """

    pattern: str
    at_least: int = 1

    async def check(self) -> list[str] | None:
        """Look once."""
        found = await asyncio.to_thread(looks.files, self.pattern)
        return found if len(found) >= self.at_least else None

    def _lane(self) -> str:
        return "/".join(self.pattern.split("/")[:3])  # a disk or a bucket

    def __str__(self) -> str:
        return f"file {self.pattern}"


class Http(Trigger):
    """A URL that answers with a status, and in its JSON with a value: `where={"state": "done"}`, keys of inner objects
    joined by dots. Redirects are followed, to other servers without the `headers`. Any other status, a lost connection and an
    answer that takes longer than 30 s count as not yet. The payload is the answer's JSON (or text).

    >>> Http("https://bank.example/rates/{partition}", where={"meta.final": True}).within("4h").poll_s is None
    True
    """

    url: str
    status: int = 200
    where: Mapping[str, Any] | None = None
    headers: Mapping[str, str] | None = None

    async def check(self) -> Any:
        """Ask once."""
        status, body = await asyncio.to_thread(looks.answer_of, self.url, self.headers or {})
        if status != self.status:
            return None
        try:
            answer = json.loads(body) if body else True
        except ValueError:
            answer = body.decode(errors="replace")
        wanted = self.where or {}
        return answer if all(_inside(answer, path) == value for path, value in wanted.items()) else None

    def _lane(self) -> str:
        return "/".join(self.url.split("/")[:3])  # a server

    def __str__(self) -> str:
        where = f" with {dict(self.where)}" if self.where else ""
        return f"{self.url} to answer {self.status}{where}"


class SqlRow(Trigger):
    """A query that gives a row. `resource` names a Resource of the code location ("module:Class") whose `dsn` says where:
    a Postgres URL, or the path of a DuckDB file. A database that is away, starting or locked, and a query that takes longer than
    30 s, count as not yet; one that refuses the user or the query fails the wait. The payload is the first row, as a list.

    >>> SqlRow("select 1 from loads where day = '{partition}' and done", resource="shop.db:Warehouse").within("3h").deadline_s
    10800.0
    """

    query: str
    resource: str

    async def check(self) -> list[Any] | None:
        """Ask once."""
        return await asyncio.to_thread(self._ask)

    def _ask(self) -> list[Any] | None:
        kind = found_at(self.resource)
        if not (isinstance(kind, type) and issubclass(kind, Resource)):
            raise TriggerFailed(f"SqlRow(resource={self.resource!r})", rule="it is module:Class of a Resource")
        with ResourceScope() as scope:
            dsn = getattr(scope.get(kind), "dsn", None)
            if not isinstance(dsn, str):
                raise TriggerFailed(
                    f"SqlRow(resource={self.resource!r})", rule="the resource has a field `dsn`, a text", fix="add it"
                )
            row = looks.row_of(dsn, self.query)
        return None if row is None else json.loads(json.dumps(list(row), default=str))

    def _lane(self) -> str:
        return self.resource

    def __str__(self) -> str:
        return f"a row of {self.query}"


class AssetMaterialized(Trigger):
    """A partition of an asset that somebody else materializes; the control plane tells, nothing is polled (S-170).

    Without `partition` it is the step's own. `newer=True` waits for a publication after the step began to wait; else what is
    published already counts. For assets that the step reads a plain dependency does it.

    >>> AssetMaterialized("fx/rates", partition="{partition}").within("6h").trigger.newer
    False
    """

    local: ClassVar[bool] = False
    asset: str
    partition: str = "{partition}"
    newer: bool = False

    async def check(self) -> Any:
        """The control plane looks."""
        raise TriggerFailed(
            f"{self} is waited for in this process",
            rule="partitions of assets are known to a deployment",
            fix="materialize it first, or test the step with the event given",
        )

    def __str__(self) -> str:
        return f"asset {self.asset}" + (f" [{self.partition}]" if self.partition else "")


class Approval(Trigger):
    """A person who says yes, by `partita approve`, the API or the UI; one who says no fails the step for good.

    Nothing is polled, and no slot is held. The payload is who said so, when, and the note: `{"approved": True, "who": "ada",
    "note": "checked", "at": "2026-03-01T06:00:00+00:00"}`, the instant in UTC. When the deadline passes without an answer the
    step fails. Retries of the same task do not ask again.

    >>> Approval("Send the figures of {partition} to the bank?").within("2d").deadline_s
    172800.0
    """

    local: ClassVar[bool] = False
    question: str

    async def check(self) -> Any:
        """A person looks."""
        raise TriggerFailed(
            f"{self} is waited for in this process",
            rule="people answer in a deployment",
            fix="materialize it there, or test the step with the event given: make_context(deferred=[(Approval(...), {...})])",
        )

    def __str__(self) -> str:
        return f"a person to approve: {self.question}"


class JobDone(Trigger):
    """An external job, asked for by a function of the code location: `poll` is "module:function", called with `args`.

    The function (plain or async) returns None or False while the job runs, then the payload; it raises when the job failed.

    >>> JobDone("shop.spark:finished", {"job": "j-17"}).within("2h", poll="15s").trigger
    JobDone(poll='shop.spark:finished', args={'job': 'j-17'})
    """

    poll: str
    args: Mapping[str, Any]

    async def check(self) -> Any:
        """Ask once."""
        function = found_at(self.poll)
        if asyncio.iscoroutinefunction(function):
            return await function(**self.args)
        found = await asyncio.to_thread(function, **self.args)
        return await found if isawaitable(found) else found

    def _lane(self) -> str:
        return self.poll

    def __str__(self) -> str:
        return f"{self.poll.rpartition(':')[2]}({', '.join(f'{name}={value!r}' for name, value in self.args.items())})"


# ------------------------------------------------------------------------------------------------- helpers
async def _at(due_s: float) -> str:
    while (left_s := due_s - datetime.now(UTC).timestamp()) > 0:  # noqa: ASYNC110 - time itself is the event
        await asyncio.sleep(min(left_s, 3600.0))  # the wall clock may be set while we sleep
    return datetime.fromtimestamp(due_s, UTC).isoformat()


def _inside(answer: Any, path: str) -> Any:
    for name in path.split("."):
        answer = answer.get(name) if isinstance(answer, Mapping) else None
    return answer
