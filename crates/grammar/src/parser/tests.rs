//! What the grammar's front must keep: trees, places, PostgreSQL's errors, and an upright stack.

use mote_common::SqlError;
use mote_common::prng::Prng;

use super::{MAX_DEPTH, MAX_STATEMENT_BYTES, PARSE_STACK_BYTES, parse};
use crate::ast::*;

mod golden;
mod statements;

/// Runs on a stack of exactly the promised size.
fn on_parse_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new()
        .stack_size(PARSE_STACK_BYTES)
        .spawn(work)
        .expect("a thread starts");
    thread.join().expect("parsing does not panic")
}

fn one(text: &str) -> Statement {
    let mut statements = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(statements.len(), 1, "{text}");
    statements.pop().expect("one statement").statement
}

fn fails(text: &str) -> SqlError {
    match parse(text) {
        Ok(statements) => panic!("{text}: parsed as {statements:?}"),
        Err(error) => error,
    }
}

#[track_caller]
fn assert_error(text: &str, state: &str, message: &str, position: Option<u32>) {
    let error = fails(text);
    let fields = error.fields();
    assert_eq!(
        (fields.state.as_str(), fields.message.as_str(), fields.position),
        (state, message, position),
        "{text}"
    );
}

#[test]
fn errors_are_postgresqls() {
    assert_error("selec 1", "42601", "syntax error at or near \"selec\"", Some(1));
    assert_error(
        "select group from x",
        "42601",
        "syntax error at or near \"from\"",
        Some(14),
    );
    assert_error("select 1 +", "42601", "syntax error at end of input", Some(11));
    assert_error(
        "select 'abc",
        "42601",
        "unterminated quoted string at or near \"'abc\"",
        Some(8),
    );
    assert_error(
        "select 123abc",
        "42601",
        "trailing junk after numeric literal at or near \"123abc\"",
        Some(8),
    );
    assert_error(
        "select \"\" from t",
        "42601",
        "zero-length delimited identifier at or near \"\"\"\"",
        Some(8),
    );
    assert_error("select $0", "42P02", "there is no parameter $0", Some(8));
    assert_error(
        "select * from (select 1 into t) x",
        "42601",
        "SELECT ... INTO is not allowed here",
        Some(30),
    );
    assert_error(
        "create table t (a int default 1 deferrable)",
        "42601",
        "misplaced DEFERRABLE clause",
        Some(33),
    );
}

#[test]
fn positions_count_characters() {
    assert_error(
        "select 'ä', \"ö\" frm frm",
        "42601",
        "syntax error at or near \"frm\"",
        Some(21),
    );
    let text = "select 'ä', b";
    let Statement::Query(query) = one(text) else {
        panic!("a query")
    };
    let QueryBody::Select(select) = query.body else {
        panic!("a select")
    };
    assert_eq!(select.targets[1].location.0, 13);
    assert_eq!(select.targets[1].location.position(text), 13);
    assert_eq!(Location::NONE.position(text), 0);
}

#[test]
fn extensions_of_the_grammar_are_refused() {
    assert_error(
        "select $1a",
        "42601",
        "trailing junk after parameter at or near \"$1a\"",
        Some(8),
    );
    assert_error(
        "select date $1",
        "42601",
        "syntax error at or near \"$1\"",
        Some(13),
    );
    assert_error("set x = $1", "42601", "syntax error at or near \"$1\"", Some(9));
    assert_error(
        "select extract($1 from x)",
        "42601",
        "syntax error at or near \"$1\"",
        Some(16),
    );
    assert_error(
        "alter role r password $1",
        "42601",
        "syntax error at or near \"$1\"",
        Some(23),
    );
}

#[test]
fn nul_and_size_are_bounded() {
    assert_error(
        "select '\0'",
        "22021",
        "invalid byte sequence for encoding \"UTF8\": 0x00",
        None,
    );
    let text = " ".repeat(MAX_STATEMENT_BYTES + 1);
    assert_eq!(fails(&text).state().as_str(), "54000");
}

#[test]
fn texts_split_into_statements() {
    for empty in ["", " ;; ; ", "-- nothing", "/* a /* b */ c */ ;", "\n\t"] {
        assert_eq!(
            parse(empty).expect("an empty text parses"),
            Vec::new(),
            "{empty:?}"
        );
    }
    let text = "select 1 ; -- one\n /* two */ begin;;\ncommit -- done";
    let parsed = parse(text).expect("three statements");
    let pieces: Vec<&str> = parsed
        .iter()
        .map(|statement| &text[statement.range.clone()])
        .collect();
    assert_eq!(pieces, ["select 1", "begin", "commit -- done"]);
}

