"""Planning, launching, cancelling and following through the API, on real Postgres."""

from __future__ import annotations

import json
from typing import Any

import httpx
import psycopg

from partita.core.duties.leases import register, retire
from partita.core.store.queries.api_read import rows
from partita.core.store.sql import text
from partita.core.store.values import WorkerId

PLACES = (("default", "4"), ("gpu", "2"), ("high-memory", "2"))


def post(client: httpx.Client, path: str, body: dict[str, Any] | None = None, *, status: int = 200) -> Any:
    answer = client.post(f"/api/v1{path}", json=body if body is not None else {})
    assert answer.status_code == status, answer.text
    return answer.json()


def get(client: httpx.Client, path: str, **query: Any) -> Any:
    answer = client.get(f"/api/v1{path}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


ASK = {"selection": "delays", "partitions": "2013-01-01..2013-01-03", "upstream": True}


def test_a_plan_is_shown_confirmed_by_its_count_and_launched(world: Any, client: httpx.Client) -> None:
    """Law 6: nothing acts without a preview of the same value."""
    world.activate()
    plan = post(client, "/plans", ASK)
    assert plan["cell_count"] == 3 + 3 * 4 + 3
    assert plan["by_reason"] == {"missing": 18}
    assert plan["sentence"] == "Materialize 18 cells of 3 assets: 18 missing"
    assert plan["cli"] == "partita materialize delays --partitions 2013-01-01..2013-01-03 --upstream"
    assert [wave["assets"] for wave in plan["waves"]] == [["raw/flights", "weather"], ["delays"]]
    assert plan["estimate"] is None
    assert plan["pools"] == [{"name": "default", "slots": 128, "held": 0, "wanted": plan["task_count"]}]
    assert get(client, f"/plans/{plan['id']}") == plan
    assert get(client, "/runs")["total"] == 0

    wrong = post(client, f"/plans/{plan['id']}/launch", {"confirm_cells": 17}, status=409)
    assert wrong["error"]["rule"] == "what runs is what was shown"
    assert get(client, "/runs")["total"] == 0

    launched = post(client, f"/plans/{plan['id']}/launch", {"confirm_cells": 18})
    assert launched["backfill_id"] is None
    assert "partita_scheduled" in world.woken
    run = get(client, f"/runs/{launched['run_id']}")
    assert (run["state"], run["task_count"]) == ("running", plan["task_count"])
    assert run["cause"] == {"kind": "api", "by": "ann", "text": plan["sentence"]}
    assert run["snapshots"][0]["location"] == "flights"

    world.work()
    run = get(client, f"/runs/{launched['run_id']}")
    assert run["state"] == "success"
    assert run["cells"] == {"published": 18, "unchanged": 0, "skipped": 0, "failed": 0, "total": 18}
    assert run["critical_path"], "the chain that the run waited for"
    again = post(client, "/plans", ASK)
    assert (again["nothing_to_do"], again["sentence"]) == (True, "Nothing to do")
    post(client, f"/plans/{again['id']}/launch", {"confirm_cells": 0}, status=400)


def test_a_plan_that_is_no_longer_true_is_refused_with_the_difference(world: Any, client: httpx.Client) -> None:
    world.activate()
    plan = post(client, "/plans", {"selection": "raw/flights"})
    world.launch("raw/flights", partitions="2013-01-01")
    world.work()
    refused = post(client, f"/plans/{plan['id']}/launch", {"confirm_cells": 31}, status=409)
    assert "1 cell of raw/flights (2013-01-01) dropped out" in refused["error"]["what"]
    assert get(client, "/runs")["total"] == 1


def test_a_malformed_request_is_refused_with_the_field(world: Any, client: httpx.Client) -> None:
    world.activate()
    both = post(client, "/plans", {"selection": "*", "partitions": "all", "from_key": "2013"}, status=422)
    assert "not both" in both["error"]["rule"]
    unknown = post(client, "/plans", {"selection": "*", "colour": "red"}, status=422)
    assert unknown["error"]["what"] == "`colour` is no field of this request"
    broken = client.post("/api/v1/plans", content="{", headers={"content-type": "application/json"})
    assert (broken.status_code, broken.json()["error"]["what"]) == (422, "the body is no JSON")
    assert post(client, "/plans", {"selection": 5}, status=422)["error"]["what"] == "`selection` cannot be used"
    param = post(client, "/plans", {"selection": "delays", "upstream": True, "params": {"flor": 1}}, status=400)
    assert "floor" in param["error"]["fix"]
    gone = client.get("/api/v1/plans/999").json()
    assert gone["error"]["what"] == "there is no plan 999"


def test_tasks_and_attempts_tell_state_reason_and_error(world: Any, client: httpx.Client) -> None:
    world.activate()
    run_id = world.launch("delays", **{key: value for key, value in ASK.items() if key != "selection"})
    tasks = get(client, f"/runs/{run_id}/tasks", asset="delays")
    assert tasks["total"] == 3
    assert tasks["tasks"][0]["state"] == "none"
    assert tasks["tasks"][0]["reason"]["code"] == "upstream"
    assert "waits for" in tasks["tasks"][0]["reason"]["text"]
    assert tasks["tasks"][0]["max_attempts"] == 3
    assert tasks["tasks"][0]["partitions_text"] == "2013-01-01"
    why = get(client, "/why", key="delays", partition="2013-01-01")
    assert why["state"] == "scheduled"
    assert "the task waits for" in why["sentence"]
    queue = get(client, "/queue")
    assert queue["by_state"]["scheduled"] == 3 + 12
    assert len(queue["waiting"]) == 15

    world.work(
        result=lambda claimed: world.failed(claimed) if claimed.task.step == "weather" else world.written(claimed)
    )
    run = get(client, f"/runs/{run_id}")
    assert run["state"] == "failed"
    assert run["tallies"] == {"success": 3, "failed": 12, "upstream_failed": 3}
    row = get(client, f"/runs/{run_id}/tasks", state="failed", limit=1)["tasks"][0]
    assert row["attempts"][0]["state"] == "failed"
    task = get(client, f"/tasks/{row['id']}")
    assert task["cells"][0]["state"] == "failed"
    attempt = get(client, f"/attempts/{row['attempts'][0]['id']}")
    assert attempt["traceback"].endswith("no such column 'dep_delay'")
    cell = get(client, "/asset/cell", key="weather", partition=task["cells"][0]["partition"])
    assert cell["state"] == "failed"
    assert cell["last_attempt"]["id"] == attempt["id"]
    needs = get(client, "/summary")["needs_me"]
    assert any(one["text"] == "weather: 12 partitions failed" for one in needs)


def test_cancelling_a_run_ends_what_has_not_started(world: Any, client: httpx.Client) -> None:
    world.activate()
    run_id = world.launch("raw/flights")
    world.work(limit=4)
    post(client, f"/runs/{run_id}/cancel")
    world.work()
    run = get(client, f"/runs/{run_id}")
    assert (run["state"], run["tallies"]) == ("cancelled", {"success": 4, "cancelled": 27})
    assert client.post("/api/v1/runs/99/cancel").status_code == 404


def test_a_backfill_has_a_name_a_limit_progress_and_an_end(world: Any, client: httpx.Client) -> None:
    world.activate()
    plan = post(
        client,
        "/plans",
        {"selection": "raw/flights", "from_key": "2013-01-01", "to_key": "2013-01-09", "as": "backfill"},
    )
    assert plan["cli"].startswith("partita backfill create raw/flights --from 2013-01-01 --to 2013-01-09")
    made = post(client, f"/plans/{plan['id']}/launch", {"confirm_cells": 9, "name": "first days", "max_active": 3})
    backfill = get(client, f"/backfills/{made['backfill_id']}")
    assert (backfill["name"], backfill["max_active"], backfill["state"]) == ("first days", 3, "running")
    assert backfill["partitions_text"] == "2013-01-01..2013-01-09"
    assert backfill["progress"] == [{"asset": "raw/flights", "counts": {"scheduled": 9}, "total": 9}]
    assert len(world.claim(20)) == 3, "no more than max_active at once"
    listed = get(client, "/backfills")
    assert (listed["total"], listed["backfills"][0]["progress"][0]["counts"]) == (1, {"running": 3, "scheduled": 6})
    assert get(client, "/runs")["runs"][0]["backfill_id"] == made["backfill_id"]
    pools = {one["name"]: one for one in get(client, "/pools")}
    assert pools["default"]["held"] == 3
    assert [one["lane"] for one in pools["default"]["holders"]] == ["backfill"] * 3
    post(client, f"/backfills/{made['backfill_id']}/cancel")
    assert get(client, f"/backfills/{made['backfill_id']}")["progress"][0]["counts"] == {"running": 3, "cancelled": 6}


def test_the_metrics_tell_what_waits_and_what_duties_cost(world: Any, client: httpx.Client) -> None:
    """S-123, S-134: what pools hold is counted when somebody asks. S-181, S-249: in the format that scrapers read."""
    world.activate()
    plan = post(client, "/plans", {"selection": "raw/flights", "from_key": "2013-01-01", "to_key": "2013-01-09"})
    post(client, f"/plans/{plan['id']}/launch", {"confirm_cells": 9})
    client.put("/api/v1/pools/default", json={"slots": 4})
    world.claim(3)
    with world.store.begin() as tx:
        duties = {"admit": {"runs": 7, "rows": 4, "seconds": 0.5, "cpu_seconds": 0.25, "held": 2, "failures": 0}}
        tx.put_component("scheduler-h-1", "scheduler", "scheduler", 1, {"duties": duties})
        tx.put_component("worker-h-2", "worker", "worker", 2, {"attempts": {"success": 12, "lost": 1}})
    answer = client.get("/metrics")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    told = dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))
    assert {name: told[name] for name in told if name.startswith(("partita_tasks{", "partita_pool_"))} == {
        'partita_tasks{state="scheduled",lane="backfill"}': "0",
        'partita_tasks{state="scheduled",lane="interactive"}': "5",
        'partita_tasks{state="scheduled",lane="scheduled"}': "0",
        'partita_tasks{state="queued",lane="backfill"}': "0",
        'partita_tasks{state="queued",lane="interactive"}': "1",
        'partita_tasks{state="queued",lane="scheduled"}': "0",
        'partita_tasks{state="running",lane="backfill"}': "0",
        'partita_tasks{state="running",lane="interactive"}': "3",
        'partita_tasks{state="running",lane="scheduled"}': "0",
        'partita_tasks{state="up_for_retry",lane="backfill"}': "0",
        'partita_tasks{state="up_for_retry",lane="interactive"}': "0",
        'partita_tasks{state="up_for_retry",lane="scheduled"}': "0",
        'partita_pool_slots{pool="default"}': "4",
        'partita_pool_slots_held{pool="default"}': "4",
        'partita_pool_tasks_waiting{pool="default"}': "5",
    }
    assert told['partita_duty_cpu_seconds_total{process="scheduler-h-1",duty="admit"}'] == "0.25"
    assert told['partita_duty_held_total{process="scheduler-h-1",duty="admit"}'] == "2"
    assert told['partita_attempts_total{process="worker-h-2",outcome="success"}'] == "12"
    assert float(told['partita_task_oldest_seconds{state="scheduled",lane="interactive"}']) >= 0
    assert told['partita_runs_open{lane="interactive"}'] == "1"


