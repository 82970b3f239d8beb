"""The tables of a small shop, as its last migration leaves them."""

import datetime
import decimal
import enum

from sqlalchemy import CheckConstraint, Computed, Enum, ForeignKey, Identity, Index, MetaData, Numeric, String, func, text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

NAMES = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMES)


class State(enum.Enum):
    open = "open"
    paid = "paid"
    sent = "sent"


class Customer(Base):
    __tablename__ = "customer"
    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    email: Mapped[str] = mapped_column(String(120), unique=True)
    full_name: Mapped[str] = mapped_column(String(80))
    joined: Mapped[datetime.datetime] = mapped_column(server_default=func.now())
    tags: Mapped[list[str]] = mapped_column(ARRAY(String(20)), server_default=text("'{}'::character varying[]"))
    orders: Mapped[list["Order"]] = relationship(back_populates="customer")
    __table_args__ = (Index("ix_customer_lower_email", text("lower(email)"), unique=True), Index("ix_customer_tags", "tags"))


class Product(Base):
    __tablename__ = "product"
    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(String(20), unique=True, comment="what the label says")
    price: Mapped[decimal.Decimal] = mapped_column(Numeric(10, 2))
    facts: Mapped[dict] = mapped_column(JSONB, server_default=text("'{}'::jsonb"))
    __table_args__ = (CheckConstraint("price >= 0", name="price"), {"comment": "what there is to buy"})


class Order(Base):
    __tablename__ = "order"
    id: Mapped[int] = mapped_column(primary_key=True)
    customer_id: Mapped[int] = mapped_column(ForeignKey("customer.id", ondelete="CASCADE"), index=True)
    state: Mapped[State] = mapped_column(Enum(State, name="order_state"), server_default="open")
    revision: Mapped[int] = mapped_column()
    customer: Mapped[Customer] = relationship(back_populates="orders")
    items: Mapped[list["Item"]] = relationship(cascade="all, delete-orphan", order_by="Item.position")
    __mapper_args__ = {"version_id_col": revision}
    __table_args__ = (Index("ix_order_open", "customer_id", postgresql_where=text("state = 'open'::order_state")),)


class Item(Base):
    __tablename__ = "item"
    order_id: Mapped[int] = mapped_column(ForeignKey("order.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    product_id: Mapped[int] = mapped_column(ForeignKey("product.id"))
    quantity: Mapped[int] = mapped_column()
    price: Mapped[decimal.Decimal] = mapped_column(Numeric(10, 2))
    total: Mapped[decimal.Decimal] = mapped_column(Numeric(12, 2), Computed("quantity * price", persisted=True))
    product: Mapped[Product] = relationship()
