-- Queues of workers: a task says which workers run it, a worker which queues it serves (S-148).
-- Workers of older versions take what is queued of any queue; they say nothing, and so count as serving the default one.
ALTER TABLE task ADD COLUMN queue text COLLATE "C" NOT NULL DEFAULT 'default';
ALTER TABLE worker ADD COLUMN queues text[] NOT NULL DEFAULT '{default}';

-- The queue before the party: neither admission nor a claim walks past the tasks of a queue that it does not ask for.
DROP INDEX task_scheduled;
CREATE INDEX task_scheduled ON task (pool_set, queue, lane, fair_key,
        (date_trunc('second', ready_at AT TIME ZONE 'UTC') - priority * interval '60 seconds'), critical_path DESC, id)
    WHERE state = 'scheduled';
DROP INDEX task_queued;
CREATE INDEX task_queued ON task (location_id, snapshot_id, queue, lane, fair_key,
        (date_trunc('second', ready_at AT TIME ZONE 'UTC') - priority * interval '60 seconds'), critical_path DESC, id)
    WHERE state = 'queued';
