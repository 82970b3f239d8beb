import java.math.BigDecimal;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;

/**
 * pgjdbc against a server: one method per concern, each with a table set of its own. Prints "ok NAME" for each that
 * passed; a failure prints its stack trace, the others run on, and the program ends with 1.
 *
 * Arguments: JDBC URL, user; what follows is not looked at.
 */
public final class Conformance {
    private final String url;
    private final String user;

    private Conformance(String url, String user) {
        this.url = url;
        this.user = user;
    }

    private interface Check {
        void run() throws Exception;
    }

    public static void main(String[] arguments) {
        Conformance all = new Conformance(arguments[0], arguments[1]);
        run("order entry as BenchmarkSQL sends it", all::orderEntry);
        run("batches", all::batches);
        run("rewritten batches", all::rewrittenBatches);
        run("server-side prepared statements", all::serverPrepared);
        run("types", all::types);
        run("cursors by fetch size", all::fetchSize);
        run("savepoints and isolation", all::transactions);
        run("metadata", all::metadata);
        run("generated keys", all::generatedKeys);
        run("errors", all::errors);
        run("several statements and results", all::severalResults);
        run("copy", all::copy);
        run("scrollable and updatable result sets", all::updatable);
        run("cancel and timeouts", all::cancel);
        run("preferring simple queries", all::simpleMode);
        System.exit(failed ? 1 : 0);
    }

    private static boolean failed;

    private static void run(String name, Check check) {
        try {
            check.run();
            System.out.println("ok " + name);
        } catch (Exception | AssertionError error) {
            System.err.println("FAILED: " + name);
            error.printStackTrace();
            failed = true;
        }
    }

