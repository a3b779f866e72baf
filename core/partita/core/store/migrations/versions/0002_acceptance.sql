-- Accepting present code and dependencies as equivalent (ADR 2): who, why, and what each cell was recorded to be made from
-- before and after, so that it can be taken back.
CREATE TABLE acceptance (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at        timestamptz NOT NULL DEFAULT now(),
    who       text NOT NULL,
    reason    text NOT NULL CHECK (reason <> ''),
    request   jsonb NOT NULL,
    cells     integer NOT NULL,
    undone_at timestamptz,
    undone_by text
);

CREATE TABLE accepted_cell (
    acceptance_id          bigint NOT NULL REFERENCES acceptance,
    asset_id               bigint NOT NULL,
    partition              text COLLATE "C" NOT NULL,
    fence                  bigint NOT NULL,            -- of the cell when it was accepted: an attempt since raises it
    was_fingerprint_id     bigint,                     -- of the table fingerprint, as the next; null: never recorded
    was_dependency_hash_id bigint,
    was_digest             bigint,
    fingerprint_id         bigint,
    dependency_hash_id     bigint,
    consumed_digest        bigint,
    PRIMARY KEY (acceptance_id, asset_id, partition)
);
