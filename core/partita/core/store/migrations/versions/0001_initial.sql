-- The state tables of partita, explained in docs/adr/0002-state-tables.md.
-- Lock order everywhere: pool (by name), run (by id), task (by id), cell (by asset_id, partition).
-- Rows of hot tables stay few: terminal tasks leave every partial index; attempts and events are range-partitioned by time.
-- Keys are data and are compared by code point everywhere, whatever the database's locale: COLLATE "C".
-- Digests are unsigned 64 bit numbers, stored as the bigint of the same bits.
-- Foreign keys guard what people and loads write; tables written once a task or a cell carry none that are checked on an
-- update (a check locks the referenced row, and all publishers would meet on the rows of one fingerprint or one asset).

-- ---------------------------------------------------------------- definitions
CREATE TABLE location (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name               text COLLATE "C" NOT NULL UNIQUE,
    active_snapshot_id bigint,
    state              text NOT NULL DEFAULT 'down' CHECK (state IN ('serving', 'loading', 'broken', 'down')),
    error              text,
    modules            jsonb NOT NULL DEFAULT '[]',
    state_since        timestamptz NOT NULL DEFAULT now(),
    loaded_at          timestamptz
);

CREATE TABLE snapshot (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    location_id bigint NOT NULL REFERENCES location,
    hash        text NOT NULL,                    -- the version id of the code location server
    body        bytea NOT NULL,                   -- canonical JSON, as received
    effective   bytea NOT NULL,                   -- with the last good definitions of modules that do not load
    kept        jsonb NOT NULL DEFAULT '[]',      -- keys of the assets that are kept, with the version that defined each
    created_at  timestamptz NOT NULL DEFAULT now(),
    UNIQUE (location_id, hash)
);
ALTER TABLE location ADD FOREIGN KEY (active_snapshot_id) REFERENCES snapshot;

CREATE TABLE code_server (
    server_id        text COLLATE "C" PRIMARY KEY,
    location_id      bigint NOT NULL REFERENCES location,
    address          text NOT NULL,
    versions         jsonb NOT NULL DEFAULT '[]',  -- the snapshot hashes that it can execute
    lease_expires_at timestamptz NOT NULL
);
CREATE INDEX code_server_location ON code_server (location_id);

CREATE TABLE asset (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- stable over renames and moves
    key           text COLLATE "C" NOT NULL UNIQUE,
    location_id   bigint REFERENCES location,
    snapshot_id   bigint REFERENCES snapshot,      -- the last snapshot that defines it
    first_seen_at timestamptz NOT NULL DEFAULT now(),
    retired_at    timestamptz
);
CREATE INDEX asset_location ON asset (location_id);

CREATE TABLE fingerprint (
    id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    text text COLLATE "C" NOT NULL UNIQUE
);

-- ---------------------------------------------------------------- cells
CREATE SEQUENCE fence_seq;   -- one sequence for all cells: a later claim always holds the higher fence

CREATE TABLE cell (
    asset_id           bigint NOT NULL,
    partition          text COLLATE "C" NOT NULL,  -- the stored key; '' for an unpartitioned asset
    window_start       timestamptz,
    window_end         timestamptz,
    fence              bigint NOT NULL DEFAULT 0,
    -- last success; null until the first publication
    data_version       text,
    fingerprint_id     bigint,                     -- of the table fingerprint, as the next
    dependency_hash_id bigint,
    consumed_digest    bigint,
    location           text,
    metadata           jsonb,
    published_at       timestamptz,                -- of the last publication or confirmation
    version_at         timestamptz,                -- when data_version last moved
    published_attempt  bigint,                     -- of the last publication or confirmation: the one that consumed the digest
    published_run      bigint,
    -- last attempt
    last_outcome       text,                       -- published unchanged skipped failed cancelled lost
    last_attempt       bigint,
    last_attempt_at    timestamptz,
    last_error         text,
    PRIMARY KEY (asset_id, partition)
) WITH (fillfactor = 85);