    private Connection connect(String... settings) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", user);
        for (int i = 0; i < settings.length; i += 2) {
            properties.setProperty(settings[i], settings[i + 1]);
        }
        return DriverManager.getConnection(url, properties);
    }

    private static void equal(Object expected, Object got) {
        boolean same = expected == null ? got == null : expected.equals(got);
        if (!same) {
            throw new AssertionError("expected " + expected + ", got " + got);
        }
    }

    private static void execute(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String text : statements) {
                statement.execute(text);
            }
        }
    }

    /** First column of every row, as text, joined by commas. */
    private static String list(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(query)) {
            return list(rows, 1);
        }
    }

    private static String list(ResultSet rows, Object column) throws SQLException {
        List<String> values = new ArrayList<>();
        while (rows.next()) {
            values.add(column instanceof Integer ? rows.getString((Integer) column) : rows.getString((String) column));
        }
        return String.join(",", values);
    }

    /** The SQLSTATE of a statement that must fail. */
    private static String failure(Connection connection, String text) throws SQLException {
        try {
            execute(connection, text);
        } catch (SQLException error) {
            return error.getSQLState();
        }
        throw new AssertionError("no error: " + text);
    }

    private void orderEntry() throws Exception {
        try (Connection connection = connect()) {
            execute(connection,
                "create table bmsql_district (d_w_id integer not null, d_id integer not null, d_ytd decimal(12,2),"
                    + " d_tax decimal(4,4), d_next_o_id integer, d_name varchar(10), d_zip char(9))",
                "create table bmsql_stock (s_w_id integer not null, s_i_id integer not null, s_quantity integer,"
                    + " s_ytd integer, s_dist_01 char(24))",
                "create table bmsql_oorder (o_w_id integer not null, o_d_id integer not null, o_id integer not null,"
                    + " o_c_id integer, o_carrier_id integer, o_ol_cnt integer, o_entry_d timestamp)",
                "create table bmsql_order_line (ol_w_id integer not null, ol_d_id integer not null, ol_o_id integer not null,"
                    + " ol_number integer not null, ol_i_id integer not null, ol_delivery_d timestamp,"
                    + " ol_amount decimal(6,2), ol_dist_info char(24))",
                "alter table bmsql_district add constraint bmsql_district_pkey primary key (d_w_id, d_id)",
                "alter table bmsql_stock add constraint bmsql_stock_pkey primary key (s_w_id, s_i_id)",
                "alter table bmsql_oorder add constraint bmsql_oorder_pkey primary key (o_w_id, o_d_id, o_id)",
                "create unique index bmsql_oorder_idx1 on bmsql_oorder (o_w_id, o_d_id, o_carrier_id, o_id)",
                "alter table bmsql_oorder add constraint o_district_fkey foreign key (o_w_id, o_d_id)"
                    + " references bmsql_district (d_w_id, d_id)",
                "alter table bmsql_district set (fillfactor = 70)",
                "insert into bmsql_district values (1, 1, 30000.00, 0.1234, 3001, 'first', '123456789')",
                "insert into bmsql_stock select 1, g, 50, 0, 'district info ' || g from generate_series(1, 20) g");
            connection.setAutoCommit(false);
            connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            try (PreparedStatement district = connection.prepareStatement(
                     "SELECT d_tax, d_next_o_id FROM bmsql_district WHERE d_w_id = ? AND d_id = ? FOR UPDATE");
                 PreparedStatement next = connection.prepareStatement(
                     "UPDATE bmsql_district SET d_next_o_id = d_next_o_id + 1, d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?");
                 PreparedStatement order = connection.prepareStatement(
                     "INSERT INTO bmsql_oorder (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt) VALUES (?, ?, ?, ?, ?, ?)");
                 PreparedStatement stock = connection.prepareStatement(
                     "SELECT s_quantity, s_dist_01 FROM bmsql_stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE");
                 PreparedStatement update = connection.prepareStatement(
                     "UPDATE bmsql_stock SET s_quantity = ?, s_ytd = s_ytd + ? WHERE s_w_id = ? AND s_i_id = ?");
                 PreparedStatement line = connection.prepareStatement(
                     "INSERT INTO bmsql_order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_amount, ol_dist_info)"
                         + " VALUES (?, ?, ?, ?, ?, ?, ?)")) {
                // More than five rounds: statements become named ones on the way.
                for (int round = 0; round < 12; round++) {
                    district.setInt(1, 1);
                    district.setInt(2, 1);
                    int id;
                    try (ResultSet rows = district.executeQuery()) {
                        equal(true, rows.next());
                        equal(0.1234, rows.getDouble("d_tax"));
                        id = rows.getInt("d_next_o_id");
                        equal(false, rows.next());
                    }
                    equal(3001 + round - round / 4, id);
                    next.setDouble(1, 10.005);
                    next.setInt(2, 1);
                    next.setInt(3, 1);
                    equal(1, next.executeUpdate());
                    order.setInt(1, id);
                    order.setInt(2, 1);
                    order.setInt(3, 1);
                    order.setInt(4, 42);
                    order.setTimestamp(5, Timestamp.valueOf("2024-05-06 07:08:09.123"));
                    order.setInt(6, 5);
                    equal(1, order.executeUpdate());
                    for (int number = 1; number <= 5; number++) {
                        stock.setInt(1, 1);
                        stock.setInt(2, number);
                        try (ResultSet rows = stock.executeQuery()) {
                            equal(true, rows.next());
                            equal(24, rows.getString("s_dist_01").length());
                            update.setInt(1, rows.getInt("s_quantity") - 1);
                        }
                        update.setInt(2, 1);
                        update.setInt(3, 1);
                        update.setInt(4, number);
                        update.addBatch();
                        line.setInt(1, id);
                        line.setInt(2, 1);
                        line.setInt(3, 1);
                        line.setInt(4, number);
                        line.setInt(5, number);
                        line.setDouble(6, 1.25 * number);
                        line.setString(7, "info");
                        line.addBatch();
                    }
                    equal("[1, 1, 1, 1, 1]", Arrays.toString(update.executeBatch()));
                    equal("[1, 1, 1, 1, 1]", Arrays.toString(line.executeBatch()));
                    if (round % 4 == 3) {
                        connection.rollback();
                    } else {
                        connection.commit();
                    }
                }
            }
            equal("9", list(connection, "select count(*) from bmsql_oorder"));
            equal("45", list(connection, "select count(*) from bmsql_order_line"));
            equal("168.75", list(connection, "select sum(ol_amount) from bmsql_order_line"));
            equal("41", list(connection, "select s_quantity from bmsql_stock where s_i_id = 3"));
            equal("2024-05-06 07:08:09.123", list(connection, "select max(o_entry_d) from bmsql_oorder"));
            // Each sum was rounded to two digits when it was stored.
            equal("30090.09", list(connection, "select d_ytd from bmsql_district"));
            try (PreparedStatement carrier = connection.prepareStatement(
                     "UPDATE bmsql_oorder SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?");
                 PreparedStatement delivered = connection.prepareStatement(
                     "UPDATE bmsql_order_line SET ol_delivery_d = ? WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?");
                 PreparedStatement low = connection.prepareStatement(
                     "SELECT count(*) AS low_stock FROM (SELECT s_w_id, s_i_id, s_quantity FROM bmsql_stock"
                         + " WHERE s_w_id = ? AND s_quantity < ? AND s_i_id IN (SELECT ol_i_id FROM bmsql_district"
                         + " JOIN bmsql_order_line ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20"
                         + " AND ol_o_id < d_next_o_id WHERE d_w_id = ? AND d_id = ?)) AS L")) {
                carrier.setInt(1, 7);
                carrier.setInt(2, 1);
                carrier.setInt(3, 1);
                carrier.setInt(4, 3001);
                equal(1, carrier.executeUpdate());
                delivered.setTimestamp(1, new Timestamp(System.currentTimeMillis()));
                delivered.setInt(2, 1);
                delivered.setInt(3, 1);
                delivered.setInt(4, 3001);
                equal(5, delivered.executeUpdate());
                low.setInt(1, 1);
                low.setInt(2, 45);
                low.setInt(3, 1);
                low.setInt(4, 1);
                try (ResultSet rows = low.executeQuery()) {
                    equal(true, rows.next());
                    equal(5L, rows.getLong("low_stock"));
                }
            }
            connection.commit();
        }
    }

    private void batches() throws Exception {
        try (Connection connection = connect()) {
            execute(connection, "create table batch (id int primary key, v varchar(10))");
            connection.setAutoCommit(false);
            try (PreparedStatement insert = connection.prepareStatement("insert into batch values (?, ?)")) {
                for (int i = 0; i < 2500; i++) {
                    insert.setInt(1, i);
                    insert.setString(2, i % 2 == 0 ? "even" : null);
                    insert.addBatch();
                }
                equal(2500, insert.executeBatch().length);
                connection.commit();
                // One row of the batch is wrong: all of it is undone by the rollback.
                for (int i = 2500; i < 2510; i++) {
                    insert.setInt(1, i == 2505 ? 0 : i);
                    insert.setString(2, "x");
                    insert.addBatch();
                }
                try {
                    insert.executeBatch();
                    throw new AssertionError("no error");
                } catch (BatchUpdateException error) {
                    equal("23505", error.getSQLState());
                    equal(10, error.getUpdateCounts().length);
                }
                connection.rollback();
            }
            equal("2500", list(connection, "select count(*) from batch"));
            equal("1250", list(connection, "select count(v) from batch"));
            try (Statement statement = connection.createStatement()) {
                statement.addBatch("update batch set v = 'all'");
                statement.addBatch("delete from batch where id < 100");
                statement.addBatch("create table other (a int)");
                statement.addBatch("insert into other values (1), (2)");
                equal("[2500, 100, 0, 2]", Arrays.toString(statement.executeBatch()));
            }
            connection.commit();
        }
    }

    private void rewrittenBatches() throws Exception {
        try (Connection connection = connect("reWriteBatchedInserts", "true")) {
            execute(connection, "create table rewritten (id int primary key, v varchar(10), n numeric(8,2))");
            try (PreparedStatement insert = connection.prepareStatement("insert into rewritten (id, v, n) values (?, ?, ?)")) {
                for (int i = 0; i < 1000; i++) {
                    insert.setInt(1, i);
                    insert.setString(2, "v" + i);
                    insert.setBigDecimal(3, new BigDecimal(i).movePointLeft(2));
                    insert.addBatch();
                }
                insert.executeBatch();
            }
            equal("1000", list(connection, "select count(*) from rewritten"));
            equal("4995.00", list(connection, "select sum(n) from rewritten"));
        }
    }

    private void serverPrepared() throws Exception {
        try (Connection connection = connect("prepareThreshold", "3")) {
            execute(connection, "create table prepared (id int primary key, v text)");
            try (PreparedStatement select = connection.prepareStatement("select v from prepared where id = ?");
                 PreparedStatement insert = connection.prepareStatement("insert into prepared values (?, ?)")) {
                for (int i = 0; i < 20; i++) {
                    insert.setInt(1, i);
                    insert.setString(2, "v" + i);
                    equal(1, insert.executeUpdate());
                    select.setInt(1, i);
                    try (ResultSet rows = select.executeQuery()) {
                        equal("v" + i, list(rows, 1));
                    }
                }
                // The type of a parameter changes: the driver prepares anew.
                select.setLong(1, 7L);
                try (ResultSet rows = select.executeQuery()) {
                    equal("v7", list(rows, 1));
                }
                // The table changes under a named statement: outside a block the driver prepares again by itself.
                execute(connection, "alter table prepared add column w int default 5");
                try (PreparedStatement star = connection.prepareStatement("select * from prepared where id = 1")) {
                    for (int i = 0; i < 6; i++) {
                        equal("1", list(star.executeQuery(), 1));
                    }
                    execute(connection, "alter table prepared add column x int");
                    equal("1", list(star.executeQuery(), 1));
                }
                equal("t", list(connection, "select count(*) >= 2 from pg_prepared_statements where name like 'S_%'"));
                execute(connection, "discard all");
                select.setInt(1, 3);
                try (ResultSet rows = select.executeQuery()) {
                    equal("v3", list(rows, 1));
                }
            }
        }
    }

    private void types() throws Exception {
        try (Connection connection = connect("binaryTransfer", "true", "prepareThreshold", "-1")) {
            execute(connection, "create table types (i2 smallint, i4 int, i8 bigint, n numeric(20,5), f4 real, f8 float8, b bool,"
                + " c char(5), v varchar(10), t text, d date, ti time, ts timestamp, tz timestamptz, by bytea, u uuid,"
                + " ia int[], ta text[], j jsonb)");
            String insert = "insert into types values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?::jsonb)";
            java.util.UUID uuid = java.util.UUID.fromString("00112233-4455-6677-8899-aabbccddeeff");
            java.time.OffsetDateTime at = java.time.OffsetDateTime.parse("2024-02-29T12:34:56.789012+02:00");
            try (PreparedStatement statement = connection.prepareStatement(insert)) {
                for (int round = 0; round < 3; round++) {
                    statement.setShort(1, (short) -5);
                    statement.setInt(2, Integer.MIN_VALUE);
                    statement.setLong(3, Long.MAX_VALUE);
                    statement.setBigDecimal(4, new BigDecimal("-123456789012345.67891"));
                    statement.setFloat(5, 1.5f);
                    statement.setDouble(6, 0.1);
                    statement.setBoolean(7, true);
                    statement.setString(8, "ab");
                    statement.setString(9, "ä'\\");
                    statement.setString(10, "text");
                    statement.setDate(11, Date.valueOf("2024-02-29"));
                    statement.setObject(12, java.time.LocalTime.parse("12:34:56.5"));
                    statement.setTimestamp(13, Timestamp.valueOf("1969-12-31 23:59:59.999999"));
                    statement.setObject(14, at);
                    statement.setBytes(15, new byte[] {0, 1, (byte) 0xff});
                    statement.setObject(16, uuid);
                    statement.setArray(17, connection.createArrayOf("int4", new Object[] {1, null, 3}));
                    statement.setArray(18, connection.createArrayOf("text", new Object[] {"a,b", "\"q\"", null}));
                    statement.setString(19, "{\"k\": [1, 2]}");
                    equal(1, statement.executeUpdate());
                }
                for (int column = 1; column <= 19; column++) {
                    statement.setNull(column, column == 19 ? Types.VARCHAR : Types.NULL);
                }
                equal(1, statement.executeUpdate());
            }
            try (PreparedStatement select = connection.prepareStatement("select * from types")) {
                for (int round = 0; round < 3; round++) {
                    ResultSet rows = select.executeQuery();
                    rows.next();
                    equal((short) -5, rows.getShort(1));
                    equal(Integer.MIN_VALUE, rows.getInt(2));
                    equal(Long.MAX_VALUE, rows.getLong(3));
                    equal(new BigDecimal("-123456789012345.67891"), rows.getBigDecimal(4));
                    equal(1.5f, rows.getFloat(5));
                    equal(0.1, rows.getDouble(6));
                    equal(true, rows.getBoolean(7));
                    equal("ab   ", rows.getString(8));
                    equal("ä'\\", rows.getString(9));
                    equal("text", rows.getString(10));
                    equal(Date.valueOf("2024-02-29"), rows.getDate(11));
                    equal(java.time.LocalTime.parse("12:34:56.5"), rows.getObject(12, java.time.LocalTime.class));
                    equal(Timestamp.valueOf("1969-12-31 23:59:59.999999"), rows.getTimestamp(13));
                    equal(at.toInstant(), rows.getObject(14, java.time.OffsetDateTime.class).toInstant());
                    equal("[0, 1, -1]", Arrays.toString(rows.getBytes(15)));
                    equal(uuid, rows.getObject(16));
                    equal("[1, null, 3]", Arrays.toString((Object[]) rows.getArray(17).getArray()));
                    equal("[a,b, \"q\", null]", Arrays.toString((Object[]) rows.getArray(18).getArray()));
                    equal("{\"k\": [1, 2]}", rows.getString(19));
                    rows.next();
                    rows.next();
                    rows.next();
                    for (int column = 1; column <= 19; column++) {
                        equal(null, rows.getObject(column));
                    }
                    equal(false, rows.next());
                }
            }
            try (PreparedStatement any = connection.prepareStatement("select count(*) from generate_series(1, 10) g where g = any(?)")) {
                any.setArray(1, connection.createArrayOf("int4", new Object[] {2, 4, 99}));
                equal("2", list(any.executeQuery(), 1));
            }
        }
    }

    private void fetchSize() throws Exception {
        try (Connection connection = connect()) {
            connection.setAutoCommit(false);
            try (PreparedStatement select = connection.prepareStatement("select g from generate_series(1, 1000) g where g > ?")) {
                select.setFetchSize(64);
                for (int round = 0; round < 7; round++) {
                    select.setInt(1, round);
                    int count = 0;
                    try (ResultSet rows = select.executeQuery()) {
                        while (rows.next()) {
                            count++;
                            equal(count + round, rows.getInt(1));
                        }
                    }
                    equal(1000 - round, count);
                }
                select.setMaxRows(10);
                select.setInt(1, 0);
                equal("1,2,3,4,5,6,7,8,9,10", list(select.executeQuery(), 1));
                // Closed half-way.
                select.setMaxRows(0);
                ResultSet rows = select.executeQuery();
                rows.next();
                rows.close();
            }
            connection.commit();
        }
    }

    private void transactions() throws Exception {
        try (Connection connection = connect(); Connection other = connect()) {
            execute(connection, "create table savepoints (id int primary key)");
            connection.setAutoCommit(false);
            execute(connection, "insert into savepoints values (1)");
            Savepoint savepoint = connection.setSavepoint();
            execute(connection, "insert into savepoints values (2)");
            equal("23505", failure(connection, "insert into savepoints values (1)"));
            equal("25P02", failure(connection, "insert into savepoints values (3)"));
            connection.rollback(savepoint);
            execute(connection, "insert into savepoints values (4)");
            Savepoint named = connection.setSavepoint("named");
            connection.releaseSavepoint(named);
            connection.commit();
            equal("1,4", list(other, "select id from savepoints order by id"));
            for (int level : new int[] {Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ}) {
                connection.setTransactionIsolation(level);
                equal(level, connection.getTransactionIsolation());
                connection.commit();
            }
            String before = list(connection, "select count(*) from savepoints");
            execute(other, "insert into savepoints values (50)");
            equal(before, list(connection, "select count(*) from savepoints"));
            execute(other, "update savepoints set id = 51 where id = 50");
            execute(other, "update savepoints set id = 5 where id = 4");
            equal("40001", failure(connection, "update savepoints set id = 6 where id = 4"));
            connection.rollback();
            connection.setReadOnly(true);
            equal("25006", failure(connection, "insert into savepoints values (9)"));
            connection.rollback();
            connection.setReadOnly(false);
            equal(true, connection.isValid(5));
            equal("public", connection.getSchema());
            connection.rollback();
            // The driver's own savepoint around each statement.
            try (Connection saving = connect("autosave", "always")) {
                saving.setAutoCommit(false);
                execute(saving, "insert into savepoints values (100)");
                equal("23505", failure(saving, "insert into savepoints values (100)"));
                execute(saving, "insert into savepoints values (101)");
                saving.commit();
            }
            equal("100,101", list(other, "select id from savepoints where id >= 100 order by id"));
        }
    }

    private void metadata() throws Exception {
        try (Connection connection = connect()) {
            execute(connection,
                "create table parent (a int, b varchar(30) not null, c numeric(12,2) default 1.5, primary key (a, b))",
                "create table child (id bigserial primary key, pa int, pb varchar(30), at timestamp default now(), flag bool,"
                    + " code char(3), constraint child_parent foreign key (pa, pb) references parent on delete cascade)",
                "create unique index child_code on child (code desc)",
                "create view seen as select id, code from child",
                "comment on table parent is 'remark'");
            DatabaseMetaData data = connection.getMetaData();
            equal("PostgreSQL", data.getDatabaseProductName());
            equal(15, data.getDatabaseMajorVersion());
            equal("child", list(data.getTables(null, "public", "chi%", new String[] {"TABLE"}), "TABLE_NAME"));
            equal("seen", list(data.getTables(null, null, "seen", null), "TABLE_NAME"));
            try (ResultSet rows = data.getTables(null, "public", "parent", null)) {
                rows.next();
                equal("TABLE", rows.getString("TABLE_TYPE"));
                equal("remark", rows.getString("REMARKS"));
            }
            equal("id,pa,pb,at,flag,code", list(data.getColumns(null, "public", "child", null), "COLUMN_NAME"));
            equal("-5,4,12,93,-7,1", list(data.getColumns(null, "public", "child", "%"), "DATA_TYPE"));
            equal("bigserial,int4,varchar,timestamp,bool,bpchar", list(data.getColumns(null, "public", "child", null), "TYPE_NAME"));
            try (ResultSet rows = data.getColumns(null, "public", "parent", "c")) {
                rows.next();
                equal(12, rows.getInt("COLUMN_SIZE"));
                equal(2, rows.getInt("DECIMAL_DIGITS"));
                equal("1.5", rows.getString("COLUMN_DEF"));
                equal("YES", rows.getString("IS_NULLABLE"));
                equal("NO", rows.getString("IS_AUTOINCREMENT"));
            }
            try (ResultSet rows = data.getColumns(null, "public", "child", "id")) {
                rows.next();
                equal("YES", rows.getString("IS_AUTOINCREMENT"));
                equal("NO", rows.getString("IS_NULLABLE"));
            }
            equal("a,b", list(data.getPrimaryKeys(null, "public", "parent"), "COLUMN_NAME"));
            equal("parent_pkey,parent_pkey", list(data.getPrimaryKeys(null, "public", "parent"), "PK_NAME"));
            equal("pa,pb", list(data.getImportedKeys(null, "public", "child"), "FKCOLUMN_NAME"));
            equal("child,child", list(data.getExportedKeys(null, "public", "parent"), "FKTABLE_NAME"));
            try (ResultSet rows = data.getCrossReference(null, "public", "parent", null, "public", "child")) {
                rows.next();
                equal("child_parent", rows.getString("FK_NAME"));
                equal((short) DatabaseMetaData.importedKeyCascade, rows.getShort("DELETE_RULE"));
                equal((short) DatabaseMetaData.importedKeyNoAction, rows.getShort("UPDATE_RULE"));
            }
            equal("child_code,child_pkey", list(data.getIndexInfo(null, "public", "child", true, false), "INDEX_NAME"));
            try (ResultSet rows = data.getIndexInfo(null, "public", "child", true, false)) {
                rows.next();
                equal("code", rows.getString("COLUMN_NAME"));
                equal("D", rows.getString("ASC_OR_DESC"));
                equal(false, rows.getBoolean("NON_UNIQUE"));
            }
            equal(true, list(data.getSchemas(), "TABLE_SCHEM").contains("public"));
            equal(true, list(data.getTableTypes(), 1).contains("TABLE"));
            equal(true, list(data.getTypeInfo(), "TYPE_NAME").contains("numeric"));
            equal(true, list(data.getCatalogs(), 1).length() > 0);
            equal("id", list(data.getBestRowIdentifier(null, "public", "child", DatabaseMetaData.bestRowSession, false), "COLUMN_NAME"));
            equal(true, data.getTablePrivileges(null, "public", "parent").next());
            data.getProcedures(null, null, "nothing%").close();
            data.getFunctions(null, null, "lower").close();
            equal(true, data.getSQLKeywords() != null);
            equal(32, data.getMaxColumnsInIndex());
            try (PreparedStatement statement = connection.prepareStatement("select p.c as price, 1 from parent p where p.a = ? and p.b = ?")) {
                equal(2, statement.getParameterMetaData().getParameterCount());
                equal("int4", statement.getParameterMetaData().getParameterTypeName(1));
                equal("price", statement.getMetaData().getColumnLabel(1));
                equal(12, statement.getMetaData().getPrecision(1));
                equal("c", ((org.postgresql.PGResultSetMetaData) statement.getMetaData()).getBaseColumnName(1));
                equal("parent", ((org.postgresql.PGResultSetMetaData) statement.getMetaData()).getBaseTableName(1));
                equal(java.sql.ResultSetMetaData.columnNullable, statement.getMetaData().isNullable(1));
            }
        }
    }

    private void generatedKeys() throws Exception {
        try (Connection connection = connect()) {
            execute(connection, "create table generated (id serial primary key, v text default 'x')");
            try (PreparedStatement insert = connection.prepareStatement(
                "insert into generated (v) values (?)", Statement.RETURN_GENERATED_KEYS)) {
                insert.setString(1, "a");
                equal(1, insert.executeUpdate());
                equal("1", list(insert.getGeneratedKeys(), "id"));
                insert.setString(1, "b");
                insert.addBatch();
                insert.setString(1, "c");
                insert.addBatch();
                equal("[1, 1]", Arrays.toString(insert.executeBatch()));
                equal("2,3", list(insert.getGeneratedKeys(), "id"));
            }
            try (PreparedStatement insert = connection.prepareStatement(
                "insert into generated default values", new String[] {"id", "v"})) {
                insert.executeUpdate();
                equal("x", list(insert.getGeneratedKeys(), "v"));
            }
        }
    }

    private void errors() throws Exception {
        try (Connection connection = connect()) {
            execute(connection, "create table errors (id int primary key, v varchar(3) not null)");
            equal("42P01", failure(connection, "select * from nowhere"));
            equal("42601", failure(connection, "selec 1"));
            equal("22012", failure(connection, "select 1/0"));
            equal("22001", failure(connection, "insert into errors values (1, 'long')"));
            equal("23502", failure(connection, "insert into errors values (1, null)"));
            try (PreparedStatement insert = connection.prepareStatement("insert into errors values (?, ?)")) {
                insert.setInt(1, 1);
                insert.setString(2, "a");
                insert.executeUpdate();
                try {
                    insert.executeUpdate();
                    throw new AssertionError("no error");
                } catch (org.postgresql.util.PSQLException error) {
                    equal("23505", error.getSQLState());
                    equal("errors", error.getServerErrorMessage().getTable());
                    equal("errors_pkey", error.getServerErrorMessage().getConstraint());
                    equal("Key (id)=(1) already exists.", error.getServerErrorMessage().getDetail());
                }
                insert.setString(1, "text");
                try {
                    insert.executeUpdate();
                    throw new AssertionError("no error");
                } catch (SQLException error) {
                    equal("42804", error.getSQLState());
                }
            }
            try (Statement statement = connection.createStatement()) {
                statement.execute("drop table if exists nothing");
                equal("table \"nothing\" does not exist, skipping", statement.getWarnings().getMessage());
            }
        }
    }

    private void severalResults() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            equal(true, statement.execute("select 1; create table several (a int); insert into several values (1), (2); select a from several order by a"));
            equal("1", list(statement.getResultSet(), 1));
            equal(false, statement.getMoreResults());
            equal(0, statement.getUpdateCount());
            equal(false, statement.getMoreResults());
            equal(2, statement.getUpdateCount());
            equal(true, statement.getMoreResults());
            equal("1,2", list(statement.getResultSet(), 1));
            equal(false, statement.getMoreResults());
            equal(-1, statement.getUpdateCount());
            // JDBC's escapes.
            equal("3", list(connection, "select {fn length('abc')}"));
            equal("2024-01-02", list(connection, "select {d '2024-01-02'}"));
        }
    }

    private void copy() throws Exception {
        try (Connection connection = connect()) {
            execute(connection, "create table copied (id int, v text)");
            org.postgresql.copy.CopyManager manager = connection.unwrap(org.postgresql.PGConnection.class).getCopyAPI();
            StringBuilder rows = new StringBuilder();
            for (int i = 0; i < 5000; i++) {
                rows.append(i).append("\tvalue ").append(i).append('\n');
            }
            equal(5000L, manager.copyIn("copy copied from stdin", new java.io.StringReader(rows.toString())));
            java.io.StringWriter out = new java.io.StringWriter();
            equal(5000L, manager.copyOut("copy (select * from copied order by id) to stdout", out));
            equal(rows.toString(), out.toString());
        }
    }

    private void updatable() throws Exception {
        try (Connection connection = connect()) {
            execute(connection, "create table changed (id int primary key, v text)",
                "insert into changed select g, 'v' || g from generate_series(1, 10) g");
            try (Statement statement = connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
                 ResultSet rows = statement.executeQuery("select id, v from changed order by id")) {
                equal(true, rows.absolute(5));
                rows.updateString("v", "changed");
                rows.updateRow();
                equal(true, rows.last());
                rows.deleteRow();
                rows.moveToInsertRow();
                rows.updateInt("id", 77);
                rows.updateString("v", "new");
                rows.insertRow();
            }
            equal("10,changed,new", list(connection,
                "select count(*)::text from changed union all (select v from changed where id in (5, 77) order by id)"));
        }
    }

    private void cancel() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(1);
            try {
                statement.execute("select pg_sleep(20)");
                throw new AssertionError("no error");
            } catch (SQLException error) {
                equal("57014", error.getSQLState());
            }
            statement.setQueryTimeout(0);
            equal("1", list(connection, "select 1"));
        }
    }

    private void simpleMode() throws Exception {
        try (Connection connection = connect("preferQueryMode", "simple")) {
            execute(connection, "create table simple (id int, v text, n numeric(8,2), at timestamp)");
            try (PreparedStatement insert = connection.prepareStatement("insert into simple values (?, ?, ?, ?)")) {
                insert.setInt(1, -1);
                insert.setString(2, "it's \\ ä");
                insert.setDouble(3, 1.005);
                insert.setTimestamp(4, Timestamp.valueOf("2024-01-02 03:04:05"));
                equal(1, insert.executeUpdate());
            }
            equal("it's \\ ä", list(connection, "select v from simple where id = -1"));
            equal("2024-01-02 03:04:05", list(connection, "select at from simple"));
        }
    }
}
