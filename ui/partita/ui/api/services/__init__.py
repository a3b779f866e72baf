"""What the routes and the commands ask: one service per subject, over the read-only queries, the planner and the duties.

Owns the facade. The services are synchronous (their callers run them in threads) and hold no state but bounded caches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from partita.ui.api.services.assets import AssetService
    from partita.ui.api.services.events import EventFeed
    from partita.ui.api.services.logs import LogService
    from partita.ui.api.services.plans import PlanService
    from partita.ui.api.services.runs import RunService
    from partita.ui.api.services.system import SystemService


@dataclass(frozen=True, slots=True)
class Services:
    assets: AssetService
    plans: PlanService
    runs: RunService
    logs: LogService
    system: SystemService
    events: EventFeed
