-- Early cutoff, cell by cell (ADR 6).
ALTER TABLE task_cell ADD COLUMN conditional boolean NOT NULL DEFAULT false;  -- planned only because an input may change
ALTER TABLE task_cell ADD COLUMN attempt_id bigint;                           -- whose report ended it; null: ended without one

-- Automatic requests above the limit wait for a person. One row per group of consumers, however many events arrive.
CREATE TABLE held_request (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    state      text NOT NULL DEFAULT 'awaiting_input'
               CHECK (state IN ('awaiting_input', 'approved', 'rejected', 'expired', 'superseded')),
    revision   integer NOT NULL DEFAULT 1,         -- rises when its content does: what is approved is what was shown
    assets     bigint[] NOT NULL,                  -- the consumers whose cells it holds
    cells      integer NOT NULL,
    cell_limit integer NOT NULL,                   -- the limit that it is above
    preview    jsonb NOT NULL,                     -- [{"asset", "cells", "by_reason", "partitions"}]
    cause      jsonb NOT NULL,                     -- of the newest that came in
    merged     integer NOT NULL DEFAULT 1,         -- how many requests it is made of
    body       bytea,                              -- the cells, each with its reason and the state of its inputs; null: ended
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    ended_at   timestamptz,
    ended_by   text,
    end_reason text,
    run_id     bigint,
    CHECK ((state = 'awaiting_input') = (ended_at IS NULL)),
    CHECK (state <> 'rejected' OR end_reason <> '')
);
CREATE INDEX held_request_state ON held_request (state, id);
CREATE INDEX held_request_ended ON held_request (ended_at) WHERE ended_at IS NOT NULL;

-- What automation could not decide, and when it is tried again. `id` is an asset's (a consumer, or an upstream whose partitions
-- cannot be read), or a run's whose cells cannot be planned again.
CREATE TABLE automation_fault (
    kind    text COLLATE "C" NOT NULL CHECK (kind IN ('asset', 'run')),
    id      bigint NOT NULL,
    error   text NOT NULL,
    tries   integer NOT NULL,
    since   timestamptz NOT NULL,
    last_at timestamptz NOT NULL,
    next_at timestamptz NOT NULL,
    PRIMARY KEY (kind, id)
);

-- A duty that fails as a whole says so.
ALTER TABLE duty ADD COLUMN failures integer NOT NULL DEFAULT 0;
ALTER TABLE duty ADD COLUMN last_error text;
