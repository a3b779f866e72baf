-- Keys of dynamic schemes (ADR 10). A row is one life of a key: added at one revision, ended at another. The keys of any
-- revision can be read at any time, which is how a plan, and a run that is pinned to one, see the keys of one instant.
CREATE TABLE dynamic_key (
    scheme     text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    revision   bigint NOT NULL,                    -- that added it
    place      integer NOT NULL,                   -- among those that the same change added: the order given
    added_at   timestamptz NOT NULL DEFAULT now(),
    added_by   text NOT NULL,
    expires_at timestamptz,                        -- null: for good
    metadata   jsonb NOT NULL DEFAULT '{}',
    ended      bigint,                             -- the revision that ended it; null: it is there
    ended_at   timestamptz,
    ended_by   text,
    PRIMARY KEY (scheme, key, revision),
    CHECK ((ended IS NULL) = (ended_at IS NULL) AND (ended IS NULL) = (ended_by IS NULL)),
    CHECK (ended > revision)
);
CREATE UNIQUE INDEX dynamic_key_there ON dynamic_key (scheme, key) WHERE ended IS NULL;
CREATE UNIQUE INDEX dynamic_key_line ON dynamic_key (scheme, revision, place);
CREATE INDEX dynamic_key_due ON dynamic_key (expires_at) WHERE ended IS NULL AND expires_at IS NOT NULL;

-- One row: every change of keys takes its lock, so that a revision is complete when it can be seen.
CREATE TABLE dynamic_revision (
    id       smallint PRIMARY KEY CHECK (id = 1),
    revision bigint NOT NULL
);
INSERT INTO dynamic_revision VALUES (1, 0);

-- Which keys a run sees: those when it was planned, whatever becomes of them.
ALTER TABLE run ADD COLUMN keys_revision bigint NOT NULL DEFAULT 0;
