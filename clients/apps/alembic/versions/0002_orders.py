"""Orders and their items."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade():
    op.create_table(
        "order",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("customer_id", sa.Integer, nullable=False),
        sa.Column("state", sa.Enum("open", "paid", name="order_state"), server_default="open", nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_order"),
        sa.ForeignKeyConstraint(["customer_id"], ["customer.id"], name="fk_order_customer_id_customer", ondelete="CASCADE"),
    )
    op.create_index("ix_order_customer_id", "order", ["customer_id"])
    op.create_table(
        "item",
        sa.Column("order_id", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("product_id", sa.Integer, nullable=False),
        sa.Column("quantity", sa.Integer, nullable=False),
        sa.Column("price", sa.Numeric(10, 2), nullable=False),
        sa.Column("total", sa.Numeric(12, 2), sa.Computed("quantity * price", persisted=True), nullable=False),
        sa.PrimaryKeyConstraint("order_id", "position", name="pk_item"),
        sa.ForeignKeyConstraint(["order_id"], ["order.id"], name="fk_item_order_id_order", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["product_id"], ["product.id"], name="fk_item_product_id_product"),
    )


def downgrade():
    op.drop_table("item")
    op.drop_index("ix_order_customer_id", table_name="order")
    op.drop_table("order")
    op.execute("DROP TYPE order_state")
