//! Rows read in blocks, judged on stored bytes, joined and summed where they stand: the same rows, sums and errors as when
//! each is decoded, judged and added one by one (docs/design/0062). The seed of the rows is fixed and printed.

use std::fmt::Write;

use super::{database, session, shown};
use crate::embedded::LocalSession;
use mote_common::prng::Prng;

const SEED: u64 = 62;
/// Several blocks, the last one not full.
const ROWS: u64 = 301;

const NUMERICS: &[&str] = &["0", "1.00", "2.50", "-7.25", "99999999.99", "'nan'", "0.10"];
const LONG_NUMERICS: &[&str] = &[
    "0",
    "1.000",
    "'nan'",
    "'infinity'",
    "9223372036854775807",
    "-9223372036854775808.5",
    "0.000000000000000001",
    "123456789012345678901234567890.123456789",
    "3.14",
];
const FLOATS: &[&str] = &["0", "-0.0", "1.5", "'nan'", "'infinity'", "'-infinity'", "1e300"];
const DATES: &[&str] = &[
    "'2024-01-31'",
    "'2024-02-29'",
    "'infinity'",
    "'-infinity'",
    "'1999-12-31'",
];
const TIMES: &[&str] = &[
    "'2024-01-31'",
    "'2024-02-29 12:00'",
    "'infinity'",
    "'-infinity'",
    "'2024-01-31 00:00:00.000001'",
];
const TEXTS: &[&str] = &[
    "''",
    "'a'",
    "'ab'",
    "'a longer text, which is on the heap'",
    "'ä'",
    "'abcdefgh'",
    "'abcdefghi'",
];

/// Conditions that are judged on bytes, or begin with such.
const CONDITIONS: &[&str] = &[
    "i < 3",
    "3 < i",
    "i = 2 and k >= 1",
    "s <> 2",
    "k = 9223372036854775807",
    "i = k",
    "k > i",
    "n < 2.5",
    "n >= 2.50 and n <= 99999999.99",
    "n = 0.1",
    "n <> 0.10",
    "n > 0.105",
    "n = 'nan'",
    "n < 'nan'",
    "n < 9223372036854775807",
    "n < 92233720368547758.07",
    "n = z",
    "d < date '2024-02-29'",
    "d <= timestamp '2024-02-29'",
    "d < timestamp '2024-02-29 12:00'",
    "d > timestamp '2024-01-31 12:00'",
    "d >= timestamp '2024-01-31'",
    "d = timestamp '2024-01-31'",
    "d = timestamp '2024-01-31 12:00'",
    "d <> timestamp '2024-01-31 12:00'",
    "d < timestamp 'infinity'",
    "d > timestamp '-infinity'",
    "timestamp '2024-02-29' > d",
    "p > timestamp '2024-01-31'",
    "p < d",
    "p = timestamp 'infinity'",
    "t = 'ab'",
    "t >= 'abcdefgh'",
    "t like 'a%'",
    "t not like '%b%'",
    "t like '_'",
    "i in (1, 2, 7)",
    "i not in (1, 2)",
    "i in (1, null)",
    "n in (2.5, 0.1)",
    "n in (2.505)",
    "t in ('a', 'ab')",
    "t not in ('a', 'ab')",
    "d in ('2024-01-31', 'infinity')",
    "i is not null and n is not null and i < 5",
    "f > 1 and i = 1",
];

fn filled(random: &mut Prng) -> LocalSession {
    let mut session = session(&database());
    let table = "(id int primary key, i int, k bigint, s smallint, n numeric(10,2), z numeric(12,2), m numeric, f float8, \
                 d date, p timestamp, t text)";
    for name in ["r", "u", "nobody"] {
        assert_eq!(shown(&mut session, &format!("create table {name} {table}")), "");
    }
    for (name, rows) in [("r", ROWS), ("u", ROWS / 4)] {
        let mut insert = format!("insert into {name} values ");
        for id in 0..rows {
            let mut value = |list: &[&str]| match random.chance(1, 6) {
                true => "null".to_string(),
                false => list[random.below(list.len() as u64) as usize].to_string(),
            };
            let small = &["-1", "0", "1", "2", "3", "7"];
            let row = [
                value(small),
                value(&["-1", "1", "2", "9223372036854775807", "-9223372036854775808"]),
                value(small),
                value(NUMERICS),
                value(NUMERICS),
                value(LONG_NUMERICS),
                value(FLOATS),
                value(DATES),
                value(TIMES),
                value(TEXTS),
            ];
            let separator = if id == 0 { "" } else { ", " };
            write!(insert, "{separator}({id}, {})", row.join(", ")).expect("a text takes all");
        }
        assert_eq!(shown(&mut session, &insert), "");
    }
    session
}

