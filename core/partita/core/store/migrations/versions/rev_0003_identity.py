"""Former keys, homes, schemes and former cells: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0003_identity"
down_revision = "0003_trigger_rules"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0003_identity.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.drop_table("former_cell")
    op.drop_column("asset", "scheme_id")
    op.drop_table("scheme")
    op.drop_column("snapshot", "activated_at")
    op.drop_column("asset", "home_id")
    op.drop_table("identity_change")
