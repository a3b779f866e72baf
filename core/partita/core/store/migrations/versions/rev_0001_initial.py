"""The initial state tables: executes the SQL file beside it, which is the one place where they are written down."""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0001_initial.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()  # the driver's own: no parameter marks are looked for
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    raise RuntimeError("the initial schema cannot be downgraded: drop the database, or restore a backup into a new one")
