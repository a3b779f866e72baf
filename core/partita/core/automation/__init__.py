"""Automation: consumers follow their upstreams, and requests that waited for a running cell are planned again."""

from partita.core.automation.eager import Verdict, judge
from partita.core.automation.follow import run_automation
from partita.core.automation.keys import run_new_keys
from partita.core.automation.replan import run_replans
from partita.core.automation.values import ActiveCatalog, Automated

__all__ = ["ActiveCatalog", "Automated", "Verdict", "judge", "run_automation", "run_new_keys", "run_replans"]
