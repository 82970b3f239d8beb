//! From the tree of a body to its code: declarations become numbered variables, targets are found, labels checked.
//!
//! Read this file (what a body is compiled for, blocks and declarations), then `statement`. Errors carry positions
//! in the body. With `check` every piece of SQL goes through the grammar, as CREATE FUNCTION and DO want it.

mod statement;

use std::cell::RefCell;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, SqlState};
use mote_grammar::ast::Location;
use mote_grammar::plpgsql::tree;
use mote_grammar::plpgsql::tree::NameConflict;
use mote_sql::catalog::CatalogView;
use mote_types::{ColumnType, RowType, oid};

use crate::code::expression::Expression;
use crate::code::names::{Arena, Entry, LabelKind, Scope};
use crate::code::*;
use crate::conditions;
use crate::trigger;

pub const REFCURSOR: ColumnType = ColumnType::new(oid::REFCURSOR);

/// Variables of one body: their numbers are parameters of statements.
const VARIABLES_MAX: usize = 30_000;

/// What a body is compiled for.
pub struct Source<'a> {
    /// As errors name the function.
    pub signature: Arc<str>,
    /// The function's own name, which qualifies its arguments.
    pub label: Option<&'a str>,
    /// The text that positions count in.
    pub body: &'a str,
    /// All of them, OUT arguments included, in the order of the declaration.
    pub arguments: Vec<Argument>,
    /// The tables that arguments are rows of.
    pub relations: Vec<(Oid, u64)>,
    pub returns: Returns,
    /// RETURN takes no expression there.
    pub procedure: bool,
    /// Set for trigger functions; the row's structure where the table is known.
    pub trigger: Option<Option<Arc<RowType>>>,
}

/// An argument of a routine. INOUT is input and output.
pub struct Argument {
    pub name: String,
    pub kind: VariableKind,
    pub input: bool,
    pub output: bool,
}

/// Compiles a body that has been parsed. Wants a stack that suits the grammar.
pub fn compile(
    source: &Source<'_>,
    body: &tree::Body,
    catalog: &dyn CatalogView,
    check: bool,
) -> SqlResult<Code> {
    let mut compiler = Compiler {
        body: source.body,
        catalog,
        check,
        arena: Arena::default(),
        scope: Scope::NONE,
        variables: Vec::new(),
        returns: source.returns,
        procedure: source.procedure,
        has_outputs: source.arguments.iter().any(|argument| argument.output),
        cases: 0,
        relations: RefCell::new(source.relations.clone()),
        expressions: 0,
    };
    compiler.function(source, body)
}

/// One body on its way to code.
pub(super) struct Compiler<'c> {
    pub body: &'c str,
    catalog: &'c dyn CatalogView,
    /// Parse every piece of SQL at once, for its errors.
    check: bool,
    pub arena: Arena,
    /// What is in sight of the statement that is being compiled. Whoever opens a scope puts the outer one back.
    pub scope: Scope,
    pub variables: Vec<Variable>,
    pub returns: Returns,
    pub procedure: bool,
    pub has_outputs: bool,
    /// CASE statements with an operand so far: each has a variable of its own.
    pub cases: u32,
    // Behind a cell: types are looked up through shared references.
    relations: RefCell<Vec<(Oid, u64)>>,
    /// How many there are so far.
    expressions: usize,
}