#[test]
fn what_is_not_carried_is_refused_by_name() {
    for (text, message) in [
        ("select xmlelement(name a)", "an XML expression is not supported"),
        ("select json_object('a': 1)", "JSON_OBJECT is not supported"),
        ("select a is json from t", "IS JSON is not supported"),
        (
            "with recursive t as (select 1) search depth first by a set o select * from t",
            "SEARCH in WITH RECURSIVE is not supported",
        ),
        (
            "drop operator class o using btree",
            "OPERATOR CLASS is not supported",
        ),
    ] {
        let error = fails(text);
        assert_eq!(
            (error.state().as_str(), error.message()),
            ("0A000", message),
            "{text}"
        );
    }
    assert_eq!(
        one("create rule r as on insert to t do nothing"),
        Statement::Unsupported(UnsupportedStatement("CREATE RULE"))
    );
    assert_eq!(
        one("create foreign table t (a int) server s"),
        Statement::Unsupported(UnsupportedStatement("CREATE FOREIGN TABLE"))
    );
}

/// Each shape nests by its own rule of the grammar.
fn nested(depth: usize) -> Vec<(&'static str, String)> {
    let wrap = |open: &str, middle: &str, close: &str| {
        format!("select {}{middle}{}", open.repeat(depth), close.repeat(depth))
    };
    vec![
        ("sum", format!("select 1{}", "+1".repeat(depth))),
        ("concatenation", format!("select 'a'{}", " || 'a'".repeat(depth))),
        ("parentheses", wrap("(", "1", ")")),
        ("functions", wrap("f(", "1", ")")),
        ("brackets", wrap("array[", "1", "]")),
        ("not", wrap("not ", "true", "")),
        ("minus", wrap("- ", "a", "")),
        ("case", wrap("case when true then ", "1", " end")),
        ("subqueries", wrap("(select ", "1", ")")),
        (
            "from",
            format!(
                "select 1{}{}",
                " from (select 1".repeat(depth),
                ") x".repeat(depth)
            ),
        ),
        ("exists", wrap("exists (select ", "1", ")")),
        ("casts", format!("select 1{}", "::int".repeat(depth))),
        (
            "unions",
            format!(
                "select 1{}{}",
                " union (select 1".repeat(depth),
                ")".repeat(depth)
            ),
        ),
        (
            "joins",
            format!("select 1 from t{}", " cross join t".repeat(depth)),
        ),
        ("is null", format!("select 1{}", " is null".repeat(depth))),
        (
            "ctes",
            format!(
                "{}select 1{}",
                "with a as (".repeat(depth),
                ") select 1".repeat(depth)
            ),
        ),
        ("explain", format!("{}select 1", "explain ".repeat(depth))),
        (
            "grouping",
            format!(
                "select 1 group by {}a{}",
                "rollup((a), ".repeat(depth),
                ")".repeat(depth)
            ),
        ),
    ]
}

#[test]
fn depth_bombs_are_refused() {
    on_parse_stack(|| {
        for (shape, text) in nested(64_000) {
            match parse(&text) {
                Err(error) => {
                    // Nested EXPLAIN is no statement at all.
                    let expected = if shape == "explain" { "42601" } else { "54001" };
                    if shape != "parentheses" && shape != "grouping" {
                        assert_eq!(error.state().as_str(), expected, "{shape}: {error}");
                    }
                    if error.state().as_str() == "54001" {
                        assert_eq!(error.message(), "stack depth limit exceeded");
                        assert!(error.fields().hint.is_some());
                    }
                }
                Ok(_) => panic!("{shape}: parsed"),
            }
        }
    });
}

#[test]
fn trees_of_the_greatest_depth_fit_the_stack() {
    on_parse_stack(|| {
        for depth in [
            100,
            MAX_DEPTH as usize / 4,
            MAX_DEPTH as usize / 2,
            MAX_DEPTH as usize - 10,
        ] {
            for (shape, text) in nested(depth) {
                if let Ok(parsed) = parse(&text) {
                    let copy = parsed.clone();
                    assert!(copy == parsed, "{shape}");
                    assert!(!format!("{parsed:?}").is_empty());
                }
            }
        }
    });
}

#[test]
fn long_flat_statements_are_no_bombs() {
    let list = vec!["1"; 20_000].join(", ");
    one(&format!("select * from t where a in ({list})"));
    let conditions = vec!["(a = 1 and b + 1 > 2)"; 5_000].join(" or ");
    one(&format!("select * from t where {conditions}"));
    let rows = vec!["(1, 'x' || 'y', 3)"; 5_000].join(", ");
    one(&format!("insert into t values {rows}"));
    one(&vec!["select 1"; 20_000].join(" union all "));
    one(&vec!["select 1"; 20_000].join(" except "));
    // Parentheses alone make no tree.
    for (open, close) in [("(", ")"), ("((", "))")] {
        one(&format!("select {}1{}", open.repeat(1_500), close.repeat(1_500)));
        one(&format!("{}select 1{}", open.repeat(1_500), close.repeat(1_500)));
    }
}

