"""What psycopg 3 offers: parameters and results in text and binary form, its pipeline, COPY, cursors of client and server, two-phase
commit, types of users, async connections, the pool. Its package publishes no tests; these steps are ours. Each step that ends
well is a line `pass psycopg.STEP` of the report."""

import asyncio
import datetime as dt
import enum
import ipaddress
import sys
import threading
import time
import traceback
import uuid
from collections import namedtuple
from contextlib import suppress
from decimal import Decimal

import psycopg
from psycopg import errors, rows, sql
from psycopg.pq import TransactionStatus
from psycopg.types import TypeInfo
from psycopg.types.composite import CompositeInfo, register_composite
from psycopg.types.enum import EnumInfo, register_enum
from psycopg.types.hstore import register_hstore
from psycopg.types.json import Json, Jsonb
from psycopg.types.multirange import Multirange
from psycopg.types.range import Range, RangeInfo, register_range
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolTimeout

SCHEMA = "app_psycopg"
OPTIONS = {"options": f"-csearch_path={SCHEMA},public"}
UTC = dt.timezone.utc
STEPS = []


def step(function):
    STEPS.append(function)
    return function


# Host, port, user and database are those of the environment, as libpq reads them.
def connect(**options):
    return psycopg.connect(**OPTIONS, **options)


def one(connection, query, values=None, **options):
    return connection.execute(query, values, **options).fetchone()[0]


