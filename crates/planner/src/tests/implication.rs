//! What follows from conditions, over expressions bound as a partial index has them.

use super::fixture::TestCatalog;
use mote_sql::catalog::{Column, Relation};
use mote_sql::expr::Expr;
use mote_sql::expr::implication::implied;
use mote_sql::{RelationExpression, bind_expression_over_relation};
use mote_types::parse_type;
use std::sync::Arc;

fn bound(text: &str) -> Expr {
    let columns = [
        ("a", "int4"),
        ("b", "bigint"),
        ("s", "text"),
        ("v", "varchar(9)"),
        ("f", "bool"),
    ];
    let columns = columns.map(|(name, ty)| Column::new(name, parse_type(ty).expect("a type")));
    let relation = Arc::new(Relation::of_columns("t", columns.to_vec()));
    let purpose = RelationExpression::IndexPredicate;
    let mut expr =
        bind_expression_over_relation(text, &relation, purpose, None, TestCatalog::shared()).expect(text);
    mote_sql::expr::simplify(&mut expr, None);
    expr
}

#[test]
fn what_follows_and_what_does_not() {
    let follows = [
        ("a = 5", "a = 5"),
        ("a = 5 and s = 'x'", "s = 'x'"),
        ("s = 'x' and a = 5", "a = 5 and s = 'x'"),
        ("a = 5", "a = 5 or a = 6"),
        ("a = 5 or a = 6", "a in (4, 5, 6)"),
        ("a in (5, 6)", "a in (6, 5, 4)"),
        ("a in (5, 6)", "a > 4"),
        ("a > 5", "a > 4"),
        ("a >= 5", "a > 4"),
        ("5 < a", "a >= 5"),
        ("a < 5", "a <= 5"),
        ("a = 5", "a <> 6"),
        ("a > 5", "a <> 5"),
        ("a between 6 and 8", "a between 5 and 9"),
        ("b = 5", "b < 6"),
        ("s > 'm'", "s > 'b'"),
        ("v = 'x'", "v in ('x', 'y')"),
        ("v = 'x'", "v::text = 'x'"),
        ("a = 5", "a is not null"),
        ("a + 1 > b", "a is not null and b is not null"),
        ("lower(s) = 'x'", "s is not null"),
        ("f", "f is not null"),
        ("f", "f = true"),
        ("f = true", "f"),
        ("f is true", "f"),
        ("f", "f is true"),
        ("not f", "f = false"),
        ("f is false", "not f"),
        ("not f", "f is not null"),
        ("not (f is unknown)", "f is not unknown"),
    ];
    for (condition, wanted) in follows {
        assert!(
            implied(&bound(wanted), &[&bound(condition)]),
            "{condition} implies {wanted}"
        );
    }
    let does_not = [
        ("a = 5", "a = 6"),
        ("a > 4", "a > 5"),
        ("a >= 4", "a > 4"),
        ("a <> 5", "a > 5"),
        ("a = 5", "b = 5"),
        ("a = 5 or a = 7", "a in (5, 6)"),
        ("a = 5 or s = 'x'", "a = 5"),
        ("a is null", "a is not null"),
        ("coalesce(a, 1) = 1", "a is not null"),
        ("a = 5 or a is null", "a is not null"),
        ("f is not true", "not f"),
        ("not (f is true)", "not f"),
        ("not f", "f"),
        ("f is not false", "f"),
        ("f is unknown", "f is not null"),
        ("s = 'x'", "s = 'y'"),
    ];
    for (condition, wanted) in does_not {
        assert!(
            !implied(&bound(wanted), &[&bound(condition)]),
            "{condition} does not imply {wanted}"
        );
    }
}
