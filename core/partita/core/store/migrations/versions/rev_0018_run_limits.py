"""Run timeouts, and versions without a server: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0018_run_limits"
down_revision = "0017_debounce"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0018_run_limits.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.drop_index("task_stranded")
    op.drop_table("version_gone")
    op.drop_index("run_times_out")
    op.drop_column("run", "timed_out_at")
    op.drop_column("run", "times_out_at")