/// A session with rows, some of which have been changed or deleted since they were inserted.
fn prepared() -> LocalSession {
    println!("seed {SEED}");
    let mut session = filled(&mut Prng::new(SEED));
    for change in [
        "update r set i = i + 0 where id % 7 = 3",
        "delete from r where id % 11 = 5",
    ] {
        assert_eq!(shown(&mut session, change), "");
    }
    session
}

#[test]
fn conditions_on_bytes_hold_for_the_same_rows() {
    let mut session = prepared();
    for condition in CONDITIONS {
        let select = |form: &str| format!("select id from r where {form} order by id");
        let on_bytes = shown(&mut session, &select(condition));
        let decoded = shown(
            &mut session,
            &select(&format!("case when id >= 0 then {condition} end")),
        );
        assert_eq!(on_bytes, decoded, "{condition}");
        assert!(!on_bytes.starts_with('!'), "{condition}: {on_bytes}");
        // One row at a time.
        assert_eq!(shown(&mut session, "begin isolation level serializable"), "");
        let one_by_one = shown(&mut session, &select(condition));
        assert_eq!(shown(&mut session, "commit"), "");
        assert_eq!(one_by_one, decoded, "{condition}, serializable");
    }
}

#[test]
fn columns_added_later_are_judged_by_their_default() {
    let mut session = prepared();
    let added = "alter table r add column late int default 3, add column day date default '2024-01-31', add column word text";
    assert_eq!(shown(&mut session, added), "");
    assert_eq!(
        shown(
            &mut session,
            "insert into r (id, late, word) values (1000, 4, 'x')"
        ),
        ""
    );
    for (condition, expected) in [
        ("late = 3", "301"),
        ("late in (3, 4) and day < timestamp '2024-02-01'", "302"),
        ("late > i", ""),
        ("word in ('x', 'y')", "1"),
        ("word is not null", "1"),
    ] {
        let count = |form: &str| format!("select count(*) from r where {form}");
        let found = shown(&mut session, &count(condition));
        assert_eq!(
            found,
            shown(&mut session, &count(&format!("({condition}) is true"))),
            "{condition}"
        );
        let deleted = shown(&mut session, "select 302 - count(*) from r");
        let all = expected.parse::<u64>().ok().filter(|count| *count > 1);
        if let Some(all) = all {
            let left = all - deleted.parse::<u64>().expect("a count");
            assert_eq!(found, left.to_string(), "{condition}");
        }
    }
}

#[test]
fn sums_are_those_of_one_number_after_the_other() {
    let mut session = prepared();
    for (quick, general) in [
        ("n", "n::text::numeric"),
        ("n * (1 - z)", "n::text::numeric * (1 - z::text::numeric)"),
        (
            "n * i + z",
            "n::text::numeric * i::text::numeric + z::text::numeric",
        ),
        ("m", "m::text::numeric"),
        (
            "m * m - n",
            "m::text::numeric * m::text::numeric - n::text::numeric",
        ),
        ("k::numeric", "k::text::numeric"),
        (
            "k::numeric * k * k",
            "k::text::numeric * k::text::numeric * k::text::numeric",
        ),
    ] {
        for condition in ["id >= 0", "n <> 'nan' and m < 'infinity'", "id < 0", "n is null"] {
            let select = |term: &str| {
                format!(
                    "select s, sum({term}), avg({term}), count({term}), min({term}), max({term}) from r where {condition} \
                     group by s order by s"
                )
            };
            let (left, right) = (
                shown(&mut session, &select(quick)),
                shown(&mut session, &select(general)),
            );
            assert_eq!(left, right, "{quick} where {condition}");
            let ungrouped = |term: &str| format!("select sum({term}), avg({term}) from r where {condition}");
            let (left, right) = (
                shown(&mut session, &ungrouped(quick)),
                shown(&mut session, &ungrouped(general)),
            );
            assert_eq!(left, right, "{quick} where {condition}");
        }
    }
}

#[test]
fn calls_that_keep_the_same_do_not_disturb_each_other() {
    let mut session = prepared();
    let together = "select avg(n), sum(n), sum(i), avg(i), sum(f) filter (where i > 0), avg(f) filter (where i < 0), count(*), \
                    count(i), sum(distinct i), sum(i), stddev(i), avg(distinct i) from r where f between -1 and 5";
    let alone = [
        "avg(n)",
        "sum(n)",
        "sum(i)",
        "avg(i)",
        "sum(f) filter (where i > 0)",
        "avg(f) filter (where i < 0)",
        "count(*)",
        "count(i)",
        "sum(distinct i)",
        "sum(i)",
        "stddev(i)",
        "avg(distinct i)",
    ];
    let expected: Vec<String> = alone
        .iter()
        .map(|call| {
            shown(
                &mut session,
                &format!("select {call} from r where f between -1 and 5"),
            )
        })
        .collect();
    assert_eq!(shown(&mut session, together), expected.join("|"));
}

