"""What each process has done, for the metrics: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0014_counts"
down_revision = "0011_causes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0014_counts.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.drop_column("component", "counts")
