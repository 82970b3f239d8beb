//! Commands that are read and not built: they answer 0A000 by their names.

use mote_grammar::ast::{RefreshMaterializedView, UnsupportedStatement};

use crate::utility::Command;

impl Command for RefreshMaterializedView {
    fn name(&self) -> &'static str {
        "REFRESH MATERIALIZED VIEW"
    }
}

impl Command for UnsupportedStatement {
    fn name(&self) -> &'static str {
        self.0
    }
}