def test_the_metrics_tell_of_each_queue_what_waits_and_what_its_workers_can_take(
    world: Any, client: httpx.Client
) -> None:
    """S-181, S-246, S-249: an autoscaler of `gpu` asks how deep that queue is; a queue without a task is told of too."""
    world.activate([one.model_copy(update={"queue": "gpu"} if one.key == "weather" else {}) for one in world.assets])
    register(world.store, WorkerId("w1"), host="h", pid=1, capacity=4)
    register(world.store, WorkerId("gpu"), host="h", pid=2, capacity=2, queues=["gpu", "high-memory"])
    register(world.store, WorkerId("gone"), host="h", pid=3, capacity=90, queues=["*"])
    retire(world.store, WorkerId("gone"))
    world.launch("raw/flights", from_key="2013-01-01", to_key="2013-01-09")
    world.launch("weather", from_key="2013-01-01", to_key="2013-01-01")
    assert len(world.claim(3)) == 3
    told = dict(line.rsplit(" ", 1) for line in client.get("/metrics").text.splitlines() if not line.startswith("#"))
    of_queues = {name: told[name] for name in told if name.startswith("partita_queue_")}
    ages = {name for name in of_queues if name.startswith("partita_queue_oldest_seconds")}
    assert {name: n for name, n in of_queues.items() if name not in ages} == {
        **{f'partita_queue_tasks{{state="scheduled",queue="{queue}"}}': n for queue, n in (("default", "5"), ("gpu", "2"))},
        **{f'partita_queue_tasks{{state="queued",queue="{queue}"}}': n for queue, n in (("default", "1"), ("gpu", "2"))},
        **{f'partita_queue_tasks{{state="running",queue="{queue}"}}': n for queue, n in (("default", "3"), ("gpu", "0"))},
        **{f'partita_queue_tasks{{state="{state}",queue="high-memory"}}': "0" for state in ("scheduled", "queued", "running")},
        **{f'partita_queue_places{{queue="{queue}"}}': n for queue, n in PLACES},
        **{f'partita_queue_places_free{{queue="{queue}"}}': n for queue, n in (("default", "1"), *PLACES[1:])},
    }  # fmt: skip
    assert {name.partition("{")[2] for name in ages} == {
        f'state="{state}",queue="{queue}"}}'
        for state, queue in (("scheduled", "default"), ("scheduled", "gpu"), ("queued", "default"), ("queued", "gpu"),
                             ("running", "default"))
    }  # fmt: skip
    assert min(float(of_queues[name]) for name in ages) >= 0
    assert (told["partita_workers"], told["partita_worker_slots"]) == ("2", "6")


