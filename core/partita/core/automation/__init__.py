"""Automation: assets are asked for when their condition holds: after a publication, when time comes, when their code changes.

What is above the limit waits for a person; requests that waited for a running cell are planned again.
"""

from partita.core.automation.approve import Decision, RequestRefused, Shown, approve, reject, show, tend_requests
from partita.core.automation.asked import run_asked
from partita.core.automation.clocks import run_clocks
from partita.core.automation.fan_out import run_fan_outs
from partita.core.automation.follow import run_automation
from partita.core.automation.keys import run_new_keys
from partita.core.automation.rebuild import changed_rebuilds, run_rebuilds
from partita.core.automation.replan import run_replans
from partita.core.automation.timing import wanted_clocks
from partita.core.automation.values import ActiveCatalog, Automated, Limits

__all__ = [
    "ActiveCatalog",
    "Automated",
    "Decision",
    "Limits",
    "RequestRefused",
    "Shown",
    "approve",
    "changed_rebuilds",
    "reject",
    "run_asked",
    "run_automation",
    "run_clocks",
    "run_fan_outs",
    "run_new_keys",
    "run_rebuilds",
    "run_replans",
    "show",
    "tend_requests",
    "wanted_clocks",
]
