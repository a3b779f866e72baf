"""What publications touched, gathered: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0017_debounce"
down_revision = "0014_counts"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0017_debounce.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.drop_column("automation_clock", "pending")
    op.drop_column("automation_clock", "pending_at")
