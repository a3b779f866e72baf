-- What people paused. Asset 0 is everything, also what comes later.
CREATE TABLE pause (
    asset_id  bigint PRIMARY KEY,
    paused_by text NOT NULL,
    paused_at timestamptz NOT NULL DEFAULT now(),
    reason    text NOT NULL DEFAULT ''
);
