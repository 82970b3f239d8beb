//! Names of the arrays over types of users: `_name`, with more `_` in front where that is taken.
//!
//! They are not stored. An array steps aside for a type of its name, whichever was made first, and for the array over an
//! older type; so the types of one schema whose names differ in leading `_` alone decide together, in the order of their
//! numbers.

use std::collections::BTreeMap;

use mote_common::Oid;
use mote_types::catalog::user::{is_domain, number_of};

/// Bytes of a name.
const NAME_MAX: usize = 63;

/// The name of the array over a type; `type_named` finds the types of its schema.
pub fn array_name(name: &str, type_named: impl Fn(&str) -> Option<Oid>) -> String {
    let root = name.trim_start_matches('_');
    let first = format!("_{name}");
    if root.len() == name.len() && type_named(&first).is_none() {
        return first;
    }
    let family = Family::of(root, &type_named);
    let own = name.len() - root.len();
    let found = family.arrays.iter().find(|(_, element)| **element == own);
    found.map_or(first, |(bars, _)| format!("{}{root}", "_".repeat(*bars)))
}

/// The type over which the array of this name is, in the schema whose types `type_named` finds.
pub fn element_of_array_named(name: &str, type_named: impl Fn(&str) -> Option<Oid>) -> Option<Oid> {
    let root = name.trim_start_matches('_');
    let bars = name.len() - root.len();
    if bars == 0 || name.len() > 2 * NAME_MAX {
        return None;
    }
    let family = Family::of(root, &type_named);
    let element = family.arrays.get(&bars)?;
    family.types.get(element).copied()
}

/// Types and arrays by how many `_` stand before what their names have in common.
struct Family {
    types: BTreeMap<usize, Oid>,
    /// With the type that each array is over.
    arrays: BTreeMap<usize, usize>,
}

impl Family {
    fn of(root: &str, type_named: impl Fn(&str) -> Option<Oid>) -> Family {
        let bars = 0..=NAME_MAX.saturating_sub(root.len());
        let named = |bars: usize| Some((bars, type_named(&format!("{}{root}", "_".repeat(bars)))?));
        let types: BTreeMap<usize, Oid> = bars.filter_map(named).collect();
        let with_array = types.iter().filter(|(_, ty)| !is_domain(**ty));
        let mut elements: Vec<(Oid, usize)> = with_array.map(|(bars, ty)| (number_of(*ty), *bars)).collect();
        elements.sort();
        let mut arrays = BTreeMap::new();
        for (_, element) in elements {
            let free = |bars: &usize| !types.contains_key(bars) && !arrays.contains_key(bars);
            if let Some(bars) = (element + 1..).find(free) {
                arrays.insert(bars, element);
            }
        }
        Family { types, arrays }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named<'t>(types: &'t [&'t str]) -> impl Fn(&str) -> Option<Oid> + 't {
        // The older ones stand first.
        move |name| {
            let position = types.iter().position(|known| *known == name)?;
            Some(Oid(position as u32 + 1))
        }
    }

    #[test]
    fn arrays_step_aside_for_types_and_for_older_arrays() {
        let name = |types: &[&str], of: &str| array_name(of, named(types));
        assert_eq!(name(&["x"], "x"), "_x");
        assert_eq!(name(&["x", "y"], "x"), "_x");
        assert_eq!(name(&["_x"], "_x"), "__x");
        for types in [["x", "_x"], ["_x", "x"]] {
            let names = types.map(|of| name(&types, of));
            assert_eq!(names, ["__x", "___x"]);
            for (of, oid) in names.iter().zip(1..) {
                assert_eq!(element_of_array_named(of, named(&types)), Some(Oid(oid)));
            }
            assert_eq!(element_of_array_named("_x", named(&types)), None);
            assert_eq!(element_of_array_named("____x", named(&types)), None);
        }
        let types = ["x", "_x", "___x"];
        assert_eq!(types.map(|of| name(&types, of)), ["__x", "____x", "_____x"]);
    }

    #[test]
    fn nothing_but_bars_and_long_names() {
        assert_eq!(array_name("_", named(&["_"])), "__");
        assert_eq!(element_of_array_named("__", named(&["_"])), Some(Oid(1)));
        let long = "n".repeat(NAME_MAX);
        let types = [long.as_str()];
        assert_eq!(array_name(&long, named(&types)), format!("_{long}"));
        assert_eq!(
            element_of_array_named(&format!("_{long}"), named(&types)),
            Some(Oid(1))
        );
        assert_eq!(element_of_array_named(&"_".repeat(1000), named(&types)), None);
    }
}
