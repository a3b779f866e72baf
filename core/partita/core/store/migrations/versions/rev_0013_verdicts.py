"""The verdicts of requests: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0013_verdicts"
down_revision = "0009_actions"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0013_verdicts.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.drop_column("automation_request", "verdict")
