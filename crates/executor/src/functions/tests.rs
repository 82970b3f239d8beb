//! The bodies against the signatures: none is missing. What they compute is compared with PostgreSQL's answers in
//! `crate::expr::tests`.

use mote_sql::builtin::function::{AGGREGATES, FUNCTIONS, SPECIAL_BODIES, WINDOWS};

#[test]
fn every_listed_body_exists() {
    let mut missing = Vec::new();
    for function in FUNCTIONS {
        let exists = SPECIAL_BODIES.contains(&function.body)
            || match function.returns_set {
                true => super::set_body(function.body).is_some(),
                false => {
                    super::scalar_body(function.body).is_some()
                        || super::comparison_operation(function.body).is_some()
                }
            };
        if !exists {
            missing.push(function.body);
        }
    }
    missing.extend(
        AGGREGATES
            .iter()
            .map(|a| a.body)
            .filter(|body| super::aggregate::body(body).is_none()),
    );
    missing.extend(
        WINDOWS
            .iter()
            .map(|w| w.body)
            .filter(|body| super::window::body(body).is_none()),
    );
    assert!(missing.is_empty(), "no body for {missing:?}");
}
