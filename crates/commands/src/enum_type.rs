//! Enums: CREATE TYPE .. AS ENUM, ALTER TYPE .. ADD VALUE and RENAME VALUE.
//!
//! A value's key is what rows and indexes hold. It is chosen between the keys of its neighbors when the value is added and
//! never changes, so that neither a new value nor a new label touches a row. `sort_order` is what pg_enum shows, chosen
//! as PostgreSQL does.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::{AlterEnum, CreateEnum, EnumChange, EnumPlace};
use mote_types::catalog::range::{is_multirange, is_range};
use mote_types::catalog::user::enum_oid;

use super::{schema, user_type};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::stored::{StoredLabel, StoredObject, StoredUserType};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

impl Command for CreateEnum {
    fn name(&self) -> &'static str {
        "CREATE TYPE"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        create(self, context)
    }
}

impl Command for AlterEnum {
    fn name(&self) -> &'static str {
        "ALTER TYPE"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        alter(self, context)
    }
}

/// Between the keys of two values that were made next to each other: forty may be added at the same place.
const KEY_GAP: i64 = 1 << 40;
/// As PostgreSQL's NAMEDATALEN has it.
const LABEL_BYTES_MAX: usize = 63;

/// CREATE TYPE .. AS ENUM. The keys leave gaps for values to come.
pub(super) fn create(create: &CreateEnum, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let name = schema::relation_name(&create.name);
    let (schema_oid, _) = schema::schema_for_creation(&name, context)?;
    user_type::claim_name(schema_oid, &name.name, context)?;
    let mut ty = user_type::new_type(enum_oid, schema_oid, &name.name, context)?;
    let store = context.session.catalog.store();
    for (position, label) in create.labels.iter().enumerate() {
        check_label(label)?;
        if ty.labels.iter().any(|known| *known.label == **label) {
            return Err(duplicate(Oid(ty.oid), label));
        }
        ty.labels.push(StoredLabel {
            oid: store.allocate_oid().0,
            key: (position as i64 + 1) * KEY_GAP,
            label: label.to_string(),
            sort_order: (position + 1) as f32,
            added: false,
        });
    }
    write::put(StoredObject::Type(ty), context)?;
    Ok(CommandTag::Word("CREATE TYPE"))
}

fn is_any_range(ty: Oid) -> bool {
    is_range(ty) || is_multirange(ty)
}

/// In PostgreSQL 15 the index of pg_enum complains.
fn duplicate(ty: Oid, label: &str) -> SqlError {
    SqlError::new(
        state::UNIQUE_VIOLATION,
        "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"",
    )
    .detail(format!(
        "Key (enumtypid, enumlabel)=({ty}, {label}) already exists."
    ))
}

/// 42602 for a label that is longer than a name.
fn check_label(label: &str) -> SqlResult<()> {
    if label.len() <= LABEL_BYTES_MAX {
        return Ok(());
    }
    Err(
        SqlError::new(state::INVALID_NAME, format!("invalid enum label \"{label}\""))
            .detail(format!("Labels must be {LABEL_BYTES_MAX} bytes or less.")),
    )
}

/// ALTER TYPE .. ADD VALUE and RENAME VALUE.
pub(super) fn alter(alter: &AlterEnum, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let mut ty = user_type::to_change(&alter.name, context)?;
    // Enums, domains and composite types are kept alike.
    if ty.domain.is_some() || ty.attributes.is_some() || is_any_range(Oid(ty.oid)) {
        let message = format!("{} is not an enum", mote_types::format_type(Oid(ty.oid), -1));
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
    }
    match &alter.change {
        EnumChange::Add {
            label,
            if_not_exists,
            place,
        } => {
            check_label(label)?;
            if ty.labels.iter().any(|known| *known.label == **label) {
                let message = format!("enum label \"{label}\" already exists");
                if !if_not_exists {
                    return Err(SqlError::new(state::DUPLICATE_OBJECT, message));
                }
                schema::notice(state::DUPLICATE_OBJECT, format!("{message}, skipping"), context);
            } else {
                let oid = context.session.catalog.store().allocate_oid();
                add(&mut ty.labels, label, place.as_ref(), oid)?;
                write::put(StoredObject::Type(ty), context)?;
            }
        }
        EnumChange::Rename { old, new } => {
            check_label(new)?;
            rename(&mut ty, old, new, context)?;
            write::put(StoredObject::Type(ty), context)?;
        }
    }
    Ok(CommandTag::Word("ALTER TYPE"))
}

/// 22023 for a neighbor or an old label that is not there.
fn missing(label: &str) -> SqlError {
    SqlError::new(
        state::INVALID_PARAMETER_VALUE,
        format!("\"{label}\" is not an existing enum label"),
    )
}

