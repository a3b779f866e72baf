"""Freshness policies and the times in which they were broken: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0020_freshness"
down_revision = "0020_approvals"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0020_freshness.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.drop_table("late_span")
    op.drop_table("freshness")
