"""Conditional cells, automatic requests that wait for approval, faults of automation: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0005_cutoff_requests"
down_revision = "0004_dynamic"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0005_cutoff_requests.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.drop_table("automation_fault")
    op.drop_table("held_request")
    op.drop_column("duty", "last_error")
    op.drop_column("duty", "failures")
    op.drop_column("task_cell", "attempt_id")
    op.drop_column("task_cell", "conditional")
