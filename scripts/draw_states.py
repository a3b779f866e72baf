"""The states of a task as a picture and a table, from the table of moves itself (`core/partita/core/decide/transitions.py`).

Owns where the boxes stand. A state that nothing but a cancellation moves is not drawn: no task gets there yet.
"""

from __future__ import annotations

from collections import defaultdict
from math import hypot

from partita.core.decide.transitions import STARTS_AS, TABLE, Actor
from partita.core.store.values import TaskState

_AT: dict[TaskState, tuple[int, int]] = {
    TaskState.NONE: (75, 190),
    TaskState.SCHEDULED: (245, 190),
    TaskState.QUEUED: (415, 190),
    TaskState.RUNNING: (585, 190),
    TaskState.UP_FOR_RETRY: (415, 290),
    TaskState.DEFERRED: (585, 290),
    TaskState.AWAITING_INPUT: (245, 290),
    TaskState.UPSTREAM_FAILED: (75, 290),
    TaskState.SUCCESS: (805, 60),
    TaskState.SKIPPED: (805, 125),
    TaskState.FAILED: (805, 200),
    TaskState.CANCELLED: (805, 290),
    TaskState.REMOVED: (805, 340),
}
_WIDTH, _HEIGHT = 875, 370
_BOX = (112, 30)
_WHO = {
    Actor.SETTLE: "an upstream ended",
    Actor.GATE: "gate",
    Actor.ADMIT: "admission",
    Actor.CLAIM: "claim",
    Actor.FINISH: "report",
    Actor.LAPSE: "loss",
    Actor.WAKE: "its time",
    Actor.ANSWER: "a person",
    Actor.CANCEL: "cancel",
    Actor.EXPLAIN: "no server",
}
# Ends that are reached from nearly everywhere: in words, instead of as many arrows.
_ENDS = {
    TaskState.CANCELLED: (Actor.CANCEL, "any that has not ended, when it is cancelled"),
    TaskState.REMOVED: (Actor.GIVE_UP, "any that waits for slots, a worker or its time, when its version is gone"),
}
_IN_WORDS = {actor for actor, _ in _ENDS.values()}


def picture() -> tuple[list[str], int, int]:
    """The parts of the picture, its width and its height."""
    edges: dict[tuple[TaskState, TaskState], list[Actor]] = defaultdict(list)
    for move in TABLE:
        if move.source is not move.target and move.actor not in _IN_WORDS:
            edges[move.source, move.target].append(move.actor)
    shown = {state for edge in edges for state in edge} | STARTS_AS | _ENDS.keys()
    parts = [
        (
            '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path class="h" d="M0 0 8 4 0 8z"/></marker></defs>'
        )
    ]
    parts += [_edge(_AT[source], _AT[target], actors) for (source, target), actors in edges.items()]
    parts += [_box(state) for state in _AT if state in shown]
    for state, (_, words) in _ENDS.items():
        x, y = _AT[state]
        parts.append(f'<text class="w" x="{x - _BOX[0] // 2 - 6}" y="{y + 4}" text-anchor="end">{words} ►</text>')
    return parts, _WIDTH, _HEIGHT


def _box(state: TaskState) -> str:
    x, y = _AT[state]
    style = "n" if state.terminal else "s"
    left, top = x - _BOX[0] // 2, y - _BOX[1] // 2
    return (
        f'<rect class="{style}" x="{left}" y="{top}" width="{_BOX[0]}" height="{_BOX[1]}" rx="6"/>'
        f'<text class="k" x="{x}" y="{y + 4}" text-anchor="middle">{state.value}</text>'
    )


def _edge(source: tuple[int, int], target: tuple[int, int], actors: list[Actor]) -> str:
    """A curve that leaves the straight line to its left, so that a way and the way back lie apart."""
    (ax, ay), (bx, by) = source, target
    length = hypot(bx - ax, by - ay)
    bow = 0.16 * length if length > 200 else 18.0
    mx, my = (ax + bx) / 2 + bow * (by - ay) / length, (ay + by) / 2 - bow * (bx - ax) / length
    sx, sy = _border(source, (mx, my))
    tx, ty = _border(target, (mx, my))
    words = ", ".join(_WHO.get(actor, actor.value) for actor in dict.fromkeys(actors))
    lx, ly = (sx + 2 * mx + tx) / 4, (sy + 2 * my + ty) / 4
    return (
        f'<path class="e" d="M{sx:.0f} {sy:.0f}Q{mx:.0f} {my:.0f} {tx:.0f} {ty:.0f}" marker-end="url(#end)"/>'
        f'<text class="w" x="{lx:.0f}" y="{ly - 3:.0f}" text-anchor="middle">{words}</text>'
    )


def _border(at: tuple[int, int], towards: tuple[float, float]) -> tuple[float, float]:
    """Where the line from the middle of a box to a point leaves it."""
    dx, dy = towards[0] - at[0], towards[1] - at[1]
    share = min(
        (_BOX[0] / 2 + 2) / abs(dx) if dx else float("inf"),
        (_BOX[1] / 2 + 2) / abs(dy) if dy else float("inf"),
    )
    return at[0] + dx * share, at[1] + dy * share


def table() -> str:
    """Every move as Markdown; the same move of several states in one row."""
    rows: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for move in TABLE:
        stays = move.source is move.target
        rows["stays" if stays else move.target.value, move.actor.value, move.when].append(move.source.value)
    lines = ["| from | to | by | when |", "|---|---|---|---|"]
    lines += [
        f"| {' '.join(f'`{one}`' for one in sources)} | {target if target == 'stays' else f'`{target}`'} | {actor} | {when} |"
        for (target, actor, when), sources in rows.items()
    ]
    return "\n".join(lines) + "\n"
