"""Backfills that are controlled while they run: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0008_backfills"
down_revision = "0019_run_times_out"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0008_backfills.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.execute(
        """
        ALTER TABLE task ADD CONSTRAINT task_run_id_fkey FOREIGN KEY (run_id) REFERENCES run;
        DROP INDEX run_cancelling;
        ALTER TABLE run DROP COLUMN cancelled_from;
        ALTER TABLE pool DROP CONSTRAINT pool_paused, DROP COLUMN paused_by, DROP COLUMN paused_at;
        DROP INDEX backfill_prioritised;
        ALTER TABLE backfill DROP COLUMN priority, DROP COLUMN newest_first
        """
    )
