//! Storage parameters of indexes: checked as PostgreSQL checks them (reloptions.c), kept, shown, without effect. Rows and
//! entries are not in pages.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{
    AlterTable, AlterTableCommand, DefinitionOption, ObjectKind, OptionValue, QualifiedName,
};
use mote_sql::catalog::index_method::IndexMethod;

use super::{dropping, schema};
use mote_catalog::catalog_store::stored::{StoredIndex, StoredObject};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

fn invalid(message: String) -> SqlError {
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

/// The options as they are kept: `name=value`, in the order in which they were written.
///
/// # Errors
/// 22023 for what an index of the method does not know, for values out of bounds, and for what is said twice.
pub(super) fn read(method: IndexMethod, options: &[DefinitionOption]) -> SqlResult<Vec<String>> {
    let mut kept: Vec<String> = Vec::with_capacity(options.len());
    let mut seen: Vec<&str> = Vec::with_capacity(options.len());
    for option in options {
        if let Some(namespace) = &option.namespace {
            return Err(invalid(format!(
                "unrecognized parameter namespace \"{namespace}\""
            )));
        }
        let name = &*option.name;
        let value = text_of(option)?;
        match (name, method) {
            _ if seen.contains(&name) => {
                return Err(invalid(format!("parameter \"{name}\" specified more than once")));
            }
            ("fillfactor", _) => check_fill_factor(&value)?,
            ("deduplicate_items", IndexMethod::Btree) => check_flag(name, &value)?,
            _ => return Err(invalid(format!("unrecognized parameter \"{name}\""))),
        }
        seen.push(name);
        kept.push(format!("{name}={value}"));
    }
    Ok(kept)
}

fn text_of(option: &DefinitionOption) -> SqlResult<String> {
    Ok(match &option.value {
        Some(OptionValue::Integer(value)) => value.to_string(),
        Some(OptionValue::Number(value) | OptionValue::String(value)) => value.to_string(),
        Some(OptionValue::Boolean(value)) => value.to_string(),
        None => "true".to_owned(),
        Some(_) => return Err(invalid(format!("invalid value for option \"{}\"", option.name))),
    })
}

fn check_fill_factor(value: &str) -> SqlResult<()> {
    let written = value.trim();
    // PostgreSQL rounds a number with a fraction, halves to the even neighbour.
    let number = match written.strip_prefix("0x").or_else(|| written.strip_prefix("0X")) {
        Some(digits) => i32::from_str_radix(digits, 16).ok().map(f64::from),
        None => written.parse().ok(),
    };
    let number = number.filter(|number| number.is_finite()).ok_or_else(|| {
        invalid(format!(
            "invalid value for integer option \"fillfactor\": {value}"
        ))
    })?;
    if (10.0..=100.0).contains(&number.round_ties_even()) {
        return Ok(());
    }
    let error = invalid(format!("value {value} out of bounds for option \"fillfactor\""));
    Err(error.detail("Valid values are between \"10\" and \"100\"."))
}

/// As PostgreSQL reads a boolean: a beginning of a word will do where it is not shared.
fn check_flag(name: &str, value: &str) -> SqlResult<()> {
    let word = value.to_ascii_lowercase();
    let begins = |of: &str, least: usize| word.len() >= least && of.starts_with(&*word);
    let known = begins("true", 1) || begins("false", 1) || begins("yes", 1) || begins("no", 1);
    if known || begins("off", 2) || matches!(&*word, "on" | "1" | "0") {
        return Ok(());
    }
    Err(invalid(format!(
        "invalid value for boolean option \"{name}\": {value}"
    )))
}

/// What a command on storage parameters is called; other commands have no name here.
fn action(command: &AlterTableCommand) -> Option<&'static str> {
    match command {
        AlterTableCommand::SetOptions(_) => Some("SET"),
        AlterTableCommand::ResetOptions(_) => Some("RESET"),
        _ => None,
    }
}

/// Is the statement ALTER INDEX .. SET or RESET, or ALTER TABLE with the same of an index?
pub(super) fn are_changed(alter: &AlterTable, context: &StatementContext<'_>) -> bool {
    let about_options = !alter.commands.is_empty() && alter.commands.iter().all(|one| action(one).is_some());
    about_options
        && match alter.kind {
            ObjectKind::Index => true,
            ObjectKind::Table => dropping::find_index(&name_of(alter), context).is_some(),
            _ => false,
        }
}

fn name_of(alter: &AlterTable) -> QualifiedName {
    let parts = alter.name.schema.iter().chain([&alter.name.name]).cloned();
    QualifiedName {
        parts: parts.collect(),
        location: alter.name.location,
    }
}

/// ALTER INDEX .. SET and RESET, for which ALTER TABLE may be written.
pub(super) fn alter(alter: &AlterTable, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let tag = CommandTag::Word(match alter.kind {
        ObjectKind::Table => "ALTER TABLE",
        _ => "ALTER INDEX",
    });
    let Some((table, index)) = dropping::find_index(&name_of(alter), context) else {
        if let Some(entry) = schema::find_relation(&alter.name, context)? {
            let message = format!("\"{}\" is not an index", entry.stored.name);
            return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
        }
        if alter.if_exists {
            let message = format!("relation \"{}\" does not exist, skipping", alter.name.name);
            schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
            return Ok(tag);
        }
        return Err(schema::undefined_table(&alter.name));
    };
    let lost = || SqlError::internal("the table of an index is in the catalog");
    let entry = context.session.catalog.entry(table).ok_or_else(lost)?;
    schema::require_index_owner(&entry.stored, &alter.name.name, context)?;
    let entry = schema::lock_entry(&entry, TableLockMode::ShareUpdateExclusive, context)?;
    let mut stored = entry
        .ok_or_else(|| schema::undefined_table(&alter.name))?
        .stored
        .clone();
    let is_partitioned = stored.partitioning.is_some();
    let own = stored.indexes.iter_mut().find(|own| Oid(own.oid) == index);
    let own = own.ok_or_else(|| schema::undefined_table(&alter.name))?;
    for command in &alter.commands {
        if let (true, Some(action)) = (is_partitioned, action(command)) {
            return Err(schema::not_of_partitioned_indexes(action, &alter.name.name));
        }
        change(own, command)?;
    }
    write::put(StoredObject::Relation(stored), context)?;
    Ok(tag)
}

fn change(index: &mut StoredIndex, command: &AlterTableCommand) -> SqlResult<()> {
    let of = |name: &str| {
        let beginning = format!("{name}=");
        move |kept: &String| !kept.starts_with(&beginning)
    };
    match command {
        AlterTableCommand::SetOptions(options) => {
            // What is said of a TOAST table may be said of any relation, and means nothing to an index.
            let of_index = |option: &&DefinitionOption| option.namespace.as_deref() != Some("toast");
            let options: Vec<DefinitionOption> = options.iter().filter(of_index).cloned().collect();
            // An option that is set again stands where a new one would.
            let new = read(index.method()?, &options)?;
            for option in &options {
                index.options.retain(of(&option.name));
            }
            index.options.extend(new);
        }
        AlterTableCommand::ResetOptions(options) => {
            for option in options {
                index.options.retain(of(&option.name));
            }
        }
        _ => {}
    }
    Ok(())
}
