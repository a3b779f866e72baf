-- How long a run may take in all (S-159).
ALTER TABLE run ADD COLUMN times_out_at timestamptz;   -- then what has not ended is cancelled, and the run has failed
ALTER TABLE run ADD COLUMN timed_out_at timestamptz;
CREATE INDEX run_times_out ON run (times_out_at)
    WHERE times_out_at IS NOT NULL AND timed_out_at IS NULL AND state = 'running';

-- Versions that tasks wait for and no server has, and since when. Tasks pinned to one wait for a grace; then they leave their run
-- and are planned again. A server that has the version deletes its row.
CREATE TABLE version_gone (
    snapshot_id bigint PRIMARY KEY,
    since       timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX task_stranded ON task (run_id) WHERE state IN ('queued', 'up_for_retry') AND reason = 'version_gone';
