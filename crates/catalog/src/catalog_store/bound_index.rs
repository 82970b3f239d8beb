//! What the texts of an index mean (`index_texts`).

use mote_sql::expr::Expr;

/// What an index's texts mean, over the relation's row; not folded, so that it can be shown as it was written.
#[derive(Clone, Debug, Default)]
pub struct BoundIndex {
    /// Of the keys that are no plain columns, in their order.
    pub expressions: Vec<Expr>,
    pub predicate: Option<Expr>,
}

impl BoundIndex {
    pub fn is_plain(&self) -> bool {
        self.expressions.is_empty() && self.predicate.is_none()
    }

    pub fn parts(&self) -> impl Iterator<Item = &Expr> {
        self.expressions.iter().chain(&self.predicate)
    }

    /// Does anything but a key column itself read this column?
    pub fn reads(&self, column: u16) -> bool {
        self.parts().any(|part| columns_of(part).contains(&column))
    }
}

/// Columns that an expression over a relation's row reads, ascending.
pub fn columns_of(expr: &Expr) -> Vec<u16> {
    let mut columns = Vec::new();
    expr.any(&mut |part| {
        if let Expr::Column { index, .. } = part {
            columns.push(*index);
        }
        false
    });
    columns.sort_unstable();
    columns.dedup();
    columns
}
