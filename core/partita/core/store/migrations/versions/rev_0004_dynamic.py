"""Keys of dynamic schemes: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0004_dynamic"
down_revision = "0003_identity"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0004_dynamic.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.drop_column("run", "keys_revision")
    op.drop_table("dynamic_revision")
    op.drop_table("dynamic_key")
