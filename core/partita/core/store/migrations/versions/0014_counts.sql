-- What a process has done since it started: duties with their cost, attempts by outcome. The API's /metrics adds them up.
ALTER TABLE component ADD COLUMN counts jsonb NOT NULL DEFAULT '{}';
