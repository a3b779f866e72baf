-- Freshness policies (S-205): one row per asset that has one, locked by the look that judges it.
CREATE TABLE freshness (
    asset_id    bigint PRIMARY KEY,
    policy      text NOT NULL,              -- stands for the policy and the scheme that it was judged by
    since       timestamptz NOT NULL,       -- the policy holds since then: what was due before blames nobody
    state       text NOT NULL DEFAULT 'unknown' CHECK (state IN ('unknown', 'fresh', 'late')),
    state_since timestamptz NOT NULL,
    due_at      timestamptz,
    fresh_to    timestamptz,
    awaited     text COLLATE "C",
    burn        text,                       -- the window in which the error budget burns too fast
    burn_since  timestamptz,
    looked_at   timestamptz,
    next_at     timestamptz                 -- when time alone may change the state; null: it does not
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX freshness_due ON freshness (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX freshness_late ON freshness (asset_id) WHERE state = 'late';

-- When assets were late: all that an objective is counted from. A row per miss, not per look.
CREATE TABLE late_span (
    asset_id     bigint NOT NULL,
    from_at      timestamptz NOT NULL,
    until_at     timestamptz,               -- null: it is late now
    counted_from timestamptz NOT NULL,      -- what consumed the time is counted from here
    partition    text COLLATE "C",
    spent        jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (asset_id, from_at)
);
