"""Customers and products."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None


def upgrade():
    op.create_table(
        "customer",
        sa.Column("id", sa.Integer, sa.Identity(always=True), nullable=False),
        sa.Column("email", sa.String(80), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("joined", sa.DateTime, server_default=sa.func.now(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_customer"),
        sa.UniqueConstraint("email", name="uq_customer_email"),
    )
    op.create_table(
        "product",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("code", sa.String(20), nullable=False),
        sa.Column("price", sa.Text, nullable=False),
        sa.Column("facts", postgresql.JSONB, server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_product"),
        sa.UniqueConstraint("code", name="uq_product_code"),
    )
    op.execute("""INSERT INTO product (code, price, facts) VALUES ('apple', '0.50', '{"colour": "red"}'), ('pear', '0.75', '{}')""")


def downgrade():
    op.drop_table("product")
    op.drop_table("customer")
