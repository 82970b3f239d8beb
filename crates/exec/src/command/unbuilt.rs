//! Commands that are read and not built: they answer 0A000 by their names.

use mote_grammar::ast::{AlterDefaultPrivileges, RefreshMaterializedView, UnsupportedStatement};

use crate::utility::Command;

impl Command for AlterDefaultPrivileges {
    fn name(&self) -> &'static str {
        "ALTER DEFAULT PRIVILEGES"
    }
}

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