impl Compiler<'_> {
    /// The order of variables is part of the code: arguments first, by which `$n` finds them, then FOUND and the
    /// trigger's.
    fn function(&mut self, source: &Source<'_>, body: &tree::Body) -> SqlResult<Code> {
        self.open_scope(source.label, LabelKind::Function);
        let (mut arguments, mut outputs) = (Vec::new(), Vec::new());
        for (position, argument) in source.arguments.iter().enumerate() {
            // `$1` is the name of an argument that has none.
            let name = format!("${}", position + 1);
            let id = self.add_variable(&name, argument.kind.clone())?;
            if !argument.name.is_empty() {
                self.name_variable(&argument.name, id);
                self.variables[id as usize].name.clone_from(&argument.name);
            }
            if argument.input {
                arguments.push(id);
            }
            if argument.output {
                outputs.push(id);
            }
        }
        // In the function's own scope: a block may declare a variable of the same name, which hides it for
        // expressions while statements go on setting this one.
        let found = self.add_named("found", VariableKind::Scalar(ColumnType::BOOL))?;
        let trigger = match &source.trigger {
            Some(row) => Some(self.trigger_variables(row.clone())?),
            None => None,
        };
        let block = self.block(&body.block)?;
        // Without the option a name that is both is an error, as with plpgsql.variable_conflict = error.
        let conflict = body.options.variable_conflict.unwrap_or(NameConflict::Error);
        Ok(Code {
            signature: source.signature.clone(),
            variables: std::mem::take(&mut self.variables).into(),
            arena: Arc::new(std::mem::take(&mut self.arena)),
            conflict,
            print_strict_params: body.options.print_strict_params.unwrap_or(false),
            block,
            arguments,
            outputs,
            found,
            returns: source.returns,
            trigger,
            relations: self.relations.take(),
            expressions: self.expressions,
            spare: Default::default(),
        })
    }

    /// NEW, OLD and the TG_ variables.
    fn trigger_variables(&mut self, row: Option<Arc<RowType>>) -> SqlResult<TriggerVariables> {
        let new = self.add_named("new", VariableKind::Record(row.clone()))?;
        let old = self.add_named("old", VariableKind::Record(row))?;
        let mut others = Vec::new();
        for (name, ty) in trigger::NAMES {
            others.push(self.add_named(name, VariableKind::Scalar(*ty))?);
        }
        Ok(TriggerVariables { new, old, others })
    }

    // Names

    /// Begins a block, a loop or the function: names that follow hide those before.
    pub fn open_scope(&mut self, label: Option<&str>, kind: LabelKind) {
        self.scope = self
            .arena
            .push(self.scope, Entry::Label(label.map(str::to_string), kind));
    }

    /// Adds a variable that no name leads to yet; 54000 at the bound.
    pub fn add_variable(&mut self, name: &str, kind: VariableKind) -> SqlResult<VariableId> {
        if self.variables.len() >= VARIABLES_MAX {
            return Err(SqlError::new(
                state::PROGRAM_LIMIT_EXCEEDED,
                format!("too many variables: the limit is {VARIABLES_MAX}"),
            ));
        }
        let id = self.variables.len() as VariableId;
        self.variables.push(Variable {
            name: name.to_string(),
            kind,
            not_null: false,
            constant: false,
            line: 0,
            default: None,
            cursor: None,
        });
        Ok(id)
    }

    /// Brings a variable into sight under a name; it may have several (ALIAS).
    fn name_variable(&mut self, name: &str, id: VariableId) {
        self.scope = self.arena.push(self.scope, Entry::Variable(name.to_string(), id));
    }

    /// Adds a variable and brings it into sight.
    pub fn add_named(&mut self, name: &str, kind: VariableKind) -> SqlResult<VariableId> {
        let id = self.add_variable(name, kind)?;
        self.name_variable(name, id);
        Ok(id)
    }

    /// The variable that a dotted name means, and how many parts of the name it takes; the rest are fields.
    pub fn find(&self, parts: &[&str]) -> Option<(VariableId, usize)> {
        if let [number] = parts
            && let Some(position) = number
                .strip_prefix('$')
                .and_then(|digits| digits.parse::<usize>().ok())
        {
            let name = format!("${position}");
            let of_arguments = self.variables.iter().enumerate().take(position);
            // Arguments are the first variables, in order.
            let (id, _) = of_arguments
                .last()
                .filter(|(id, variable)| *id + 1 == position || variable.name == name)?;
            return Some((id as VariableId, 1));
        }
        self.arena.find(self.scope, parts)
    }

    /// The 1-based character of a byte of the body.
    pub fn position(&self, start: u32) -> u32 {
        Location(start as i32).position(self.body)
    }

    /// An error that points at a byte of the body.
    pub fn error(&self, code: SqlState, start: u32, message: impl Into<String>) -> SqlError {
        SqlError::new(code, message).at(self.position(start))
    }

    // Expressions

    /// A piece of SQL at this place: it sees what is in sight now. Nothing is planned, and names in it are not looked
    /// up, so that a body may use tables that it creates.
    pub fn expression(&mut self, fragment: &tree::Fragment) -> SqlResult<Expression> {
        let expression = Expression::new(fragment, self.scope, self.expressions);
        self.expressions += 1;
        if self.check {
            expression
                .parse()
                .map_err(|error| self.place_in_body(error, fragment))?;
        }
        Ok(expression)
    }

    /// The position of a grammar's error, moved from the fragment's SQL to the body.
    fn place_in_body(&self, error: SqlError, fragment: &tree::Fragment) -> SqlError {
        let (Some(position), Some(start)) = (error.fields().position, fragment.start) else {
            // A text that was put together has no place in the body.
            return error.moved_to(0);
        };
        let before = self.position(start + fragment.skip);
        let (_, added) = fragment.sql();
        // The grammar counts from 1 in its own text, which begins with the SELECT that was put in front.
        error.moved_to((before + position).saturating_sub(added + 1))
    }

    /// The same for what may be missing.
    pub fn optional(&mut self, fragment: &Option<tree::Fragment>) -> SqlResult<Option<Expression>> {
        fragment
            .as_ref()
            .map(|fragment| self.expression(fragment))
            .transpose()
    }

    pub fn expressions(&mut self, fragments: &[tree::Fragment]) -> SqlResult<Vec<Expression>> {
        fragments
            .iter()
            .map(|fragment| self.expression(fragment))
            .collect()
    }

    // Blocks

    /// A block: declarations in order, each of which sees those before it; then statements and handlers.
    pub fn block(&mut self, block: &tree::Block) -> SqlResult<Block> {
        let outer = self.scope;
        self.open_scope(block.label.as_deref(), LabelKind::Block);
        let mut variables = Vec::new();
        for declaration in &block.declarations {
            self.declaration(declaration, &mut variables)?;
        }
        let statements = self.statements(&block.statements)?;
        // SQLSTATE and SQLERRM come into sight behind the statements: only handlers see them.
        let exceptions = match &block.handlers {
            Some(handlers) => Some(self.exceptions(handlers)?),
            None => None,
        };
        // Variables keep their numbers: other blocks do not take them over.
        self.scope = outer;
        Ok(Block {
            label: block.label.as_deref().map(str::to_string),
            variables,
            statements,
            exceptions,
        })
    }

    /// The EXCEPTION section. Both variables are constant for the body; the run sets them.
    fn exceptions(&mut self, handlers: &[tree::Handler]) -> SqlResult<Exceptions> {
        let text = VariableKind::Scalar(ColumnType::TEXT);
        let state = self.add_named("sqlstate", text.clone())?;
        let message = self.add_named("sqlerrm", text)?;
        for id in [state, message] {
            self.variables[id as usize].constant = true;
        }
        let mut compiled = Vec::new();
        for handler in handlers {
            let mut conditions = Vec::new();
            for condition in &handler.conditions {
                conditions.extend(self.conditions(condition)?);
            }
            let statements = self.statements(&handler.statements)?;
            compiled.push(Handler {
                conditions,
                statements,
            });
        }
        Ok(Exceptions {
            state,
            message,
            handlers: compiled,
        })
    }

    /// What WHEN names: OTHERS, or codes.
    fn conditions(&self, condition: &tree::ConditionName) -> SqlResult<Vec<Condition>> {
        if let tree::ConditionName::Name(name, _) = condition
            && &**name == "others"
        {
            return Ok(vec![Condition::Others]);
        }
        let states = condition_states(condition)?;
        Ok(states.into_iter().map(Condition::State).collect())
    }

    /// Adds what a declaration declares; `block` collects what is initialised at entry.
    fn declaration(&mut self, declaration: &tree::Declaration, block: &mut Vec<VariableId>) -> SqlResult<()> {
        // A name of an outer block may be hidden; twice in one block is an error.
        if self.arena.is_declared_here(self.scope, &declaration.name) {
            let near = format!("duplicate declaration at or near \"{}\"", declaration.name);
            return Err(self.error(state::SYNTAX_ERROR, declaration.start, near));
        }
        match &declaration.kind {
            // Another name for a variable, not another variable: nothing to be initialised.
            tree::DeclarationKind::Alias(path) => {
                let parts: Vec<&str> = path.parts.iter().map(|part| &**part).collect();
                match self.find(&parts) {
                    Some((id, taken)) if taken == parts.len() => self.name_variable(&declaration.name, id),
                    _ => {
                        let message = format!("variable \"{}\" does not exist", parts.join("."));
                        return Err(self.error(state::UNDEFINED_OBJECT, path.start, message));
                    }
                }
                Ok(())
            }
            tree::DeclarationKind::Variable {
                constant,
                ty,
                not_null,
                default,
            } => {
                let kind = self.variable_kind(ty)?;
                // The default does not see the variable.
                let default = self.optional(default)?;
                // Initialisation would fail at every entry: refused here, as PostgreSQL does.
                if let (Some(start), None) = (*not_null, &default) {
                    let message = format!(
                        "variable \"{}\" must have a default value, since it's declared NOT NULL",
                        declaration.name
                    );
                    return Err(self.error(state::NULL_VALUE_NOT_ALLOWED, start, message));
                }
                // Named behind its default and its type, which may mention an outer variable of the same name.
                let id = self.add_named(&declaration.name, kind)?;
                let variable = &mut self.variables[id as usize];
                variable.constant = *constant;
                variable.not_null = not_null.is_some();
                variable.default = default;
                variable.line = declaration.line;
                block.push(id);
                Ok(())
            }
            tree::DeclarationKind::Cursor {
                scroll,
                parameters,
                query,
            } => self.cursor(declaration, *scroll, parameters, query, block),
        }
    }

    /// A bound cursor: a variable of type refcursor with a query, and the variables of its parameters.
    fn cursor(
        &mut self,
        declaration: &tree::Declaration,
        scroll: Option<bool>,
        parameters: &[tree::CursorParameter],
        query: &tree::Fragment,
        block: &mut Vec<VariableId>,
    ) -> SqlResult<()> {
        // The parameters are in sight of the query alone. They need a scope of their own, so that two cursors of a
        // block may use the same names.
        let outer = self.scope;
        self.open_scope(None, LabelKind::Block);
        let mut ids = Vec::new();
        for parameter in parameters {
            let kind = self.variable_kind(&parameter.ty)?;
            ids.push(self.add_named(&parameter.name, kind)?);
        }
        let query = self.expression(query)?;
        self.scope = outer;
        let id = self.add_named(&declaration.name, VariableKind::Scalar(REFCURSOR))?;
        let variable = &mut self.variables[id as usize];
        variable.line = declaration.line;
        variable.cursor = Some(Box::new(CursorDefinition {
            scroll,
            parameters: ids,
            query,
        }));
        block.push(id);
        Ok(())
    }

    // Types

    /// What a type's text declares. `%TYPE`, `%ROWTYPE` and record are the language's own; all else is SQL's.
    pub fn variable_kind(&self, ty: &tree::TypeText) -> SqlResult<VariableKind> {
        let text = ty.text.trim();
        let place = |error: SqlError| error.moved_to(0).at(self.position(ty.start));
        let lower = text.to_ascii_lowercase();
        if lower == "record" {
            return Ok(VariableKind::Record(None));
        }
        if lower == "refcursor" || lower == "pg_catalog.refcursor" {
            return Ok(VariableKind::Scalar(REFCURSOR));
        }
        if let Some(end) = percent_suffix(&lower, "type") {
            let parts = split_path(&text[..end]);
            let names: Vec<&str> = parts.iter().map(String::as_str).collect();
            // A variable comes before a column of a table, as in PostgreSQL's grammar.
            if let Some((id, taken)) = self.find(&names) {
                return self.type_of_variable(id, &names[taken..], ty.start);
            }
            if let Some(column) = self.column_type(&parts) {
                return Ok(self.kind_of_type(column));
            }
        }
        if let Some(end) = percent_suffix(&lower, "rowtype") {
            let parts = split_path(&text[..end]);
            return match self.row_of(&parts) {
                Some(row) => Ok(VariableKind::Record(Some(row))),
                None => {
                    // PostgreSQL knows no place for this error.
                    let message = format!("relation \"{}\" does not exist", parts.join("."));
                    let near = format!("near line {}", self.line_of(ty.start));
                    Err(SqlError::new(state::UNDEFINED_TABLE, message).context(near))
                }
            };
        }
        // `name` may be a composite type, or a table whose row type is meant; both end up as a record of its columns.
        match mote_sql::parse_type_name(text, self.catalog) {
            Ok(ty) => Ok(self.kind_of_type(ty)),
            Err(error) if error.state() == state::UNDEFINED_OBJECT => {
                let row = self.row_of(&split_path(text));
                row.map(|row| VariableKind::Record(Some(row)))
                    .ok_or_else(|| place(error))
            }
            Err(error) => match error.fields().position {
                Some(position) => {
                    let moved = error.moved_to(self.position(ty.start) + position - 1);
                    Err(moved.context(format!("invalid type name \"{text}\"")))
                }
                None if percent_suffix(&lower, "type").is_some() => {
                    let percent = ty.text.find('%').unwrap_or(0) as u32;
                    let message = "syntax error at or near \"%\"";
                    let error = self.error(state::SYNTAX_ERROR, ty.start + percent, message);
                    Err(error.context(format!("invalid type name \"{text}\"")))
                }
                None => Err(place(error)),
            },
        }
    }

    /// A variable of a composite type is a row with the attributes of now: a change of the type makes the body stale.
    fn kind_of_type(&self, ty: ColumnType) -> VariableKind {
        let Some(row) = self.catalog.row_type(ty.oid) else {
            return VariableKind::Scalar(ty);
        };
        self.note_type(ty);
        VariableKind::Record(Some(row))
    }

    /// The body holds as long as the type, and those of its attributes, do not change.
    fn note_type(&self, ty: ColumnType) {
        // An array of rows depends on its element's structure.
        let ty = ty.element().unwrap_or(ty);
        let (Some(row), Some(version)) = (self.catalog.row_type(ty.oid), self.catalog.version_of(ty.oid))
        else {
            return;
        };
        self.relations.borrow_mut().push((ty.oid, version));
        row.types.iter().for_each(|attribute| self.note_type(*attribute));
    }

    /// The line of a byte of the body.
    fn line_of(&self, start: u32) -> usize {
        self.body[..start as usize].matches('\n').count() + 1
    }

    /// `variable%TYPE`, or `record.field%TYPE`.
    fn type_of_variable(&self, id: VariableId, fields: &[&str], start: u32) -> SqlResult<VariableKind> {
        let variable = &self.variables[id as usize];
        match (&variable.kind, fields) {
            (kind, []) => Ok(kind.clone()),
            (VariableKind::Record(Some(row)), [field]) => match crate::code::names::field_of(row, field) {
                Some(position) => Ok(self.kind_of_type(row.types[position])),
                None => Err(crate::code::names::no_field(&variable.name, field).at(self.position(start))),
            },
            _ => Err(self.error(state::SYNTAX_ERROR, start, "%TYPE of a record's field")),
        }
    }

    /// `table.column` behind %TYPE.
    fn column_type(&self, parts: &[String]) -> Option<ColumnType> {
        let (column, table) = parts.split_last()?;
        let row = self.row_of(table)?;
        let position = crate::code::names::field_of(&row, column)?;
        Some(row.types[position])
    }

    /// The structure of a table's rows; the body is stale when the table changes.
    fn row_of(&self, parts: &[String]) -> Option<Arc<RowType>> {
        let relation = match parts {
            [table] => self.catalog.relation_by_name(None, table),
            [schema, table] => self.catalog.relation_by_name(Some(schema), table),
            _ => None,
        };
        let relation = relation?;
        self.relations.borrow_mut().push((relation.oid, relation.version));
        Some(row_type(&relation))
    }

    // Targets

    /// What is assigned to; it must exist and not be constant.
    pub fn target(&mut self, target: &tree::Target) -> SqlResult<Target> {
        let parts: Vec<&str> = target.path.parts.iter().map(|part| &**part).collect();
        let Some((variable, taken)) = self.find(&parts) else {
            let message = format!("\"{}\" is not a known variable", parts.join("."));
            return Err(self.error(state::SYNTAX_ERROR, target.path.start, message));
        };
        self.check_assignable(variable, target.path.start)?;
        let mut steps: Vec<Step> = parts[taken..]
            .iter()
            .map(|field| Step::Field(field.to_string()))
            .collect();
        if !steps.is_empty() && !matches!(self.variables[variable as usize].kind, VariableKind::Record(_)) {
            let message = format!("\"{}\" is not a known variable", parts.join("."));
            return Err(self.error(state::SYNTAX_ERROR, target.path.start, message));
        }
        for subscript in &target.subscripts {
            let subscript = match subscript {
                tree::Subscript::Field(field) => {
                    steps.push(Step::Field(field.to_string()));
                    continue;
                }
                tree::Subscript::Element(place) => Subscript::Element(self.expression(place)?),
                tree::Subscript::Slice(low, high) => {
                    Subscript::Slice(self.optional(low)?, self.optional(high)?)
                }
            };
            match steps.last_mut() {
                Some(Step::Subscripts(list)) => list.push(subscript),
                _ => steps.push(Step::Subscripts(vec![subscript])),
            }
        }
        Ok(Target { variable, steps })
    }

    pub fn targets(&mut self, targets: &[tree::Target]) -> SqlResult<Vec<Target>> {
        targets.iter().map(|target| self.target(target)).collect()
    }

    fn check_assignable(&self, id: VariableId, start: u32) -> SqlResult<()> {
        let variable = &self.variables[id as usize];
        if variable.constant {
            let message = format!("variable \"{}\" is declared CONSTANT", variable.name);
            return Err(self.error(SqlState::new("22005"), start, message));
        }
        Ok(())
    }
}

