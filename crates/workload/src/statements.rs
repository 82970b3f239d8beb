//! How a workload writes down its prepared statements: once, with a constant for code and a definition for the wire.

/// Declares statements as `NAME(parameter types) -> [result formats] "SQL";`. Makes a constant of each name and
/// `statement_set()` with the definitions in the same order.
macro_rules! statements {
    ($($name:ident ($($param:expr),*) -> [$($result:expr),*] $sql:expr;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(u8)]
        enum Number { $($name),* }
        $(pub const $name: mote_driver::StatementId = mote_driver::StatementId(Number::$name as u8);)*

        /// All statements, for the sessions of a run.
        pub fn statement_set() -> mote_driver::StatementSet {
            mote_driver::StatementSet::new(vec![$(mote_driver::Definition {
                sql: std::borrow::Cow::Borrowed($sql),
                params: std::borrow::Cow::Borrowed(&[$($param),*]),
                results: &[$($result),*],
            }),*])
        }
    };
}

pub(crate) use statements;
