"""What a time partition covers and when it is due, told together: the two lie a whole interval apart (S-085). Pure."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from partita.assets import PartitionSpace
from partita.assets.partitions.time import TimeSpace
from partita.core.automation.timing import time_of, time_ordinal
from partita.ui.api.models import WindowView


def window_of(space: PartitionSpace, ordinal: int) -> WindowView | None:
    """Of an existing partition; None without time."""
    inner = time_of(space)
    return None if inner is None else window_view(inner, time_ordinal(space, ordinal))


def window_view(inner: TimeSpace, ordinal: int) -> WindowView:
    """Of a window that exists or not."""
    covers = inner.covers(ordinal)
    return WindowView(
        partition=str(inner.label_at(ordinal)),
        covers_from=covers.start,
        covers_to=covers.end,
        due_at=inner.due_at(ordinal),
        zone=inner.definition.tz,
    )


def window_text(window: WindowView) -> str:
    """`covers 2026-03-01 00:00 to 2026-03-02 00:00, due at 2026-03-02 00:00 Europe/Berlin`."""
    zone = ZoneInfo(window.zone)
    start, stop, due = (
        f"{one.astimezone(zone):%Y-%m-%d %H:%M}" for one in (window.covers_from, window.covers_to, window.due_at)
    )
    return f"covers {start} to {stop}, due at {due} {window.zone}"
