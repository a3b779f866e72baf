-- Reports of producers outside partita that were answered (docs/events.md): a repeat of one gets the answer of the first. Small
-- rows: not the report itself, but the hash of what it said.
CREATE TABLE report (
    scope      text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    content    text NOT NULL,
    answer     jsonb NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (scope, key)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX report_expiry ON report (expires_at, scope, key);
