-- Retention (S-231): finished history older than the configured age is exported by day, then deleted in bounded visits. A row is one
-- day (UTC), which is exported once: what is deleted is what was in its files.
CREATE TABLE archive_day (
    day         date PRIMARY KEY,
    state       text NOT NULL CHECK (state IN ('exporting', 'deleting', 'done')),
    rows        jsonb NOT NULL DEFAULT '{}',      -- exported rows by table
    started_at  timestamptz NOT NULL DEFAULT now(),
    exported_at timestamptz,
    done_at     timestamptz,
    CHECK ((state = 'exporting') = (exported_at IS NULL) AND (state = 'done') = (done_at IS NOT NULL))
);
CREATE UNIQUE INDEX archive_day_under_way ON archive_day ((true)) WHERE state <> 'done';   -- one day after the other
CREATE INDEX run_finished ON run (finished_at) WHERE finished_at IS NOT NULL;
-- Appended in the order of time: almost free to keep.
CREATE INDEX event_at ON event USING brin (at);
CREATE INDEX dynamic_key_ended ON dynamic_key (ended_at, scheme, key, revision) WHERE ended IS NOT NULL;
