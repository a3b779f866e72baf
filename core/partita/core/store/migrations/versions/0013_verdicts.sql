-- What of its condition held when a request was made: [text, holds, parts].
ALTER TABLE automation_request ADD COLUMN verdict jsonb;
