-- How a schedule that was resumed catches up with the ticks that passed meanwhile: which of them count, and how many of the runs that it
-- asked for may be active at a time. NULL once it has caught up.
ALTER TABLE evaluator ADD COLUMN catch_up text CHECK (catch_up IN ('latest', 'all'));
ALTER TABLE evaluator ADD COLUMN pace integer CHECK (pace > 0);
