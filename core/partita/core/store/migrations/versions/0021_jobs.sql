-- Named jobs: requests that people keep, with or without a schedule. One row each; a tick moves `next_at` in the transaction
-- that launches its run, so that it is asked for once.
CREATE TABLE job (
    name         text COLLATE "C" PRIMARY KEY,
    request      jsonb NOT NULL,
    lane         text NOT NULL,
    created_by   text NOT NULL,
    created_at   timestamptz NOT NULL,
    tags         jsonb NOT NULL,
    cron         text,
    tz           text,
    max_cells    integer CHECK (max_cells >= 0),
    paused_by    text,
    paused_at    timestamptz,
    pause_reason text,
    next_at      timestamptz,
    last_tick    timestamptz,
    last_run     bigint,
    last_note    text,
    CHECK ((cron IS NULL) = (tz IS NULL)),
    CHECK (next_at IS NULL OR (cron IS NOT NULL AND paused_by IS NULL)),
    CHECK ((paused_by IS NULL) = (paused_at IS NULL))
);
CREATE INDEX job_due ON job (next_at) WHERE next_at IS NOT NULL;
