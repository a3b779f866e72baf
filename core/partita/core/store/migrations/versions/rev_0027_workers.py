"""Versions of workers: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0027_workers"
down_revision = "0026_queues"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0027_workers.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.drop_column("worker", "renewed_at")
    op.drop_column("worker", "version")
