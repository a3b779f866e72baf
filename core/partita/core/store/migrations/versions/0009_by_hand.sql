-- What cells held before somebody marked or wiped them, for the undo. `fence` is the one that the action gave the cell: what was
-- attempted since is not undone.
CREATE TABLE kept_cell (
    audit_id           bigint NOT NULL,
    asset_id           bigint NOT NULL,
    partition          text COLLATE "C" NOT NULL,
    fence              bigint NOT NULL,
    data_version       text,
    fingerprint_id     bigint,
    dependency_hash_id bigint,
    consumed_digest    bigint,
    location           text,
    metadata           jsonb,
    published_at       timestamptz,
    version_at         timestamptz,
    published_attempt  bigint,
    published_run      bigint,
    last_outcome       text,
    last_attempt       bigint,
    last_attempt_at    timestamptz,
    last_error         text,
    PRIMARY KEY (audit_id, asset_id, partition)
);
