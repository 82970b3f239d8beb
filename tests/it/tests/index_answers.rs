//! Conditions that several indexes answer together, or one answers in parts: OR over columns, rows compared with rows, values of
//! near types, patterns with a fixed beginning, NOT of a comparison, EXISTS over few rows, min beside max. A table with indexes answers as one without, whatever the condition, the kind of statement and the
//! order of the index; and a row that changes while somebody waits for it is judged by the whole condition.

use mote_common::prng::Prng;
use mote_it::TestServer;
use mote_it::ledger::from_environment;
use mote_it::waiting::{await_lock, pid};
use mote_it::wire::RawClient;

const ROWS: u32 = 900;
const CONDITIONS: u64 = 150;

/// Columns with few values, so that arms overlap and rows have equal keys; a third of them null.
const TABLES: &str = "
    create table plain (id int primary key, a int, b bigint, c text, d date, e numeric(6,1), n int not null default 0);
    insert into plain select i, nullif(i * 7 % 23, 5), nullif(i * 11 % 17, 3), nullif('t' || i * 13 % 19, 't4'),
            date '2026-03-20' + i % 29, (i % 31) / 2.0 from generate_series(1, ROWS) i;
    alter table plain drop constraint plain_pkey;
    create table indexed (like plain including defaults);
    create index on indexed (a, b); create index on indexed (b desc, a desc); create index on indexed (c text_pattern_ops);
    create index on indexed (d desc nulls last); create index on indexed (e); create index on indexed (a) where b > 4;
    create index on indexed using hash (c);
    create table parts (like plain including defaults) partition by range (a);
    create table parts_1 partition of parts for values from (minvalue) to (9);
    create table parts_2 partition of parts for values from (9) to (maxvalue);
    create table parts_d partition of parts default;
    create index on parts (a, b); create index on parts (c); create index on parts (d); create index on parts (e, a desc);
    insert into indexed select * from plain; insert into parts select * from plain;
    create table few (k int, l bigint, m numeric, t text, w timestamptz, v int);
    insert into few select nullif(i % 7 * 3, 6), nullif(i % 5, 2), (i % 9) / 2.0, 't' || i % 6, timestamptz '2026-03-25' + i % 8 * interval '12 hours', i
            from generate_series(1, 30) i;
    analyze;";

struct Generator(Prng);

impl Generator {
    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.0.below(of.len() as u64) as usize]
    }

    fn number(&mut self) -> u64 {
        self.0.below(25)
    }

    fn comparison(&mut self) -> String {
        let sign = self.one(&["=", "=", "=", "<", "<=", ">", ">=", "<>"]);
        let number = self.number();
        match self.0.below(9) {
            0 => format!("a {sign} {number}"),
            1 => format!("b {sign} {number}.5"),
            2 => format!("b {sign} {number}"),
            3 => format!("c {sign} 't{number}'"),
            4 => format!(
                "d {sign} timestamptz '2026-03-{} {}'",
                20 + number % 11,
                self.one(&["00:00", "02:30"])
            ),
            5 => format!("d {sign} timestamp '2026-03-{} 12:00'", 20 + number % 11),
            6 => format!("e {sign} {number}.25"),
            7 => format!("{number} {sign} a"),
            _ => format!("e {sign} {number}"),
        }
    }

    fn row_comparison(&mut self) -> String {
        let sign = self.one(&["<", "<=", ">", ">="]);
        let (x, y) = (self.number(), self.number());
        match self.0.below(6) {
            0 => format!("(a, b) {sign} ({x}, {y})"),
            1 => format!("({x}, {y}) {sign} (b, a)"),
            2 => format!("(a, b) {sign} ({x}, {y}.5)"),
            3 => format!("(a, b) {sign} ({x}, null)"),
            4 => format!("(e, a) {sign} ({x}.0, {y})"),
            _ => format!("(b, a, id) {sign} ({x}, {y}, 100)"),
        }
    }

    fn term(&mut self) -> String {
        match self.0.below(11) {
            0 => self.row_comparison(),
            1 => format!("{} is null", self.one(&["a", "b", "c"])),
            2 => format!("a in ({}, {}, null)", self.number(), self.number()),
            3 => format!("b = any(array[{}, {}])", self.number(), self.number()),
            4 | 5 => self.pattern(),
            6 => format!("a between {} and {}", self.number() % 12, self.number()),
            7 => format!("not ({})", self.comparison()),
            8 => self.negation(),
            _ => self.comparison(),
        }
    }

    fn pattern(&mut self) -> String {
        let number = self.number() % 3;
        match self.0.below(7) {
            0 => format!("c like 't{number}%'"),
            1 => format!("c ~ '^t{number}'"),
            2 => format!("c ~ '^t{number}?'"),
            3 => format!("c ~ '^t{number}[2-5]$'"),
            4 => format!("c ~ '^t{number}|^t7'"),
            5 => format!("c ^@ 't{number}'"),
            _ => format!("starts_with(c, 't{number}')"),
        }
    }

    fn negation(&mut self) -> String {
        let (x, y) = (self.number(), self.number());
        match self.0.below(5) {
            0 => format!("not (a <> {x} or b < {y})"),
            1 => format!("not (a < {x} and c <> 't{y}')"),
            2 => format!("not (a <> all (array[{x}, {y}]))"),
            3 => format!("not (a = any (array[{x}, {y}, null]))"),
            _ => format!("not (a not in ({x}, {y}))"),
        }
    }

    fn conjunction(&mut self) -> String {
        let terms = 1 + self.0.below(3);
        let terms: Vec<String> = (0..terms).map(|_| self.term()).collect();
        format!("({})", terms.join(" and "))
    }

    fn condition(&mut self) -> String {
        let arms = 1 + self.0.below(4);
        let arms: Vec<String> = (0..arms).map(|_| self.conjunction()).collect();
        let either = format!("({})", arms.join(" or "));
        match self.0.chance(1, 3) {
            true => format!("{either} and {}", self.term()),
            false => either,
        }
    }
}

