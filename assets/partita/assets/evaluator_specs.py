"""Functions of user code that are evaluated on a clock: observers, schedules, sensors. Their wire form in a snapshot.

Owns what the control plane has to know to evaluate one in time, without its code. Refuses to know what they return.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from partita.assets.condition_specs import CatchUp
from partita.assets.keys import AssetKey
from partita.assets.partitions.fires import check_cron
from partita.assets.scheme_specs import Spec

EvaluatorKind = Literal["observe", "schedule", "sensor"]
"""What a function is evaluated for: data versions, requests at the ticks of a cron, or whatever it finds.

>>> EvaluatorSpec(name="feed", kind="sensor", function="shop.feed:feed", every_s=30.0).kind
'sensor'
"""

RunEnd = Literal["success", "failed", "cancelled"]
"""How a run ended, for sensors of runs.

>>> EvaluatorSpec(name="tell", kind="sensor", function="shop:tell", every_s=30.0, runs=["failed"]).runs
('failed',)
"""


TaskEnd = Literal["success", "failed"]
"""How a task ended, for callbacks.

>>> EvaluatorSpec(name="tell", kind="sensor", function="shop:tell", every_s=1.0, tasks=["failed"], steps=["orders"]).tasks
('failed',)
"""


class EvaluatorSpec(Spec):
    """One evaluated function. It has a period in seconds or a cron with its zone; a schedule always the latter.

    `observes` is the external asset whose versions it reports, `ready` the asset of whose missing partitions it says which are
    ready, `watches` are assets of whose publications it is told, `runs` the ends of runs of which it is told. A callback is told
    of the ends `tasks` of the tasks of `steps`. `newest` bounds the partitions that it is handed.

    >>> EvaluatorSpec(name="morning", kind="schedule", function="shop:morning", cron="0 6 * * *", tz="Europe/Berlin").timeout_s
    60.0
    >>> EvaluatorSpec(name="morning", kind="schedule", function="shop:morning", every_s=60.0)
    Traceback (most recent call last):
        ...
    pydantic_core._pydantic_core.ValidationError: 1 validation error for EvaluatorSpec
    ...
    """

    name: str = Field(min_length=1)
    kind: EvaluatorKind
    function: str
    description: str = ""
    owner: str | None = None
    every_s: float | None = Field(None, gt=0)
    cron: str | None = None
    tz: str | None = None
    catch_up: CatchUp = "latest"
    timeout_s: float = Field(60.0, gt=0)
    observes: AssetKey | None = None
    ready: AssetKey | None = None
    watches: tuple[AssetKey, ...] = ()
    runs: tuple[RunEnd, ...] = ()
    tasks: tuple[TaskEnd, ...] = ()
    steps: tuple[str, ...] = ()
    newest: int = Field(100, ge=1)
    fingerprint: str = ""
    module: str = ""

    @model_validator(mode="after")
    def _timed(self) -> EvaluatorSpec:
        if (self.every_s is None) == (self.cron is None) or (self.kind == "schedule" and self.cron is None):
            raise ValueError("it has a period or a cron, one of the two; a schedule has a cron")
        if self.cron is not None:
            if self.tz is None:
                raise ValueError("a cron has a time zone")
            check_cron(self.cron, self.tz)
        return self
