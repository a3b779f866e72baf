"""Wake-ups reach subscribers of this process at once and those of others by NOTIFY, also after the connection was lost."""

from __future__ import annotations

import threading

import psycopg

from partita.core.runtime.wake import WakeHub

WAIT_S = 60


def test_wakes_here_and_in_other_processes(pg_url: str) -> None:
    here, there = WakeHub(pg_url), WakeHub(pg_url)
    woken_here, woken_there, other = threading.Event(), threading.Event(), threading.Event()
    here.subscribe(["partita_queued"], woken_here.set)
    there.subscribe(["partita_queued"], woken_there.set)
    there.subscribe(["partita_todo"], other.set)
    here.start()
    there.start()
    try:
        # Everything is woken once when listening begins: what was sent before could not be heard.
        assert woken_there.wait(WAIT_S)
        assert other.wait(WAIT_S)
        for event in (woken_here, woken_there, other):
            event.clear()
        here.wake(["partita_queued"])
        assert woken_here.is_set(), "inside the process a wake-up takes no detour"
        assert woken_there.wait(WAIT_S)
        assert not other.is_set()
    finally:
        here.stop()
        there.stop()


def test_listening_survives_a_lost_connection(pg_url: str) -> None:
    hub = WakeHub(pg_url)
    woken = threading.Event()
    hub.subscribe(["partita_event"], woken.set)
    hub.start()
    try:
        assert woken.wait(WAIT_S)
        woken.clear()
        with psycopg.connect(pg_url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'partita-listen' AND datname = current_database()"
            )
        assert woken.wait(WAIT_S), "listening again wakes everything"
    finally:
        hub.stop()