def test_who_runs_tasks_is_told_with_places_taken_and_when_it_was_heard_of(
    world: Any, client: httpx.Client, partita: Any
) -> None:
    """S-246: live workers with their queues; one of an older version says neither its version nor when."""
    world.activate()
    register(world.store, WorkerId("w1"), host="here", pid=1, capacity=4, version="9.8")
    register(world.store, WorkerId("w2"), host="there", pid=2, capacity=2, queues=["gpu", "high-memory"])
    register(world.store, WorkerId("w3"), host="there", pid=3, capacity=2, queues=["*"])
    retire(world.store, WorkerId("w3"))
    with psycopg.connect(world.url) as connection:
        connection.execute("UPDATE worker SET renewed_at = NULL WHERE id = 'w2'")
        connection.execute("UPDATE worker SET started_at = now() - interval '3 hours', renewed_at = now() - interval '2 minutes'"
                           " WHERE id = 'w1'")  # fmt: skip
    world.launch("raw/flights", from_key="2013-01-01", to_key="2013-01-02")
    found = {one["id"]: one for one in get(client, "/system")["workers"]}
    assert {name: one["live"] for name, one in found.items()} == {"w1": True, "w2": True, "w3": False}
    assert (found["w2"]["version"], found["w2"]["renewed_at"]) == (None, None)
    code, said, _ = partita("workers")
    assert code == 0
    first, second = [line.split("  ") for line in said.splitlines()[1:]]
    assert [one.strip() for one in first if one.strip()] == [
        "w1", "here", "default", "0 of 4", "3 h ago", "2 min ago", "9.8",
    ]  # fmt: skip
    assert [one.strip() for one in second if one.strip()][:4] == ["w2", "there", "gpu, high-memory", "0 of 2"]
    assert len(world.claim(9)) == 2, "and a claim renews the lease"
    code, said, _ = partita("workers", "--json")
    told = json.loads(said)
    assert [(one["id"], one["running"], one["capacity"], one["version"]) for one in told] == [
        ("w1", 2, 4, "9.8"),
        ("w2", 0, 2, None),
    ]
    assert told[0]["renewed_at"] > found["w1"]["renewed_at"]