/// Adds a value at the end, or before or behind a neighbor.
fn add(labels: &mut Vec<StoredLabel>, label: &str, place: Option<&EnumPlace>, oid: Oid) -> SqlResult<()> {
    let at = match place {
        None => labels.len(),
        Some(place) => {
            let neighbor = labels.iter().position(|known| *known.label == *place.neighbor);
            neighbor.ok_or_else(|| missing(&place.neighbor))? + usize::from(place.after)
        }
    };
    let new = StoredLabel {
        oid: oid.0,
        key: key_at(labels, at)?,
        label: label.to_string(),
        sort_order: 0.0,
        // A value of a type that is older than the transaction cannot be used before the commit, as in PostgreSQL.
        added: true,
    };
    let sort_order = match sort_order_at(labels, at) {
        Some(order) => order,
        // Nothing lies between two floats any more: all are numbered anew, as PostgreSQL's RenumberEnumType does.
        None => {
            for (position, label) in labels.iter_mut().enumerate() {
                label.sort_order = (position + 1) as f32;
            }
            at as f32 + 0.5
        }
    };
    labels.insert(at, StoredLabel { sort_order, ..new });
    Ok(())
}

/// A key that sorts behind the first `at` values and before the others.
fn key_at(labels: &[StoredLabel], at: usize) -> SqlResult<i64> {
    let before = at.checked_sub(1).map(|before| &labels[before]);
    let key = match (before, labels.get(at)) {
        (None, None) => Some(KEY_GAP),
        (Some(last), None) => last.key.checked_add(KEY_GAP),
        (None, Some(first)) => first.key.checked_sub(KEY_GAP),
        (Some(before), Some(after)) => {
            // Halving the gap: forty times at the same place.
            let middle = before.key + (after.key - before.key) / 2;
            (middle > before.key).then_some(middle)
        }
    };
    key.ok_or_else(|| {
        let message = "too many values were added at the same place of an enum";
        SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message)
    })
}

/// As PostgreSQL chooses it; `None` where single precision has nothing between the neighbors.
fn sort_order_at(labels: &[StoredLabel], at: usize) -> Option<f32> {
    let before = at.checked_sub(1).map(|before| labels[before].sort_order);
    let order = match (before, labels.get(at).map(|after| after.sort_order)) {
        (None, None) => 1.0,
        (Some(last), None) => last + 1.0,
        (None, Some(first)) => first - 1.0,
        (Some(before), Some(after)) => (before + after) / 2.0,
    };
    let taken = labels.iter().any(|label| label.sort_order == order);
    (!taken).then_some(order)
}

/// Another label for a value. Rows hold its key, and follow.
fn rename(
    ty: &mut StoredUserType,
    old: &str,
    new: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let at = ty.labels.iter().position(|known| known.label == old);
    let at = at.ok_or_else(|| missing(old))?;
    if ty.labels.iter().any(|known| known.label == new) {
        let message = format!("enum label \"{new}\" already exists");
        return Err(SqlError::new(state::DUPLICATE_OBJECT, message));
    }
    user_type::refuse_users_of_value(ty, &ty.labels[at], context)?;
    ty.labels[at].label = new.to_string();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(name: &str, key: i64, sort_order: f32) -> StoredLabel {
        StoredLabel {
            oid: 1,
            key,
            label: name.to_string(),
            sort_order,
            added: false,
        }
    }

    #[test]
    fn values_go_between_their_neighbors_until_there_is_no_room() {
        let mut labels = vec![label("a", KEY_GAP, 1.0), label("z", 2 * KEY_GAP, 2.0)];
        let before = EnumPlace {
            neighbor: "z".into(),
            after: false,
        };
        for number in 0..40 {
            add(&mut labels, &format!("v{number}"), Some(&before), Oid(1)).expect("there is room");
            assert!(labels.is_sorted_by(|a, b| a.key < b.key));
            assert!(labels.is_sorted_by(|a, b| a.sort_order < b.sort_order));
        }
        let refused = add(&mut labels, "one more", Some(&before), Oid(1)).expect_err("no room");
        assert_eq!(refused.state().as_str(), "54000");
        add(&mut labels, "last", None, Oid(1)).expect("there is room at the end");
        let first = EnumPlace {
            neighbor: "a".into(),
            after: false,
        };
        add(&mut labels, "first", Some(&first), Oid(1)).expect("there is room at the beginning");
        assert_eq!(labels[0].label, "first");
        assert_eq!(labels.last().expect("not empty").label, "last");
    }
}
