//! Joins, grouping, windows and set operations, nulls included. Expected rows are PostgreSQL's.

use super::{database, session, shown};

#[track_caller]
fn check(text: &str, expected: &str) {
    let database = database();
    let mut session = session(&database);
    session
        .query(
            "CREATE TABLE l (k int, v text); INSERT INTO l VALUES (1,'a'),(2,'b'),(NULL,'n'),(3,'c'),(3,'cc');
             CREATE TABLE r (k int PRIMARY KEY, w text); INSERT INTO r VALUES (1,'x'),(3,'y'),(4,'z');
             CREATE TABLE e (g text, n int); INSERT INTO e VALUES ('p',1),('p',2),('q',3),('q',NULL),('r',NULL)",
        )
        .expect("the tables are made");
    assert_eq!(shown(&mut session, text), expected, "{text}");
}

#[test]
fn join_kinds() {
    check(
        "SELECT l.k, v, w FROM l JOIN r ON l.k = r.k ORDER BY v",
        "1|a|x 3|c|y 3|cc|y",
    );
    check(
        "SELECT v, w FROM l LEFT JOIN r ON l.k = r.k ORDER BY v",
        "a|x b|~ c|y cc|y n|~",
    );
    check(
        "SELECT v, w FROM l RIGHT JOIN r ON l.k = r.k ORDER BY w, v",
        "a|x c|y cc|y ~|z",
    );
    check(
        "SELECT v, w FROM l FULL JOIN r ON l.k = r.k ORDER BY v NULLS LAST, w",
        "a|x b|~ c|y cc|y n|~ ~|z",
    );
    check(
        "SELECT v FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k) ORDER BY v",
        "a c cc",
    );
    check(
        "SELECT v FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k) ORDER BY v",
        "b n",
    );
    check("SELECT v FROM l WHERE k NOT IN (SELECT k FROM r) ORDER BY v", "b");
    check(
        "SELECT v FROM l, r WHERE l.k < r.k AND r.k = 4 ORDER BY v",
        "a b c cc",
    );
    check(
        "SELECT v, x FROM l, LATERAL (SELECT l.k * 10 AS x) s ORDER BY v",
        "a|10 b|20 c|30 cc|30 n|~",
    );
}

#[test]
fn grouping() {
    check(
        "SELECT g, count(*), count(n), sum(n) FROM e GROUP BY g ORDER BY g",
        "p|2|2|3 q|2|1|3 r|1|0|~",
    );
    check("SELECT count(*), sum(n), avg(n) FROM e", "5|6|2.0000000000000000");
    check("SELECT count(*) FROM e WHERE false", "0");
    check("SELECT g FROM e GROUP BY g HAVING sum(n) > 2 ORDER BY 1", "p q");
    check(
        "SELECT g, sum(n) FROM e GROUP BY ROLLUP (g) ORDER BY 1 NULLS LAST",
        "p|3 q|3 r|~ ~|6",
    );
    check("SELECT DISTINCT n FROM e ORDER BY n", "1 2 3 ~");
    check(
        "SELECT DISTINCT ON (g) g, n FROM e ORDER BY g, n DESC NULLS LAST",
        "p|2 q|3 r|~",
    );
}

#[test]
fn windows() {
    check(
        "SELECT g, n, row_number() OVER (PARTITION BY g ORDER BY n), sum(n) OVER (ORDER BY g) FROM e ORDER BY g, n",
        "p|1|1|3 p|2|2|3 q|3|1|6 q|~|2|6 r|~|1|6",
    );
    check(
        "SELECT n, rank() OVER w, dense_rank() OVER w, lag(n) OVER w, lead(n, 1, 9) OVER w
         FROM (VALUES (1),(1),(2)) v(n) WINDOW w AS (ORDER BY n) ORDER BY n, 4 NULLS FIRST",
        "1|1|1|~|1 1|1|1|1|2 2|3|2|1|9",
    );
    check(
        "SELECT x, sum(x) OVER (ORDER BY x ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING),
                sum(x) OVER (ORDER BY x RANGE BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW)
         FROM generate_series(1, 4) x",
        "1|3|~ 2|6|1 3|9|2 4|7|3",
    );
    check(
        "SELECT x, ntile(3) OVER (ORDER BY x), first_value(x) OVER (ORDER BY x DESC),
                nth_value(x, 2) OVER (ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING),
                cume_dist() OVER (ORDER BY x) FROM generate_series(1, 4) x ORDER BY x",
        "1|1|4|2|0.25 2|1|4|2|0.5 3|2|4|2|0.75 4|3|4|2|1",
    );
}

