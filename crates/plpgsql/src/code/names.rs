//! Which names an expression sees: blocks, labels and variables, innermost first.
//!
//! Entries stand in one list for the whole body; each knows the one in sight before it, so that an expression is content
//! with a number: what is declared after it is not in its sight.

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

#[derive(Default)]
pub struct Arena {
    entries: Vec<(Scope, Entry)>,
}

impl Arena {
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
                Entry::Variable(name, id) => {
                    if name == parts[0] {
                        return Some((*id, 1));
                    }
                    block.push((name, *id));
                }
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
        let of_block = self
            .in_sight(from)
            .take_while(|entry| matches!(entry, Entry::Variable(..)));
        of_block
            .into_iter()
            .any(|entry| matches!(entry, Entry::Variable(known, _) if known == name))
    }

    pub fn label(&self, from: Scope, name: &str) -> Option<LabelKind> {
        self.in_sight(from).find_map(|entry| match entry {
            Entry::Label(Some(label), kind) if label == name => Some(*kind),
            _ => None,
        })
    }

    pub fn is_in_loop(&self, from: Scope) -> bool {
        self.in_sight(from)
            .any(|entry| matches!(entry, Entry::Label(_, LabelKind::Loop)))
    }
}

/// The names of one expression, with the structures that row variables had when it was planned.
pub struct Names {
    pub arena: Arc<Arena>,
    pub scope: Scope,
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
    fn row(&self, id: VariableId) -> SqlResult<&Arc<RowType>> {
        self.rows[id as usize].as_ref().ok_or_else(|| {
            let name = &self.variables[id as usize].name;
            let message = format!("record \"{name}\" is not assigned yet");
            SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .detail("The tuple structure of a not-yet-assigned record is indeterminate.")
        })
    }

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

    fn numbered(&self, number: u32) -> Option<u16> {
        let id = *self.numbered.get(number.checked_sub(1)? as usize)?;
        self.note(id);
        Some(id)
    }

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

    fn kind(&self) -> &'static str {
        "PL/pgSQL variable"
    }
}

pub fn field_of(row: &RowType, name: &str) -> Option<usize> {
    (0..row.types.len()).find(|&position| row.name(position) == name)
}

pub fn no_field(record: &str, field: &str) -> SqlError {
    SqlError::new(
        state::UNDEFINED_COLUMN,
        format!("record \"{record}\" has no field \"{field}\""),
    )
}

/// The parameters of a computed statement: `$1`, `$2`, ... and no names.
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
