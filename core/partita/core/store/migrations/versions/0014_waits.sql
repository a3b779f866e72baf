-- Waits (S-166 .. S-173): what a deferred task waits for. A wait is a row and never a slot; who watches it is a column of it.
ALTER TABLE task ADD COLUMN waits text CHECK (waits IN ('first', 'open', 'met', 'resume'));

CREATE TABLE wait (
    task_id      bigint NOT NULL,
    place        integer NOT NULL,
    stint        integer NOT NULL DEFAULT 0,        -- how often it was opened
    state        text NOT NULL DEFAULT 'dormant' CHECK (state IN ('dormant', 'open', 'fired', 'ended')),
    location_id  bigint,
    snapshot_id  bigint,
    trigger      text NOT NULL,                      -- module:Class in the code location
    args         jsonb NOT NULL,
    label        text NOT NULL,
    deadline_s   double precision NOT NULL CHECK (deadline_s > 0),
    poll_s       double precision,
    asset_id     bigint,                             -- it waits for this cell: nobody has to watch it
    partition    text COLLATE "C",
    newer        boolean NOT NULL DEFAULT false,
    since        timestamptz,                        -- the first time: the deadline counts over retries
    deadline_at  timestamptz,
    triggerer_id text,
    watched      integer,                            -- the stint that it watches
    fired_at     timestamptz,
    payload      jsonb,
    error        text,
    PRIMARY KEY (task_id, place),
    CHECK (state <> 'open' OR deadline_at IS NOT NULL)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX wait_due ON wait (deadline_at) WHERE state = 'open';
CREATE INDEX wait_free ON wait (location_id, snapshot_id, deadline_at)
    WHERE state = 'open' AND triggerer_id IS NULL AND asset_id IS NULL;
CREATE INDEX wait_watched ON wait (triggerer_id) WHERE triggerer_id IS NOT NULL;
CREATE INDEX wait_cell ON wait (asset_id, partition) WHERE state = 'open' AND asset_id IS NOT NULL;

CREATE TABLE triggerer (
    id               text PRIMARY KEY,
    host             text NOT NULL,
    pid              integer NOT NULL,
    started_at       timestamptz NOT NULL DEFAULT now(),
    lease_expires_at timestamptz NOT NULL,
    state            text NOT NULL DEFAULT 'live' CHECK (state IN ('live', 'gone'))
);
