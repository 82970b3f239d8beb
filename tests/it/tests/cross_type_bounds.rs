//! An index answers comparisons between types as a table without one does, and as PostgreSQL does: every pair of types, every
//! operator, the edges of both.

use std::fmt::Write;

use mote_it::clients::psql_strict;
use mote_it::postgres::PostgresServer;
use mote_it::server::TestServer;

/// A type and values at its edges, and at those of the types that it is compared with.
struct Type {
    name: &'static str,
    edges: &'static [&'static str],
}

const fn of(name: &'static str, edges: &'static [&'static str]) -> Type {
    Type { name, edges }
}

const NUMBERS: &[Type] = &[
    of("smallint", &["-32768", "-1", "0", "1", "2", "32767"]),
    of(
        "integer",
        &[
            "-2147483648",
            "-32769",
            "-1",
            "0",
            "1",
            "2",
            "32768",
            "2147483647",
        ],
    ),
    of(
        "bigint",
        &[
            "-9223372036854775808",
            "-2147483649",
            "-32769",
            "0",
            "1",
            "9007199254740993",
            "2147483648",
            "9223372036854775807",
        ],
    ),
    of(
        "numeric",
        &[
            "-Infinity",
            "-9223372036854775808.5",
            "-2147483648.5",
            "-0.5",
            "0",
            "1.0",
            "1.5",
            "0.1",
            "2147483647.5",
            "9223372036854775807.5",
            "1e40",
            "Infinity",
            "NaN",
        ],
    ),
    of(
        "numeric(6,2)",
        &["-9999.99", "0.00", "0.10", "1.50", "9999.99", "NaN"],
    ),
    of(
        "real",
        &[
            "-Infinity",
            "-1.5",
            "-0",
            "0.1",
            "1",
            "16777216",
            "3.4028235e38",
            "Infinity",
            "NaN",
        ],
    ),
    of(
        "double precision",
        &[
            "-Infinity",
            "-1e300",
            "-0.5",
            "0.1",
            "1",
            "2147483647.5",
            "9007199254740992",
            "9.3e18",
            "1e300",
            "Infinity",
            "NaN",
        ],
    ),
];

/// In New York clocks went from 2:00 to 3:00 on 2026-03-08 and from 2:00 back to 1:00 on 2026-11-01.
const MOMENTS: &[Type] = &[
    of(
        "date",
        &[
            "-infinity",
            "4714-11-24 BC",
            "2026-03-07",
            "2026-03-08",
            "2026-03-09",
            "5874897-12-31",
            "infinity",
        ],
    ),
    of(
        "timestamp",
        &[
            "-infinity",
            "4714-11-24 00:00 BC",
            "2026-03-07 23:59:59.999999",
            "2026-03-08 00:00",
            "2026-03-08 01:59:59",
            "2026-03-08 02:30",
            "2026-03-08 03:00",
            "2026-03-08 03:15",
            "2026-11-01 01:30",
            "294276-12-31 23:59:59.999999",
            "infinity",
        ],
    ),
    of(
        "timestamptz",
        &[
            "-infinity",
            "4714-11-25 00:00+00 BC",
            "2026-03-08 00:00-05",
            "2026-03-08 01:59:59-05",
            "2026-03-08 03:15-04",
            "2026-03-08 03:45-04",
            "2026-11-01 01:30-04",
            "2026-11-01 01:30-05",
            "294276-12-31 23:59:59.999999+00",
            "infinity",
        ],
    ),
];

const TEXTS: &[Type] = &[
    of("text", &["", "a", "a ", "ab", "b"]),
    of("varchar(8)", &["", "a", "a ", "ab", "b"]),
    of("char(3)", &["", "a", "ab", "b"]),
    of("name", &["", "a", "a ", "ab"]),
];

const OIDS: &[Type] = &[
    of("oid", &["0", "1", "2147483648", "4294967295"]),
    // Others are refused: it is the number that becomes an oid.
    of("bigint", &["0", "1", "4294967295"]),
    of("integer", &["0", "1", "2147483647"]),
];

const FAMILIES: &[&[Type]] = &[NUMBERS, MOMENTS, TEXTS, OIDS];
const OPERATORS: [&str; 5] = ["<", "<=", "=", ">=", ">"];

fn list(edges: &[&str]) -> String {
    edges
        .iter()
        .map(|edge| format!("('{edge}')"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Tables with and without an index, of each type; ascending and descending.
fn tables(family: &[Type], number: usize) -> String {
    let mut script = String::from("set timezone = 'America/New_York';\n");
    for (at, key) in family.iter().enumerate() {
        let (name, values) = (key.name, list(key.edges));
        for kind in ["plain", "up", "down"] {
            writeln!(script, "create table {kind}_{number}_{at} (k {name});").expect("a string");
            writeln!(
                script,
                "insert into {kind}_{number}_{at} values {values}, (null);"
            )
            .expect("a string");
        }
        writeln!(script, "create index on up_{number}_{at} (k);").expect("a string");
        writeln!(script, "create index on down_{number}_{at} (k desc);").expect("a string");
    }
    script
}

/// What each table answers for each value of each type: as a parameter, and among the elements of an array.
fn questions(family: &[Type], number: usize) -> String {
    let mut script = String::from("set timezone = 'America/New_York';\n");
    let mut ask = |key: usize, value: &Type, condition: &str| {
        let answer = |kind: &str| {
            format!(
                "(select string_agg(k::text, '|' order by k) from {kind}_{number}_{key} where {condition})"
            )
        };
        let (plain, up, down) = (answer("plain"), answer("up"), answer("down"));
        let parameter = value.name;
        let question =
            format!("select {plain}, {up} is not distinct from {plain}, {down} is not distinct from {plain}");
        writeln!(script, "prepare q({parameter}, {parameter}) as {question};").expect("a string");
        for (at, edge) in value.edges.iter().enumerate() {
            let other = value.edges[(at + 1) % value.edges.len()];
            writeln!(script, "execute q('{edge}', '{other}');").expect("a string");
        }
        writeln!(script, "deallocate q;").expect("a string");
    };
    for key in 0..family.len() {
        for value in family {
            for operator in OPERATORS {
                ask(key, value, &format!("k {operator} $1"));
            }
            ask(key, value, "k = any(array[$1, $2])");
            ask(key, value, "$1 < k and k <= $2");
        }
    }
    script
}

#[test]
fn an_index_answers_as_its_table_does() {
    let server = TestServer::start("cross-type-bounds");
    let oracle = PostgresServer::start();
    let oracle = TestServer::in_server(&oracle.url());
    for (number, family) in FAMILIES.iter().enumerate() {
        for server in [&server, &oracle] {
            psql_strict(server, &tables(family, number)).good();
        }
        let script = questions(family, number);
        let (own, theirs) = (
            psql_strict(&server, &script).good(),
            psql_strict(&oracle, &script).good(),
        );
        let asked = script.lines().scan("", |question, line| {
            if line.starts_with("prepare") {
                *question = line;
            }
            Some((*question, line))
        });
        let asked = asked.filter(|(_, line)| line.starts_with("execute"));
        let answers = own.lines().zip(theirs.lines());
        // The setting of the time zone and the statements that prepare answer a line each.
        let said = |line: &&str| !["SET", "PREPARE", "DEALLOCATE"].contains(line);
        let answers = answers.filter(|(own, _)| said(own));
        let mut wrong = Vec::new();
        for ((question, execute), (own, theirs)) in asked.zip(answers) {
            if own != theirs || !own.ends_with("|t|t") {
                wrong.push(format!(
                    "{question} {execute}\n  mote {own}\n  PostgreSQL {theirs}"
                ));
            }
        }
        assert!(
            wrong.is_empty(),
            "{} of them\n{}",
            wrong.len(),
            wrong[..wrong.len().min(20)].join("\n")
        );
        assert_eq!(own.lines().count(), theirs.lines().count());
    }
}

/// Pairs of key and value that no index serves. PostgreSQL's neither, where the key would have to be turned into a type that
/// holds fewer values or compares in another way; it does serve `varchar` by `char(n)`.
const UNSERVED: &[(&str, &str)] = &[
    ("bigint", "real"),
    ("bigint", "double precision"),
    ("numeric", "real"),
    ("numeric", "double precision"),
    ("numeric(6,2)", "real"),
    ("numeric(6,2)", "double precision"),
    ("char(3)", "text"),
    ("char(3)", "name"),
    ("varchar(8)", "char(3)"),
    ("bigint", "oid"),
    ("integer", "oid"),
];

#[test]
fn an_index_is_found_by_values_of_other_types() {
    let server = TestServer::start("cross-type-plans");
    for (number, family) in FAMILIES.iter().enumerate() {
        psql_strict(&server, &tables(family, number)).good();
        let mut wrong = Vec::new();
        for (at, key) in family.iter().enumerate() {
            for value in family.iter() {
                let edge = value.edges[1];
                let plan = |condition: &str| {
                    let script = format!("explain select * from up_{number}_{at} where {condition}");
                    psql_strict(&server, &script).good()
                };
                let condition = format!("k < '{edge}'::{}", value.name);
                let is_used = plan(&condition).contains("Index");
                let is_expected = !UNSERVED.contains(&(key.name, value.name));
                if is_used != is_expected {
                    wrong.push(format!("{} key, used {is_used}: {condition}", key.name));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[test]
fn an_index_is_found_by_the_beginning_of_a_pattern() {
    let server = TestServer::start("pattern-plans");
    psql_strict(&server, "create table words (w text); create index on words (w)").good();
    for (condition, is_served) in [
        ("w like 'ab%'", true),
        ("w like 'a\\_b_'", true),
        ("w like 'a'||'b%'", true),
        ("w like '%b'", false),
        ("w like '_b%'", false),
        ("w not like 'ab%'", false),
        ("w ilike 'ab%'", false),
        ("'ab' like w", false),
    ] {
        let plan = psql_strict(&server, &format!("explain select * from words where {condition}")).good();
        assert_eq!(plan.contains("Index"), is_served, "{condition}: {plan}");
    }
}
