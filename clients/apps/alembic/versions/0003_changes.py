"""What a second year asks for: other types and names, an enum with one more value, comments, checks, indexes."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"


def upgrade():
    with op.get_context().autocommit_block():
        op.execute("ALTER TYPE order_state ADD VALUE 'sent' AFTER 'paid'")
    op.alter_column("customer", "name", new_column_name="full_name", type_=sa.String(80), existing_type=sa.Text)
    op.alter_column("customer", "email", type_=sa.String(120), existing_type=sa.String(80))
    op.add_column(
        "customer",
        sa.Column("tags", postgresql.ARRAY(sa.String(20)), server_default=sa.text("'{}'::character varying[]"), nullable=False),
    )
    op.create_index("ix_customer_tags", "customer", ["tags"])
    op.create_index("ix_customer_lower_email", "customer", [sa.text("lower(email)")], unique=True)
    op.alter_column("product", "price", type_=sa.Numeric(10, 2), postgresql_using="price::numeric(10,2)")
    op.create_check_constraint(op.f("ck_product_price"), "product", "price >= 0")
    op.alter_column("product", "code", comment="what the label says")
    op.create_table_comment("product", "what there is to buy")
    op.create_index("ix_order_open", "order", ["customer_id"], postgresql_where=sa.text("state = 'open'::order_state"))


def downgrade():
    op.drop_index("ix_order_open", table_name="order")
    op.drop_table_comment("product")
    op.alter_column("product", "code", comment=None)
    op.drop_constraint(op.f("ck_product_price"), "product")
    op.alter_column("product", "price", type_=sa.Text)
    op.drop_index("ix_customer_lower_email", table_name="customer")
    op.drop_index("ix_customer_tags", table_name="customer")
    op.drop_column("customer", "tags")
    op.alter_column("customer", "email", type_=sa.String(80))
    op.alter_column("customer", "full_name", new_column_name="name", type_=sa.Text)
