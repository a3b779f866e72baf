"""The stage of the planner's tests, on both stores."""

from tests.integration.planner.conftest import asset_of, stage

__all__ = ["asset_of", "stage"]
