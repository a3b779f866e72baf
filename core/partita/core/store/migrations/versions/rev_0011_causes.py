"""What automation asked for because of a run: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0011_causes"
down_revision = "0009_pauses"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0011_causes.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.drop_table("caused_cells")
