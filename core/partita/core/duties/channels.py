"""The channels of wake-ups: what a transaction that committed may have changed for somebody else."""

from __future__ import annotations

from enum import StrEnum


class Channel(StrEnum):
    """What listeners wait for; a poll of about a second is the floor under all of them."""

    SCHEDULED = "partita_scheduled"  # admission has something to do: a task became ready, or slots came free
    QUEUED = "partita_queued"  # workers have something to claim
    TODO = "partita_todo"  # an event_todo row waits for a consumer
    EVENT = "partita_event"  # the event stream moved
    CANCEL = "partita_cancel"  # a running task was asked to stop
    WAIT = "partita_wait"  # a wait was opened, or ended before it fired
