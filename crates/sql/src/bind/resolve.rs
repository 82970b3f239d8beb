//! The choice of an operator or function among those of one name: PostgreSQL's rules, in its order.
//!
//! 1. An exact match wins (for operators an unknown operand is first taken for the type of the other one).
//! 2. Else candidates that every argument converts to implicitly; fewer mismatches are better.
//! 3. Then candidates with preferred types where a conversion is needed.
//! 4. Then unknown arguments are given a category, string first, and a preferred type in it.
//! 5. Then unknown arguments are taken for the type that all known ones share.
//!
//! Leaves out: what polymorphic types stand for (`polymorphic`), building the call (`call`, `compare`).

use mote_common::Oid;
use mote_types::catalog::extension::{is_extension_type, of_extension};
use mote_types::catalog::{category, category_of, is_preferred};
use mote_types::oid;

use super::coerce::implicitly_coercible;
use super::polymorphic::polymorphic_fits;
use crate::builtin::operator::{Operator, exact_operator, operators_named};
use crate::catalog::CatalogView;

/// What came of a search among candidates.
pub(super) enum Choice<T> {
    One(T),
    None,
    Ambiguous,
}

/// Picks the best of candidates that are all applicable; `declared` gives a candidate's parameter types.
pub(super) fn select_candidate<T: Copy>(
    mut candidates: Vec<T>,
    inputs: &[Oid],
    declared: &dyn Fn(T, usize) -> Oid,
    catalog: &dyn CatalogView,
) -> Choice<T> {
    match candidates.as_slice() {
        [] => return Choice::None,
        [one] => return Choice::One(*one),
        _ => {}
    }
    let known = |position: usize| inputs[position] != oid::UNKNOWN;
    let exact = |candidate: T| {
        (0..inputs.len())
            .filter(|&p| known(p) && declared(candidate, p) == inputs[p])
            .count()
    };
    keep_best(&mut candidates, &exact);
    if let [one] = candidates.as_slice() {
        return Choice::One(*one);
    }
    let preferred = |candidate: T| {
        let good = |&p: &usize| {
            let ty = declared(candidate, p);
            known(p) && (ty == inputs[p] || (is_preferred(ty) && category_of(ty) == category_of(inputs[p])))
        };
        (0..inputs.len()).filter(good).count()
    };
    keep_best(&mut candidates, &preferred);
    if let [one] = candidates.as_slice() {
        return Choice::One(*one);
    }
    if (0..inputs.len()).all(known) {
        return Choice::Ambiguous;
    }
    if resolve_unknowns(&mut candidates, inputs, declared)
        && let [one] = candidates.as_slice()
    {
        return Choice::One(*one);
    }
    // All known arguments of one type: the unknown ones are taken for it too.
    let mut of_known = (0..inputs.len()).filter(|&p| known(p)).map(|p| inputs[p]);
    if let Some(first) = of_known.next()
        && of_known.all(|ty| ty == first)
    {
        let all = vec![first; inputs.len()];
        let fits = |candidate: &T| {
            let wanted: Vec<Oid> = (0..inputs.len()).map(|p| declared(*candidate, p)).collect();
            let all_fit = wanted
                .iter()
                .all(|want| implicitly_coercible(first, *want, catalog));
            all_fit && polymorphic_fits(&wanted, &all)
        };
        let mut fitting = candidates.iter().copied().filter(fits);
        if let (Some(one), None) = (fitting.next(), fitting.next()) {
            return Choice::One(one);
        }
    }
    Choice::Ambiguous
}

fn keep_best<T: Copy>(candidates: &mut Vec<T>, score: &dyn Fn(T) -> usize) {
    let best = candidates
        .iter()
        .map(|candidate| score(*candidate))
        .max()
        .unwrap_or(0);
    candidates.retain(|candidate| score(*candidate) == best);
}

/// Gives each unknown argument a category. False if that is not possible.
fn resolve_unknowns<T: Copy>(
    candidates: &mut Vec<T>,
    inputs: &[Oid],
    declared: &dyn Fn(T, usize) -> Oid,
) -> bool {
    let mut wanted: Vec<Option<(u8, bool)>> = vec![None; inputs.len()];
    for position in (0..inputs.len()).filter(|&p| inputs[p] == oid::UNKNOWN) {
        let categories: Vec<u8> = candidates
            .iter()
            .map(|c| category_of(declared(*c, position)))
            .collect();
        let chosen = if categories.contains(&category::STRING) {
            category::STRING
        } else if categories.iter().all(|found| *found == categories[0]) {
            categories[0]
        } else {
            return false;
        };
        let has_preferred = candidates.iter().any(|c| {
            let ty = declared(*c, position);
            category_of(ty) == chosen && is_preferred(ty)
        });
        wanted[position] = Some((chosen, has_preferred));
    }
    let accepts = |candidate: &T| {
        wanted.iter().enumerate().all(|(position, want)| match want {
            None => true,
            Some((chosen, has_preferred)) => {
                let ty = declared(*candidate, position);
                category_of(ty) == *chosen && (!has_preferred || is_preferred(ty))
            }
        })
    };
    if candidates.iter().any(accepts) {
        candidates.retain(|candidate| accepts(candidate));
    }
    true
}

/// The operator for these operand types; `left` is zero for prefix operators.
pub(super) fn choose_operator(
    name: &str,
    left: Oid,
    right: Oid,
    catalog: &dyn CatalogView,
) -> Choice<&'static Operator> {
    if let Some(exact) = exact_operator(name, left, right) {
        return Choice::One(exact);
    }
    if left != Oid::INVALID {
        let guess = match (left == oid::UNKNOWN, right == oid::UNKNOWN) {
            (true, false) => right,
            (false, true) => left,
            _ => Oid::INVALID,
        };
        if guess != Oid::INVALID
            && let Some(exact) = exact_operator(name, guess, guess)
        {
            return Choice::One(exact);
        }
    }
    let inputs: &[Oid] = if left == Oid::INVALID {
        &[right]
    } else {
        &[left, right]
    };
    let declared = |operator: &'static Operator, position: usize| {
        if position + 1 == inputs.len() {
            operator.right
        } else {
            operator.left
        }
    };
    // Those of an extension are for values of its types: where there are none there may be no extension.
    let extended = inputs.iter().any(|input| is_extension_type(*input));
    let applicable = operators_named(name).filter(|operator| {
        (extended || of_extension([operator.left, operator.right]).is_none())
            && (operator.left == Oid::INVALID) == (left == Oid::INVALID)
            && (0..inputs.len()).all(|p| implicitly_coercible(inputs[p], declared(operator, p), catalog))
            && polymorphic_fits(&[operator.left, operator.right], &[left, right])
    });
    select_candidate(applicable.collect(), inputs, &declared, catalog)
}
