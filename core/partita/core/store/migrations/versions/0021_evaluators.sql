-- Observers, schedules and sensors (S-099, S-174, S-222): functions of user code that are evaluated on a clock. Who evaluates one is
-- a column of it, and `token` is the fence: an evaluation commits only while it is the last one that began.
CREATE TABLE evaluator (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    location_id  bigint NOT NULL REFERENCES location,
    name         text COLLATE "C" NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('observe', 'schedule', 'sensor')),
    snapshot_id  bigint NOT NULL,                 -- the version whose code is called
    spec         jsonb NOT NULL,                  -- EvaluatorSpec
    cursor       text,                            -- the function's own, as its last good evaluation left it
    position     text,                            -- how far it was told of events
    tick_at      timestamptz,                     -- of a schedule: the tick that comes next
    due_at       timestamptz,                     -- null: its cron fires no more
    failures     integer NOT NULL DEFAULT 0,      -- in a row
    token        bigint NOT NULL DEFAULT 0,
    triggerer_id text,                            -- who evaluates it now
    started_at   timestamptz,
    ended_at     timestamptz,
    outcome      text,                            -- of the last evaluation: asked skipped nothing failed
    error        text,
    detail       jsonb,
    paused_by    text,
    paused_at    timestamptz,
    retired_at   timestamptz,                     -- a version without it was loaded; its cursor stays
    created_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (location_id, name)
) WITH (fillfactor = 75);
CREATE INDEX evaluator_due ON evaluator (location_id, snapshot_id, due_at)
    WHERE triggerer_id IS NULL AND paused_at IS NULL AND retired_at IS NULL;
CREATE INDEX evaluator_held ON evaluator (triggerer_id) WHERE triggerer_id IS NOT NULL;

CREATE TABLE evaluation (                         -- those that asked for something, said why not, or failed
    evaluator_id bigint NOT NULL,
    token        bigint NOT NULL,
    tick_at      timestamptz,
    started_at   timestamptz,
    ended_at     timestamptz NOT NULL,
    outcome      text NOT NULL,
    error        text,
    traceback    text,
    detail       jsonb,
    log          text,
    PRIMARY KEY (evaluator_id, token)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
-- A tick counts once, whatever else goes wrong.
CREATE UNIQUE INDEX evaluation_tick ON evaluation (evaluator_id, tick_at) WHERE tick_at IS NOT NULL AND outcome <> 'failed';

CREATE TABLE asked (                              -- what evaluations asked for, to be planned and launched
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    evaluator_id bigint NOT NULL,
    token        bigint NOT NULL,
    key          text COLLATE "C",                -- idempotency: once per evaluator
    request      jsonb NOT NULL,
    state        text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'launched', 'nothing', 'refused')),
    run_id       bigint,
    error        text,
    asked_at     timestamptz NOT NULL DEFAULT now(),
    due_at       timestamptz NOT NULL DEFAULT now(),
    done_at      timestamptz
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE UNIQUE INDEX asked_once ON asked (evaluator_id, key) WHERE key IS NOT NULL;
CREATE INDEX asked_open ON asked (due_at, id) WHERE state = 'open';
CREATE INDEX asked_by ON asked (evaluator_id, token);