/// `name%TYPE` and `name%ROWTYPE`: where the name ends.
fn percent_suffix(lower: &str, word: &str) -> Option<usize> {
    let rest = lower.strip_suffix(word)?.trim_end();
    let name = rest.strip_suffix('%')?.trim_end();
    Some(name.len())
}

/// A dotted name as written, folded.
fn split_path(text: &str) -> Vec<String> {
    let parts = text.split('.').map(str::trim);
    let folded = parts.map(
        |part| match part.strip_prefix('"').and_then(|part| part.strip_suffix('"')) {
            Some(quoted) => quoted.replace("\"\"", "\""),
            None => part.to_ascii_lowercase(),
        },
    );
    folded.collect()
}

/// The structure of a relation's rows, without dropped columns.
pub fn row_type(relation: &mote_sql::catalog::Relation) -> Arc<RowType> {
    Arc::new(relation.row_type())
}

/// The codes of a condition in RAISE or EXCEPTION WHEN.
pub fn condition_states(condition: &tree::ConditionName) -> SqlResult<Vec<SqlState>> {
    match condition {
        tree::ConditionName::State(code, _) => Ok(vec![SqlState::new(code)]),
        tree::ConditionName::Name(name, _) => {
            let codes = conditions::codes(name);
            if codes.is_empty() {
                // PostgreSQL knows no place for this error.
                return Err(SqlError::new(
                    state::UNDEFINED_OBJECT,
                    format!("unrecognized exception condition \"{name}\""),
                ));
            }
            Ok(codes)
        }
    }
}
