"""Fan-out at run time: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0023_fan_out"
down_revision = "0022_doomed"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0023_fan_out.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.drop_table("fan_out")
