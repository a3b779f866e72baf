"""Waits and triggerers: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0014_waits"
down_revision = "0015_alerts"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0014_waits.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.drop_table("wait")
    op.drop_table("triggerer")
    op.drop_column("task", "waits")
