-- Files whose last pointer a person wiped with its data. A row is taken before its file is removed, and stays as the record that it is
-- gone: what was kept for an undo is not given back then.
CREATE TABLE doomed_file (
    file       text COLLATE "C" PRIMARY KEY,    -- the part of a location before '#'
    audit_id   bigint NOT NULL,
    since      timestamptz NOT NULL,
    taken_at   timestamptz,
    removed_at timestamptz,
    CHECK (removed_at IS NULL OR taken_at IS NOT NULL)
);
CREATE INDEX doomed_due ON doomed_file (since) WHERE removed_at IS NULL;
