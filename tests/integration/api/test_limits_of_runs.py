"""Runs that take too long, and runs whose version is gone, as people meet them (S-159; DESIGN section 6, "Snapshots")."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import psycopg

from partita.core.automation import run_replans
from partita.core.duties.admit import admit
from partita.core.duties.explain import explain
from partita.core.duties.run_timeouts import time_out_runs
from partita.core.duties.runs import fold_tallies
from partita.core.duties.stranded import give_up_versions

Partita = Callable[..., tuple[int, str, str]]


def test_a_run_whose_version_is_gone_is_planned_again_on_the_code_of_now(world: Any, client: httpx.Client) -> None:
    world.activate()
    old = world.launch("raw/flights or delays", partitions="2013-01-01..2013-01-02", downstream=False)
    changed = [
        one.model_copy(update={"fingerprint": "changed"}) if one.key == "raw/flights" else one for one in world.assets
    ]
    world.activate(changed)  # its server has this version alone
    admit(world.store)
    explain(world.store)
    [(waits,)] = _query(world, "SELECT DISTINCT reason FROM task WHERE run_id = %s AND state = 'queued'", old)
    assert waits == "version_gone"
    assert give_up_versions(world.store, grace_s=600.0).removed == 0
    done = give_up_versions(world.store, grace_s=0.0)
    assert done.removed > 0
    fold_tallies(world.store)
    assert client.get(f"/api/v1/runs/{old}").json()["state"] == "failed"
    [(error,)] = _query(world, "SELECT DISTINCT error FROM task WHERE run_id = %s AND state = 'removed'", old)
    assert "planned again on the code of now" in error

    replanned = run_replans(world.store, world.catalogs)
    assert replanned.run_id is not None
    run = client.get(f"/api/v1/runs/{replanned.run_id}").json()
    assert (run["cause"]["kind"], run["cause"]["text"]) == (
        "replan",
        f"asked for by run {old}, which did not make it; planned again",
    )
    before, now = (client.get(f"/api/v1/runs/{one}").json() for one in (old, replanned.run_id))
    assert now["snapshots"] != before["snapshots"]
    assert now["cells"]["total"] == done.replanned
    world.work()
    assert client.get(f"/api/v1/runs/{replanned.run_id}").json()["state"] == "success"
    made = _query(
        world,
        "SELECT DISTINCT f.text FROM cell c JOIN fingerprint f ON f.id = c.fingerprint_id"
        " JOIN asset a ON a.id = c.asset_id WHERE a.key = 'raw/flights'",
    )
    assert made == [("changed",)], "they never ran on the old code"


def test_a_run_with_a_timeout_ends_as_failed_and_says_so(world: Any, partita: Partita, client: httpx.Client) -> None:
    world.activate()
    asked = ("materialize", "raw/flights", "--partitions", "2013-01-01", "--yes", "--no-wait")
    code, _, err = partita(*asked, "--timeout", "soon")
    assert (code, "--timeout is 'soon'" in err) == (2, True)
    assert partita(*asked, "--timeout", "0")[0] == 2
    assert _query(world, "SELECT count(*) FROM run") == [(0,)], "bad input changes nothing"
    assert partita(*asked, "--timeout", "2h")[0] == 0
    [(run_id, span)] = _query(world, "SELECT id, times_out_at - created_at FROM run")
    assert span.total_seconds() == 7200
    assert "times out at" in partita("runs", "show", str(run_id))[1]
    assert time_out_runs(world.store).runs == ()
    with psycopg.connect(world.url) as connection:
        connection.execute("UPDATE run SET times_out_at = now() - interval '1 s'")
    assert time_out_runs(world.store).runs == (run_id,)
    fold_tallies(world.store)
    code, out, _ = partita("runs", "show", str(run_id))
    assert (code, "timed out at" in out, "timed out: what had not ended" in " ".join(out.split())) == (0, True, True)
    detail = client.get(f"/api/v1/runs/{run_id}").json()
    assert (detail["state"], detail["timed_out_at"] is not None) == ("failed", True)
    told = json.loads(partita("runs", "show", str(run_id), "--json")[1])
    assert told["run"]["times_out_at"] == detail["times_out_at"]


def _query(world: Any, statement: str, *values: object) -> list[tuple[Any, ...]]:
    with psycopg.connect(world.url) as connection:
        return connection.execute(statement.encode(), values).fetchall()