CREATE TABLE cell_change (
    seq       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    asset_id  bigint NOT NULL,
    partition text COLLATE "C" NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX cell_change_asset ON cell_change (asset_id, partition);

CREATE TABLE cell_page (
    asset_id  bigint NOT NULL,
    first_key text COLLATE "C" NOT NULL, -- the page holds the keys from here to the first key of the next page (C collation)
    n         integer NOT NULL,
    packed    bytea NOT NULL,       -- see core/cells/pages.py
    sum_hash  bigint NOT NULL,
    PRIMARY KEY (asset_id, first_key)
);

-- ---------------------------------------------------------------- requests, plans, runs
CREATE TABLE plan (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash       text NOT NULL,
    request    jsonb NOT NULL,
    as_of      timestamptz NOT NULL,
    body       bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX plan_expiry ON plan (expires_at);

CREATE TABLE backfill (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text NOT NULL,
    state       text NOT NULL CHECK (state IN ('running', 'success', 'failed', 'cancelled')),
    request     jsonb NOT NULL,
    max_active  integer CHECK (max_active > 0),
    created_by  text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz
);

CREATE TABLE run (
    id                  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    backfill_id         bigint REFERENCES backfill,
    state               text NOT NULL CHECK (state IN ('running', 'success', 'failed', 'cancelled')),
    lane                text NOT NULL DEFAULT 'interactive',
    priority            integer NOT NULL DEFAULT 0,
    cause               jsonb NOT NULL,             -- {"kind": "person|cli|api|backfill|eager", "by": ..., "text": ...}
    request             jsonb NOT NULL,
    plan_hash           text NOT NULL,
    as_of               timestamptz NOT NULL,       -- the instant at which the run sees partitions
    params              jsonb NOT NULL DEFAULT '{}',
    created_at          timestamptz NOT NULL DEFAULT now(),
    finished_at         timestamptz,
    cancel_requested_at timestamptz,
    tallies             jsonb NOT NULL DEFAULT '{}', -- folded from run_tally: terminal tasks by state
    task_count          integer NOT NULL
);
CREATE INDEX run_open ON run (id) WHERE state = 'running';
CREATE INDEX run_recent ON run (created_at DESC, id DESC);
CREATE INDEX run_backfill ON run (backfill_id) WHERE backfill_id IS NOT NULL;

CREATE TABLE run_pin (
    run_id      bigint NOT NULL REFERENCES run,
    location_id bigint NOT NULL REFERENCES location,
    snapshot_id bigint NOT NULL REFERENCES snapshot,
    PRIMARY KEY (run_id, location_id)
);

CREATE TABLE run_tally (          -- appended by completions, folded by a duty: completions never touch run rows
    seq    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL,
    state  text NOT NULL,
    n      integer NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX run_tally_run ON run_tally (run_id);

-- ---------------------------------------------------------------- tasks
CREATE SEQUENCE task_id_seq;      -- ids rise along the graph: an upstream task always has the lower id

CREATE TABLE task (
    id             bigint PRIMARY KEY DEFAULT nextval('task_id_seq'),
    run_id         bigint NOT NULL REFERENCES run,
    kind           text NOT NULL DEFAULT 'step' CHECK (kind IN ('step', 'gate')),
    step           text NOT NULL,
    location_id    bigint,                            -- the pin: null for gates
    snapshot_id    bigint,
    state          text NOT NULL CHECK (state IN ('none', 'scheduled', 'queued', 'running', 'deferred', 'up_for_retry',
                       'awaiting_input', 'success', 'failed', 'upstream_failed', 'skipped', 'removed', 'cancelled')),
    outcome        text,                              -- of success: published unchanged
    rule           text NOT NULL DEFAULT 'all_success',
    waiting_on     integer NOT NULL DEFAULT 0 CHECK (waiting_on >= 0),
    bad_upstream   integer NOT NULL DEFAULT 0,        -- failed or upstream_failed
    skip_upstream  integer NOT NULL DEFAULT 0,
    pool_set       text COLLATE "C" NOT NULL DEFAULT '[]', -- [[name, slots], ...] by name, canonical JSON: the unit of admission
    lane           text NOT NULL,
    priority       integer NOT NULL DEFAULT 0,
    wave           integer NOT NULL DEFAULT 0,
    conditional    boolean NOT NULL DEFAULT false,    -- planned only because an input may change (early cutoff)
    attempt_number integer NOT NULL DEFAULT 0,        -- of the last attempt that started
    user_failures  integer NOT NULL DEFAULT 0,
    infra_losses   integer NOT NULL DEFAULT 0,
    retry          jsonb NOT NULL DEFAULT '{}',       -- RetryPolicy
    timeout_s      double precision,
    not_before     timestamptz,                       -- up_for_retry: when it is scheduled again
    worker_id      text,                              -- while running
    attempt_id     bigint,                            -- the live or the last attempt
    fence          bigint NOT NULL DEFAULT 0,
    reason         text,                              -- the binding reason of a state that waits (closed enum)
    reason_detail  jsonb,
    error          text,
    cell_count     integer NOT NULL DEFAULT 0,
    cancel_requested boolean NOT NULL DEFAULT false,
    created_at     timestamptz NOT NULL DEFAULT now(),
    ready_at       timestamptz,
    queued_at      timestamptz,
    started_at     timestamptz,
    finished_at    timestamptz
) WITH (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX task_run ON task (run_id, id);
CREATE INDEX task_scheduled ON task (pool_set, priority DESC, ready_at, id) WHERE state = 'scheduled';
CREATE INDEX task_queued ON task (location_id, snapshot_id, priority DESC, queued_at, id) WHERE state = 'queued';
CREATE INDEX task_active ON task (run_id) WHERE state IN ('queued', 'running');
CREATE INDEX task_running ON task (worker_id) WHERE state = 'running';
CREATE INDEX task_retry ON task (not_before) WHERE state = 'up_for_retry';

CREATE TABLE task_edge (
    upstream_id   bigint NOT NULL,
    downstream_id bigint NOT NULL CHECK (downstream_id > upstream_id),
    PRIMARY KEY (upstream_id, downstream_id)
);
CREATE INDEX task_edge_downstream ON task_edge (downstream_id);

CREATE TABLE task_cell (
    task_id      bigint NOT NULL,
    asset_id     bigint NOT NULL,
    partition    text COLLATE "C" NOT NULL,
    state        text NOT NULL DEFAULT 'pending'
                 CHECK (state IN ('pending', 'published', 'unchanged', 'skipped', 'failed', 'upstream_failed', 'cancelled', 'removed')),
    reason       text NOT NULL,                        -- why it was planned: missing failed stale_code stale_data stale_dependencies forced
    data_version text,
    error        text,
    PRIMARY KEY (task_id, asset_id, partition)
) WITH (fillfactor = 85);
CREATE INDEX task_cell_cell ON task_cell (asset_id, partition, task_id);

-- One owner per cell: the one non-terminal task that owns it.
CREATE TABLE open_cell (
    asset_id  bigint NOT NULL,
    partition text COLLATE "C" NOT NULL,
    task_id   bigint NOT NULL,
    PRIMARY KEY (asset_id, partition)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX open_cell_task ON open_cell (task_id);

-- A request that joined a cell which an older task owns, or that waits for one that runs.
CREATE TABLE cell_cause (
    asset_id  bigint NOT NULL,
    partition text COLLATE "C" NOT NULL,
    task_id   bigint NOT NULL,               -- the owner
    run_id    bigint NOT NULL,               -- who asks
    waits     boolean NOT NULL,              -- true: the owner was running (in_progress); re-planned at its end
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (task_id, asset_id, partition, run_id)
);

-- ---------------------------------------------------------------- pools
CREATE TABLE pool (
    name        text COLLATE "C" PRIMARY KEY,
    slots       integer NOT NULL CHECK (slots >= 0),
    description text NOT NULL DEFAULT '',
    automatic   boolean NOT NULL DEFAULT false
);
INSERT INTO pool (name, slots, description) VALUES ('default', 128, 'Tasks that name no pool (S-022)');

CREATE TABLE pool_slot (           -- every slot has a named holder: queued or running tasks
    pool    text COLLATE "C" NOT NULL REFERENCES pool,
    task_id bigint NOT NULL,
    slots   integer NOT NULL CHECK (slots > 0),
    since   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (pool, task_id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX pool_slot_task ON pool_slot (task_id);

-- ---------------------------------------------------------------- workers, attempts
CREATE TABLE worker (                -- few rows, renewed every few seconds: no second index, so that renewals stay HOT
    id               text COLLATE "C" PRIMARY KEY,
    host             text NOT NULL,
    pid              integer NOT NULL,
    capacity         integer NOT NULL,
    started_at       timestamptz NOT NULL DEFAULT now(),
    lease_expires_at timestamptz NOT NULL,
    state            text NOT NULL DEFAULT 'live' CHECK (state IN ('live', 'draining', 'gone'))
) WITH (fillfactor = 50);

CREATE SEQUENCE attempt_id_seq;
CREATE TABLE attempt (
    id          bigint NOT NULL DEFAULT nextval('attempt_id_seq'),
    task_id     bigint NOT NULL,
    run_id      bigint NOT NULL,
    number      integer NOT NULL,
    worker_id   text NOT NULL,
    snapshot_id bigint NOT NULL,
    fence       bigint NOT NULL,
    queued_at   timestamptz,
    started_at  timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    outcome     text,               -- AttemptOutcome; null while it runs
    error       text,
    traceback   text,
    inputs      jsonb NOT NULL DEFAULT '[]',   -- the inputs manifest: [{"name", "upstream", "cells", "digest"}]
    log         text,               -- where the log is
    pid         integer,
    usage       jsonb,              -- {"cpu_s", "peak_rss_bytes"}
    PRIMARY KEY (id, started_at)
) PARTITION BY RANGE (started_at);
CREATE INDEX attempt_task ON attempt (task_id, number);
CREATE INDEX attempt_recent ON attempt (started_at);
CREATE TABLE attempt_rest PARTITION OF attempt DEFAULT;

CREATE TABLE check_result (
    attempt_id bigint NOT NULL,
    asset_id   bigint NOT NULL,
    partition  text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    passed     boolean NOT NULL,
    blocking   boolean NOT NULL,
    detail     jsonb NOT NULL DEFAULT '{}',
    at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (attempt_id, asset_id, partition, name)
);
CREATE INDEX check_result_asset ON check_result (asset_id, name, at DESC);

-- ---------------------------------------------------------------- events
CREATE SEQUENCE event_id_seq;
CREATE TABLE event (
    id        bigint NOT NULL DEFAULT nextval('event_id_seq'),
    at        timestamptz NOT NULL DEFAULT now(),
    xid       xid8 NOT NULL DEFAULT pg_current_xact_id(),   -- streams read only below the oldest running transaction
    kind      text NOT NULL,         -- materialized task run backfill location plan
    asset_id  bigint,
    partition text COLLATE "C",
    run_id    bigint,
    task_id   bigint,
    body      jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (id, at)
) PARTITION BY RANGE (at);
CREATE INDEX event_xid ON event (xid, id);
CREATE INDEX event_asset ON event (asset_id, id) WHERE asset_id IS NOT NULL;
CREATE TABLE event_rest PARTITION OF event DEFAULT;

-- No consumer keeps a cursor over ids: they commit out of order.
CREATE TABLE event_todo (
    event_id  bigint NOT NULL,
    consumer  text COLLATE "C" NOT NULL, -- 'automation' now; alerts, lineage later
    asset_id  bigint NOT NULL,
    partition text COLLATE "C" NOT NULL,
    run_id    bigint,
    created_at timestamptz NOT NULL DEFAULT now(),   -- when it was put (or put back: the end of the line)
    PRIMARY KEY (consumer, event_id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX event_todo_line ON event_todo (consumer, created_at, event_id);

-- Once per cause: a consumer's cell is requested once for each state of its inputs.
CREATE TABLE automation_request (
    asset_id     bigint NOT NULL,
    partition    text COLLATE "C" NOT NULL,
    state_digest bigint NOT NULL,
    run_id       bigint,
    cause        jsonb NOT NULL,
    at           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (asset_id, partition, state_digest)
);
CREATE INDEX automation_request_at ON automation_request (at DESC);

-- ---------------------------------------------------------------- housekeeping
CREATE TABLE duty (
    name        text COLLATE "C" PRIMARY KEY,
    holder      text,
    last_ran_at timestamptz,
    last_ms     double precision
);

CREATE TABLE component (             -- what the System page shows
    id           text COLLATE "C" PRIMARY KEY,
    kind         text NOT NULL,
    name         text NOT NULL,
    pid          integer,
    last_seen_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE db_pulse (
    id      integer PRIMARY KEY CHECK (id = 1),
    last_ok timestamptz NOT NULL
);
INSERT INTO db_pulse VALUES (1, now());

CREATE TABLE audit (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at     timestamptz NOT NULL DEFAULT now(),
    who    text NOT NULL,
    action text NOT NULL,
    detail jsonb NOT NULL
);
