//! Names of FROM items: each is told apart from those of the queries around it, as PostgreSQL does with numbers behind them.

use hashbrown::{HashMap, HashSet};
use mote_grammar::ast::Name;

#[derive(Default)]
pub(super) struct Names {
    /// What each item is called.
    items: HashMap<u16, Name>,
    /// The names taken by each query in sight, innermost last.
    levels: Vec<HashSet<Name>>,
    /// WITH names in sight.
    pub ctes: Vec<Name>,
}

impl Names {
    /// A query with these items begins.
    pub fn enter(&mut self, items: &[(u16, Name)]) {
        let mut own = HashSet::new();
        for (item, wanted) in items {
            let taken =
                |name: &str| own.contains(name) || self.levels.iter().any(|level| level.contains(name));
            let mut name = wanted.clone();
            let mut number = 0;
            while !wanted.is_empty() && taken(&name) {
                number += 1;
                name = format!("{wanted}_{number}").into();
            }
            own.insert(name.clone());
            self.items.insert(*item, name);
        }
        self.levels.push(own);
    }

    pub fn leave(&mut self) {
        self.levels.pop();
    }

    pub fn of_item(&self, item: u16) -> Option<&Name> {
        self.items.get(&item)
    }
}
