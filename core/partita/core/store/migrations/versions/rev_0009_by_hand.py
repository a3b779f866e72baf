"""What cells held before they were marked or wiped by hand: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0009_by_hand"
down_revision = "0018_run_limits"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0009_by_hand.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.drop_table("kept_cell")
