"""Alerts and the outbox of notices: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0015_alerts"
down_revision = "0009_run_tags"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0015_alerts.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    for table in ("maintenance", "notice_item", "notice", "alert", "alert_signal"):
        op.drop_table(table)
