//! Which names an expression sees: blocks, labels and variables, innermost first.
//!
//! Entries stand in one list for the whole body; each knows the one in sight before it, so that an expression is content
//! with a number: what is declared after it is not in its sight.
//! PostgreSQL: the namespace stack of pl_funcs.c (plpgsql_ns_*), which is a linked list as well.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_grammar::ast::Name;
use mote_grammar::plpgsql::tree::NameConflict;
use mote_sql::bind::{ParameterNames, ParameterReference};
use mote_types::{ColumnType, RowType};
use parking_lot::Mutex;

use super::{Variable, VariableId, VariableKind};

/// A place in the list; what is in sight is reached from here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scope(pub u32);

impl Scope {
    /// Before the first entry. No index reaches it, so that a walk ends there.
    pub const NONE: Scope = Scope(u32::MAX);
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LabelKind {
    Block,
    Loop,
    /// The function itself, and what holds its arguments.
    Function,
}

pub enum Entry {
    Variable(String, VariableId),
    /// Ends a block's variables: further out are those of the blocks around it. Without a name it only ends them.
    Label(Option<String>, LabelKind),
}

/// The list. It only grows: leaving a block sets the compiler's scope back and leaves the entries where they are.
#[derive(Default)]
pub struct Arena {
    entries: Vec<(Scope, Entry)>,
}

impl Arena {
    /// Adds an entry behind which `before` comes into sight; answers with its place.
    pub fn push(&mut self, before: Scope, entry: Entry) -> Scope {
        self.entries.push((before, entry));
        Scope(self.entries.len() as u32 - 1)
    }

    /// From the innermost outwards.
    pub fn in_sight(&self, from: Scope) -> impl Iterator<Item = &Entry> {
        let mut at = from;
        std::iter::from_fn(move || {
            let (before, entry) = self.entries.get(at.0 as usize)?;
            at = *before;
            Some(entry)
        })
    }

    /// The variable that the first parts of a dotted name mean, and how many parts that takes.
    pub fn find(&self, from: Scope, parts: &[&str]) -> Option<(VariableId, usize)> {
        let mut block: Vec<(&str, VariableId)> = Vec::new();
        for entry in self.in_sight(from) {
            match entry {
                // A bare name, or `record.field`: the innermost variable of that name wins, whatever a label further
                // out says.
                Entry::Variable(name, id) => {
                    if name == parts[0] {
                        return Some((*id, 1));
                    }
                    block.push((name, *id));
                }
                // `label.variable`: variables come before the label of their block in this walk, so the block is
                // complete here.
                Entry::Label(label, _) => {
                    if parts.len() > 1
                        && label.as_deref() == Some(parts[0])
                        && let Some((_, id)) = block.iter().find(|(name, _)| *name == parts[1])
                    {
                        return Some((*id, 2));
                    }
                    block.clear();
                }
            }
        }
        None
    }

    /// Whether the innermost block in sight declares this name already.
    pub fn is_declared_here(&self, from: Scope, name: &str) -> bool {
        // Up to the label of the block: an argument may be hidden by a variable of the outermost block.
        let of_block = self
            .in_sight(from)
            .take_while(|entry| matches!(entry, Entry::Variable(..)));
        of_block
            .into_iter()
            .any(|entry| matches!(entry, Entry::Variable(known, _) if known == name))
    }

    /// What a label is attached to, seen from here; None: no such label.
    pub fn label(&self, from: Scope, name: &str) -> Option<LabelKind> {
        self.in_sight(from).find_map(|entry| match entry {
            Entry::Label(Some(label), kind) if label == name => Some(*kind),
            _ => None,
        })
    }

