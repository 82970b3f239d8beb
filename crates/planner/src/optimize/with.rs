//! WITH queries: which are inlined, which are planned by themselves, and in which order.
//!
//! One that is read once and calls nothing volatile becomes a derived table, as in PostgreSQL; the others get plans and
//! numbers of their own, those inside of one before it.

use mote_common::{SqlError, SqlResult};
use mote_sql::bind::query::{BoundCteStatement, BoundQuery, ItemKind};

use super::Planner;
use crate::plan::CtePlan;
use crate::plan::node::{Node, Renewed};

impl Planner<'_> {
    /// Decides which WITH queries are inlined, and plans the others.
    pub(super) fn with_queries(&mut self) -> SqlResult<()> {
        for number in 0..self.ctes.len() {
            self.inline_with_query(number as u16);
        }
        if !self.ctes.is_empty() {
            // Whoever has one inlined reads what it reads.
            self.note_subquery_reads();
        }
        for number in 0..self.ctes.len() {
            self.plan_with_query(number as u16)?;
        }
        Ok(())
    }

    /// Plans the WITH queries inside of one, before it: what they read of the queries around, it must have for them.
    fn plan_inner_with_queries(&mut self, number: u16) -> SqlResult<()> {
        for inner in number + 1..self.ctes[number as usize].inner_end {
            self.plan_with_query(inner)?;
        }
        Ok(())
    }

    fn inline_with_query(&mut self, number: u16) {
        let cte = &mut self.ctes[number as usize];
        if cte.references != 1 || cte.materialized == Some(true) {
            return;
        }
        let BoundCteStatement::Query(query) = &mut cte.statement else {
            return;
        };
        let Some(mut query) = query.take() else { return };
        if query.locks.is_empty() && !self.is_volatile(&mut query) {
            self.ctes[number as usize].statement = BoundCteStatement::Pending;
            self.inline_cte(number, query);
        } else {
            self.ctes[number as usize].statement = BoundCteStatement::Query(Some(query));
        }
    }

    /// Plans a WITH query unless it is done, or nobody reads it: PostgreSQL does not run such a one either.
    fn plan_with_query(&mut self, number: u16) -> SqlResult<()> {
        let cte = &mut self.ctes[number as usize];
        let references = cte.references;
        let statement = std::mem::replace(&mut cte.statement, BoundCteStatement::Pending);
        let name = cte.name.to_string();
        // Whoever reads it may be in the middle of a level that wants row marks.
        if !matches!(statement, BoundCteStatement::Recursive(..)) {
            self.plan_inner_with_queries(number)?;
        }
        let marks = std::mem::replace(&mut self.marks, false);
        let mut volatile = false;
        let (mut node, modifies) = match statement {
            BoundCteStatement::Query(Some(mut query)) if references > 0 => {
                volatile = self.is_volatile(&mut query);
                (self.query(*query, true)?.node, false)
            }
            BoundCteStatement::Modify(Some(modify)) => (self.modify(*modify)?.node, true),
            BoundCteStatement::Recursive(Some(pair), distinct) if references > 0 => {
                self.marks = marks;
                return self.plan_recursive(number, name, *pair, distinct);
            }
            _ => {
                self.marks = marks;
                return Ok(());
            }
        };
        self.marks = marks;
        self.pass_outer_values(number, &mut node, volatile || modifies)?;
        self.cte_numbers[number as usize] = Some(self.cte_plans.len() as u16);
        self.cte_plans.push(CtePlan { name, node, modifies });
        Ok(())
    }

    fn plan_recursive(
        &mut self,
        number: u16,
        name: String,
        (mut base, mut step): (BoundQuery, BoundQuery),
        distinct: bool,
    ) -> SqlResult<()> {
        let position = self.cte_plans.len() as u16;
        self.cte_numbers[number as usize] = Some(position);
        // Reserves the number before the parts, which may refer to it.
        self.cte_plans.push(CtePlan {
            name,
            node: Node::Empty { width: 0 },
            modifies: false,
        });
        let marks = std::mem::replace(&mut self.marks, false);
        self.plan_inner_with_queries(number)?;
        let volatile = self.is_volatile(&mut base) || self.is_volatile(&mut step);
        let base = Box::new(self.query(base, true)?.node);
        let step = Box::new(self.query(step, true)?.node);
        self.marks = marks;
        let mut node = Node::RecursiveUnion {
            cte: position,
            distinct,
            base,
            step,
            renewed: Renewed::default(),
        };
        self.pass_outer_values(number, &mut node, volatile)?;
        self.cte_plans[position as usize].node = node;
        Ok(())
    }

    /// What a WITH query reads of the queries around the one that it belongs to, its readers give it as arguments. Its rows
    /// are kept for the values they were computed with, so one whose rows may be others for the same values is refused.
    fn pass_outer_values(&mut self, number: u16, node: &mut Node, volatile: bool) -> SqlResult<()> {
        let arguments = self.bind_free(node, &mut |_| true);
        if arguments.is_empty() {
            return Ok(());
        }
        if volatile {
            return Err(SqlError::unsupported(
                "WITH query that refers to an outer query and calls volatile functions",
            ));
        }
        for item in &mut self.items {
            if let ItemKind::Cte(read, outer) = &mut item.kind
                && *read == number
            {
                outer.clone_from(&arguments);
            }
        }
        // Its readers read that, too.
        self.note_subquery_reads();
        Ok(())
    }

    /// The one reference to a WITH query becomes a derived table.
    fn inline_cte(&mut self, number: u16, query: Box<BoundQuery>) {
        let referring = self
            .items
            .iter_mut()
            .find(|item| matches!(item.kind, ItemKind::Cte(n, _) if n == number));
        if let Some(item) = referring {
            item.kind = ItemKind::Subquery(Some(query));
        }
    }

    /// The number of a WITH query in the plan. One that stands inside the WITH query that reads it is planned only now.
    pub(super) fn cte_number(&mut self, number: u16) -> SqlResult<u16> {
        if self.cte_numbers[number as usize].is_none() {
            self.plan_with_query(number)?;
        }
        self.cte_numbers[number as usize]
            .ok_or_else(|| SqlError::internal("a WITH query is read before it is planned"))
    }
}
