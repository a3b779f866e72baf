"""Automation: consumers follow their upstreams and, where they say so, their own code.

What is above the limit waits for a person; requests that waited for a running cell are planned again.
"""

from partita.core.automation.approve import Decision, RequestRefused, Shown, approve, reject, show, tend_requests
from partita.core.automation.eager import Verdict, judge
from partita.core.automation.follow import run_automation
from partita.core.automation.keys import run_new_keys
from partita.core.automation.rebuild import changed_rebuilds, run_rebuilds
from partita.core.automation.replan import run_replans
from partita.core.automation.values import ActiveCatalog, Automated, Limits

__all__ = [
    "ActiveCatalog",
    "Automated",
    "Decision",
    "Limits",
    "RequestRefused",
    "Shown",
    "Verdict",
    "approve",
    "changed_rebuilds",
    "judge",
    "reject",
    "run_automation",
    "run_new_keys",
    "run_rebuilds",
    "run_replans",
    "show",
    "tend_requests",
]
