-- When time makes the condition of an automated asset worth looking at. One row per asset with a condition; it is locked by the
-- look that it causes, so that a tick is heeded once whatever the number of schedulers.
CREATE TABLE automation_clock (
    asset_id  bigint PRIMARY KEY,
    condition text NOT NULL,            -- stands for the condition and the scheme that next_at was worked out from
    since     timestamptz NOT NULL,     -- when the asset was first automated: earlier windows wait for nobody
    looked_at timestamptz,              -- up to when time has been heeded; null: never yet
    next_at   timestamptz               -- null: time makes no difference
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX automation_clock_due ON automation_clock (next_at, asset_id) WHERE next_at IS NOT NULL;
