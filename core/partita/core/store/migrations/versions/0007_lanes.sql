-- Lanes: shares of capacity by weight, with a part of each pool kept for a lane (DESIGN section 1; ADR 11).
-- `configured_*` is what partita.toml said last: what a person set holds until the file says something else.
CREATE TABLE lane (
    name                text COLLATE "C" PRIMARY KEY,
    weight              integer NOT NULL CHECK (weight > 0),
    reserved            double precision NOT NULL DEFAULT 0 CHECK (reserved >= 0 AND reserved < 1),
    configured_weight   integer,
    configured_reserved double precision
);
INSERT INTO lane (name, weight) VALUES ('interactive', 4), ('scheduled', 4), ('backfill', 1);

-- Whose a task is inside its lane (a backfill, a person, the owner of its asset), and how many tasks its longest chain has.
ALTER TABLE task ALTER COLUMN lane TYPE text COLLATE "C";
ALTER TABLE task ADD COLUMN fair_key text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN critical_path integer NOT NULL DEFAULT 0;
UPDATE task SET lane = 'scheduled'
WHERE lane = 'automation' AND state NOT IN ('success', 'failed', 'upstream_failed', 'skipped', 'removed', 'cancelled');

-- Beside the holder, so that admission counts by lane and key without looking at tasks.
ALTER TABLE pool_slot ADD COLUMN lane text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE pool_slot ADD COLUMN fair_key text COLLATE "C" NOT NULL DEFAULT '';
UPDATE pool_slot s SET lane = t.lane FROM task t WHERE t.id = s.task_id;

-- A task's place in its queue: the second at which it became ready, earlier by a minute for each step of priority.
DROP INDEX task_scheduled;
CREATE INDEX task_scheduled ON task (pool_set, lane, fair_key,
        (date_trunc('second', ready_at AT TIME ZONE 'UTC') - priority * interval '60 seconds'), critical_path DESC, id)
    WHERE state = 'scheduled';
DROP INDEX task_queued;
CREATE INDEX task_queued ON task (location_id, snapshot_id, lane, fair_key,
        (date_trunc('second', ready_at AT TIME ZONE 'UTC') - priority * interval '60 seconds'), critical_path DESC, id)
    WHERE state = 'queued';