def test_lanes_are_shown_and_changed_and_a_launch_names_one(world: Any, client: httpx.Client) -> None:
    """S-196."""
    world.activate()
    plan = post(client, "/plans", {"selection": "raw/flights", "from_key": "2013-01-01", "to_key": "2013-01-09"})
    wrong = client.post(f"/api/v1/plans/{plan['id']}/launch", json={"confirm_cells": 9, "lane": "nightly"})
    assert (wrong.status_code, "the lanes are backfill, interactive, scheduled" in wrong.text) == (404, True)
    post(client, f"/plans/{plan['id']}/launch", {"confirm_cells": 9, "lane": "scheduled"})
    client.put("/api/v1/pools/default", json={"slots": 3})
    world.claim(5)
    lanes = {one["name"]: one for one in get(client, "/lanes")}
    assert [(one["name"], one["weight"]) for one in get(client, "/lanes")] == [
        ("interactive", 4), ("scheduled", 4), ("backfill", 1),
    ]  # fmt: skip
    assert (lanes["scheduled"]["active"], lanes["scheduled"]["waiting"], lanes["scheduled"]["share"]) == (3, 6, 1.0)
    [party] = lanes["scheduled"]["parties"]
    assert (party["key"].partition(":")[0], party["active"], party["waiting"]) == ("by", 3, 6)
    now = client.put("/api/v1/lanes/scheduled", json={"weight": 2, "reserved": 0.5}).json()
    assert (now["weight"], now["reserved"]) == (2, 0.5)
    greedy = client.put("/api/v1/lanes/backfill", json={"reserved": 0.5})
    assert (greedy.status_code, "keep less than 0.5" in greedy.text) == (400, True)
    with world.store.read() as reader:
        said = [row["detail"] for row in rows(reader, text("SELECT detail FROM audit WHERE action = 'lane'"))]
    assert said == [{"lane": "scheduled", "weight": 2, "reserved": 0.5}], "what was refused is not there"


