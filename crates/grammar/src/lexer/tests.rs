//! Tokens at their edges, and what a fingerprint takes out and leaves in.

use super::*;

fn tokens(text: &str) -> Vec<(TokenKind, &str)> {
    let mut lexer = Lexer::new(text);
    let mut found = Vec::new();
    while let Some(token) = lexer.next_token() {
        let token = token.unwrap_or_else(|error| panic!("{text:?}: {error:?}"));
        found.push((token.kind, token.text(text)));
    }
    found
}

#[test]
fn token_edges() {
    use TokenKind::*;
    assert_eq!(
        tokens("a=-1"),
        [
            (Identifier, "a"),
            (Operator, "="),
            (Operator, "-"),
            (Integer, "1")
        ]
    );
    assert_eq!(
        tokens("a@-1"),
        [(Identifier, "a"), (Operator, "@-"), (Integer, "1")]
    );
    assert_eq!(
        tokens("1--2\n+3"),
        [(Integer, "1"), (Operator, "+"), (Integer, "3")]
    );
    assert_eq!(tokens("*/**/+"), [(Operator, "*"), (Operator, "+")]);
    assert_eq!(
        tokens("1.5e-3.5 .5"),
        [(Number, "1.5e-3"), (Number, ".5"), (Number, ".5")]
    );
    assert_eq!(tokens("1..2"), [(Integer, "1"), (Dot, ".."), (Integer, "2")]);
    assert_eq!(
        tokens("0x1F 1_000 1."),
        [(Number, "0x1F"), (Number, "1_000"), (Number, "1.")]
    );
    assert_eq!(tokens("'it''s'"), [(String, "'it''s'")]);
    assert_eq!(
        tokens("E'\\'' \"a\"\"b\""),
        [(SpecialString, "E'\\''"), (QuotedIdentifier, "\"a\"\"b\"")]
    );
    assert_eq!(
        tokens("$a$ $ $b$ $a$ $1"),
        [(SpecialString, "$a$ $ $b$ $a$"), (Parameter, "$1")]
    );
    assert_eq!(
        tokens("/* /* */ */ U&'x' b'1'"),
        [(SpecialString, "U&'x'"), (BitString, "b'1'")]
    );
    assert_eq!(
        tokens("é$1::t[:=]"),
        [
            (Identifier, "é$1"),
            (Cast, "::"),
            (Identifier, "t"),
            (Open, "["),
            (Colon, ":="),
            (Close, "]"),
        ]
    );
}

#[test]
fn unreadable_texts_are_errors() {
    for text in [
        "'a", "\"a", "/* /* */", "E'\\'", "$a$ $b$", "123abc", "0x", "$", "\\", "{",
    ] {
        let mut lexer = Lexer::new(text);
        let failed = matches!(lexer.next_token(), Some(Err(_)));
        assert!(failed || text == "0x", "{text:?}");
        assert_eq!(lexer.next_token(), None, "{text:?}");
    }
}

/// The text with its literals taken out, and the literals.
fn fingerprint(text: &str) -> Option<(std::string::String, Vec<std::string::String>)> {
    let mut buffer = Fingerprint::new();
    if !buffer.fill(text) {
        return None;
    }
    let literals = buffer.literals().iter().map(|literal| {
        let value = literal.text(text);
        match literal.kind {
            LiteralKind::Int4(value) => format!("int4 {value}"),
            LiteralKind::Int8(value) => format!("int8 {value}"),
            LiteralKind::Numeric { negative } => {
                format!("numeric {}{value}", if negative { "-" } else { "" })
            }
            LiteralKind::String { quotes } => {
                format!("unknown {value}{}", if quotes { " quotes" } else { "" })
            }
        }
    });
    let literals = literals.collect();
    Some((buffer.text().to_owned(), literals))
}

#[track_caller]
fn assert_fingerprint(text: &str, key: &str, literals: &[&str]) {
    let (found, values) = fingerprint(text).unwrap_or_else(|| panic!("{text}: no fingerprint"));
    assert_eq!(found, key, "{text}");
    assert_eq!(values, literals, "{text}");
}

#[test]
fn literals_are_taken_out() {
    assert_fingerprint(
        "SELECT c FROM sbtest1 WHERE id=5",
        "SELECT c FROM sbtest1 WHERE id=$1",
        &["int4 5"],
    );
    assert_fingerprint(
        "INSERT INTO t (a, b) VALUES (1, 'it''s'), (-2, 3.5);",
        "INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4)",
        &["int4 1", "unknown it''s quotes", "int4 -2", "numeric 3.5"],
    );
    assert_fingerprint(
        "UPDATE t SET a = a + -5, b = 'x'::text /* c */ WHERE c BETWEEN 1 AND 2 -- d",
        "UPDATE t SET a = a + $1, b = $2::text WHERE c BETWEEN $3 AND $4",
        &["int4 -5", "unknown x", "int4 1", "int4 2"],
    );
    assert_fingerprint(
        "select a from t where b in (1, 2) and c like 'x%' order by a limit 10 offset 20",
        "select a from t where b in ($1, $2) and c like $3 order by a limit $4 offset $5",
        &["int4 1", "int4 2", "unknown x%", "int4 10", "int4 20"],
    );
    assert_fingerprint(
        "delete from t where a -1 = 2",
        "delete from t where a -$1 = $2",
        &["int4 1", "int4 2"],
    );
}

