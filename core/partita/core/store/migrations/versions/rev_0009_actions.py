"""Reasons and undos of what people did: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0009_actions"
down_revision = "0012_clocks"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0009_actions.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    for index in ("audit_action", "audit_who", "audit_undo"):
        op.drop_index(index, "audit")
    for column in ("undo_of", "reason"):
        op.drop_column("audit", column)
