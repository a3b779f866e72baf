"""Days that were exported and deleted, and the indexes that find what is old: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0022_retention"
down_revision = "0021_evaluators"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0022_retention.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.execute("DROP TABLE archive_day; DROP INDEX run_finished, event_at, dynamic_key_ended")