/// What a condition yields of a table, in ways that read it differently.
fn answers(client: &mut RawClient, table: &str, condition: &str) -> Vec<Vec<String>> {
    [
        format!("select id from {table} where {condition} order by id"),
        format!("select a, b from {table} where {condition} order by a, b limit 7"),
        format!("select min(a), max(a), max(b), min(d) from {table} where {condition}"),
        format!("select count(*) from {table} x where exists (select 1 from {table} y where y.id < 12 and (y.a = x.b or y.b = x.a) and {})",
            condition.replace("(a,", "(y.a,").replace(" a ", " y.a ")),
        format!("select id from {table} where {condition} order by id for update"),
        format!("begin; with u as (update {table} set n = n + 1, a = coalesce(a, 0) + 1 where {condition} returning id, n, a) \
                 select id, n, a from u order by id; rollback"),
        format!("begin; delete from {table} where {condition}; select count(*), sum(id) from {table}; rollback"),
    ]
    .iter()
    .map(|sql| client.rows(sql))
    .collect()
}

/// What EXISTS and IN over few rows leave of the rows of `table x`.
const TESTS: &[&str] = &[
    "exists (select from few where k = x.a and v < 20)",
    "exists (select from few where k = x.a and l = x.b)",
    "exists (select from few where k + 1 = x.a)",
    "exists (select from few where l = x.a and v > 3)",
    "exists (select from few where m = x.e)",
    "exists (select from few where w = x.d)",
    "exists (select from few f join few g on f.v = g.v + 1 where f.k = x.a and g.l = x.b)",
    "exists (select from few where k = x.a and m < x.e)",
    "exists (select from few where k = x.a or l = x.b)",
    "not exists (select from few where k = x.a and v < 20)",
    "not exists (select from few where k = x.a and l = x.b)",
    "x.a in (select k from few)",
    "(x.b, x.a) in (select l, k from few where v < 25)",
    "x.a in (select k from few group by k having count(*) > 4)",
    "x.a in (select k from few order by v limit 4)",
    "x.c in (select t from few) and exists (select from few where k = x.a)",
    "x.d in (select w from few)",
    "x.d in (select w::date from few)",
    "(x.a, x.b) in ((3, 4), (6, 1), (3, 4), (null, 2))",
];

