-- What an attempt that added keys of dynamic schemes owes its run: the tasks over the new keys, and, once their gate has ended, the word to
-- what collects them. Until the row is taken the task's dependents do not hear of its end, nor does its run: nothing can end too early.
CREATE TABLE fan_out (
    task_id  bigint PRIMARY KEY,
    run_id   bigint NOT NULL,
    keys     jsonb NOT NULL,                    -- scheme -> the keys that were new
    revision bigint NOT NULL,                   -- of the keys, with these
    gate_id  bigint,                            -- ends with the tasks over the new keys; NULL: they are not planned yet
    held     bigint[] NOT NULL DEFAULT '{}',    -- tasks of the run that wait for that end
    again    jsonb NOT NULL DEFAULT '[]'        -- cells in progress elsewhere, planned again then: [[asset, partition], ...]
);
