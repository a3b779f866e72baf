-- Approvals: a wait that a person answers. Its task is awaiting_input, and no triggerer takes it: it names no version.
ALTER TABLE wait ADD COLUMN asks boolean NOT NULL DEFAULT false;
CREATE INDEX wait_asked ON wait (task_id) WHERE state = 'open' AND asks;
ALTER TABLE task DROP CONSTRAINT task_waits_check;
ALTER TABLE task ADD CONSTRAINT task_waits_check CHECK (waits IN ('first', 'ask', 'open', 'met', 'resume')) NOT VALID;
