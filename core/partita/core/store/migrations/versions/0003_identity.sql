-- Identity and changed partitions (ADR 10): keys that assets had before, where an asset belongs, and the cells that were made
-- under a partition scheme which the asset no longer has.

-- What people and activations did to the identity of assets. Rows of kind 'rename' are the former keys: "`was` was its key
-- until `at`". The highest id tells caches of catalogs that something moved.
CREATE TABLE identity_change (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL DEFAULT now(),
    who      text NOT NULL,
    kind     text NOT NULL CHECK (kind IN ('rename', 'move', 'retire')),
    asset_id bigint NOT NULL REFERENCES asset,
    was      text COLLATE "C" NOT NULL,
    became   text COLLATE "C" NOT NULL
);
CREATE INDEX identity_change_asset ON identity_change (asset_id);

ALTER TABLE asset ADD COLUMN home_id bigint REFERENCES location;    -- where it was moved to; of two definitions this one counts
ALTER TABLE snapshot ADD COLUMN activated_at timestamptz;           -- the last time: its keys are the keys of then
UPDATE snapshot SET activated_at = created_at;

CREATE TABLE scheme (                                               -- partition schemes, interned
    id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash text COLLATE "C" NOT NULL UNIQUE,
    spec jsonb NOT NULL                                             -- null for an unpartitioned asset
);
ALTER TABLE asset ADD COLUMN scheme_id bigint REFERENCES scheme;    -- what the rows of `cell` are cells of; null: not recorded yet

-- The last success of cells that are no cells of the present scheme: never planned, never read as inputs, never deleted.
CREATE TABLE former_cell (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    moved_at           timestamptz NOT NULL DEFAULT now(),
    asset_id           bigint NOT NULL,
    scheme_id          bigint NOT NULL,
    partition          text COLLATE "C" NOT NULL,
    window_start       timestamptz,
    window_end         timestamptz,
    data_version       text NOT NULL,
    fingerprint_id     bigint,
    dependency_hash_id bigint,
    consumed_digest    bigint,
    location           text,
    metadata           jsonb,
    published_at       timestamptz,
    version_at         timestamptz,
    published_attempt  bigint,
    published_run      bigint
);
CREATE INDEX former_cell_asset ON former_cell (asset_id, scheme_id, partition);