#[test]
fn integers_keep_their_types() {
    for (literal, kind) in [
        ("2147483647", "int4 2147483647"),
        ("2147483648", "int8 2147483648"),
        ("-2147483648", "int4 -2147483648"),
        ("-9223372036854775808", "int8 -9223372036854775808"),
        ("9223372036854775808", "numeric 9223372036854775808"),
        ("-1.50", "numeric -1.50"),
    ] {
        assert_fingerprint(
            &format!("select a from t where b = {literal}"),
            "select a from t where b = $1",
            &[kind],
        );
    }
    // A cast binds tighter than the sign.
    assert_fingerprint(
        "select a from t where b = -1::int2",
        "select a from t where b = -$1::int2",
        &["int4 1"],
    );
    let mut small = Fingerprint::new();
    let mut large = Fingerprint::new();
    assert!(small.fill("select a from t where b = 1") && large.fill("select a from t where b = 10000000000"));
    assert_eq!(small.text(), large.text());
    assert_ne!(small.key(), large.key());
}

#[test]
fn literals_stay_where_they_mean_more() {
    for text in [
        "select 1, 'x', a + 1 from t",
        "select a from t order by 1, a + 2",
        "select count(*) from t group by 1 having count(*) > 5",
        "select a from t where b = date '2020-01-01' and c < interval '1' day",
        "select a from t where b = x::numeric(10,2) and c = cast(d as varchar(5))",
        "select a from t where b = E'x' and c = B'1' and d = $$x$$",
        "select a from t fetch first 5 rows only",
        "values (1), (2)",
        "insert into t select 1, 'x'",
        "insert into t default values on conflict (a) where b = 1 do nothing returning 5",
        "select a is distinct from 5 as x, 6 from t",
        "select sum(a) over (partition by 1 order by 2 rows 3 preceding) from t",
    ] {
        assert_fingerprint(text, text, &[]);
    }
    assert_fingerprint(
        "insert into t values (1) on conflict (a) where b = 2 do update set a = 3",
        "insert into t values ($1) on conflict (a) where b = 2 do update set a = $2",
        &["int4 1", "int4 3"],
    );
    assert_fingerprint(
        "select a, (select b from u where c = 1) from t where d = 2",
        "select a, (select b from u where c = $1) from t where d = $2",
        &["int4 1", "int4 2"],
    );
}

#[test]
fn some_statements_have_none() {
    for text in [
        "",
        "-- nothing",
        "create table t (a int default 5)",
        "select a into b from t where c = 5",
        "select a from t where b = 1; select 2",
        "select a from t where b = $1",
        "select a from t where b = 'x' 'y'",
        "select a from t where b = 1_000",
        "select a from t where b = 0x1F",
        "select a from t where b = 'x",
        "set x = 5",
        "select a) from t",
    ] {
        assert_eq!(fingerprint(text), None, "{text}");
    }
    let deep = format!("select a from t where {}1{}", "(".repeat(100), ")".repeat(100));
    assert_eq!(fingerprint(&deep), None);
    let many = format!(
        "select a from t where b in ({})",
        vec!["1"; MAX_LITERALS + 1].join(",")
    );
    assert_eq!(fingerprint(&many), None);
}

#[test]
fn every_fingerprint_parses() {
    for text in [
        "select a from t where b = -5 and c=-6 and d= 'x'and e>'y'or f<1",
        "update t set a=1,b='x'where c=2",
        "insert into t values(1,'a',-3)returning a",
        "select a from t where b=1/*c*/and d=2--x\nand e=3",
    ] {
        let (key, _) = fingerprint(text).expect("a fingerprint");
        crate::parser::parse(&key).unwrap_or_else(|error| panic!("{key}: {error}"));
    }
}

#[test]
fn a_used_buffer_does_not_grow() {
    let mut buffer = Fingerprint::new();
    let text = "select c from t where id between 100 and 200 and k = 'abc'";
    assert!(buffer.fill(text));
    let key = buffer.key().as_ptr();
    let literals = buffer.literals().as_ptr();
    assert!(buffer.fill(text));
    assert_eq!(
        (key, literals),
        (buffer.key().as_ptr(), buffer.literals().as_ptr())
    );
}
