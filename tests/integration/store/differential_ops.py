"""Random operations of the store port, chosen by what the tables hold: mostly sensible, sometimes wrong on purpose.

Each function of the modules beside this looks at the memory store's tables and gives the operation to perform on both
stores; here is how often each is chosen.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.integration.store.differential_world import Op, World
from tests.integration.store.ops_actions import audit, cells_by_hand, pauses, tag_runs
from tests.integration.store.ops_alerts import facts, looked_at, maintenance, notices, raised, signals
from tests.integration.store.ops_cells import (
    acceptances,
    end_attempts,
    insert_checks,
    note_attempts,
    publish_cells,
    raise_fences,
    read_cells,
    start_attempts,
    unreasonable_acceptance,
)
from tests.integration.store.ops_deadlines import deadlines
from tests.integration.store.ops_definitions import definitions, forget, identity, plans
from tests.integration.store.ops_doomed import doomed_files
from tests.integration.store.ops_dynamic import keys_change, keys_reads
from tests.integration.store.ops_evaluators import asked, evaluations, evaluators
from tests.integration.store.ops_fan_out import fan_outs
from tests.integration.store.ops_freshness import freshness, stories
from tests.integration.store.ops_jobs import jobs
from tests.integration.store.ops_launch import (
    bad_edge,
    insert_backfill,
    insert_runs,
    launch_tasks,
    launch_whole,
    open_owners,
    open_twice,
    take_waiting_causes,
)
from tests.integration.store.ops_limits import limits
from tests.integration.store.ops_outbox import (
    append_events,
    automation,
    caused_cells,
    clocks,
    faults,
    held_requests,
    housekeeping,
    todo,
)
from tests.integration.store.ops_reports import reports
from tests.integration.store.ops_retention import retention
from tests.integration.store.ops_running import (
    backfills,
    hold_slots,
    lanes,
    pools,
    release_slots,
    runs,
    tallies,
    workers,
)
from tests.integration.store.ops_tasks import (
    close_cells,
    lock_dependents,
    lock_tasks,
    selections,
    task_cells,
    write_task_cells,
    write_tasks,
    write_terminal,
)
from tests.integration.store.ops_waits import triggerers, waits

# Weights: what changes tasks and cells comes most.
OPS: dict[Callable[[World], Op], int] = {
    insert_runs: 2,
    insert_backfill: 2,
    backfills: 6,
    launch_tasks: 5,
    launch_whole: 2,
    bad_edge: 0,
    open_twice: 0,
    open_owners: 2,
    take_waiting_causes: 2,
    lock_tasks: 2,
    lock_dependents: 4,
    selections: 14,
    write_tasks: 14,
    write_terminal: 1,
    write_task_cells: 3,
    task_cells: 2,
    close_cells: 4,
    pools: 6,
    hold_slots: 5,
    waits: 8,
    triggerers: 6,
    evaluators: 8,
    evaluations: 8,
    asked: 4,
    lanes: 2,
    release_slots: 4,
    raise_fences: 4,
    read_cells: 4,
    publish_cells: 8,
    note_attempts: 4,
    start_attempts: 4,
    end_attempts: 4,
    insert_checks: 2,
    workers: 12,
    tallies: 4,
    runs: 4,
    append_events: 6,
    todo: 5,
    automation: 3,
    held_requests: 6,
    caused_cells: 3,
    clocks: 4,
    faults: 4,
    deadlines: 6,
    freshness: 6,
    stories: 3,
    limits: 6,
    signals: 2,
    raised: 4,
    looked_at: 4,
    facts: 2,
    notices: 6,
    maintenance: 3,
    housekeeping: 4,
    definitions: 9,
    identity: 14,
    forget: 1,
    plans: 7,
    acceptances: 5,
    audit: 2,
    pauses: 7,
    tag_runs: 1,
    cells_by_hand: 9,
    reports: 4,
    jobs: 4,
    retention: 7,
    doomed_files: 4,
    fan_outs: 4,
    keys_change: 9,
    keys_reads: 4,
    unreasonable_acceptance: 0,
}
REFUSED = (bad_edge, open_twice, unreasonable_acceptance)  # these never succeed: now and then only
