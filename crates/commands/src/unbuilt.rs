//! Commands that are read and not built: they answer 0A000 by their names.

use mote_grammar::ast::UnsupportedStatement;

use crate::utility::Command;

impl Command for UnsupportedStatement {
    fn name(&self) -> &'static str {
        self.0
    }
}
