//! Polymorphic types: what `anyelement`, `anyarray`, `anyrange` and their kin stand for in one call.
//!
//! There are two families. Those of `anyelement` must agree exactly; those of `anycompatible` on a type that all convert to. In
//! each an array, a range or a multirange tells the element, and a multirange its range; but no element tells which range is
//! meant, of which there may be several. ANY is not polymorphic: what takes it has no type of its own to give.
//!
//! Leaves out: the choice among candidates (`resolve`).

use mote_common::Oid;
use mote_types::catalog::range::{multirange_of, range_of, range_subtype};
use mote_types::catalog::{Polymorphism, category_of, polymorphism};
use mote_types::{ColumnType, oid};

use super::pseudo_type::stands_for;
use crate::builtin::cast::{CastUse, cast_context};

/// Why types cannot be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unresolved {
    /// The arguments do not agree.
    Mismatch,
    /// Nothing tells the type of this name, or, without one, that of the whole family.
    Undetermined(Option<&'static str>),
}

impl Unresolved {
    /// PostgreSQL's complaint, where the call was the right one.
    pub fn message(self) -> Option<String> {
        let Unresolved::Undetermined(name) = self else {
            return None;
        };
        let name = name.map_or(String::new(), |name| format!(" {name}"));
        Some(format!(
            "could not determine polymorphic type{name} because input has type unknown"
        ))
    }
}

/// True if the polymorphic types among `declared` can agree on the actual types.
pub(super) fn polymorphic_fits(declared: &[Oid], actual: &[Oid]) -> bool {
    resolve_polymorphic(declared, actual, Oid::INVALID) != Err(Unresolved::Mismatch)
}

/// Replaces polymorphic types by actual ones: the parameter types and the result type.
pub(super) fn resolve_polymorphic(
    declared: &[Oid],
    actual: &[Oid],
    result: Oid,
) -> Result<(Vec<Oid>, Oid), Unresolved> {
    if !declared.iter().any(|ty| polymorphism(*ty).is_some()) {
        return Ok((declared.to_vec(), result));
    }
    let mut exact = Meaning::default();
    let mut common = Meaning::default();
    for (want, have) in declared.iter().zip(actual) {
        if *have == oid::UNKNOWN {
            continue;
        }
        match polymorphism(*want) {
            Some(Polymorphism::Exact) => exact.note(*want, *have, same)?,
            Some(Polymorphism::Common) => common.note(*want, *have, wider)?,
            None => {}
        }
    }
    exact.settle(same)?;
    common.settle(wider)?;
    // A literal is of no enum before something else says which.
    if declared.contains(&oid::ANYENUM) && exact.element.is_none() {
        return Err(Unresolved::Mismatch);
    }
    // Literals alone are texts in the second family; the first one does not guess.
    common.element = common.element.or(Some(oid::TEXT));
    let meant = |ty: Oid| match polymorphism(ty) {
        Some(Polymorphism::Exact) => exact.meant(ty),
        Some(Polymorphism::Common) => common.meant(ty),
        None => Ok(ty),
    };
    let mut resolved = Vec::with_capacity(declared.len());
    for (position, ty) in declared.iter().enumerate() {
        // The two vector types are arrays with OIDs of their own: they are passed as they are.
        let vector = actual
            .get(position)
            .is_some_and(|have| matches!(*have, oid::INT2VECTOR | oid::OIDVECTOR));
        resolved.push(match vector && *ty != oid::ANYELEMENT {
            true => actual[position],
            false => meant(*ty)?,
        });
    }
    Ok((resolved, meant(result)?))
}

/// What one family stands for.
#[derive(Default)]
struct Meaning {
    element: Option<Oid>,
    range: Option<Oid>,
}

/// How two types of elements become one.
type Agree = fn(Oid, Oid) -> Option<Oid>;

fn same(known: Oid, found: Oid) -> Option<Oid> {
    (known == found).then_some(known)
}

fn agreed(slot: &mut Option<Oid>, found: Oid, agree: Agree) -> Result<(), Unresolved> {
    *slot = match *slot {
        None => Some(found),
        Some(known) => Some(agree(known, found).ok_or(Unresolved::Mismatch)?),
    };
    Ok(())
}

