-- What people did and why. `undo_of` is the entry that this one took back: each is taken back at most once.
ALTER TABLE audit ADD COLUMN reason text NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN undo_of bigint;
UPDATE audit SET reason = detail->>'reason', detail = detail - 'reason' WHERE detail->>'reason' <> '';
CREATE UNIQUE INDEX audit_undo ON audit (undo_of) WHERE undo_of IS NOT NULL;
CREATE INDEX audit_who ON audit (who, id DESC);
CREATE INDEX audit_action ON audit (action, id DESC);
