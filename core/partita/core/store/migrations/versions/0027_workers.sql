-- What people ask of a worker: which version it is of, and when it was last heard of. Those of older versions say neither.
ALTER TABLE worker ADD COLUMN version text NOT NULL DEFAULT '';
ALTER TABLE worker ADD COLUMN renewed_at timestamptz;
