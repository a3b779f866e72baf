"""Queues of workers: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0026_queues"
down_revision = "0025_run_max_active"
branch_labels = None
depends_on = None

_ORDER = (
    "(date_trunc('second', ready_at AT TIME ZONE 'UTC') - priority * interval '60 seconds'), critical_path DESC, id"
)


def upgrade() -> None:
    statements = Path(__file__).with_name("0026_queues.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.execute(
        f"""
        DROP INDEX task_scheduled;
        DROP INDEX task_queued;
        ALTER TABLE task DROP COLUMN queue;
        ALTER TABLE worker DROP COLUMN queues;
        CREATE INDEX task_scheduled ON task (pool_set, lane, fair_key, {_ORDER}) WHERE state = 'scheduled';
        CREATE INDEX task_queued ON task (location_id, snapshot_id, lane, fair_key, {_ORDER}) WHERE state = 'queued'
        """
    )
