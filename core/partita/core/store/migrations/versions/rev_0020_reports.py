"""Reports from outside that were answered: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0020_reports"
down_revision = "0014_waits"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0020_reports.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.execute("DROP TABLE report")
