//! Texts as PostgreSQL prints them, and that they mean what they were made from.

use crate::ast::{Statement, deparse};
use crate::parser::parse;

fn query(text: &str) -> Statement {
    parse(text)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .pop()
        .expect("a statement")
        .statement
}

fn expression(text: &str) -> String {
    let statement = query(&format!("select {text}"));
    let Statement::Query(query) = statement else {
        panic!("a query")
    };
    let crate::ast::QueryBody::Select(select) = query.body else {
        panic!("a select")
    };
    deparse::expression(&select.targets[0].value)
}

#[test]
fn expressions_are_parenthesised() {
    for (text, expected) in [
        (
            "a > 0 and b + 1 * 2 < 3 or not c",
            "(((a > 0) AND ((b + (1 * 2)) < 3)) OR (NOT c))",
        ),
        (
            "lower(\"Name\") || E'x\\\\''y'",
            "(lower(\"Name\") || E'x\\\\''y')",
        ),
        ("a in (1, 2)", "(a = ANY (ARRAY[1, 2]))"),
        ("a not in (1, 2.5)", "(a <> ALL (ARRAY[1, 2.5]))"),
        // What type these are of is not known here.
        ("a in ('x', null)", "(a IN ('x', NULL))"),
        (
            "(a, b) not in ((1, 2), (3, 4))",
            "(ROW(a, b) NOT IN (ROW(1, 2), ROW(3, 4)))",
        ),
        ("a not between 1 and 2", "((a < 1) OR (a > 2))"),
        ("a like 'x%' escape '!'", "(a ~~ like_escape('x%', '!'))"),
        ("a::text", "(a)::text"),
        ("'1'::int4", "'1'::int4"),
        (
            "cast(x as timestamp(3) with time zone)",
            "(x)::timestamp(3) with time zone",
        ),
        ("numeric(10,2) '1'", "'1'::numeric(10, 2)"),
        ("'{}'::int[]", "'{}'::integer[]"),
        ("interval '1' day to second(3)", "'1'::interval day to second(3)"),
        ("extract(year from x)", "EXTRACT(year FROM x)"),
        ("x at time zone 'utc'", "(x AT TIME ZONE 'utc')"),
        ("a is distinct from null", "(a IS DISTINCT FROM NULL)"),
        (
            "- a operator(pg_catalog.+) -5",
            "((- a) OPERATOR(pg_catalog.+) (-5))",
        ),
        ("f(x => 1, variadic y)", "f(x => 1, VARIADIC y)"),
        (
            "count(*) filter (where a) over (partition by b)",
            "count(*) FILTER (WHERE a) OVER (PARTITION BY b)",
        ),
        ("\"user\".\"order\"", "\"user\".\"order\""),
        (
            "case when a then 1 end",
            "\nCASE\n    WHEN a THEN 1\n    ELSE NULL\nEND",
        ),
        ("(r).f[1]", "(r).f[1]"),
        ("current_timestamp(3)", "CURRENT_TIMESTAMP(3)"),
    ] {
        assert_eq!(expression(text), expected, "{text}");
    }
}

#[test]
fn queries_stand_as_views_do() {
    let statement = query(
        "with c as (select 1) select a, b as x from t left join u on t.a = u.a, c where a > 1 group by a \
         having count(*) > 1 order by a desc limit 5",
    );
    assert_eq!(
        deparse::statement(&statement)
            .expect("it has a text")
            .expect("a query"),
        " WITH c AS (\n         SELECT 1\n        )\n SELECT a,\n    b AS x\n   FROM (t\n     LEFT JOIN u ON ((t.a = u.a))),\n    \
         c\n  WHERE (a > 1)\n  GROUP BY a\n HAVING (count(*) > 1)\n  ORDER BY a DESC\n LIMIT 5"
    );
}

/// Text, tree, text, tree: the second pair equals the first from the first text on.
#[test]
fn deparsed_text_is_a_fixed_point() {
    for text in [
        "select distinct on (a) a, t.*, (select max(x) from u) from t where exists (select 1) and a = any (array[1,2])",
        "select 1 union all (select 2 order by 1 limit 1) except select 3",
        "values (1, 'a'), (2, null) order by 1 nulls last offset 1",
        "select * from (select 1) x(a), lateral f(1) with ordinality y(a, b), rows from (g(1) as (a int), h()) z",
        "select * from t natural join u full join v using (a, b) cross join w for update of t skip locked",
        "select a, sum(b) over w from t group by rollup(a), grouping sets ((a, b), ()) window w as (order by b rows 1 preceding)",
        "select trim(both 'x' from a), substring(a from 2 for 3), position('a' in b), overlay(a placing b from 1)",
        "select a between symmetric 1 and 2, a not in (1), (a, b) in (select 1, 2), a similar to 'x', not a is true",
        "with recursive r(n) as (values (1) union all select n + 1 from r where n < 5) select n from r",
        "select percentile_cont(0.5) within group (order by a), string_agg(distinct a, ',' order by a), a collate \"C\"",
        "select array(select 1), row(1, 2), coalesce(a, b), nullif(a, 1), greatest(1, 2), b'10', x'ff', 1.5e3, a[1:2]",
        "select * from t where case a when 1 then true else false end order by a fetch first 3 rows with ties",
    ] {
        let first = deparse::statement(&query(text))
            .expect("it has a text")
            .expect("a query");
        let second = deparse::statement(&query(&first))
            .expect("it has a text")
            .expect("a query");
        assert_eq!(first, second, "{text}");
    }
}

#[test]
fn data_modifying_tables_have_no_text() {
    let statement = query("with d as (delete from t returning a) select a from d");
    assert_eq!(
        deparse::statement(&statement)
            .expect_err("it is refused")
            .state()
            .as_str(),
        "0A000"
    );
}

#[test]
fn reserved_words_are_sorted() {
    // The search is binary: an unsorted list would lose words.
    for word in [
        "all",
        "select",
        "xmltable",
        "user",
        "merge_action",
        "table",
        "current_user",
        "only",
    ] {
        assert_eq!(deparse::identifier(word), format!("\"{word}\""));
    }
    assert_eq!(deparse::identifier("name"), "name");
    assert_eq!(deparse::identifier("Na\"me"), "\"Na\"\"me\"");
    assert_eq!(deparse::identifier(""), "\"\"");
}
