//! Columns that are equal because both are equal to a third one: `a.x = b.x AND b.x = c.x` links a with c as well, so that an
//! order which begins with them need not wait for b (PostgreSQL's equivalence classes, without constants).
//!
//! Invariants
//!  1. A class has one column of each of its units, all of one type, compared by one function that is transitive.
//!  2. A unit that is joined with others of its class is compared with one of them: those are equal to each other by then,
//!     and to compare it with each would count one condition several times.

use mote_sql::builtin::function::FunctionId;
use mote_sql::builtin::operator::{Comparison, comparison_of};
use mote_sql::expr::Expr;
use mote_types::oid;

use super::{Link, Part};
use crate::plan::node::JoinKind;

/// More units are linked as they are written: all links of a class make many orders possible, which all are compared.
const UNITS_MAX: usize = 8;

/// A column, and the unit that it is of.
type Member = (u16, u16, usize);

struct Class {
    function: FunctionId,
    members: Vec<Member>,
    /// The expressions of the members, in the same order.
    columns: Vec<Expr>,
    /// The links that say so, by their positions.
    links: Vec<usize>,
}

/// Adds the links that follow from others, and numbers the classes of at least three units.
pub(super) fn derive(parts: &[Part], links: &mut Vec<Link>) {
    if !(3..=UNITS_MAX).contains(&parts.len()) {
        return;
    }
    let mut classes: Vec<Class> = Vec::new();
    for (position, link) in links.iter().enumerate() {
        let Some((function, left, right)) = link.condition.as_ref().and_then(equality) else {
            continue;
        };
        let (Some(one), Some(other)) = (member(left, parts), member(right, parts)) else {
            continue;
        };
        let holding = |classes: &[Class], member: &Member| {
            let found = |class: &Class| class.function == function && class.members.contains(member);
            classes.iter().position(found)
        };
        let at = match (holding(&classes, &one), holding(&classes, &other)) {
            (None, None) => {
                classes.push(Class {
                    function,
                    members: Vec::new(),
                    columns: Vec::new(),
                    links: Vec::new(),
                });
                classes.len() - 1
            }
            (Some(at), None) | (None, Some(at)) => at,
            (Some(first), Some(second)) if first == second => first,
            (Some(first), Some(second)) => {
                let (first, second) = (first.min(second), first.max(second));
                let merged = classes.remove(second);
                classes[first].members.extend(merged.members);
                classes[first].columns.extend(merged.columns);
                classes[first].links.extend(merged.links);
                first
            }
        };
        let class = &mut classes[at];
        for (member, column) in [(one, left), (other, right)] {
            if !class.members.contains(&member) {
                class.members.push(member);
                class.columns.push(column.clone());
            }
        }
        class.links.push(position);
    }
    classes.retain(Class::is_derivable);
    // As many as `one_of_each` has bits for; conditions of more stay as they are.
    classes.truncate(64);
    for (number, class) in classes.iter().enumerate() {
        class.add(number, links);
    }
}

impl Class {
    /// At least three units, and of each one column.
    fn is_derivable(&self) -> bool {
        let units = self
            .members
            .iter()
            .fold(0u64, |units, member| units | 1 << member.2);
        self.members.len() >= 3 && units.count_ones() as usize == self.members.len()
    }

    /// Links each two of its units, where they are not linked by it yet.
    fn add(&self, number: usize, links: &mut Vec<Link>) {
        for &link in &self.links {
            links[link].class = Some(number);
        }
        for (at, one) in self.members.iter().enumerate() {
            for (behind, other) in self.members.iter().enumerate().skip(at + 1) {
                let units = 1 << one.2 | 1 << other.2;
                if self.links.iter().any(|&link| links[link].units == units) {
                    continue;
                }
                let mut condition = links[self.links[0]].condition.clone();
                if let Some(Expr::Call { arguments, .. }) = &mut condition {
                    *arguments = vec![self.columns[at].clone(), self.columns[behind].clone()];
                }
                links.push(Link {
                    units,
                    class: Some(number),
                    condition,
                });
            }
        }
    }
}

/// `column = column` of one type.
fn equality(condition: &Expr) -> Option<(FunctionId, &Expr, &Expr)> {
    let Expr::Call {
        function, arguments, ..
    } = condition
    else {
        return None;
    };
    let (Comparison::Equal, operator) = comparison_of(*function)? else {
        return None;
    };
    let [left, right] = arguments.as_slice() else {
        return None;
    };
    // Records and arrays are compared element by element, and may be of different kinds.
    let is_plain = matches!(
        operator.left,
        oid::INT2
            | oid::INT4
            | oid::INT8
            | oid::OID
            | oid::TEXT
            | oid::BPCHAR
            | oid::NUMERIC
            | oid::DATE
            | oid::TIMESTAMP
            | oid::TIMESTAMPTZ
            | oid::UUID
    );
    (is_plain && operator.left == operator.right).then_some((*function, left, right))
}

/// A column of a unit that is joined with INNER JOIN.
fn member(expr: &Expr, parts: &[Part]) -> Option<Member> {
    let Expr::Variable { relation, column, .. } = expr else {
        return None;
    };
    let unit = parts.iter().position(|part| part.items.contains(relation))?;
    (parts[unit].kind == JoinKind::Inner).then_some((*relation, *column, unit))
}

/// Keeps of links that say the same the first one.
pub(super) fn one_of_each(links: &[Link], linking: &mut Vec<usize>) {
    let mut seen = 0u64;
    linking.retain(|&link| match links[link].class {
        None => true,
        Some(class) => {
            let is_new = seen & 1 << class == 0;
            seen |= 1 << class;
            is_new
        }
    });
}
