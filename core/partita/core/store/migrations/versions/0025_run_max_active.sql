-- At most so many tasks of a run are queued or running at once: the slots of its pool `run:ID`, which only a run with a limit has.
ALTER TABLE run ADD COLUMN max_active integer CHECK (max_active > 0);
ALTER TABLE job ADD COLUMN max_active integer CHECK (max_active > 0);   -- of the runs that it asks for
