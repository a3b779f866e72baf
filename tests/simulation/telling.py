"""A story by its seed: every fourth is one of automation, unless a theme says which."""

from __future__ import annotations

from tests.simulation.automation_story import AUTOMATION_STEPS, AUTOMATION_THEMES, tell_of_automation
from tests.simulation.story import STEPS, Story, tell

_EVERY = 4


def steps_of(seed: int, theme: str | None) -> int:
    """How long a story is that nobody asks to be longer."""
    return AUTOMATION_STEPS if is_of_automation(seed, theme) else STEPS


def is_of_automation(seed: int, theme: str | None) -> bool:
    return seed % _EVERY == _EVERY - 1 if theme is None else theme in AUTOMATION_THEMES


def tell_any(seed: int, steps: int | None = None, *, theme: str | None = None, trace: bool = False) -> Story:
    """One story from its beginning to its checked end."""
    steps = steps or steps_of(seed, theme)
    teller = tell_of_automation if is_of_automation(seed, theme) else tell
    return teller(seed, steps, theme=theme, trace=trace)