def test_a_pool_is_resized_while_it_is_full_and_that_is_recorded(world: Any, client: httpx.Client) -> None:
    """S-142."""
    world.activate()
    plan = post(client, "/plans", {"selection": "raw/flights", "from_key": "2013-01-01", "to_key": "2013-01-09"})
    post(client, f"/plans/{plan['id']}/launch", {"confirm_cells": 9})
    assert len(world.claim(5)) == 5
    pool = client.put("/api/v1/pools/default", json={"slots": 3}).json()
    assert (pool["kind"], pool["limits"], pool["slots"], pool["held"]) == ("pool", None, 3, 9)
    assert client.put("/api/v1/pools/default", json={"slots": 3}).json() == pool
    with world.store.read() as reader:
        said = [row["detail"] for row in rows(reader, text("SELECT detail FROM audit WHERE action = 'pool'"))]
    assert said == [{"pool": "default", "slots": 3}], "once: the second changed nothing"
    missing = client.put("/api/v1/pools/defualt", json={"slots": 3})
    assert (missing.status_code, "did you mean 'default'?" in missing.text) == (404, True)
    with world.store.begin() as tx:
        tx.set_caps({"asset:raw/flights": 2, "location:flights": 4, "all": None, "backfill:9": 1})
    cap = client.put("/api/v1/pools/asset:raw/flights", json={"slots": 3})
    assert (cap.status_code, "max_active= in the asset's code" in cap.text) == (400, True)
    shown = [(one["kind"], one["limits"]) for one in get(client, "/pools")]
    assert shown == [
        ("pool", None),
        ("asset", "active tasks of asset raw/flights"),
        ("location", "active tasks of location flights"),
    ], "pools of people first; no cap without a limit, no backfill that is over"


