"""Deadlines of cells: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0010_deadlines"
down_revision = "0006_pool_settings"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0010_deadlines.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.drop_table("deadline")
