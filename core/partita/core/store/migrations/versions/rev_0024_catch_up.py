"""How a resumed schedule catches up: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0024_catch_up"
down_revision = "0023_fan_out"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0024_catch_up.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.drop_column("evaluator", "pace")
    op.drop_column("evaluator", "catch_up")
