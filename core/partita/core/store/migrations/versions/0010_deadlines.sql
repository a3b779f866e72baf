-- Deadlines of cells (S-203): written by the launch, taken by a duty when they are due, never by a completion. A completion would
-- have to find and delete its row; the duty looks once, at the instant that matters.
CREATE TABLE deadline (
    asset_id  bigint NOT NULL,
    partition text COLLATE "C" NOT NULL,
    task_id   bigint NOT NULL,
    run_id    bigint NOT NULL,
    due_at    timestamptz NOT NULL,
    set_at    timestamptz NOT NULL DEFAULT now(),
    missed_at timestamptz,               -- when the miss was seen; a row that was met is deleted
    PRIMARY KEY (asset_id, partition, task_id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX deadline_due ON deadline (due_at) WHERE missed_at IS NULL;
CREATE INDEX deadline_missed ON deadline (missed_at DESC) WHERE missed_at IS NOT NULL;
