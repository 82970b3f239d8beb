//! Long statements are planned in a time that grows with their length, not with its square.
//!
//! A family that takes long without optimisation is planned at a part of its length, too. What grows with the square takes 64 times as
//! long for eight times the length; the bound lies between that and the eight of a straight line. What has a limit of PostgreSQL's
//! (1,664 targets) may grow with its square as long as it is quick at the limit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::plan;
use crate::plan::PlanBody;
use crate::plan::node::{AnyOf, IndexEquality, Node};
use mote_sql::expr::Expr;

/// How much longer the whole is than the part.
const FACTOR: usize = 8;
/// What that may cost: twice and a half of a straight line.
const GROWTH_MAX: f64 = 20.0;
/// Optimised, this is a tenth or less.
const SHORT: Duration = Duration::from_secs(2);
const STACK_BYTES: usize = 256 << 20;

fn list(count: usize, separator: &str, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect::<Vec<_>>().join(separator)
}

type Family = (&'static str, usize, fn(usize) -> String);

const FAMILIES: &[Family] = &[
    ("ORs beside conditions", 1_000, |n| {
        let ors = list(n, " and ", |i| format!("(a = {i} or g = {i})"));
        let others = list(n, " and ", |i| format!("b <> 'x{i}'"));
        format!("select * from t where {ors} and {others}")
    }),
    ("arms of one OR", 10_000, |n| {
        let arms = list(n, " or ", |i| format!("(a = {i} and b = 'x{i}')"));
        format!("select * from t where {arms}")
    }),
    ("arms of an OR over two tables", 4_000, |n| {
        let arms = list(n, " or ", |i| format!("(t.b = 'x{i}' and u.y = 'y{i}')"));
        format!("select * from t, u where t.a = u.a and ({arms})")
    }),
    ("conditions", 10_000, |n| {
        format!(
            "select * from t where {}",
            list(n, " and ", |i| format!("g <> {i}"))
        )
    }),
    ("bounds of a key", 10_000, |n| {
        format!(
            "select * from t where {}",
            list(n, " and ", |i| format!("a > {i}"))
        )
    }),
    ("elements of IN", 10_000, |n| {
        format!(
            "select * from t where a in ({})",
            list(n, ", ", |i| i.to_string())
        )
    }),
    ("parameters of IN", 10_000, |n| {
        format!(
            "select * from t where a in ({})",
            list(n, ", ", |i| format!("${}", i + 1))
        )
    }),
    ("elements of NOT IN", 10_000, |n| {
        format!(
            "select * from t where not a in ({})",
            list(n, ", ", |i| i.to_string())
        )
    }),
    ("rows of IN", 5_000, |n| {
        let rows = list(n, ", ", |i| format!("({i}, {i})"));
        format!("select * from bmsql_stock where (s_w_id, s_i_id) in ({rows})")
    }),
    ("elements of an array", 10_000, |n| {
        format!(
            "select * from t where a = any(array[{}])",
            list(n, ", ", |i| i.to_string())
        )
    }),
    ("rows of VALUES", 5_000, |n| {
        format!(
            "insert into t (a, b) values {}",
            list(n, ", ", |i| format!("({i}, 'x{i}')"))
        )
    }),
    ("parameters of VALUES", 5_000, |n| {
        let rows = list(n, ", ", |i| format!("(${}, ${})", 2 * i + 1, 2 * i + 2));
        format!("insert into t (a, b) values {rows}")
    }),
    ("rows of VALUES in FROM", 5_000, |n| {
        let rows = list(n, ", ", |i| format!("({i}, 'x{i}')"));
        format!("select * from (values {rows}) v(a, b) join t using (a)")
    }),
    ("targets", 1_600, |n| {
        format!("select {} from t", list(n, ", ", |i| format!("a + {i} as c{i}")))
    }),
    ("columns of a derived table", 1_600, |n| {
        let inner = list(n, ", ", |i| format!("a + {i} as c{i}"));
        let outer = list(n, ", ", |i| format!("c{i}"));
        format!("select {outer} from (select {inner} from t offset 0) d")
    }),
    ("columns of a flat derived table", 1_600, |n| {
        let inner = list(n, ", ", |i| format!("a + {i} as c{i}"));
        let outer = list(n, ", ", |i| format!("c{i}"));
        format!("select {outer} from (select {inner} from t) d where c1 = 5")
    }),
    ("aggregates", 1_600, |n| {
        format!("select {} from t", list(n, ", ", |i| format!("sum(a + {i})")))
    }),
    ("groups", 800, |n| {
        let keys = list(n, ", ", |i| format!("a + {i}"));
        format!("select {keys} from t group by {keys}")
    }),
    ("sort keys", 1_600, |n| {
        format!(
            "select a from t order by {}",
            list(n, ", ", |i| format!("a + {i}"))
        )
    }),
    ("windows", 800, |n| {
        let calls = list(n, ", ", |i| format!("sum(a) over (order by a + {i})"));
        format!("select {calls} from t")
    }),
    ("arms of UNION ALL", 10_000, |n| {
        list(n, " union all ", |i| format!("select a from t where a = {i}"))
    }),
    ("arms of UNION", 10_000, |n| {
        list(n, " union ", |i| format!("select a from t where a = {i}"))
    }),
    ("arms of UNION, each second one ALL", 10_000, |n| {
        let pair = |i| format!("select {i} union all select {i} + 1");
        list(n / 2, " union ", pair)
    }),
    ("arms of EXCEPT", 10_000, |n| {
        list(n, " except ", |i| format!("select a from t where a = {i}"))
    }),
    ("arms of EXCEPT and INTERSECT", 10_000, |n| {
        let pair = |i| format!("select a from t where a <> {i} intersect all select a from t");
        list(n / 2, " except ", pair)
    }),
    ("WITH queries", 1_000, |n| {
        let queries = list(n, ", ", |i| match i {
            0 => "c0 as (select a from t)".to_string(),
            i => format!("c{i} as (select a + 1 as a from c{})", i - 1),
        });
        format!("with {queries} select * from c{}", n - 1)
    }),
    ("WITH queries that are read twice", 1_000, |n| {
        let queries = list(n, ", ", |i| match i {
            0 => "c0 as (select a from t)".to_string(),
            i => format!(
                "c{i} as (select x.a from c{} x join c{} y on x.a = y.a)",
                i - 1,
                i - 1
            ),
        });
        format!("with {queries} select * from c{}", n - 1)
    }),
    ("WITH queries side by side", 1_000, |n| {
        let queries = list(n, ", ", |i| format!("c{i} as (select a from t where a = {i})"));
        format!("with {queries} select 1")
    }),
    ("nested derived tables", 200, |n| {
        let open = "select a, b from (".repeat(n);
        let close = list(n, "", |i| format!(") d{i} where a > {i}"));
        format!("{open}select a, b from t{close}")
    }),
    ("nested derived tables that stay", 200, |n| {
        let open = "select a, b from (".repeat(n);
        let close = list(n, "", |i| format!(" offset 0) d{i} where a > {i}"));
        format!("{open}select a, b from t{close}")
    }),
    ("nested IN", 200, |n| {
        let open = "select a from t where a in (".repeat(n);
        format!("{open}select x from u{}", ")".repeat(n))
    }),
    ("nested EXISTS", 200, |n| {
        let open = list(n, "", |i| {
            format!(
                "select 1 from t t{i} where exists (select 1 from u u{i} where u{i}.x = t{i}.a and exists ("
            )
        });
        format!("{open}select 1{}", "))".repeat(n))
    }),
    ("nested EXISTS of the first level", 200, |n| {
        let open = list(n, "", |i| {
            format!(" and exists (select 1 from u u{i} where u{i}.x = t.a")
        });
        format!("select 1 from t where a > 0{open}{}", ")".repeat(n))
    }),
    ("nested scalar sub-queries", 200, |n| {
        let open = list(n, "", |i| {
            format!("select max(t{i}.a) from t t{i} where t{i}.g = (")
        });
        format!("{open}select 1{}", ")".repeat(n))
    }),
    ("scalar sub-queries", 1_000, |n| {
        let targets = list(n, ", ", |i| {
            format!("(select max(x) from u where u.a = t.a + {i})")
        });
        format!("select {targets} from t")
    }),
    ("scalar sub-queries over derived tables", 1_000, |n| {
        let targets = list(n, ", ", |i| {
            format!("(select max(x) from (select x, a from u) d where d.a = t.a + {i})")
        });
        format!("select {targets} from t")
    }),
    ("EXISTS beside one another", 1_000, |n| {
        let tests = list(n, " and ", |i| {
            format!("exists (select from u where u.a = t.a + {i})")
        });
        format!("select 1 from t where {tests}")
    }),
    ("EXISTS of an OR", 1_000, |n| {
        let tests = list(n, " or ", |i| {
            format!("exists (select from u where u.a = t.a + {i})")
        });
        format!("select 1 from t where {tests}")
    }),
    ("IN beside one another", 1_000, |n| {
        let tests = list(n, " and ", |i| format!("a in (select x from u where y = 'y{i}')"));
        format!("select 1 from t where {tests}")
    }),
    ("outer joins", 400, |n| {
        let joins = list(n, " ", |i| format!("left join u u{i} on u{i}.a = t.a"));
        format!("select t.b from t {joins}")
    }),
    ("LATERAL after one another", 60, |n| {
        let joins = list(n, " ", |i| match i {
            0 => "cross join lateral (select x from u where u.a = t.a limit 1) u0".to_string(),
            i => format!(
                "cross join lateral (select x from u where u.a = u{}.x limit 1) u{i}",
                i - 1
            ),
        });
        format!("select 1 from t {joins}")
    }),
    ("arms of CASE", 10_000, |n| {
        let arms = list(n, " ", |i| format!("when a = {i} then {i}"));
        format!("select case {arms} end from t")
    }),
    ("arguments of coalesce", 10_000, |n| {
        format!(
            "select coalesce({}) from t",
            list(n, ", ", |i| format!("nullif(a, {i})"))
        )
    }),
    ("equal columns", 60, |n| {
        let tables = list(n, ", ", |i| format!("t t{i}"));
        let links = list(n - 1, " and ", |i| format!("t{i}.a = t{}.a", i + 1));
        format!("select 1 from {tables} where {links} and t0.a = 5")
    }),
    ("a list beside a join of twelve tables", 10_000, |n| {
        let tables = list(12, ", ", |i| format!("t t{i}"));
        let pairs = (0..12).flat_map(|a| (a + 1..12).map(move |b| format!("t{a}.g = t{b}.a")));
        let links = pairs.collect::<Vec<_>>().join(" and ");
        let elements = list(n, ", ", |i| i.to_string());
        format!("select 1 from {tables} where {links} and t3.a in ({elements}) and t4.g in ({elements})")
    }),
    ("ORs that restrict two tables", 1_000, |n| {
        let ors = list(n, " and ", |i| {
            format!("((t.b = 'p{i}' and u.y = 'q{i}') or (t.b = 'r{i}' and u.y = 's{i}'))")
        });
        format!("select 1 from t, u where t.a = u.a and {ors}")
    }),
    ("columns equal to one another", 1_599, |n| {
        let pairs = list(n, " and ", |i| format!("c{i} = c{}", i + 1));
        format!("select 1 from wide where {pairs} and c0 = 5")
    }),
    ("columns of a wide table", 1_600, |n| {
        format!("select {} from wide", list(n, ", ", |i| format!("c{i}")))
    }),
    ("columns of wide tables", 1_600, |n| {
        let tables = list(9, " ", |i| format!("join wide w{i} using (c0)"));
        format!(
            "select {} from wide {tables}",
            list(n, ", ", |i| format!("w8.c{i}"))
        )
    }),
    ("columns of a natural join", 1_600, |n| {
        let columns = list(n, ", ", |i| format!("c{i}"));
        format!(
            "select 1 from (select {columns} from wide offset 0) x natural join (select {columns} from wide offset 0) y"
        )
    }),
    ("assigned columns", 1_600, |n| {
        let sets = list(n, ", ", |i| format!("c{i} = c{i} + 1"));
        format!("update wide set {sets} where c7 = 5 returning *")
    }),
    ("inserted columns", 1_600, |n| {
        let columns = list(n, ", ", |i| format!("c{i}"));
        let values = list(n, ", ", |i| format!("{i}"));
        format!("insert into wide ({columns}) values ({values})")
    }),
    ("assignments", 1_000, |n| {
        let sets = list(n, ", ", |i| format!("a + {i}"));
        format!("update t set c = greatest({sets}) where a = 5 returning {sets}")
    }),
];

/// The IN list of a scan's index and that of the condition which is looked at again for each row.
fn lists_of(node: &Node, found: &mut Vec<Arc<Vec<Expr>>>) {
    if let Node::IndexScan(scan) = node {
        for equality in &scan.equals {
            if let IndexEquality::AnyOf(AnyOf::List(list)) = equality {
                found.push(Arc::clone(list));
            }
        }
        for condition in scan.recheck.iter().chain(&scan.filter) {
            condition.visit(&mut |inner| {
                if let Expr::InList { list, .. } = inner {
                    found.push(Arc::clone(list));
                }
            });
        }
    }
    node.for_each_input(&mut |input| lists_of(input, found));
}

#[test]
fn a_long_list_is_not_copied_for_a_plan() {
    // More would read the table from its beginning.
    let elements = list(100, ", ", |i| i.to_string());
    let planned = plan(&format!(
        "select * from t where a in ({elements}) and c > 1 for update"
    ));
    let PlanBody::Query(query) = planned.expect("a plan").body else {
        panic!("a query")
    };
    let mut found = Vec::new();
    lists_of(&query.root, &mut found);
    assert_eq!(found.len(), 2, "the index's and the condition's");
    assert!(Arc::ptr_eq(&found[0], &found[1]));
}

fn planned_in(sql: &str) -> Duration {
    let began = Instant::now();
    // Some are longer than a limit: then the error has to come soon.
    let _ = std::hint::black_box(plan(sql));
    began.elapsed()
}

#[test]
fn the_time_for_a_plan_grows_with_the_length_of_the_statement() {
    // Frames without optimisation are large, and some of the statements are as deep as they may be.
    let roomy = std::thread::Builder::new().stack_size(STACK_BYTES);
    let found = roomy.spawn(|| FAMILIES.iter().filter_map(steep).collect::<Vec<String>>());
    let wrong = found.expect("a thread").join().expect("no panic");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a family took, if that is long and grows with more than the length.
fn steep((name, count, statement): &Family) -> Option<String> {
    let whole = statement(*count);
    // The best of a few: others use the machine, too.
    let best = |sql: &str| (0..3).map(|_| planned_in(sql)).min().unwrap_or_default();
    let first = planned_in(&whole);
    if std::env::var_os("MOTE_EFFORT_SHOW").is_some() {
        eprintln!("{name}: {count} in {first:?}");
    }
    if first < SHORT {
        return None;
    }
    let (long, short) = (first.min(best(&whole)), best(&statement(count / FACTOR)));
    let is_steep = long > SHORT && long.as_secs_f64() > GROWTH_MAX * short.as_secs_f64();
    is_steep.then(|| format!("{name}: {count} in {long:?}, {} in {short:?}", count / FACTOR))
}
