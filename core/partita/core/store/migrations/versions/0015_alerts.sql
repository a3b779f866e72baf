-- Alerts: what went wrong and needs a person, told once per cause and target (docs/alerts.md).

-- What a transaction saw that people may want to hear of; appended with it, taken by the duty that raises alerts. Most are empty
-- of news and go at once, so the table stays small.
CREATE TABLE alert_signal (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind      text NOT NULL,
    asset_id  bigint,
    partition text COLLATE "C",
    run_id    bigint,
    task_id   bigint,
    detail    jsonb NOT NULL DEFAULT '{}',
    at        timestamptz NOT NULL DEFAULT now()
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX alert_signal_cell ON alert_signal (asset_id, partition);

CREATE TABLE alert (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cause         text COLLATE "C" NOT NULL,   -- what makes it one and the same; compared, never taken apart
    kind          text NOT NULL,
    severity      text NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
    subject       text COLLATE "C" NOT NULL,   -- what it is about, by its name when it began
    asset_id      bigint,
    partition     text COLLATE "C",
    run_id        bigint,
    task_id       bigint,
    owners        jsonb NOT NULL DEFAULT '[]',
    rules         jsonb NOT NULL DEFAULT '[]', -- the names of the rules that it fits
    detail        jsonb NOT NULL DEFAULT '{}',
    since         timestamptz NOT NULL,        -- a publication after it ends what is about a cell
    first_at      timestamptz NOT NULL DEFAULT now(),
    last_at       timestamptz NOT NULL DEFAULT now(),
    times         integer NOT NULL DEFAULT 1,
    round         integer NOT NULL DEFAULT 1,  -- rises when a snooze ends and the cause did not
    acked_at      timestamptz,
    acked_by      text,
    snoozed_until timestamptz,
    snoozed_by    text,
    note          text NOT NULL DEFAULT '',
    ended_at      timestamptz
) WITH (fillfactor = 85);
CREATE UNIQUE INDEX alert_open ON alert (cause) WHERE ended_at IS NULL;
CREATE INDEX alert_snoozed ON alert (snoozed_until, id) WHERE ended_at IS NULL AND snoozed_until IS NOT NULL;
CREATE INDEX alert_ended ON alert (ended_at, id) WHERE ended_at IS NOT NULL;

-- The outbox: one message to one target. A target is a place in the configuration, never an address.
CREATE TABLE notice (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    rule        text COLLATE "C" NOT NULL,
    target      text COLLATE "C" NOT NULL,
    kind        text NOT NULL CHECK (kind IN ('problem', 'recovery', 'test')),
    state       text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'sent', 'failed', 'dropped')),
    created_at  timestamptz NOT NULL DEFAULT now(),
    due_at      timestamptz NOT NULL,
    tries       integer NOT NULL DEFAULT 0,
    lease_until timestamptz,                    -- while somebody sends it
    ended_at    timestamptz,
    error       text
) WITH (fillfactor = 85);
CREATE INDEX notice_due ON notice (due_at, id) WHERE state = 'pending';
CREATE INDEX notice_target ON notice (rule, target, id);
CREATE INDEX notice_ended ON notice (ended_at, id) WHERE ended_at IS NOT NULL;

-- One notice per cause, round and target, however many schedulers there are and rules it fits.
CREATE TABLE notice_item (
    alert_id  bigint NOT NULL,
    target    text COLLATE "C" NOT NULL,
    kind      text NOT NULL,
    round     integer NOT NULL,
    notice_id bigint NOT NULL,
    PRIMARY KEY (alert_id, target, kind, round)
);
CREATE INDEX notice_item_notice ON notice_item (notice_id);

-- Windows in which notices wait, made by hand; those of the configuration are in no table.
CREATE TABLE maintenance (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    selection text COLLATE "C" NOT NULL,
    starts_at timestamptz NOT NULL,
    ends_at   timestamptz NOT NULL,
    by_whom   text NOT NULL,
    reason    text NOT NULL,
    CHECK (ends_at >= starts_at)
);
CREATE INDEX maintenance_ends ON maintenance (ends_at);
