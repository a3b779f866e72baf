"""The small world of the duties, new for each test."""

from __future__ import annotations

import pytest
from tests.unit.duties.duty_world import World


@pytest.fixture
def world() -> World:
    return World()
