//! Trees of bodies, errors with their places, and texts that no parser should choke on.

use mote_common::prng::Prng;

use super::parse;
use super::tree::*;

fn statements(body: &str) -> Vec<Statement> {
    let text = format!("BEGIN {body} END");
    parse(&text)
        .unwrap_or_else(|error| panic!("{body}: {error:?}"))
        .block
        .statements
}

fn only(body: &str) -> StatementKind {
    let mut statements = statements(body);
    assert_eq!(statements.len(), 1, "{body}");
    statements.remove(0).kind
}

#[track_caller]
fn fails(text: &str, message: &str, near: &str) {
    let error = parse(text).expect_err(text);
    assert_eq!(error.message(), message, "{text}");
    let position = error.fields().position.map_or(0, |position| position as usize);
    let rest: String = text.chars().skip(position.saturating_sub(1)).collect();
    assert!(
        rest.starts_with(near),
        "{text}: at {rest:?}, expected at {near:?}"
    );
}

#[test]
fn declarations() {
    let body = parse(
        "<<outer>> DECLARE a int := 1; b CONSTANT numeric(10,2) NOT NULL DEFAULT 2; c t.x%TYPE; d t%ROWTYPE;
         e ALIAS FOR $1; f CURSOR (x int, y text) FOR SELECT * FROM t WHERE k = x; g int[] = '{1,2}';
         BEGIN NULL; END outer;",
    )
    .unwrap();
    assert_eq!(body.block.label.as_deref(), Some("outer"));
    let shown: Vec<String> = body
        .block
        .declarations
        .iter()
        .map(|declaration| match &declaration.kind {
            DeclarationKind::Variable {
                constant,
                ty,
                not_null,
                default,
            } => {
                let default = default.as_ref().map_or("", |default| &*default.text);
                format!(
                    "{} {} {constant} {} {default}",
                    declaration.name,
                    ty.text,
                    not_null.is_some()
                )
            }
            DeclarationKind::Alias(path) => format!("{} = {}", declaration.name, path.parts.join(".")),
            DeclarationKind::Cursor {
                parameters, query, ..
            } => {
                format!("{}({}) {}", declaration.name, parameters.len(), query.text)
            }
        })
        .collect();
    assert_eq!(
        shown,
        [
            "a int false false 1",
            "b numeric(10,2) true true 2",
            "c t.x%TYPE false false ",
            "d t%ROWTYPE false false ",
            "e = $1",
            "f(2) SELECT * FROM t WHERE k = x",
            "g int[] false false '{1,2}'",
        ]
    );
}

#[test]
fn assignments_keep_their_text() {
    let StatementKind::Assign { target, value } = only("a.b[1][i + 1] := x || ';';") else {
        panic!("not an assignment")
    };
    assert_eq!(target.path.parts.len(), 2);
    assert_eq!(target.subscripts.len(), 2);
    assert_eq!(&*value.text, "a.b[1][i + 1] := x || ';'");
    assert_eq!(value.sql().0, "SELECT  x || ';'");
    assert!(matches!(only("x = 1;"), StatementKind::Assign { .. }));
    assert!(matches!(only("update t set x = 1;"), StatementKind::Sql { .. }));
    assert!(matches!(only("return := 1;"), StatementKind::Assign { .. }));
}

#[test]
fn into_is_taken_out_of_statements() {
    let StatementKind::Sql { query, into } = only("SELECT a, b INTO STRICT x, r.y FROM t;") else {
        panic!("not a statement of SQL")
    };
    assert_eq!(&*query.text, "SELECT a, b                    FROM t");
    let into = into.unwrap();
    assert!(into.strict);
    assert_eq!(into.targets.len(), 2);
    let StatementKind::Sql { query, into } = only("INSERT INTO t VALUES (1) RETURNING a INTO x;") else {
        panic!("not a statement of SQL")
    };
    assert_eq!(&*query.text, "INSERT INTO t VALUES (1) RETURNING a");
    assert!(into.is_some());
}

#[test]
fn loops_are_told_apart() {
    let kind = |body: &str| match only(body) {
        StatementKind::Loop(Loop { kind, .. }) => kind,
        other => panic!("{other:?}"),
    };
    assert!(matches!(
        kind("FOR i IN REVERSE 10..1 BY 2 LOOP NULL; END LOOP;"),
        LoopKind::Integer {
            reverse: true,
            step: Some(_),
            ..
        }
    ));
    assert!(matches!(
        kind("FOR i IN f(1) .. g(2) LOOP END LOOP;"),
        LoopKind::Integer { .. }
    ));
    assert!(matches!(
        kind("FOR a, b IN SELECT 1, 2 LOOP END LOOP;"),
        LoopKind::Query { .. }
    ));
    assert!(matches!(
        kind("FOR r IN (SELECT 1) LOOP END LOOP;"),
        LoopKind::Query { .. }
    ));
    assert!(matches!(
        kind("FOR r IN EXECUTE 'select $1' USING 1, 2 LOOP END LOOP;"),
        LoopKind::Query {
            query: Query::Dynamic { .. },
            ..
        }
    ));
    assert!(matches!(
        kind("FOR r IN c LOOP END LOOP;"),
        LoopKind::Cursor { arguments: None, .. }
    ));
    assert!(matches!(
        kind("FOR r IN c(1, 2) LOOP END LOOP;"),
        LoopKind::Cursor { .. }
    ));
    assert!(matches!(
        kind("FOREACH x SLICE 1 IN ARRAY a LOOP END LOOP;"),
        LoopKind::Array { slice: 1, .. }
    ));
    assert!(matches!(
        kind("WHILE true LOOP EXIT; END LOOP;"),
        LoopKind::While(_)
    ));
}