/// The rows that such a test leaves, read, locked, changed and joined.
fn tested(client: &mut RawClient, table: &str, test: &str) -> Vec<Vec<String>> {
    [
        format!("select id from {table} x where {test} order by id"),
        format!("select id from {table} x where {test} order by id for update"),
        format!("select x.id, y.id from {table} x join {table} y on y.b = x.a where y.id < 90 and {test} order by 1, 2"),
        format!("select count(*) from {table} x where x.a = 3 and {test}"),
        format!(
            "begin; with u as (update {table} x set n = n + 1, a = coalesce(a, 0) + 1 where {test} returning id, n, a) \
             select id, n, a from u order by id; rollback"
        ),
        format!("begin; delete from {table} x where {test}; select count(*), sum(id) from {table}; rollback"),
    ]
    .iter()
    .map(|sql| client.rows(sql))
    .collect()
}

#[test]
fn rows_with_a_partner_come_once() {
    let server = TestServer::start("index-answers-partners");
    let mut client = RawClient::connect(&server);
    client.rows(&TABLES.replace("ROWS", &ROWS.to_string()));
    // Where a day is left out two dates begin at one instant.
    for zone in ["UTC", "Europe/Berlin", "Pacific/Apia"] {
        client.rows(&format!("set timezone = '{zone}'"));
        for test in TESTS {
            let wanted = tested(&mut client, "plain", test);
            for table in ["indexed", "parts"] {
                assert_eq!(
                    tested(&mut client, table, test),
                    wanted,
                    "{zone}, {table}: {test}"
                );
            }
        }
    }
    // 30 December 2011 was no day in Samoa: both dates are the same instant, and the row has two partners.
    client.rows(
        "create table moments (at timestamptz primary key); insert into moments values ('2011-12-31'), ('2012-01-02'); \
         create table days (day date); insert into days values ('2011-12-30'), ('2011-12-31'), ('2011-12-31'); analyze",
    );
    for test in [
        "exists (select from days where day = at)",
        "at in (select day from days)",
        "at in (date '2011-12-30', date '2011-12-31')",
        "(at, 1) in ((date '2011-12-30', 1), (date '2011-12-31', 1))",
    ] {
        let rows = client.rows(&format!("select count(*) from moments where {test}"));
        assert_eq!(rows, ["1"], "{test}");
    }
}

#[test]
fn indexes_answer_as_a_table_without_them() {
    let seed = from_environment("MOTE_IT_SEED", std::process::id().into());
    let count = from_environment("MOTE_IT_CONDITIONS", CONDITIONS);
    eprintln!("MOTE_IT_SEED={seed}");
    let server = TestServer::start("index-answers");
    let mut client = RawClient::connect(&server);
    client.rows(&TABLES.replace("ROWS", &ROWS.to_string()));
    let mut generator = Generator(Prng::new(seed));
    for _ in 0..count {
        // Clocks of Berlin are set forward in the night of the 29th.
        let zone = generator.one(&["UTC", "Europe/Berlin", "Pacific/Apia"]);
        client.rows(&format!("set timezone = '{zone}'"));
        let condition = generator.condition();
        let wanted = answers(&mut client, "plain", &condition);
        for table in ["indexed", "parts"] {
            let got = answers(&mut client, table, &condition);
            assert_eq!(got, wanted, "seed {seed}, {table}: {condition}");
        }
    }
}

#[test]
fn an_or_of_indexed_columns_reads_no_table() {
    let server = TestServer::start("index-answers-plans");
    let mut client = RawClient::connect(&server);
    client.rows(
        "create table t (id int primary key, a int, b int, c text); insert into t select i, i, i, 'x' || i from \
         generate_series(1, 5000) i; create index on t (a); create index on t (b); create index on t (a, b); analyze t",
    );
    for (sql, wanted) in [
        ("select * from t where a = 5 or b = 7", "Index Union on t"),
        (
            "select * from t where a = 5 or a = 7 and b > 3",
            "Index Union on t",
        ),
        (
            "select * from t where (a = 5 or b = 7) and id > 0 for update",
            "Index Union on t",
        ),
        ("update t set c = '' where a = 5 or b = 7", "Index Union on t"),
        (
            "select * from t x where exists (select 1 from t y where y.a = x.id or y.b = x.id)",
            "Index Union on t y",
        ),
        (
            "select * from t where (a, b) > (4990, 3) order by a, b limit 3",
            "Index Cond: (ROW(a, b) > ROW(4990, 3))",
        ),
        (
            "select min(a), max(a), min(b) from t",
            "Index Scan Backward using t_a_",
        ),
    ] {
        let plan = client.rows(&format!("explain {sql}")).join("\n");
        assert!(plan.contains(wanted), "{sql}: {plan}");
        assert!(
            sql.contains("exists") || !plan.contains("Seq Scan"),
            "{sql}: {plan}"
        );
    }
    let plan = client
        .rows("explain select * from t where a = 5 or c = 'x7'")
        .join("\n");
    assert!(plan.contains("Seq Scan"), "an arm without an index: {plan}");
}