impl Meaning {
    /// Takes in that an argument declared as `want` has the type `have`.
    fn note(&mut self, want: Oid, have: Oid, agree: Agree) -> Result<(), Unresolved> {
        if stands_for(want, have) == Some(false) {
            return Err(Unresolved::Mismatch);
        }
        match want {
            oid::ANYRANGE | oid::ANYCOMPATIBLERANGE => agreed(&mut self.range, have, same),
            oid::ANYMULTIRANGE | oid::ANYCOMPATIBLEMULTIRANGE => {
                let range = range_of(have).ok_or(Unresolved::Mismatch)?;
                agreed(&mut self.range, range, same)
            }
            oid::ANYARRAY | oid::ANYCOMPATIBLEARRAY => {
                let element = ColumnType::new(have).element().ok_or(Unresolved::Mismatch)?;
                agreed(&mut self.element, element.oid, agree)
            }
            _ => agreed(&mut self.element, have, agree),
        }
    }

    /// A range says what its bounds are; elements of another type do not become that of the range.
    fn settle(&mut self, agree: Agree) -> Result<(), Unresolved> {
        let Some(subtype) = self.range.and_then(range_subtype) else {
            return Ok(());
        };
        agreed(&mut self.element, subtype, agree)?;
        match self.element == Some(subtype) {
            true => Ok(()),
            false => Err(Unresolved::Mismatch),
        }
    }

    fn meant(&self, ty: Oid) -> Result<Oid, Unresolved> {
        // A range is known also where nobody says what its bounds are: texts of indexes are bound without a session.
        if self.element.is_none() && self.range.is_none() {
            return Err(Unresolved::Undetermined(None));
        }
        let element = self.element.ok_or(Unresolved::Undetermined(None));
        match ty {
            oid::ANYARRAY | oid::ANYCOMPATIBLEARRAY => {
                let array = ColumnType::new(element?).array_of();
                array.map(|array| array.oid).ok_or(Unresolved::Mismatch)
            }
            oid::ANYRANGE => self.range_for("anyrange"),
            oid::ANYCOMPATIBLERANGE => self.range_for("anycompatiblerange"),
            oid::ANYMULTIRANGE => self.multirange_for("anymultirange"),
            oid::ANYCOMPATIBLEMULTIRANGE => self.multirange_for("anycompatiblemultirange"),
            _ => element,
        }
    }

    fn range_for(&self, pseudo: &'static str) -> Result<Oid, Unresolved> {
        self.range.ok_or(Unresolved::Undetermined(Some(pseudo)))
    }

    fn multirange_for(&self, pseudo: &'static str) -> Result<Oid, Unresolved> {
        multirange_of(self.range_for(pseudo)?).ok_or(Unresolved::Mismatch)
    }
}

/// Without being asked for; casts of users do not count here.
fn converts(from: Oid, to: Oid) -> bool {
    cast_context(from, to) == Some(CastUse::Implicit)
}

/// The common type of two that `anycompatible` accepts.
fn wider(left: Oid, right: Oid) -> Option<Oid> {
    if left == right {
        return Some(left);
    }
    if category_of(left) != category_of(right) {
        return None;
    }
    let (forth, back) = (converts(left, right), converts(right, left));
    match (forth, back) {
        (true, false) => Some(right),
        (false, true) => Some(left),
        // As in `common_type`: the first one stays where each becomes the other.
        (true, true) => Some(left),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_types::oid::*;

    #[test]
    fn a_range_tells_the_element_and_no_element_tells_the_range() {
        let both = [ANYELEMENT, ANYRANGE];
        let resolved = |actual: &[Oid]| resolve_polymorphic(&both, actual, ANYARRAY);
        assert_eq!(
            resolved(&[UNKNOWN, INT8RANGE]),
            Ok((vec![INT8, INT8RANGE], INT8_ARRAY))
        );
        assert_eq!(resolved(&[INT4, INT8RANGE]), Err(Unresolved::Mismatch));
        assert_eq!(
            resolve_polymorphic(&[ANYMULTIRANGE], &[DATEMULTIRANGE], ANYRANGE),
            Ok((vec![DATEMULTIRANGE], DATERANGE))
        );
        assert_eq!(
            resolved(&[INT4, UNKNOWN]),
            Err(Unresolved::Undetermined(Some("anyrange")))
        );
        assert_eq!(resolved(&[UNKNOWN, UNKNOWN]), Err(Unresolved::Undetermined(None)));
    }

    #[test]
    fn compatible_elements_become_the_type_of_the_range_but_not_the_other_way() {
        let both = [ANYCOMPATIBLE, ANYCOMPATIBLERANGE];
        let resolved = |actual: &[Oid]| resolve_polymorphic(&both, actual, ANYCOMPATIBLE);
        assert_eq!(
            resolved(&[INT4, NUMRANGE]),
            Ok((vec![NUMERIC, NUMRANGE], NUMERIC))
        );
        assert_eq!(resolved(&[NUMERIC, INT4RANGE]), Err(Unresolved::Mismatch));
    }
}
