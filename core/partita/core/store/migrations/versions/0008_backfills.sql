-- Backfills that can be paused, re-prioritised, resized and retried while they run.
ALTER TABLE backfill ADD COLUMN priority integer NOT NULL DEFAULT 0;       -- added to that of its tasks when slots are given
ALTER TABLE backfill ADD COLUMN newest_first boolean NOT NULL DEFAULT false;
CREATE INDEX backfill_prioritised ON backfill (id) WHERE state = 'running' AND priority <> 0;

-- A paused pool admits nothing. It stands with the pool, because admission reads it under the pool's lock.
ALTER TABLE pool ADD COLUMN paused_by text;
ALTER TABLE pool ADD COLUMN paused_at timestamptz;
ALTER TABLE pool ADD CONSTRAINT pool_paused CHECK ((paused_by IS NULL) = (paused_at IS NULL));

-- A cancelled run of very many tasks is ended in bounded visits, from its last task: those below this one are still to be reached.
ALTER TABLE run ADD COLUMN cancelled_from bigint;
CREATE INDEX run_cancelling ON run (id) WHERE cancelled_from IS NOT NULL;

-- Written a hundred thousand at once, by launches only, which insert the run in the same transaction (ADR 2, "Rejected").
ALTER TABLE task DROP CONSTRAINT task_run_id_fkey;