#[test]
fn chains_of_set_operations_are_lists() {
    let shape = |text: &str| {
        let Statement::Query(query) = one(text) else {
            panic!("a query")
        };
        shape_of(&query)
    };
    assert_eq!(
        shape("select 1 union select 2 intersect all select 3 except select 4"),
        "1 Union (2 Intersect all 3) Except 4"
    );
    assert_eq!(
        shape("((select 1 union all select 2) except all select 3) union select 4"),
        "1 Union all 2 Except all 3 Union 4"
    );
    // A clause belongs to what stands in its parentheses.
    assert_eq!(
        shape("(select 1 union select 2 limit 1) union select 3"),
        "(1 Union 2) Union 3"
    );
    assert_eq!(
        shape("(with w as (select 0) select 1 union select 2) union select 3"),
        "(1 Union 2) Union 3"
    );
}

/// The arms by their numbers, those that are chains themselves in parentheses.
fn shape_of(query: &Query) -> String {
    let arm = |query: &Query| match &query.body {
        QueryBody::SetOperation { .. } => format!("({})", shape_of(query)),
        _ => shape_of(query),
    };
    match &query.body {
        QueryBody::SetOperation { first, rest } => {
            let joined = rest.iter().map(|next| {
                let all = if next.all { " all" } else { "" };
                format!(" {:?}{all} {}", next.operator, arm(&next.query))
            });
            arm(first) + &joined.collect::<String>()
        }
        QueryBody::Select(select) => match &select.targets[0].value.kind {
            ExprKind::Constant(Constant::Integer(number)) => number.to_string(),
            other => panic!("a number: {other:?}"),
        },
        QueryBody::Values(_) => panic!("a SELECT"),
    }
}

/// Random soup of tokens: any answer will do, a panic will not.
#[test]
fn token_soup_never_panics() {
    const TOKENS: &[&str] = &[
        "select",
        "from",
        "where",
        "(",
        ")",
        ",",
        "a",
        "b",
        "t",
        "1",
        "'x'",
        "+",
        "-",
        "*",
        "=",
        "<",
        "and",
        "or",
        "not",
        "null",
        "insert",
        "into",
        "values",
        "update",
        "set",
        "delete",
        "create",
        "table",
        "int",
        "text",
        "as",
        "join",
        "on",
        "using",
        "group",
        "by",
        "order",
        "having",
        "limit",
        "$1",
        "?",
        "::",
        "[",
        "]",
        ".",
        ";",
        "case",
        "when",
        "then",
        "end",
        "in",
        "any",
        "exists",
        "with",
        "recursive",
        "union",
        "all",
        "alter",
        "drop",
        "add",
        "column",
        "constraint",
        "check",
        "primary",
        "key",
        "references",
        "e'\\x'",
        "u&'\\0041'",
        "$$x$$",
        "--",
        "/*",
        "*/",
        "\"q\"",
        "'",
        "interval",
        "date",
        "over",
        "partition",
        "rows",
        "for",
        "copy",
        "grant",
        "to",
        "é",
        "1.5",
        "b'1'",
        "begin",
        "commit",
        "default",
        "row",
        "array",
        "like",
        "escape",
        "between",
        "is",
        "distinct",
        "explain",
        "analyze",
        "returning",
        "conflict",
        "do",
        "nothing",
        "merge",
        "matched",
        "fetch",
        "declare",
        "cursor",
        "lateral",
    ];
    let seed = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(1, |elapsed| elapsed.as_nanos() as u64);
    let mut random = Prng::new(seed);
    for _ in 0..20_000 {
        let count = 1 + random.below(14);
        let words: Vec<&str> = (0..count)
            .map(|_| TOKENS[random.below(TOKENS.len() as u64) as usize])
            .collect();
        let text = words.join(" ");
        let outcome = std::panic::catch_unwind(|| {
            if let Ok(parsed) = parse(&text) {
                for statement in parsed {
                    assert!(text.get(statement.range.clone()).is_some());
                    let _ = crate::ast::deparse::statement(&statement.statement);
                }
            }
            let mut fingerprint = crate::lexer::Fingerprint::new();
            if fingerprint.fill(&text) {
                assert!(fingerprint.key().starts_with(fingerprint.text()));
            }
        });
        assert!(outcome.is_ok(), "seed {seed}: {text:?}");
    }
}
