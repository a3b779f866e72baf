"""Limits of runs: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0025_run_max_active"
down_revision = "0024_catch_up"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0025_run_max_active.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.drop_column("job", "max_active")
    op.drop_column("run", "max_active")