    /// Whether a loop stands around this place, whatever blocks stand between.
    pub fn is_in_loop(&self, from: Scope) -> bool {
        self.in_sight(from)
            .any(|entry| matches!(entry, Entry::Label(_, LabelKind::Loop)))
    }
}

/// The names of one expression, with the structures that row variables had when it was planned. Made for one
/// planning: the binder asks it through `ParameterNames`, and leaves `used` behind.
pub struct Names {
    pub arena: Arc<Arena>,
    pub scope: Scope,
    /// By variable: what each holds at the moment of planning.
    pub types: Vec<ColumnType>,
    pub variables: Arc<[Variable]>,
    /// By variable: None for scalars, and for rows without a structure.
    pub rows: Vec<Option<Arc<RowType>>>,
    /// The variables of `$1`, `$2`, ...
    pub numbered: Vec<VariableId>,
    pub conflict: NameConflict,
    /// Which variables the binder met.
    pub used: Mutex<Vec<VariableId>>,
}

impl Names {
    /// The structure of a row variable; 55000 for a record to which nothing was assigned, as in PostgreSQL.
    fn row(&self, id: VariableId) -> SqlResult<&Arc<RowType>> {
        self.rows[id as usize].as_ref().ok_or_else(|| {
            let name = &self.variables[id as usize].name;
            let message = format!("record \"{name}\" is not assigned yet");
            SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .detail("The tuple structure of a not-yet-assigned record is indeterminate.")
        })
    }

    /// The variable is read: its value goes into the statement's parameters.
    fn note(&self, id: VariableId) {
        let mut used = self.used.lock();
        if !used.contains(&id) {
            used.push(id);
        }
    }

    fn is_row(&self, id: VariableId) -> bool {
        matches!(self.variables[id as usize].kind, VariableKind::Record(_))
    }
}

impl ParameterNames for Names {
    fn types(&self) -> &[ColumnType] {
        &self.types
    }

    fn resolve(&self, parts: &[Name]) -> SqlResult<Option<ParameterReference>> {
        let parts: Vec<&str> = parts.iter().map(|part| &**part).collect();
        let Some((index, taken)) = self.arena.find(self.scope, &parts) else {
            return Ok(None);
        };
        // Only what is a row has fields. `scalar.name` is left to the binder, which may know a column of that name.
        let field = match parts[taken..] {
            [] => None,
            [field] if self.is_row(index) => {
                let row = self.row(index)?;
                match field_of(row, field) {
                    Some(position) => Some((position as u16, row.types[position])),
                    None => return Err(no_field(&self.variables[index as usize].name, field)),
                }
            }
            _ => return Ok(None),
        };
        self.note(index);
        Ok(Some(ParameterReference { index, field }))
    }

    // `$n` is the nth input argument, whatever other variables have numbers below it.
    fn numbered(&self, number: u32) -> Option<u16> {
        let id = *self.numbered.get(number.checked_sub(1)? as usize)?;
        self.note(id);
        Some(id)
    }

    // `record.*`: the fields become columns of the statement one by one.
    fn fields(&self, index: u16) -> SqlResult<Option<Vec<(Name, ColumnType)>>> {
        if !self.is_row(index) {
            return Ok(None);
        }
        let row = self.row(index)?;
        let fields = row.types.iter().enumerate();
        Ok(Some(
            fields
                .map(|(position, ty)| (row.name(position).as_str().into(), *ty))
                .collect(),
        ))
    }

    fn conflict(&self) -> NameConflict {
        self.conflict
    }

    // In the error for a name that is both a variable and a column.
    fn kind(&self) -> &'static str {
        "PL/pgSQL variable"
    }
}

/// The position of a field by its name; the first where several bear it.
pub fn field_of(row: &RowType, name: &str) -> Option<usize> {
    (0..row.types.len()).find(|&position| row.name(position) == name)
}

pub fn no_field(record: &str, field: &str) -> SqlError {
    SqlError::new(
        state::UNDEFINED_COLUMN,
        format!("record \"{record}\" has no field \"{field}\""),
    )
}

/// The parameters of a computed statement: `$1`, `$2`, ... and no names: it sees neither variables nor fields.
pub struct Using {
    pub types: Vec<ColumnType>,
}

impl ParameterNames for Using {
    fn types(&self) -> &[ColumnType] {
        &self.types
    }

    fn resolve(&self, _: &[Name]) -> SqlResult<Option<ParameterReference>> {
        Ok(None)
    }

    // One value per `$n`; what lies beyond is no parameter, which the binder refuses.
    fn numbered(&self, number: u32) -> Option<u16> {
        let index = number.checked_sub(1)?;
        (index < self.types.len() as u32).then_some(index as u16)
    }

    fn fields(&self, _: u16) -> SqlResult<Option<Vec<(Name, ColumnType)>>> {
        Ok(None)
    }

    fn conflict(&self) -> NameConflict {
        NameConflict::Column
    }

    fn kind(&self) -> &'static str {
        "parameter"
    }
}
