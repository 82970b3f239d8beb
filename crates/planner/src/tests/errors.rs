//! Errors of binding: SQLSTATE, message, position and hint as PostgreSQL 15 gives them.

use super::plan;

/// (statement, SQLSTATE, message, position, hint)
type Case = (&'static str, &'static str, &'static str, u32, &'static str);

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("SELECT nosuch FROM t", "42703", "column \"nosuch\" does not exist", 8, ""),
    ("SELECT t.nosuch FROM t", "42703", "column t.nosuch does not exist", 8, ""),
    ("SELECT x.a FROM t", "42P01", "missing FROM-clause entry for table \"x\"", 8, ""),
    ("SELECT a FROM nosuch", "42P01", "relation \"nosuch\" does not exist", 15, ""),
    ("SELECT a FROM t, u", "42702", "column reference \"a\" is ambiguous", 8, ""),
    ("SELECT a, count(*) FROM t", "42803", "column \"t.a\" must appear in the GROUP BY clause or be used in an aggregate function", 8, ""),
    ("SELECT a FROM t GROUP BY b", "42803", "column \"t.a\" must appear in the GROUP BY clause or be used in an aggregate function", 8, ""),
    ("SELECT b, count(*) FROM t WHERE count(*) > 1 GROUP BY b", "42803", "aggregate functions are not allowed in WHERE", 33, ""),
    ("SELECT sum(count(*)) FROM t", "42803", "aggregate function calls cannot be nested", 12, ""),
    ("SELECT a FROM t WHERE b", "42804", "argument of WHERE must be type boolean, not type text", 23, ""),
    ("SELECT a FROM t WHERE a = 'x'", "22P02", "invalid input syntax for type integer: \"x\"", 27, ""),
    ("SELECT a + b FROM t", "42883", "operator does not exist: integer + text", 10, "No operator matches the given name and argument types. You might need to add explicit type casts."),
    ("SELECT nofunc(a) FROM t", "42883", "function nofunc(integer) does not exist", 8, "No function matches the given name and argument types. You might need to add explicit type casts."),
    ("SELECT nofunc(a, 'x', 1.5) FROM t", "42883", "function nofunc(integer, unknown, numeric) does not exist", 8, "No function matches the given name and argument types. You might need to add explicit type casts."),
    ("SELECT DISTINCT a FROM t ORDER BY g", "42P10", "for SELECT DISTINCT, ORDER BY expressions must appear in select list", 35, ""),
    ("SELECT a FROM t ORDER BY 5", "42P10", "ORDER BY position 5 is not in select list", 26, ""),
    ("SELECT a FROM t UNION SELECT b FROM t", "42804", "UNION types integer and text cannot be matched", 30, ""),
    ("SELECT a FROM t UNION SELECT a, g FROM t", "42601", "each UNION query must have the same number of columns", 30, ""),
    ("SELECT a FROM t UNION SELECT a FROM t ORDER BY a + 1", "0A000", "invalid UNION/INTERSECT/EXCEPT ORDER BY clause", 48, "Add the expression/function to every SELECT, or move the UNION into a FROM clause."),
    ("SELECT CASE WHEN h THEN 1 ELSE b END FROM t", "42804", "CASE types text and integer cannot be matched", 25, ""),
    ("INSERT INTO t (a, nosuch) VALUES (1, 2)", "42703", "column \"nosuch\" of relation \"t\" does not exist", 19, ""),
    ("INSERT INTO t (a, b) VALUES (1, 2, 3)", "42601", "INSERT has more expressions than target columns", 36, ""),
    ("INSERT INTO t (a, b, g) VALUES (1, 2)", "42601", "INSERT has more target columns than expressions", 22, ""),
    ("INSERT INTO t (a, a) VALUES (1, 2)", "42701", "column \"a\" specified more than once", 19, ""),
    ("INSERT INTO t (a) VALUES (true)", "42804", "column \"a\" is of type integer but expression is of type boolean", 27, "You will need to rewrite or cast the expression."),
    ("UPDATE t SET nosuch = 1", "42703", "column \"nosuch\" of relation \"t\" does not exist", 14, ""),
    ("UPDATE t SET a = 1, a = 2", "42601", "multiple assignments to same column \"a\"", 0, ""),
    ("UPDATE t SET a = true", "42804", "column \"a\" is of type integer but expression is of type boolean", 18, "You will need to rewrite or cast the expression."),
    ("SELECT a FROM t GROUP BY a FOR UPDATE", "0A000", "FOR UPDATE is not allowed with GROUP BY clause", 0, ""),
    ("SELECT DISTINCT a FROM t FOR UPDATE", "0A000", "FOR UPDATE is not allowed with DISTINCT clause", 0, ""),
    ("SELECT count(*) FROM t FOR UPDATE", "0A000", "FOR UPDATE is not allowed with aggregate functions", 0, ""),
    ("SELECT a FROM t FOR UPDATE OF zzz", "42P01", "relation \"zzz\" in FOR UPDATE clause not found in FROM clause", 31, ""),
    ("SELECT row_number() FROM t", "42809", "window function row_number requires an OVER clause", 8, ""),
    ("SELECT a FROM t WHERE row_number() OVER () = 1", "42P20", "window functions are not allowed in WHERE", 23, ""),
    ("SELECT (SELECT a, b FROM t)", "42601", "subquery must return only one column", 8, ""),
    ("SELECT a IN (SELECT a, b FROM t) FROM t", "42601", "subquery has too many columns", 10, ""),
    ("SELECT * FROM t t1, u t1", "42712", "table name \"t1\" specified more than once", 0, ""),
    ("SELECT t.a FROM t x", "42P01", "invalid reference to FROM-clause entry for table \"t\"", 8, "Perhaps you meant to reference the table alias \"x\"."),
    ("SELECT 1 LIMIT 'a'", "22P02", "invalid input syntax for type bigint: \"a\"", 16, ""),
    ("SELECT a FROM t LIMIT a", "42P10", "argument of LIMIT must not contain variables", 23, ""),
    ("SELECT a::nosuch FROM t", "42704", "type \"nosuch\" does not exist", 11, ""),
    ("SELECT a::date FROM t", "42846", "cannot cast type integer to date", 9, ""),
    ("SELECT -b FROM t", "42883", "operator does not exist: - text", 8, "No operator matches the given name and argument type. You might need to add an explicit type cast."),
    ("SELECT * FROM t JOIN u USING (nosuch)", "42703", "column \"nosuch\" specified in USING clause does not exist in left table", 0, ""),
    ("SELECT * FROM (SELECT 1 AS a) s, (SELECT s.a) r", "42P01", "invalid reference to FROM-clause entry for table \"s\"", 42, "There is an entry for table \"s\", but it cannot be referenced from this part of the query."),
    ("INSERT INTO t (a) VALUES (1) ON CONFLICT (b) DO NOTHING", "42P10", "there is no unique or exclusion constraint matching the ON CONFLICT specification", 0, ""),
    ("INSERT INTO t (a) VALUES (1) ON CONFLICT DO UPDATE SET b = 'x'", "42601", "ON CONFLICT DO UPDATE requires inference specification or constraint name", 30, "For example, ON CONFLICT (column_name)."),
    ("SELECT ARRAY[]", "42P18", "cannot determine type of empty array", 8, "Explicitly cast to the desired type, for example ARRAY[]::integer[]."),
    ("SELECT a FROM t WHERE a = ANY (g)", "42809", "op ANY/ALL (array) requires array on right side", 25, ""),
    ("SELECT (a, b) = (1, 2, 3) FROM t", "42601", "unequal number of entries in row expressions", 15, ""),
    ("SELECT aa FROM t", "42703", "column \"aa\" does not exist", 8, "Perhaps you meant to reference the column \"t.a\"."),
    ("VALUES (1), (2, 3)", "42601", "VALUES lists must all be the same length", 14, ""),
    ("WITH x AS (SELECT 1), x AS (SELECT 2) SELECT 1", "42712", "WITH query name \"x\" specified more than once", 23, ""),
    ("SELECT generate_series(1, 2) FROM t WHERE generate_series(1, 2) > 1", "0A000", "set-returning functions are not allowed in WHERE", 43, ""),
    ("SELECT a FROM t HAVING a > 1", "42803", "column \"t.a\" must appear in the GROUP BY clause or be used in an aggregate function", 8, ""),
    ("SELECT lower(1) FROM t", "42883", "function lower(integer) does not exist", 8, "No function matches the given name and argument types. You might need to add explicit type casts."),
    ("SELECT b || 1 FROM t WHERE NOT a", "42804", "argument of NOT must be type boolean, not type integer", 32, ""),
    ("SELECT * FROM t WHERE (SELECT true, false)", "42601", "subquery must return only one column", 23, ""),
    ("SELECT abs('x'::text)", "42883", "function abs(text) does not exist", 8, "No function matches the given name and argument types. You might need to add explicit type casts."),
    ("SELECT 1 FROM t ORDER BY nosuch", "42703", "column \"nosuch\" does not exist", 26, ""),
];

#[test]
fn errors_are_postgresqls() {
    let mut different = Vec::new();
    for (sql, code, message, position, hint) in CASES {
        let expected = format!("{code} {message} @{position} {hint}");
        let found = match plan(sql) {
            Ok(_) => "no error".to_owned(),
            Err(error) => {
                let fields = error.fields();
                let (position, hint) = (fields.position.unwrap_or(0), fields.hint.as_deref().unwrap_or(""));
                format!("{} {} @{position} {hint}", fields.state, fields.message)
            }
        };
        if found != expected {
            different.push(format!("{sql}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}
