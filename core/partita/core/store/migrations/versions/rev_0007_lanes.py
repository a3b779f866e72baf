"""Lanes with weights and reserved shares: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0007_lanes"
down_revision = "0013_verdicts"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0007_lanes.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.execute(
        """
        DROP INDEX task_scheduled;
        DROP INDEX task_queued;
        CREATE INDEX task_scheduled ON task (pool_set, priority DESC, ready_at, id) WHERE state = 'scheduled';
        CREATE INDEX task_queued ON task (location_id, snapshot_id, priority DESC, queued_at, id) WHERE state = 'queued';
        ALTER TABLE pool_slot DROP COLUMN lane, DROP COLUMN fair_key;
        ALTER TABLE task DROP COLUMN fair_key, DROP COLUMN critical_path;
        ALTER TABLE task ALTER COLUMN lane TYPE text COLLATE "default";
        DROP TABLE lane
        """
    )
