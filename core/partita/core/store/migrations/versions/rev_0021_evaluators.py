"""Observers, schedules and sensors: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0021_evaluators"
down_revision = "0021_jobs"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0021_evaluators.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.drop_table("asked")
    op.drop_table("evaluation")
    op.drop_table("evaluator")
