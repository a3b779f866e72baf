-- What partita.toml said of a pool when it was last applied. A person's `partita pools set` holds until the file says another
-- number, so that a scheduler that starts does not undo it.
ALTER TABLE pool ADD COLUMN configured integer;
