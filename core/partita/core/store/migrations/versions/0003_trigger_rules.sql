-- How many of a task's direct upstream tasks ended well: `one_success` and its kin are decided over it.
ALTER TABLE task ADD COLUMN good_upstream integer NOT NULL DEFAULT 0;