#[test]
fn few_rows_look_a_large_table_up() {
    let server = TestServer::start("index-answers-few");
    let mut client = RawClient::connect(&server);
    client.rows(
        "create table big (id int primary key, a int, c text); insert into big select i, i, 'x' || i from generate_series(1, 20000) i; \
         create index on big (a); create index on big (c text_pattern_ops); \
         create table small (k int, v int); insert into small select i % 10, i from generate_series(1, 50) i; \
         create table wide (k int primary key); insert into wide select generate_series(1, 20000); analyze",
    );
    for (condition, index) in [
        (
            "exists (select 1 from small s where s.k = b.id and s.v > 3)",
            "big_pkey",
        ),
        (
            "exists (select 1 from small s where s.k + 1 = b.id and s.v = b.a)",
            "big_",
        ),
        ("id in (select k from small)", "big_pkey"),
        (
            "id in (select k from small) and exists (select from wide where wide.k = b.a)",
            "big_pkey",
        ),
        ("c = 'x7' and id in (select k from wide)", "wide_pkey"),
        ("c ~ '^x77' and a < 30000", "big_c_idx"),
        ("c ^@ 'x77'", "big_c_idx"),
        ("starts_with(c, 'x77')", "big_c_idx"),
        ("not (id <> 5)", "big_pkey"),
        ("not (id >= 5 or a < 2)", "big_"),
        ("not (id <> all (array[3, 4]))", "big_pkey"),
    ] {
        for sql in [
            format!("explain select * from big b where {condition}"),
            format!("explain select * from big b where {condition} for update"),
            format!("explain delete from big b where {condition}"),
        ] {
            let plan = client.rows(&sql).join("\n");
            assert!(plan.contains(&format!("using {index}")), "{sql}: {plan}");
            assert!(!plan.contains("Seq Scan on big"), "{sql}: {plan}");
        }
    }
    // Many rows: each of the large table is asked.
    let plan = client
        .rows("explain select * from big b where exists (select from wide where wide.k = b.id)")
        .join("\n");
    assert!(plan.contains("Hash Semi Join"), "{plan}");
    let error = client.query("select * from big where c ~ '^zz('");
    assert_eq!(
        mote_it::wire::sqlstate(&error).as_deref(),
        Some("2201B"),
        "no row begins so, and the pattern is none"
    );
}

/// The newest version of a row is judged by the whole OR, and once, whichever arm had found the old one.
#[test]
fn a_row_that_moves_from_arm_to_arm_is_written_once() {
    let server = TestServer::start("index-answers-recheck");
    let mut holder = RawClient::connect(&server);
    holder.rows(
        "create table t (id int primary key, a int, b int, n int default 0); insert into t select i, i, i from \
         generate_series(1, 3000) i; create index on t (a); create index on t (b); analyze t",
    );
    // The row is found by `a = 5`; who holds it makes it one of the other arm, of both, or of none.
    for (change, wanted) in [
        ("a = -1, b = 7", "1"),
        ("a = 5, b = 7", "1"),
        ("a = -1, b = -1", "0"),
        ("id = id", "1"),
    ] {
        holder.rows("update t set a = id, b = id, n = 0 where n <> 0 or a <> id or b <> id");
        let mut waiter = RawClient::connect(&server);
        let waiting = pid(&mut waiter);
        holder.rows(&format!("begin; update t set {change} where id = 5"));
        waiter.send(b'Q', b"update t set n = n + 1 where a = 5 or b = 7\0");
        let mut observer = RawClient::connect(&server);
        await_lock(&mut observer, &waiting);
        holder.rows("commit");
        waiter.until(b'Z');
        assert_eq!(holder.rows("select n from t where id = 5"), [wanted], "{change}");
        assert_eq!(holder.rows("select n from t where id = 7"), ["1"], "{change}");
    }
}
