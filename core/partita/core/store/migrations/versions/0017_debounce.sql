-- Keys that publications touched and that are decided about together: of assets whose condition is debounced.
ALTER TABLE automation_clock ADD COLUMN pending jsonb, ADD COLUMN pending_at timestamptz;
