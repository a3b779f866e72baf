"""keep, derive, restart after a changed partition scheme: previewed, done as shown, recorded (DESIGN section 5, laws 6 and 8)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from partita.assets import Daily, Hourly, PartitionsDef, Weekly
from partita.assets.locations import location_parts
from partita.core.cells.fold import fold_pages
from partita.ui.api.models.identity import SchemeChoice, SchemeRequest
from partita.ui.api.problems import NotWhatWasShown

DAYS = Daily("2013-01-07", end="2013-02-04")
WEEKS = Weekly("2013-01-07", end="2013-02-04")
Partita = Callable[..., tuple[int, str, str]]


def scheme(world: Any, partitions: PartitionsDef) -> None:
    source = world.spec("source", DAYS, kind="external")
    world.activate([source, world.spec("orders", partitions, {"source": DAYS}, io="lake")], checks=())


def counts(world: Any) -> dict[str, int]:
    while fold_pages(world.store):
        pass
    [found] = world.new_services().assets.find(select="orders").assets
    return dict(found.counts)


def rows(world: Any, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(world.url) as connection:
        return connection.execute(query).fetchall()


def choose(world: Any, choice: SchemeChoice) -> Any:
    asked = SchemeRequest(key="orders", choice=choice)
    services = world.new_services()
    return services.schemes.apply(asked, services.schemes.preview(asked).hash)


@pytest.fixture
def made(world: Any) -> Any:
    """Three weeks of days but for one, sliced by weeks since."""
    scheme(world, DAYS)
    world.launch("orders", partitions="2013-01-07..2013-01-15, 2013-01-17..2013-01-27")
    world.work()
    assert counts(world) == {"fresh": 20, "missing": 8}
    scheme(world, WEEKS)
    assert counts(world) == {"missing": 4}
    return world


def test_days_become_weeks_where_they_are_whole(made: Any, partita: Partita) -> None:
    code, told, _ = partita("assets", "scheme", "orders", "--derive", "--yes")
    assert (code, "0 kept, 2 derived of 14, 2 partitions missing" in told) == (0, True)
    assert counts(made) == {"fresh": 2, "missing": 2}, "a week of fresh days is fresh"
    week, version, location, metadata, run = rows(
        made, "SELECT partition, data_version, location, metadata, published_run FROM cell"
        " WHERE data_version IS NOT NULL ORDER BY 1"
    )[0]  # fmt: skip
    assert (week, version[:8], run) == ("2013-01-07", "derived:", None)
    assert location_parts(location) == tuple(f"lake:2013-01-{day:02}" for day in range(7, 14))
    assert (len(metadata["derived_from"]["partitions"]), metadata["rows"]) == (7, 7 * 842)
    [(who, body)] = rows(made, "SELECT who, detail FROM audit WHERE action = 'scheme_choice'")
    assert (bool(who), body["choice"], body["cells"]) == (True, "derive", 2)
    assert rows(made, "SELECT count(*) FROM former_cell") == [(20,)], "the days stay as they are"
    code, told, _ = partita("assets", "scheme", "orders", "--derive", "--yes")
    assert (code, "nothing to do" in told) == (0, True)
    scheme(made, DAYS)
    assert counts(made) == {"fresh": 20, "missing": 8}, "and come back with their scheme"
    scheme(made, WEEKS)
    assert counts(made) == {"fresh": 2, "missing": 2}, "as do the weeks"


def test_restart_starts_anew_and_keep_takes_it_back(made: Any, partita: Partita) -> None:
    choose(made, "derive")
    made.launch("orders", partitions="2013-01-28")
    code, told, _ = partita("assets", "scheme", "orders", "--restart", "--yes", "--json")
    assert (code, json.loads(told)["written"], json.loads(told)["cancelled"]) == (0, 2, 1)
    assert counts(made) == {"missing": 4}
    assert rows(made, "SELECT state FROM task ORDER BY id DESC LIMIT 1") == [("cancelled",)]
    choose(made, "keep")
    assert counts(made) == {"fresh": 2, "missing": 2}


def test_work_on_a_derived_cell_is_cancelled_and_cannot_publish(made: Any) -> None:
    made.launch("orders", partitions="2013-01-07")
    [claimed] = made.claim()
    assert choose(made, "derive").cancelled == 1
    made.finish([made.written(claimed)])
    found = rows(made, "SELECT data_version FROM cell WHERE partition = '2013-01-07' AND data_version IS NOT NULL")
    assert [version[:8] for (version,) in found] == ["derived:"]


def test_days_do_not_become_hours(made: Any, partita: Partita) -> None:
    scheme(made, Hourly("2013-01-07", end="2013-02-04"))
    code, told, _ = partita("assets", "scheme", "orders", "--derive", "--yes")
    assert code == 0
    assert "no missing window is made of whole published windows" in " ".join(told.split())


def test_over_rest_only_what_was_shown_is_done(made: Any, client: httpx.Client) -> None:
    request = {"key": "orders", "choice": "derive"}
    shown = client.post("/api/v1/scheme/preview", json=request)
    assert shown.status_code == 200, shown.text
    told = {one["choice"]: (one["kept"], one["derived"], one["missing"]) for one in shown.json()["choices"]}
    assert told == {"keep": (0, 0, 4), "derive": (0, 2, 2), "restart": (0, 0, 4)}
    made.launch("orders", partitions="2013-01-07")
    made.work()
    late = client.post("/api/v1/scheme", json={"request": request, "hash": shown.json()["hash"]})
    assert (late.status_code, late.json()["error"]["what"]) == (409, "something moved since this was shown")
    fresh = client.post("/api/v1/scheme/preview", json=request).json()
    done = client.post("/api/v1/scheme", json={"request": request, "hash": fresh["hash"]})
    assert (done.status_code, done.json()["written"]) == (200, 1)


def test_a_preview_of_another_choice_is_no_permission(made: Any) -> None:
    services = made.new_services()
    shown = services.schemes.preview(SchemeRequest(key="orders", choice="keep"))
    with pytest.raises(NotWhatWasShown):
        services.schemes.apply(SchemeRequest(key="orders", choice="restart"), shown.hash)


# ---------------------------------------------------------------------- an upstream that changed its scheme, too


def chain(world: Any, partitions: PartitionsDef) -> None:
    source = world.spec("source", DAYS, kind="external")
    orders = world.spec("orders", partitions, {"source": DAYS}, io="lake")
    world.activate([source, orders, world.spec("sums", partitions, {"orders": partitions}, io="lake")], checks=())


def derive(world: Any, key: str) -> None:
    services = world.new_services()
    asked = SchemeRequest(key=key, choice="derive")
    services.schemes.apply(asked, services.schemes.preview(asked).hash)


def shown(world: Any, key: str) -> dict[str, int]:
    while fold_pages(world.store):
        pass
    [found] = world.new_services().assets.find(select=key).assets
    return dict(found.counts)


@pytest.mark.parametrize("order", [("orders", "sums"), ("sums", "orders")])
def test_what_was_derived_of_fresh_days_is_fresh_though_its_upstream_was_derived_too(
    world: Any, order: tuple[str, str]
) -> None:
    """What a derived upstream holds is what its parts held, so a digest over it equals one over them (DESIGN section 5)."""
    chain(world, DAYS)
    world.launch("orders or sums", partitions="2013-01-07..2013-01-27")
    world.work()
    # One day of the third week moves after `sums` had read it.
    world.launch("orders", partitions="2013-01-23", mode=("all",))
    [claimed] = world.claim()
    world.finish([world.written(claimed, version="other")])
    assert shown(world, "sums") == {"fresh": 20, "stale": 1, "missing": 7}

    chain(world, WEEKS)
    for key in order:
        derive(world, key)
    assert shown(world, "orders") == {"fresh": 3, "missing": 1}
    assert shown(world, "sums") == {"fresh": 2, "stale": 1, "missing": 1}
    assert [reason.code for reason in world.new_services().assets.why("sums", "2013-01-21").reasons] == ["stale_data"]

    # A week of orders that is really made again is another version: it makes stale, as any.
    world.launch("orders", partitions="2013-01-07", mode=("all",))
    world.work()
    assert shown(world, "sums") == {"fresh": 1, "stale": 2, "missing": 1}