def refused(error, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except error as caught:
        return caught
    raise AssertionError(f"no {error.__name__}")


VALUES = [
    ("int2", -32768), ("int4", 2**31 - 1), ("int8", -(2**63)), ("numeric", Decimal("-12345678901234567890.000100")), ("numeric", Decimal("1E+30")),
    ("float4", 0.5), ("float8", 1.0e-300), ("bool", True), ("text", "it's \\ \"so\" é😀\n"), ("varchar", ""), ("bytea", bytes(range(256))),
    ("date", dt.date(1, 1, 1)), ("time", dt.time(23, 59, 59, 999999)), ("timetz", dt.time(1, 2, 3, tzinfo=dt.timezone(dt.timedelta(hours=-5, minutes=-30)))),
    ("timestamp", dt.datetime(2024, 2, 29, 12, 30, 0, 1)), ("timestamptz", dt.datetime(1999, 12, 31, 23, 0, tzinfo=UTC)),
    ("interval", dt.timedelta(days=-3, seconds=5, microseconds=7)), ("uuid", uuid.UUID(int=7)), ("inet", ipaddress.ip_address("10.0.0.1")),
    ("inet", ipaddress.ip_interface("2001:db8::1/64")), ("cidr", ipaddress.ip_network("192.168.0.0/16")), ("oid", 4294967295),
    ("int4[]", [[1, 2], [None, 4]]), ("text[]", ["a,b", "\"", None, "", "NULL", "{}"]), ("numeric[]", [Decimal("0.10")]),
    ("date[]", [dt.date(2024, 1, 1)]), ("int4range", Range(1, 5)), ("daterange", Range(dt.date(2024, 1, 1), None)), ("numrange", Range(empty=True)),
    ("int8multirange", Multirange([Range(1, 3), Range(7, 9)])), ("tstzrange[]", [Range(dt.datetime(2024, 1, 1, tzinfo=UTC), None, "[)")]),
]


@step
def values_in_text_and_binary():
    with connect() as connection:
        connection.execute("set timezone to 'UTC'")
        for form in ("t", "b"):
            for binary in (False, True):
                for ty, value in VALUES:
                    found = one(connection, f"select %{form}::{ty}", (value,), binary=binary)
                    assert found == value and type(found) is type(value), (ty, form, binary, value, found)
        for wrapper, ty in ((Json, "json"), (Jsonb, "jsonb")):
            for binary in (False, True):
                data = {"a": [1, None, 2.5, "é"], "b": {"c": True}}
                assert one(connection, f"select %s::{ty}", (wrapper(data),), binary=binary) == data


@step
def values_without_a_cast():
    with connect() as connection:
        connection.execute("create temp table own (a int8, b text, c numeric, d jsonb, e timestamptz, f text[], g bytea, h date)")
        row = (5, "x", Decimal("1.50"), {"k": 1}, dt.datetime(2024, 1, 1, tzinfo=UTC), ["a", "b"], b"\0\1", dt.date(2024, 1, 2))
        stored = [Jsonb(value) if isinstance(value, dict) else value for value in row]
        connection.execute("insert into own values (%s, %s, %s, %s, %s, %s, %s, %s)", stored)
        assert connection.execute("select * from own where a = %s and c > %s and b = any(%s)", (5, 1, ["x", "y"])).fetchone() == row
        assert connection.execute("select a from own where e between %s and %s", (row[4], dt.datetime.now(UTC))).fetchall() == [(5,)]
        named = connection.execute("select %(n)s + %(n)s, %(t)s || '%%'", {"n": 2, "t": "a"}).fetchone()
        assert named == (4, "a%"), named


@step
def values_that_python_cannot_hold():
    with connect() as connection:
        for query in ("select 'infinity'::date", "select '4714-11-24 BC'::date", "select '-infinity'::timestamptz", "select '24:00'::time"):
            for binary in (False, True):
                refused(psycopg.DataError, one, connection, query, binary=binary)
        assert one(connection, "select 'NaN'::numeric").is_nan()
        assert one(connection, "select '1 month'::interval") == dt.timedelta(days=30)


@step
def descriptions():
    with connect() as connection:
        connection.execute("create temp table described (a int primary key, b varchar(7), c numeric(5, 2), d timestamptz(3), e text[])")
        shown = connection.execute("select a, b, c, d, e, a + 1 as f from described").description
        columns = [(c.name, c.type_code, c.type_display, c.display_size, c.internal_size, c.precision, c.scale) for c in shown]
        assert columns == [
            ("a", 23, "int4", None, 4, None, None), ("b", 1043, "varchar(7)", 7, None, None, None), ("c", 1700, "numeric(5,2)", None, None, 5, 2),
            ("d", 1184, "timestamptz(3)", None, 8, 3, None), ("e", 1009, "text[]", None, None, None, None), ("f", 23, "int4", None, 4, None, None),
        ], columns
        cursor = connection.execute("insert into described (a) select generate_series(1, 3) returning a")
        assert (cursor.rowcount, cursor.statusmessage, cursor.fetchall()) == (3, "INSERT 0 3", [(1,), (2,), (3,)])
        result = cursor.execute("select a from described").pgresult
        assert (result.ftablecol(0), result.ftable(0)) == (1, one(connection, "select 'described'::regclass::oid"))


@step
def row_factories():
    with connect(row_factory=rows.dict_row) as connection:
        query = "select 1 as a, 'x' as b"
        assert connection.execute(query).fetchone() == {"a": 1, "b": "x"}
        Pair = namedtuple("Pair", "a b")
        for factory, expected in ((rows.namedtuple_row, Pair(1, "x")), (rows.class_row(Pair), Pair(1, "x")), (rows.scalar_row, 1), (rows.args_row(Pair), Pair(1, "x"))):
            assert connection.cursor(row_factory=factory).execute(query).fetchone() == expected


@step
def prepared_statements():
    with connect(prepare_threshold=2, autocommit=True) as connection:
        connection.prepared_max = 2
        count = "select count(*) from pg_prepared_statements where statement like '%%changing%%'"
        connection.execute("create table changing (a int)")
        for n in range(5):
            connection.execute("insert into changing values (%s)", (n,))
        assert one(connection, count, prepare=False) == 1
        query = "select * from changing where a = %s"
        assert connection.execute(query, (1,), prepare=True).fetchall() == [(1,)]
        # Another result than before is refused; as an insert goes on.
        connection.execute("alter table changing add b text default 'new'")
        connection.execute("insert into changing values (%s)", (9,))
        error = refused(errors.FeatureNotSupported, connection.execute, query, (1,))
        assert str(error) == "cached plan must not change result type", error
        for n in range(4):
            connection.execute(f"select {n}, %s::int", (n,), prepare=True)
        assert one(connection, "select count(*) from pg_prepared_statements", prepare=False) == 2
        connection.execute("deallocate all")
        assert one(connection, query.replace("*", "b"), (9,), prepare=True) == "new"
        connection.execute("drop table changing")


@step
def pipeline():
    with connect(autocommit=True) as connection:
        connection.execute("create temp table piped (a int primary key)")
        with connection.pipeline() as pipe, connection.cursor() as cursor:
            kept = [connection.execute("select %s::int", (n,)) for n in range(50)]
            cursor.executemany("insert into piped values (%s) returning a * 2", [(n,) for n in range(10)], returning=True)
            pipe.sync()
            assert [each.fetchone()[0] for each in kept] == list(range(50))
            doubled = [cursor.fetchone()[0]]
            while cursor.nextset():
                doubled.append(cursor.fetchone()[0])
            assert doubled == [2 * n for n in range(10)], doubled
        cursor = connection.cursor()
        cursor.executemany("insert into piped values (%s)", [(n,) for n in range(10, 1000)])
        assert cursor.rowcount == 990 and one(connection, "select count(*) from piped") == 1000


@step
def pipeline_with_errors():
    with connect(autocommit=True) as connection:
        connection.execute("create temp table piped (a int primary key)")

        with connection.pipeline() as pipe:
            connection.execute("insert into piped values (1)")
            # Whichever call meets the answer raises the error: it may be there before the Sync is sent.
            refused(errors.DivisionByZero, divide_and_go_on, connection, pipe)
            with suppress(errors.Error):
                pipe.sync()
            assert one(connection, "select 3") == 3
        # What precedes the error until the last Sync is one transaction.
        assert one(connection, "select count(*) from piped") == 0
        with connection.pipeline():
            with connection.transaction():
                connection.execute("insert into piped values (3)")
                refused(errors.UniqueViolation, nested_insert, connection, 3)
            assert one(connection, "select array_agg(a) from piped") == [3]
        assert connection.info.transaction_status == TransactionStatus.IDLE


def divide_and_go_on(connection, pipe):
    connection.execute("select 1 / (a - 1) from piped")
    connection.execute("insert into piped values (2)")
    pipe.sync()


def nested_insert(connection, value):
    with connection.transaction():
        connection.execute("insert into piped values (%s) returning a", (value,)).fetchall()


@step
def copy_in_and_out():
    data = [(1, "a\tb\\\n", Decimal("1.50"), None), (2, "", Decimal(-2), [1, None]), (3, None, None, [])]
    types = ["int4", "text", "numeric", "int4[]"]
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute("create temp table copied (a int, b text, c numeric, d int[])")
        for form in ("", "(format binary)"):
            cursor.execute("truncate copied")
            with cursor.copy(f"copy copied from stdin {form}") as copy:
                if form:
                    copy.set_types(types)
                for row in data:
                    copy.write_row(row)
            assert cursor.rowcount == 3 and cursor.statusmessage == "COPY 3"
            assert cursor.execute("select * from copied order by a").fetchall() == data
            with cursor.copy(f"copy (select * from copied order by a) to stdout {form}") as copy:
                copy.set_types(types)
                assert list(copy.rows()) == data
        with cursor.copy("copy copied (a, b) from stdin (format csv, header, null '-')") as copy:
            copy.write("a,b\n4,\"x,y\"\n5,-\n")
            copy.write(b"".join(b"%d,%s\n" % (n, b"z" * 100) for n in range(10, 5000)))
        assert cursor.rowcount == 4992
        with cursor.copy("copy (select a, b from copied where a in (4, 5) order by a) to stdout (format csv)") as copy:
            assert b"".join(copy) == b"4,\"x,y\"\n5,\n"
        with connect() as other, other.cursor() as second:
            second.execute("create temp table target (a int, b text)")
            with cursor.copy("copy (select a, b from copied where a >= 10) to stdout (format binary)") as source:
                with second.copy("copy target from stdin (format binary)") as sink:
                    for block in source:
                        sink.write(block)
            assert one(other, "select (count(*), sum(a), max(length(b)))::text from target") == f"(4990,{sum(range(10, 5000))},100)"


@step
def copy_that_fails():
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("create temp table copied (a int primary key)")

        def write(text, error=None):
            with cursor.copy("copy copied from stdin") as copy:
                copy.write(text)
                if error:
                    raise error

        bad = refused(errors.InvalidTextRepresentation, write, "1\nx\n")
        assert bad.diag.context == 'COPY copied, line 2, column a: "x"', bad.diag.context
        refused(errors.UniqueViolation, write, "1\n1\n")
        refused(ZeroDivisionError, write, "1\n", ZeroDivisionError())
        assert connection.info.transaction_status == TransactionStatus.IDLE
        assert one(connection, "select count(*) from copied") == 0


@step
def server_cursors():
    with connect() as connection:
        with connection.cursor("plain") as cursor:
            cursor.execute("select n, %s from generate_series(1, 1000) n", ("x",))
            cursor.itersize = 7
            assert cursor.fetchone() == (1, "x") and len(cursor.fetchmany(10)) == 10
            assert sum(n for n, _ in cursor) == sum(range(12, 1001))
            assert cursor.fetchall() == []
            assert cursor.description[0].name == "n"
        with connection.cursor("scrolled", scrollable=True) as cursor:
            cursor.execute("select * from generate_series(1, 10)")
            cursor.scroll(5)
            assert cursor.fetchone() == (6,)
            cursor.scroll(-2)
            assert cursor.fetchmany(2) == [(5,), (6,)]
            cursor.scroll(0, mode="absolute")
            assert cursor.fetchall()[-1] == (10,)
        with connection.cursor("held", withhold=True) as cursor:
            cursor.execute("select * from generate_series(1, 3)")
            connection.commit()
            assert cursor.fetchall() == [(1,), (2,), (3,)]
        binary = connection.cursor("binary", binary=True, scrollable=False)
        binary.execute("select '1.5'::numeric, now()::date")
        assert binary.fetchone()[0] == Decimal("1.5")
        refused(errors.ObjectNotInPrerequisiteState, binary.scroll, -1)
        connection.rollback()
        refused(errors.InvalidCursorName, connection.execute, "fetch plain")


@step
def client_and_raw_cursors():
    with psycopg.connect(**OPTIONS, cursor_factory=psycopg.ClientCursor) as connection:
        cursor = connection.cursor()
        text = cursor.mogrify("select %s, %s, %s", ("it's \\", dt.date(2024, 1, 1), [1, None]))
        assert cursor.execute(text).fetchone() == ("it's \\", dt.date(2024, 1, 1), [1, None]), text
        cursor.execute("create temp table several (a int); insert into several values (%s), (%s); select count(*) from several", (1, 2))
        found = [cursor.statusmessage]
        while cursor.nextset():
            found.append(cursor.statusmessage)
        assert found == ["CREATE TABLE", "INSERT 0 2", "SELECT 1"] and cursor.fetchone() == (2,), found
        raw = psycopg.RawCursor(connection)
        assert raw.execute("select $2::text || $1::int", [1, "n"]).fetchone() == ("n1",)
        composed = sql.SQL("select {} as {} from {}").format(sql.Literal("x"), sql.Identifier('a "b'), sql.Identifier("pg_catalog", "pg_am"))
        assert connection.execute(composed + sql.SQL(" limit 1")).description[0].name == 'a "b'


@step
def rows_one_by_one():
    with connect() as connection, connection.cursor() as cursor:
        total = 0
        for (n,) in cursor.stream("select generate_series(1, %s)", (20000,)):
            total += n
        assert total == 20000 * 20001 // 2
        for (n,) in cursor.stream("select generate_series(1, 1000000)"):
            if n == 3:
                break
        # The rest of the query was cancelled.
        connection.rollback()
        assert one(connection, "select 7") == 7
        refused(errors.DivisionByZero, list, cursor.stream("select 1 / (3 - n) from generate_series(1, 5) n"))


@step
def transactions():
    with connect() as connection:
        connection.execute("create temp table t (a int)")
        connection.commit()
        with connection.transaction():
            connection.execute("insert into t values (1)")
            with connection.transaction("inner") as inner:
                connection.execute("insert into t values (2)")
                raise psycopg.Rollback(inner)
        assert one(connection, "select array_agg(a) from t") == [1]
        connection.rollback()
        connection.isolation_level, connection.read_only, connection.deferrable = psycopg.IsolationLevel.SERIALIZABLE, True, True
        shown = [one(connection, f"show transaction_{name}") for name in ("isolation", "read_only", "deferrable")]
        assert shown == ["serializable", "on", "on"], shown
        refused(errors.ReadOnlySqlTransaction, connection.execute, "create table nowhere (a int)")
        refused(errors.InFailedSqlTransaction, connection.execute, "select 1")
        connection.rollback()
        assert connection.info.transaction_status == TransactionStatus.IDLE


@step
def two_phase_commit():
    with connect() as connection:
        connection.execute("create table prepared (a int)")
        connection.commit()
        xids = [connection.xid(7, f"global {n}", "branch") for n in (1, 2)]
        for n, xid in enumerate(xids):
            connection.tpc_begin(xid)
            connection.execute("insert into prepared values (%s)", (n,))
            connection.tpc_prepare()
            connection.close()
            connection = connect()
        waiting = sorted(xid.gtrid for xid in connection.tpc_recover() if (xid.bqual, xid.format_id) == ("branch", 7))
        assert waiting == ["global 1", "global 2"], waiting
        connection.tpc_commit(xids[0])
        connection.tpc_rollback(xids[1])
        assert connection.execute("select a from prepared").fetchall() == [(0,)]
        connection.execute("drop table prepared")
        connection.commit()
        connection.close()


class Mood(enum.Enum):
    sad = 1
    happy = 2


@step
def types_of_users():
    with connect(autocommit=True) as connection:
        connection.execute("create type mood as enum ('sad', 'happy'); create type pair as (n int, word text)")
        connection.execute("create type spread as range (subtype = float8); create domain positive as int check (value > 0)")
        register_enum(EnumInfo.fetch(connection, "mood"), connection, Mood)
        register_composite(CompositeInfo.fetch(connection, "pair"), connection)
        register_range(RangeInfo.fetch(connection, "spread"), connection)
        Pair = CompositeInfo.fetch(connection, sql.Identifier(SCHEMA, "pair"))
        assert (tuple(Pair.field_names), tuple(Pair.field_types)) == (("n", "word"), (23, 25))
        for binary in (False, True):
            assert one(connection, "select 'happy'::mood", binary=binary) is Mood.happy
            assert one(connection, "select array['sad', null]::mood[]", binary=binary) == [Mood.sad, None]
            assert one(connection, "select %s::mood", (Mood.sad,), binary=binary) is Mood.sad
            found = one(connection, "select row(1, 'a,\"b\"')::pair", binary=binary)
            assert (found.n, found.word) == (1, 'a,"b"')
            assert one(connection, "select array[%s, null]::pair[]", (found,), binary=binary) == [found, None]
            assert one(connection, "select '[1,2.5]'::spread", binary=binary) == Range(1.0, 2.5, "[]")
            assert one(connection, "select %s::spread", (Range(0.5, None),), binary=binary) == Range(0.5, None)
        info = TypeInfo.fetch(connection, "positive")
        assert (info.name, info.regtype) == ("positive", "positive")
        assert TypeInfo.fetch(connection, "nosuch") is None
        error = refused(errors.CheckViolation, connection.execute, "select %s::positive", (-1,))
        assert error.diag.constraint_name == "positive_check" and error.diag.datatype_name == "positive"


@step
def hstore():
    with connect(autocommit=True) as connection:
        connection.execute("create extension if not exists hstore schema public")
        register_hstore(TypeInfo.fetch(connection, "hstore"), connection)
        value = {"a": "1", "b": None, "": "it's \"x\""}
        for binary in (False, True):
            assert one(connection, "select %s::hstore", (value,), binary=binary) == value
            assert one(connection, "select %s::hstore -> 'a'", (value,), binary=binary) == "1"


@step
def errors_tell_all():
    with connect(autocommit=True) as connection:
        connection.execute("create table told (a int constraint told_positive check (a > 0), b int not null unique)")
        error = refused(errors.CheckViolation, connection.execute, "insert into told values (-1, 1)")
        diag = error.diag
        told = (error.sqlstate, diag.severity, diag.severity_nonlocalized, diag.schema_name, diag.table_name, diag.constraint_name)
        assert told == ("23514", "ERROR", "ERROR", SCHEMA, "told", "told_positive"), told
        assert diag.message_detail == "Failing row contains (-1, 1)."
        error = refused(errors.NotNullViolation, connection.execute, "insert into told values (1, null)")
        assert error.diag.column_name == "b"
        error = refused(errors.UndefinedColumn, connection.execute, "select a,\n nosuch from told")
        assert (error.diag.statement_position, error.diag.message_hint) == ("12", None)
        error = refused(errors.RaiseException, connection.execute, "do $$begin raise exception 'oh' using hint = 'why', detail = 'so'; end$$")
        assert (error.diag.message_hint, error.diag.message_detail) == ("why", "so") and "line 1 at RAISE" in error.diag.context
        connection.execute("drop table told")


@step
def notices_and_notifications():
    with connect(autocommit=True) as connection, connect(autocommit=True) as other:
        notices = []
        connection.add_notice_handler(lambda diag: notices.append((diag.severity, diag.sqlstate, diag.message_primary)))
        connection.execute("do $$begin raise warning 'careful %', 1; raise info 'that'; end$$")
        connection.execute("drop table if exists nosuch")
        assert notices == [("WARNING", "01000", "careful 1"), ("INFO", "00000", "that"), ("NOTICE", "00000", 'table "nosuch" does not exist, skipping')], notices
        connection.execute("listen heard; listen \"Other\"")
        other.execute("notify heard, 'one'; select pg_notify('Other', %s)" % "'two'")
        found = [(n.channel, n.payload, n.pid) for n in connection.notifies(timeout=10, stop_after=2)]
        assert found == [("heard", "one", other.info.backend_pid), ("Other", "two", other.info.backend_pid)], found
        assert list(connection.notifies(timeout=0.05)) == []


@step
def what_a_connection_knows():
    with connect(application_name="app é") as connection:
        info = connection.info
        assert info.server_version // 10000 == 15 and info.encoding == "utf-8" and info.status.name == "OK"
        assert one(connection, "select pg_backend_pid()") == info.backend_pid
        assert info.transaction_status == TransactionStatus.INTRANS
        connection.execute("set timezone to 'Europe/Rome'; set client_encoding to 'latin1'")
        assert str(info.timezone) == "Europe/Rome" and info.encoding == "iso8859-1"
        assert one(connection, "select 'é' || chr(233)") == "éé"
        assert info.parameter_status("integer_datetimes") == "on"
        connection.rollback()
        assert info.encoding == "utf-8"
        winter = one(connection, "select '2024-01-01 12:00+00'::timestamptz")
        assert winter == dt.datetime(2024, 1, 1, 12, tzinfo=UTC)


@step
def cancel():
    with connect() as connection:
        for how in (connection.cancel, connection.cancel_safe):
            timer = threading.Timer(0.3, how)
            begun = time.monotonic()
            timer.start()
            refused(errors.QueryCanceled, connection.execute, "select pg_sleep(20)")
            assert time.monotonic() - begun < 10
            timer.join()
            connection.rollback()
        with connect() as other:
            pid = connection.info.backend_pid
            assert one(other, "select pg_terminate_backend(%s)", (pid,))
            refused(psycopg.OperationalError, connection.execute, "select 1")
            assert connection.closed and connection.broken


@step
def pool():
    with ConnectionPool(kwargs=OPTIONS, min_size=2, max_size=3, timeout=0.3, check=ConnectionPool.check_connection, open=True) as pool:
        pool.wait(10)
        with pool.connection() as a, pool.connection() as b, pool.connection() as c:
            pids = {one(each, "select pg_backend_pid()") for each in (a, b, c)}
            assert len(pids) == 3
            refused(PoolTimeout, pool.getconn)
        # A connection that the server has ended is replaced.
        with pool.connection() as killer:
            own = killer.info.backend_pid
            killer.execute("select pg_terminate_backend(pid) from unnest(%s) pid where pid <> %s", (list(pids), own))
        found = []

        def work(n):
            with pool.connection(timeout=20) as connection:
                found.append(one(connection, "select %s::int", (n,)))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == list(range(20)), found


@step
def asynchronous():
    async def run():
        async with await psycopg.AsyncConnection.connect(**OPTIONS, autocommit=True) as connection:
            async with connection.cursor() as cursor:
                await cursor.execute("create temp table t (a int)")
                async with cursor.copy("copy t from stdin") as copy:
                    for n in range(1000):
                        await copy.write_row((n,))
                await cursor.execute("select sum(a) from t where a > %s", (997,))
                assert await cursor.fetchone() == (1997,)
                async with connection.pipeline():
                    await cursor.executemany("insert into t values (%s)", [(n,) for n in range(100)])
                assert [n async for (n,) in cursor.stream("select a from t limit 3")] == [0, 1, 2]
            async with connection.transaction(), connection.cursor("named") as cursor:
                await cursor.execute("select * from generate_series(1, 250)")
                assert sum([n async for (n,) in cursor]) == 250 * 251 // 2
            try:
                await asyncio.wait_for(connection.execute("select pg_sleep(20)"), 0.3)
            except asyncio.TimeoutError:
                pass
            else:
                raise AssertionError("it was not cancelled")
            assert await (await connection.execute("select 1")).fetchone() == (1,)
            await connection.execute("listen beside")
            await connection.execute("notify beside, 'x'")
            assert [n.payload async for n in connection.notifies(timeout=10, stop_after=1)] == ["x"]
        async with AsyncConnectionPool(kwargs=OPTIONS, min_size=1, max_size=4, open=False) as pool:
            async def work(n):
                async with pool.connection() as connection:
                    cursor = await connection.execute("select %s::int, pg_sleep(0.01)", (n,))
                    return (await cursor.fetchone())[0]

            assert sum(await asyncio.gather(*(work(n) for n in range(40)))) == 780

    asyncio.run(run())


def main():
    with psycopg.connect(autocommit=True) as connection:
        connection.execute(f"set client_min_messages = warning; drop schema if exists {SCHEMA} cascade; create schema {SCHEMA}")
    with open(sys.argv[1], "a") as report:
        for function in STEPS:
            try:
                function()
                outcome = "pass"
            except Exception:
                print(f"== {function.__name__}", flush=True)
                traceback.print_exc()
                outcome = "fail"
            report.write(f"{outcome} psycopg.{function.__name__}\n")


main()
