"""The refusals that the services raise beside the model's own. Loads no web framework: the commands raise them too."""

from __future__ import annotations

from partita.assets import PartitaError


class NotFound(PartitaError):
    """A run, task, attempt, plan or backfill id that names nothing."""


class PlanChanged(PartitaError):
    """What would run now differs from what was shown (DESIGN section 5: apply refuses when the content differs)."""


class Unavailable(PartitaError):
    """A part of the deployment that is needed for the answer does not answer."""
