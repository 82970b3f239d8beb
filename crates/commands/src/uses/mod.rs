//! Who uses a routine, a type of users, a relation: found, described for messages, put into PostgreSQL's order.
//!
//! Read in this order: `dependent` (parts of objects), `texts` (expressions that are kept as text), `types`, `views`, `casts`. PostgreSQL reads dependencies from
//! pg_depend (dependency.c); here they follow from what stored objects name, by the catalog's indexes over that
//! (docs/design/0026). Leaves out: taking them away (`cascade`).

pub(crate) mod casts;
mod dependent;
pub(crate) mod texts;
pub(crate) mod types;
pub(crate) mod views;
