"""Tags of runs: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0009_run_tags"
down_revision = "0008_backfills"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0009_run_tags.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.drop_table("run_tag")
