"""What the platform calls: load a location's modules, run one attempt of a step. Private to the platform.

    load_location(name, root, modules, *, on_progress=..., left_out={}) -> LoadedLocation
    run_step(location, request, report) -> StepResult

`load_location` never raises for a broken module: it is rolled back and listed in `snapshot.modules` with its error.
It raises `DefinitionError` only for what is no module's fault: a missing folder. `run_step` never raises for user errors:
they are its result. User code imports `partita.sdk`, never this.
"""

from partita.sdk.evaluate import Evaluated, evaluate
from partita.sdk.executable import StepHandle
from partita.sdk.execute import run_step
from partita.sdk.load import LoadedLocation, load_location
from partita.sdk.runtime_values import (
    CellKind,
    CellOutcome,
    CheckOutcome,
    Deferral,
    FiredWait,
    InputBinding,
    InputCell,
    Reporter,
    StepRequest,
    StepResult,
    StepStatus,
    TargetCell,
)
from partita.sdk.wall_clock import clock_warnings

__all__ = [
    "CellKind",
    "CellOutcome",
    "CheckOutcome",
    "Deferral",
    "Evaluated",
    "FiredWait",
    "InputBinding",
    "InputCell",
    "LoadedLocation",
    "Reporter",
    "StepHandle",
    "StepRequest",
    "StepResult",
    "StepStatus",
    "TargetCell",
    "clock_warnings",
    "evaluate",
    "load_location",
    "run_step",
]