def test_the_system_page_names_what_is_missing_and_what_one_sees_then(world: Any, client: httpx.Client) -> None:
    """S-039."""
    world.activate()
    system = get(client, "/system")
    states = {one["kind"]: one for one in system["components"]}
    assert states["scheduler"]["state"] == "down"
    assert "nothing starts" in states["scheduler"]["symptom"]
    assert (states["code-server"]["state"], states["code-server"]["symptom"]) == ("ok", None)
    assert states["database"]["state"] == "ok"
    with world.store.begin() as tx:
        tx.put_component("scheduler-1", "scheduler", "scheduler", 1)
        tx.note_duty("admit", "scheduler-1", 1.5)
    system = get(client, "/system")
    assert {one["kind"]: one["state"] for one in system["components"]}["scheduler"] == "ok"
    assert system["duties"][0]["name"] == "admit"


def test_a_reload_without_a_live_server_says_how_to_start_one(world: Any, client: httpx.Client) -> None:
    world.activate()
    assert client.post("/api/v1/locations/flihgts/reload").status_code == 404
    answer = client.post("/api/v1/locations/flights/reload")
    assert answer.status_code == 503
    assert "127.0.0.1:1" in answer.json()["error"]["what"]


def test_another_site_cannot_cancel_a_run(world: Any, client: httpx.Client) -> None:
    world.activate()
    run_id = world.launch("raw/flights")
    answer = client.post(f"/api/v1/runs/{run_id}/cancel", headers={"Origin": "http://evil.example"})
    assert answer.status_code == 403
    assert answer.json()["error"]["what"] == "a page of another site asked for this"
    assert get(client, f"/runs/{run_id}")["state"] == "running"


def test_without_its_database_the_api_says_so_and_lives(world: Any, tmp_path: Any, served: Any) -> None:
    """Law 2: every component may die at any moment."""
    from partita.core.logs import LogStore
    from partita.core.store.open import open_store
    from partita.ui.api.services import services_of

    store = open_store("postgresql://nobody@127.0.0.1:1/none")
    away = services_of(
        store, LogStore(tmp_path), wake=lambda names: None, on_wake=lambda callback: None, who="ann", kind="api"
    )
    with served(away) as address, httpx.Client(base_url=address, timeout=60) as client:
        assert client.get("/healthz").status_code == 503
        answer = client.get("/api/v1/runs")
        assert answer.status_code == 503
        assert answer.json()["error"]["what"] == "the database does not answer in time"
        assert client.get("/openapi.json").status_code == 200
    store.close()


def test_two_plans_are_compared_and_a_launch_is_refused_with_the_difference(world: Any, client: httpx.Client) -> None:
    world.activate()
    old = post(client, "/plans", {"selection": "raw/flights", "partitions": "2013-01-01..2013-01-03"})
    new = post(client, "/plans", {"selection": "raw/flights", "partitions": "2013-01-02..2013-01-04"})
    found = get(client, f"/plans/{new['id']}/difference", against=old["hash"][:8])
    assert (found["same"], found["was"], found["now"]) == (False, old["hash"], new["hash"])
    assert found["assets"] == [
        {
            "key": "raw/flights",
            "added": {"count": 1, "partitions": "2013-01-04"},
            "removed": {"count": 1, "partitions": "2013-01-01"},
            "reasons": [],
            "rescaled": False,
        }
    ]
    assert get(client, f"/plans/{old['id']}/difference", against=old["hash"])["same"]
    gone = client.get(f"/api/v1/plans/{old['id']}/difference", params={"against": "00000000"})
    assert (gone.status_code, gone.json()["error"]["what"]) == (404, "there is no plan 00000000")
    wrong = client.get(f"/api/v1/plans/{old['id']}/difference", params={"against": "%"})
    assert (wrong.status_code, wrong.json()["error"]["what"]) == (400, "'%' is no hash of a plan")

    post(client, f"/plans/{new['id']}/launch", {"confirm_cells": 3})
    world.work()
    refused = post(client, f"/plans/{old['id']}/launch", {"confirm_cells": 3}, status=409)
    assert "2 cells of raw/flights (2013-01-02..2013-01-03) dropped out" in refused["error"]["what"]
    assert refused["difference"]["assets"][0]["removed"] == {"count": 2, "partitions": "2013-01-02..2013-01-03"}