#[test]
fn lines_count_from_the_body_s_first() {
    let body = parse("\nBEGIN\n  NULL;\n  <<l>>\n  LOOP EXIT l; END LOOP;\nEND").unwrap();
    let lines: Vec<u32> = body
        .block
        .statements
        .iter()
        .map(|statement| statement.line)
        .collect();
    assert_eq!((body.block.line, lines), (2, vec![3, 5]));
}

#[test]
fn errors_name_their_place() {
    fails("BEGIN IF x THEN NULL; END;", "syntax error at or near \";\"", ";");
    fails("BEGIN IF THEN NULL; END IF; END", "missing expression", "THEN");
    fails(
        "BEGIN IF x; END IF; END",
        "missing \"THEN\" at end of SQL expression",
        "; END",
    );
    fails(
        "BEGIN NULL; END x",
        "end label \"x\" specified for unlabeled block",
        "x",
    );
    fails(
        "<<a>> BEGIN NULL; END b",
        "end label \"b\" differs from block's label \"a\"",
        "b",
    );
    fails(
        "BEGIN RAISE NOTICE '%', 1, 2; END",
        "too many parameters specified for RAISE",
        "BEGIN",
    );
    fails(
        "BEGIN RAISE NOTICE '%'; END",
        "too few parameters specified for RAISE",
        "BEGIN",
    );
    fails(
        "BEGIN x := (1; END",
        "mismatched parentheses at or near \";\"",
        "; END",
    );
    fails(
        "DECLARE x int BEGIN NULL; END",
        "syntax error at or near \"END\"",
        "END",
    );
    fails("BEGIN NULL;", "syntax error at end of input", "");
    fails(
        "BEGIN x := 'abc; END",
        "unterminated quoted string at or near \"'abc; END\"",
        "'abc",
    );
    fails(
        "BEGIN GET STACKED DIAGNOSTICS x = ROW_COUNT; END",
        "diagnostics item ROW_COUNT is not allowed in GET STACKED DIAGNOSTICS",
        "GET",
    );
}

#[test]
fn depth_is_bounded() {
    let nested = "BEGIN ".repeat(100_000);
    assert_eq!(parse(&nested).unwrap_err().state().as_str(), "54001");
    let nested = format!("BEGIN {}", "IF a THEN ".repeat(100_000));
    assert_eq!(parse(&nested).unwrap_err().state().as_str(), "54001");
}

#[test]
fn no_soup_of_tokens_panics() {
    let words = [
        "BEGIN",
        "END",
        "IF",
        "THEN",
        "ELSE",
        "ELSIF",
        "LOOP",
        "FOR",
        "IN",
        "WHILE",
        "CASE",
        "WHEN",
        "DECLARE",
        "x",
        "y",
        ":=",
        "=",
        ";",
        ";",
        "(",
        ")",
        "[",
        "]",
        ",",
        ".",
        "..",
        "<<",
        ">>",
        "RAISE",
        "NOTICE",
        "'%'",
        "USING",
        "RETURN",
        "NEXT",
        "QUERY",
        "EXECUTE",
        "INTO",
        "STRICT",
        "PERFORM",
        "GET",
        "DIAGNOSTICS",
        "STACKED",
        "ROW_COUNT",
        "OPEN",
        "FETCH",
        "MOVE",
        "CLOSE",
        "FROM",
        "EXCEPTION",
        "OTHERS",
        "SQLSTATE",
        "'22012'",
        "OR",
        "ALIAS",
        "CURSOR",
        "SCROLL",
        "NO",
        "int",
        "NOT",
        "NULL",
        "DEFAULT",
        "CONSTANT",
        "SELECT",
        "1",
        "1..10",
        "$1",
        "#",
        "variable_conflict",
        "COMMIT",
        "AND",
        "CHAIN",
        "EXIT",
        "CONTINUE",
        "FOREACH",
        "SLICE",
        "ARRAY",
        "REVERSE",
        "BY",
        "ASSERT",
        "\"q\"",
        "\n",
        "--",
        "/*",
        "ABSOLUTE",
        "FORWARD",
        "ALL",
        "INSERT",
        "CALL",
        "é",
        "'",
        "$$",
    ];
    for seed in 0..3_000 {
        let mut random = Prng::new(seed);
        let mut text = String::new();
        if random.below(2) == 0 {
            text.push_str("BEGIN ");
        }
        for _ in 0..random.below(40) {
            text.push_str(words[random.below(words.len() as u64) as usize]);
            text.push(' ');
        }
        // What matters is that it comes back.
        let outcome = std::panic::catch_unwind(|| parse(&text).is_ok());
        assert!(outcome.is_ok(), "seed {seed}: {text}");
    }
}
