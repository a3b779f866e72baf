"""What the configuration said of a pool: executes the SQL file beside it."""

from pathlib import Path

from alembic import op

revision = "0006_pool_settings"
down_revision = "0005_cutoff_requests"
branch_labels = None
depends_on = None


def upgrade() -> None:
    statements = Path(__file__).with_name("0006_pool_settings.sql").read_text(encoding="utf-8")
    cursor = op.get_bind().connection.cursor()
    cursor.execute(statements)
    cursor.close()


def downgrade() -> None:
    op.drop_column("pool", "configured")