#[test]
fn groups_are_the_same_by_columns_and_by_values() {
    let mut session = prepared();
    for key in ["i", "k", "s", "n", "m", "f", "d", "p", "t", "i, t", "n, d, t"] {
        let computed: Vec<String> = key
            .split(", ")
            .map(|key| format!("case when id >= 0 then {key} end"))
            .collect();
        let select = |keys: &str| format!("select count(*), min(id) from r group by {keys} order by 2");
        let (by_column, by_value) = (
            shown(&mut session, &select(key)),
            shown(&mut session, &select(&computed.join(", "))),
        );
        assert_eq!(by_column, by_value, "{key}");
    }
}

#[test]
fn hash_joins_give_what_nested_loops_give() {
    let mut session = prepared();
    for (left, right) in [("r", "u"), ("u", "r"), ("r", "nobody"), ("nobody", "u")] {
        for key in [
            "a.i = b.i",
            "a.k = b.k and a.t = b.t",
            "a.n = b.n",
            "a.f = b.f",
            "a.i = b.s",
            "a.i + 1 = b.i",
            "a.i = b.i - 1 and a.t = b.t",
            "upper(a.t) = b.t and a.d = b.d",
            "a.i = b.i and a.id < b.id",
        ] {
            // A condition that is no equality is not hashed.
            let looped = format!("({key}) is true");
            let joined = |kind: &str, on: &str| {
                format!("select a.id, b.id from {left} a {kind} join {right} b on {on} order by 1, 2")
            };
            for kind in ["", "left"] {
                assert_eq!(
                    shown(&mut session, &joined(kind, key)),
                    shown(&mut session, &joined(kind, &looped)),
                    "{left} {kind} join {right} on {key}"
                );
            }
            for exists in ["exists", "not exists"] {
                let those = |on: &str| {
                    format!(
                        "select a.id from {left} a where {exists} (select from {right} b where {on}) order by 1"
                    )
                };
                assert_eq!(
                    shown(&mut session, &those(key)),
                    shown(&mut session, &those(&looped)),
                    "{left} {exists} {right} on {key}"
                );
            }
            let full = shown(&mut session, &joined("full", key));
            let parts = format!(
                "select a.id, b.id from {left} a left join {right} b on {looped} union all select null, b.id from {right} b \
                 where not exists (select from {left} a where {looped}) order by 1, 2"
            );
            assert_eq!(
                full,
                shown(&mut session, &parts),
                "{left} full join {right} on {key}"
            );
        }
    }
}

#[test]
fn columns_equal_by_a_third_one_join_the_same_rows() {
    let mut session = prepared();
    let (derived, plain) = (
        "select a.id, b.id, c.id from r a, u b, u c where a.i = b.i and b.i = c.i and a.t = c.t order by 1, 2, 3",
        "select a.id, b.id, c.id from r a, u b, u c where (a.i = b.i) is true and (b.i = c.i) is true and (a.t = c.t) is true \
         order by 1, 2, 3",
    );
    let rows = shown(&mut session, derived);
    assert!(!rows.is_empty());
    assert_eq!(rows, shown(&mut session, plain));
    let four = "select count(*) from r a join u b on a.i = b.i join u c on c.i = b.i and c.k = a.k join r d on d.i = c.i and d.k = a.k";
    let slow = "select count(*) from r a join u b on (a.i = b.i) is true join u c on (c.i = b.i and c.k = a.k) is true \
                join r d on (d.i = c.i and d.k = a.k) is true";
    assert_eq!(shown(&mut session, four), shown(&mut session, slow));
}

#[test]
fn nothing_is_evaluated_ahead_of_who_asks() {
    let mut session = prepared();
    assert_eq!(shown(&mut session, "create sequence asked"), "");
    // Rows that nobody asks for move no sequence, and a condition that would fail for a later row does not fail.
    assert_eq!(
        shown(
            &mut session,
            "select count(*) from (select id from r where nextval('asked') > 0 limit 5) x"
        ),
        "5"
    );
    assert_eq!(shown(&mut session, "select last_value from asked"), "5");
    let failing = "select id from r where i is distinct from 99 and 10 / (id - 20) < 100 limit 3";
    assert_eq!(shown(&mut session, failing).split(' ').count(), 3);
    let all = "select id from r where i is distinct from 99 and 10 / (id - 20) < 100";
    assert!(shown(&mut session, all).starts_with("!22012"));
}
