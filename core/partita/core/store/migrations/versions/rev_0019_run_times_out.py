"""Overdue runs in their order: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0019_run_times_out"
down_revision = "0009_by_hand"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0019_run_times_out.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.execute("DROP INDEX run_times_out")
    op.execute(
        "CREATE INDEX run_times_out ON run (times_out_at)"
        " WHERE times_out_at IS NOT NULL AND timed_out_at IS NULL AND state = 'running'"
    )
