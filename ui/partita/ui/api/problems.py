"""The refusals that the services raise beside the model's own. Loads no web framework: the commands raise them too."""

from __future__ import annotations

from partita.assets import PartitaError


class NotFound(PartitaError):
    """A run, task, attempt, plan or backfill id that names nothing."""


class NothingToDo(PartitaError):
    """A plan without tasks was to be launched."""


class BadTag(PartitaError):
    """A text that is no tag of a run."""


class StillOpen(PartitaError):
    """Something that has to end first has not."""


class NotWhatWasShown(PartitaError):
    """The confirmation names another count than the plan has: somebody confirmed something else (law 6)."""


class IsACap(PartitaError):
    """A cap was to be resized as if it were a pool of people."""


class ReservesTooMuch(PartitaError):
    """The lanes would keep every pool to themselves."""


class Unavailable(PartitaError):
    """A part of the deployment that is needed for the answer does not answer."""
