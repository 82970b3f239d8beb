"""A shop whose tables Alembic makes and changes: migrations up and down, on line and as a script, the comparison of tables
with models, and what its ORM does with the rows. Each step that ends well is a line `pass alembic.STEP` of the report."""

import io
import shutil
import sys
import tempfile
import traceback
from decimal import Decimal
from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from models import Base, Customer, Item, Order, Product, State
from sqlalchemy import Column, Date, create_engine, func, inspect, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, selectinload
from sqlalchemy.orm.exc import StaleDataError

HERE = Path(__file__).resolve().parent
SCHEMA = "app_alembic"
# Host, port, user and database are those of the environment, as libpq reads them.
engine = create_engine("postgresql+psycopg://", connect_args={"options": f"-csearch_path={SCHEMA}"})
STEPS = []


def step(function):
    STEPS.append(function)
    return function


def alembic(action, *arguments, scripts=HERE, output=None, **options):
    config = Config()
    config.set_main_option("script_location", str(scripts))
    config.attributes.update(metadata=Base.metadata, output=output)
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        getattr(command, action)(config, *arguments, **options)
        connection.commit()


def differences():
    with engine.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True}
        return compare_metadata(MigrationContext.configure(connection, opts=options), Base.metadata)


def tables():
    return sorted(inspect(engine).get_table_names())


@step
def upgrade_one_by_one():
    for revision in ("0001", "0002", "+1"):
        alembic("upgrade", revision)
    assert tables() == ["alembic_version", "customer", "item", "order", "product"], tables()


@step
def models_are_the_tables():
    assert differences() == [], differences()


@step
def migrated_rows_have_their_new_types():
    with Session(engine) as session:
        rows = session.execute(select(Product.code, Product.price, Product.facts).order_by(Product.code)).all()
        assert rows == [("apple", Decimal("0.50"), {"colour": "red"}), ("pear", Decimal("0.75"), {})], rows


@step
def rows_of_a_unit_of_work():
    with Session(engine) as session:
        apple, pear = session.scalars(select(Product).order_by(Product.code)).all()
        ann = Customer(email="Ann@example.org", full_name="Ann", tags=["old", "dear"])
        order = Order(customer=ann)
        for position, (product, quantity) in enumerate([(apple, 4), (pear, 2)], 1):
            order.items.append(Item(position=position, product=product, quantity=quantity, price=product.price))
        session.add_all([ann, order, Customer(email="bob@example.org", full_name="Bob")])
        session.commit()
        totals = [item.total for item in order.items]
        assert totals == [Decimal("2.00"), Decimal("1.50")], totals
        assert order.state is State.open and ann.joined is not None


@step
def queries():
    with Session(engine) as session:
        total = select(Customer.full_name, func.coalesce(func.sum(Item.total), 0)).outerjoin(Customer.orders).outerjoin(Order.items)
        rows = session.execute(total.group_by(Customer.id).order_by(Customer.id)).all()
        assert rows == [("Ann", Decimal("3.50")), ("Bob", Decimal(0))], rows
        tagged = session.scalars(select(Customer.full_name).where(Customer.tags.contains(["dear"]))).all()
        assert tagged == ["Ann"], tagged
        exact = session.scalars(select(Customer.full_name).where(Customer.tags == ["old", "dear"])).all()
        assert exact == ["Ann"], exact
        red = session.scalars(select(Product.code).where(Product.facts["colour"].astext == "red")).all()
        assert red == ["apple"], red
        loaded = session.scalars(select(Order).options(selectinload(Order.items).selectinload(Item.product))).one()
        assert [item.product.code for item in loaded.items] == ["apple", "pear"]
        first = select(Item.order_id, func.row_number().over(partition_by=Item.order_id, order_by=Item.total.desc()).label("n"), Item.position)
        best = first.subquery()
        assert session.execute(select(best.c.position).where(best.c.n == 1)).scalars().all() == [1]


@step
def constraints_say_their_names():
    refused = {
        "uq_customer_email": Customer(email="bob@example.org", full_name="Bob"),
        "ix_customer_lower_email": Customer(email="BOB@example.org", full_name="Bob"),
        "ck_product_price": Product(code="air", price=Decimal(-1)),
        "fk_order_customer_id_customer": Order(customer_id=-1),
    }
    for name, row in refused.items():
        with Session(engine) as session:
            session.add(row)
            try:
                session.commit()
            except IntegrityError as error:
                assert error.orig.diag.constraint_name == name, (name, error.orig.diag.constraint_name)
            else:
                raise AssertionError(f"{name} let a row pass")


@step
def a_stale_row_is_refused():
    with Session(engine) as first, Session(engine) as second:
        mine, other = first.scalars(select(Order)).one(), second.scalars(select(Order)).one()
        mine.state = State.paid
        first.commit()
        other.state = State.sent
        try:
            second.commit()
        except StaleDataError:
            return
        raise AssertionError("the second writer was not told")


@step
def upsert_and_returning():
    with Session(engine) as session:
        rows = [{"code": "pear", "price": Decimal(1)}, {"code": "plum", "price": Decimal("0.20")}]
        upsert = insert(Product).values(rows)
        upsert = upsert.on_conflict_do_update(index_elements=["code"], set_={"price": upsert.excluded.price})
        codes = session.execute(upsert.returning(Product.code, Product.price)).all()
        assert sorted(codes) == [("pear", Decimal("1.00")), ("plum", Decimal("0.20"))], codes
        facts = update(Product).where(Product.code == "plum").values(facts=Product.facts.op("||")(func.jsonb_build_object("n", 1)))
        assert session.scalars(facts.returning(Product.facts)).one() == {"n": 1}
        session.commit()


@step
def autogenerate_finds_a_change():
    column = Column("birthday", Date)
    Base.metadata.tables["customer"].append_column(column)
    with tempfile.TemporaryDirectory() as directory:
        scripts = Path(directory) / "alembic"
        shutil.copytree(HERE, scripts)
        alembic("revision", scripts=scripts, message="birthday", autogenerate=True, rev_id="0004")
        written = next((scripts / "versions").glob("0004*")).read_text()
        assert "op.add_column('customer', sa.Column('birthday', sa.Date(), nullable=True))" in written, written
        alembic("upgrade", "head", scripts=scripts)
        assert differences() == [], differences()
        alembic("downgrade", "-1", scripts=scripts)
    Base.metadata.tables["customer"]._columns.remove(column)
    assert differences() == [], differences()


@step
def down_and_up_again():
    alembic("downgrade", "0002")
    assert "name" in [column["name"] for column in inspect(engine).get_columns("customer")]
    # An enum keeps its values.
    with engine.begin() as connection:
        connection.execute(text("alter type order_state rename value 'sent' to 'gone'"))
    alembic("downgrade", "base")
    assert tables() == ["alembic_version"], tables()


@step
def a_script_does_the_same():
    script = io.StringIO()
    alembic("upgrade", "head", sql=True, output=script)
    with engine.connect() as connection:
        connection = connection.execution_options(isolation_level="AUTOCOMMIT")
        connection.execute(text("drop table alembic_version"))
        connection.connection.driver_connection.execute(script.getvalue())
    assert differences() == [], differences()


def main():
    with engine.begin() as connection:
        connection.execute(text(f"drop schema if exists {SCHEMA} cascade"))
        connection.execute(text(f"create schema {SCHEMA}"))
    with open(sys.argv[1], "a") as report:
        for function in STEPS:
            try:
                function()
                outcome = "pass"
            except Exception:
                traceback.print_exc()
                outcome = "fail"
            report.write(f"{outcome} alembic.{function.__name__}\n")


main()