#[test]
fn sets_and_limits() {
    check("SELECT k FROM l UNION SELECT k FROM r ORDER BY 1", "1 2 3 4 ~");
    check(
        "SELECT k FROM l UNION ALL SELECT k FROM r ORDER BY 1",
        "1 1 2 3 3 3 4 ~",
    );
    check("SELECT k FROM l INTERSECT SELECT k FROM r ORDER BY 1", "1 3");
    check("SELECT k FROM l EXCEPT SELECT k FROM r ORDER BY 1", "2 ~");
    check("SELECT k FROM l EXCEPT ALL SELECT k FROM r ORDER BY 1", "2 3 ~");
    check("SELECT k FROM l ORDER BY k OFFSET 1 LIMIT 2", "2 3");
    check(
        "SELECT k FROM l ORDER BY k FETCH FIRST 3 ROWS WITH TIES",
        "1 2 3 3",
    );
    check("SELECT k FROM l ORDER BY k DESC NULLS LAST LIMIT 1", "3");
    check("SELECT k FROM l LIMIT -1", "!2201W LIMIT must not be negative");
}

#[test]
fn common_table_expressions() {
    check(
        "WITH c AS (SELECT k FROM r) SELECT a.k, b.k FROM c a JOIN c b ON a.k < b.k ORDER BY 1, 2",
        "1|3 1|4 3|4",
    );
    check(
        "WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT sum(n) FROM t",
        "15",
    );
    check(
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION SELECT (n % 3) + 1 FROM t) SELECT n FROM t ORDER BY n",
        "1 2 3",
    );
    check(
        "WITH d AS (DELETE FROM r WHERE k = 4 RETURNING k, w) SELECT * FROM d",
        "4|z",
    );
    check(
        "WITH i AS (INSERT INTO r VALUES (9, 'q') RETURNING k) SELECT count(*) FROM r",
        "3",
    );
}

#[test]
fn index_conditions() {
    check("SELECT w FROM r WHERE k = 3", "y");
    check("SELECT w FROM r WHERE k IN (4, 1, 4) ORDER BY k", "x z");
    check("SELECT w FROM r WHERE k = ANY (ARRAY[3, NULL])", "y");
    check("SELECT k FROM r WHERE k > 1 ORDER BY k", "3 4");
    check("SELECT k FROM r WHERE k <= 3 ORDER BY k DESC", "3 1");
    check("SELECT k FROM r WHERE k BETWEEN 2 AND 4 ORDER BY k", "3 4");
    check("SELECT k FROM r WHERE k = NULL", "");
    check("SELECT k FROM r ORDER BY k DESC LIMIT 1", "4");
}

#[test]
fn set_returning_functions() {
    check("SELECT generate_series(1, 3)", "1 2 3");
    check(
        "SELECT generate_series(1, 2), generate_series(1, 3)",
        "1|1 2|2 ~|3",
    );
    check("SELECT * FROM unnest(ARRAY['a','b']) WITH ORDINALITY", "a|1 b|2");
    check(
        "SELECT * FROM ROWS FROM (generate_series(1,2), unnest(ARRAY['x'])) AS t(a, b)",
        "1|x 2|~",
    );
    check(
        "SELECT key, value FROM jsonb_each('{\"a\":1,\"b\":2}') ORDER BY key",
        "a|1 b|2",
    );
    check("SELECT x FROM generate_series(1, 10, 4) x WHERE x > 1", "5 9");
}
