-- In the order in which overdue runs are taken: without the id the planner sorted, and went by all open runs as well.
DROP INDEX run_times_out;
CREATE INDEX run_times_out ON run (times_out_at, id)
    WHERE times_out_at IS NOT NULL AND timed_out_at IS NULL AND state = 'running';
