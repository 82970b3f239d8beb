//! Statements of the tree to statements of the code.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_grammar::lexer::{Lexer, Token, TokenKind};
use mote_grammar::plpgsql::tree;
use mote_grammar::plpgsql::tree::FragmentKind;
use mote_types::ColumnType;

use super::{Compiler, REFCURSOR, condition_states};
use crate::code::names::LabelKind;
use crate::code::*;

impl Compiler<'_> {
    /// A list of statements, in the scope that is open.
    pub fn statements(&mut self, statements: &[tree::Statement]) -> SqlResult<Vec<Statement>> {
        let mut compiled = Vec::with_capacity(statements.len());
        for statement in statements {
            let line = statement.line;
            let kind = self
                .statement(&statement.kind)
                .map_err(|error| at_line(error, line))?;
            compiled.push(Statement { line, kind });
        }
        Ok(compiled)
    }

    /// One statement. What PostgreSQL's grammar (pl_gram.y) refuses is refused here in its words.
    fn statement(&mut self, statement: &tree::StatementKind) -> SqlResult<StatementKind> {
        use tree::StatementKind as Tree;
        Ok(match statement {
            Tree::Block(block) => StatementKind::Block(self.block(block)?),
            Tree::Assign { target, value } => StatementKind::Assign {
                target: self.target(target)?,
                value: self.expression(value)?,
            },
            Tree::If { branches, otherwise } => {
                let mut compiled = Vec::with_capacity(branches.len());
                for (condition, statements) in branches {
                    compiled.push((self.expression(condition)?, self.statements(statements)?));
                }
                StatementKind::If {
                    branches: compiled,
                    otherwise: self.statements(otherwise)?,
                }
            }
            Tree::Case {
                operand,
                branches,
                otherwise,
            } => self.case(operand.as_ref(), branches, otherwise.as_deref())?,
            Tree::Loop(body) => StatementKind::Loop(self.loop_statement(body)?),
            Tree::Exit {
                leaves,
                label,
                condition,
                start,
            } => {
                self.check_exit(*leaves, label.as_deref(), *start)?;
                StatementKind::Exit {
                    leaves: *leaves,
                    label: label.as_deref().map(str::to_string),
                    condition: self.optional(condition)?,
                }
            }
            Tree::Return { value, start } => self.return_statement(value.as_ref(), *start)?,
            Tree::ReturnNext { value, start } => self.return_next(value.as_ref(), *start)?,
            // What a function returns is known to the compiler alone: the parser accepts every form.
            Tree::ReturnQuery { query, start } => {
                if !self.returns.is_set() {
                    let message = "cannot use RETURN QUERY in a non-SETOF function";
                    return Err(self.error(state::DATATYPE_MISMATCH, *start, message));
                }
                StatementKind::ReturnQuery(self.query(query)?)
            }
            Tree::Raise(raise) => self.raise(raise)?,
            Tree::Assert { condition, message } => StatementKind::Assert {
                condition: self.expression(condition)?,
                message: self.optional(message)?,
            },
            Tree::Sql { query, into } => StatementKind::Sql {
                query: self.expression(query)?,
                into: self.into(into.as_ref())?,
            },
            Tree::Perform(query) => StatementKind::Perform(self.expression(query)?),
            Tree::Call(call) => StatementKind::Call(self.expression(call)?),
            Tree::Execute { query, using, into } => StatementKind::Execute {
                query: self.expression(query)?,
                using: self.expressions(using)?,
                into: self.into(into.as_ref())?,
            },
            Tree::GetDiagnostics { stacked, items } => {
                let mut compiled = Vec::with_capacity(items.len());
                for (target, item) in items {
                    compiled.push((self.target(target)?, *item));
                }
                StatementKind::GetDiagnostics {
                    stacked: *stacked,
                    items: compiled,
                }
            }
            Tree::Open { cursor, how } => self.open(cursor, how)?,
            Tree::Fetch {
                cursor,
                direction,
                into,
            } => StatementKind::Fetch {
                cursor: self.cursor_variable(cursor)?,
                direction: self.direction(direction)?,
                into: self.into(into.as_ref())?,
            },
            Tree::Close(cursor) => StatementKind::Close(self.cursor_variable(cursor)?),
            Tree::Null => StatementKind::Null,
            Tree::Transaction { commit, chain } => StatementKind::Transaction {
                commit: *commit,
                chain: *chain,
            },
        })
    }

    /// The targets of INTO.
    fn into(&mut self, into: Option<&tree::Into>) -> SqlResult<Option<Destination>> {
        let Some(into) = into else {
            return Ok(None);
        };
        let targets = self.targets(&into.targets)?;
        self.check_row_targets(&targets, &into.targets)?;
        Ok(Some(Destination {
            strict: into.strict,
            targets,
        }))
    }

    /// A row variable takes a whole row: nothing may stand beside it.
    fn check_row_targets(&self, targets: &[Target], written: &[tree::Target]) -> SqlResult<()> {
        let is_row = |target: &Target| {
            target.steps.is_empty()
                && matches!(
                    self.variables[target.variable as usize].kind,
                    VariableKind::Record(_)
                )
        };
        match targets.iter().position(is_row) {
            Some(place) if targets.len() > 1 => {
                let message = format!("\"{}\" is not a scalar variable", written[place].text);
                Err(self.error(state::SYNTAX_ERROR, written[place].path.start, message))
            }
            _ => Ok(()),
        }
    }

    fn query(&mut self, query: &tree::Query) -> SqlResult<Query> {
        Ok(match query {
            tree::Query::Static(query) => Query::Static(self.expression(query)?),
            tree::Query::Dynamic { text, using } => Query::Dynamic {
                text: self.expression(text)?,
                using: self.expressions(using)?,
            },
        })
    }

    /// CASE with an operand compares a variable of its own with each list of values.
    fn case(
        &mut self,
        operand: Option<&tree::Fragment>,
        branches: &[tree::CaseBranch],
        otherwise: Option<&[tree::Statement]>,
    ) -> SqlResult<StatementKind> {
        let outer = self.scope;
        let mut compared = None;
        if let Some(operand) = operand {
            let operand = self.expression(operand)?;
            self.cases += 1;
            // PostgreSQL's name for it, which no text of a user writes by chance.
            let name = format!("__Case__Variable_{}__", self.cases);
            // In sight of the conditions and, harmlessly, of the statements.
            let id = self.add_named(&name, VariableKind::Scalar(ColumnType::UNKNOWN))?;
            compared = Some((id, operand, name));
        }
        let mut compiled = Vec::with_capacity(branches.len());
        for branch in branches {
            let condition = match &compared {
                None => self.expression(&branch.condition)?,
                Some((_, _, name)) => {
                    // Looked at by itself first, so that errors point at it.
                    self.expression(&branch.condition)?;
                    self.expression(&tree::Fragment {
                        text: format!("\"{name}\" IN ({})", branch.condition.text).into(),
                        skip: 0,
                        start: None,
                        kind: FragmentKind::Expression,
                    })?
                }
            };
            compiled.push((condition, self.statements(&branch.statements)?));
        }
        let otherwise = otherwise
            .map(|statements| self.statements(statements))
            .transpose()?;
        self.scope = outer;
        Ok(StatementKind::Case {
            operand: compared.map(|(id, operand, _)| (id, operand)),
            branches: compiled,
            otherwise,
        })
    }

    /// A loop. Its scope, with its variable, ends with it.
    fn loop_statement(&mut self, body: &tree::Loop) -> SqlResult<Loop> {
        let outer = self.scope;
        let kind = self.loop_kind(&body.kind, body.label.as_deref())?;
        let statements = self.statements(&body.statements)?;
        self.scope = outer;
        Ok(Loop {
            label: body.label.as_deref().map(str::to_string),
            kind,
            statements,
        })
    }

    /// Opens the loop's scope: with its variable, after its bounds are read.
    fn loop_kind(&mut self, kind: &tree::LoopKind, label: Option<&str>) -> SqlResult<LoopKind> {
        use tree::LoopKind as Tree;
        Ok(match kind {
            Tree::Endless => {
                self.open_scope(label, LabelKind::Loop);
                LoopKind::Endless
            }
            Tree::While(condition) => {
                self.open_scope(label, LabelKind::Loop);
                // The condition stands inside of the loop's scope, which has no variable: it only sees the label.
                LoopKind::While(self.expression(condition)?)
            }
            Tree::Integer {
                variable,
                reverse,
                low,
                high,
                step,
            } => {
                // Ahead of the variable, which they do not see: an outer one of the same name is meant.
                let (low, high, step) = (
                    self.expression(low)?,
                    self.expression(high)?,
                    self.optional(step)?,
                );
                self.open_scope(label, LabelKind::Loop);
                LoopKind::Integer {
                    variable: self.add_named(variable, VariableKind::Scalar(ColumnType::INT4))?,
                    reverse: *reverse,
                    low,
                    high,
                    step,
                }
            }
            Tree::Query { targets, query } => {
                // The targets exist already: FOR over rows declares no variable.
                let compiled = self
                    .targets(targets)
                    .map_err(|error| loop_target(error, self, targets))?;
                self.check_row_targets(&compiled, targets)?;
                let query = self.query(query)?;
                self.open_scope(label, LabelKind::Loop);
                LoopKind::Query {
                    targets: compiled,
                    query,
                }
            }
            Tree::Cursor {
                variable,
                cursor,
                arguments,
            } => {
                let start = cursor.start;
                let id = self.cursor_variable(cursor)?;
                let Some(definition) = &self.variables[id as usize].cursor else {
                    let message = "cursor FOR loop must use a bound cursor variable";
                    return Err(self.error(state::SYNTAX_ERROR, start, message));
                };
                self.check_cursor_arguments(id, definition.parameters.len(), arguments.is_some(), start)?;
                let arguments = self.cursor_arguments(id, arguments.as_ref())?;
                self.open_scope(label, LabelKind::Loop);
                LoopKind::Cursor {
                    // FOR over a cursor declares its record, which hides an outer variable of the name.
                    row: self.add_named(variable, VariableKind::Record(None))?,
                    cursor: id,
                    arguments,
                }
            }
            Tree::Array {
                targets,
                slice,
                array,
            } => {
                let targets = self.targets(targets)?;
                let array = self.expression(array)?;
                self.open_scope(label, LabelKind::Loop);
                LoopKind::Array {
                    targets,
                    slice: *slice,
                    array,
                }
            }
        })
    }

    /// EXIT and CONTINUE need a loop, or a label around them; CONTINUE's is a loop's.
    fn check_exit(&self, leaves: bool, label: Option<&str>, start: u32) -> SqlResult<()> {
        match label {
            Some(label) => match self.arena.label(self.scope, label) {
                // The function's name labels its arguments; it is nothing to leave.
                None | Some(LabelKind::Function) => {
                    let message = format!(
                        "there is no label \"{label}\" attached to any block or loop enclosing this statement"
                    );
                    Err(self.error(state::SYNTAX_ERROR, start, message))
                }
                Some(LabelKind::Block) if !leaves => {
                    let message = format!("block label \"{label}\" cannot be used in CONTINUE");
                    Err(self.error(state::SYNTAX_ERROR, start, message))
                }
                Some(_) => Ok(()),
            },
            None if self.arena.is_in_loop(self.scope) => Ok(()),
            None => {
                let message = match leaves {
                    true => "EXIT cannot be used outside a loop, unless it has a label",
                    false => "CONTINUE cannot be used outside a loop",
                };
                Err(self.error(state::SYNTAX_ERROR, start, message))
            }
        }
    }

    /// RETURN with an expression, or without, where the kind of the result allows it (make_return_stmt of pl_gram.y).
    fn return_statement(&mut self, value: Option<&tree::Fragment>, start: u32) -> SqlResult<StatementKind> {
        // At the expression, if there is one.
        let start = value.and_then(|value| value.start).unwrap_or(start);
        let refuse = |this: &Self, message: &str| Err(this.error(state::DATATYPE_MISMATCH, start, message));
        match (self.returns, value) {
            (Returns::Rows | Returns::Values(_), Some(_)) => {
                let error = refuse(self, "RETURN cannot have a parameter in function returning set");
                return error.map_err(|error: SqlError| error.hint("Use RETURN NEXT or RETURN QUERY."));
            }
            (_, Some(_)) if self.has_outputs && !self.procedure => {
                return refuse(
                    self,
                    "RETURN cannot have a parameter in function with OUT parameters",
                );
            }
            (_, Some(_)) if self.procedure => {
                return Err(self.error(
                    state::SYNTAX_ERROR,
                    start,
                    "RETURN cannot have a parameter in a procedure",
                ));
            }
            (Returns::Nothing, Some(_)) => {
                return refuse(self, "RETURN cannot have a parameter in function returning void");
            }
            (Returns::Value(_) | Returns::Row | Returns::Trigger, None) if !self.has_outputs => {
                // Where the expression is missing: at the semicolon.
                let end = start + "RETURN".len() as u32;
                let gap = self.body[end as usize..].find(';').unwrap_or(0) as u32;
                return Err(self.error(
                    state::SYNTAX_ERROR,
                    end + gap,
                    "missing expression at or near \";\"",
                ));
            }
            _ => {}
        }
        let value = value.map(|value| self.expression(value)).transpose()?;
        Ok(StatementKind::Return(value))
    }

    /// RETURN NEXT, by the same rules.
    fn return_next(&mut self, value: Option<&tree::Fragment>, start: u32) -> SqlResult<StatementKind> {
        if !self.returns.is_set() {
            let message = "cannot use RETURN NEXT in a non-SETOF function";
            return Err(self.error(state::DATATYPE_MISMATCH, start, message));
        }
        match value {
            Some(value) if self.has_outputs => {
                let message = "RETURN NEXT cannot have a parameter in function with OUT parameters";
                Err(self.error(state::DATATYPE_MISMATCH, value.start.unwrap_or(start), message))
            }
            None if !self.has_outputs => Err(self.error(state::SYNTAX_ERROR, start, "missing expression")),
            _ => {
                let value = value.map(|value| self.expression(value)).transpose()?;
                Ok(StatementKind::ReturnNext(value))
            }
        }
    }

    /// RAISE. A condition must be known now; of a name with several codes the first one is raised.
    fn raise(&mut self, raise: &tree::Raise) -> SqlResult<StatementKind> {
        let state = match &raise.condition {
            Some(condition) => condition_states(condition)?.first().copied(),
            None => None,
        };
        let mut options = Vec::with_capacity(raise.options.len());
        for (option, value) in &raise.options {
            options.push((*option, self.expression(value)?));
        }
        Ok(StatementKind::Raise(Raise {
            level: raise.level,
            again: raise.again,
            state,
            condition: raise.condition.as_ref().map(|condition| match condition {
                tree::ConditionName::Name(name, _) => name.to_string(),
                tree::ConditionName::State(code, _) => code.to_string(),
            }),
            format: raise.format.as_deref().map(str::to_string),
            arguments: self.expressions(&raise.arguments)?,
            options,
        }))
    }

    // Cursors

    /// A variable of type refcursor, bound or not; the whole name must be the variable's.
    fn cursor_variable(&mut self, path: &tree::Path) -> SqlResult<VariableId> {
        let parts: Vec<&str> = path.parts.iter().map(|part| &**part).collect();
        match self.find(&parts) {
            Some((id, taken)) if taken == parts.len() => {
                let variable = &self.variables[id as usize];
                match &variable.kind {
                    VariableKind::Scalar(REFCURSOR) => Ok(id),
                    VariableKind::Scalar(_) => {
                        let message = format!(
                            "variable \"{}\" must be of type cursor or refcursor",
                            variable.name
                        );
                        Err(self.error(state::DATATYPE_MISMATCH, path.start, message))
                    }
                    VariableKind::Record(_) => {
                        let message = "cursor variable must be a simple variable";
                        Err(self.error(state::DATATYPE_MISMATCH, path.start, message))
                    }
                }
            }
            _ => {
                let message = format!("\"{}\" is not a known variable", parts.join("."));
                Err(self.error(state::SYNTAX_ERROR, path.start, message))
            }
        }
    }

    /// Arguments must be there if and only if the cursor has parameters.
    fn check_cursor_arguments(
        &self,
        id: VariableId,
        wanted: usize,
        given: bool,
        start: u32,
    ) -> SqlResult<()> {
        // At what follows the name.
        let name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '"');
        let start = start + self.body[start as usize..].find(|c| !name(c)).unwrap_or(0) as u32;
        let name = &self.variables[id as usize].name;
        let message = match (wanted > 0, given) {
            (true, false) => format!("cursor \"{name}\" has arguments"),
            (false, true) => format!("cursor \"{name}\" has no arguments"),
            _ => return Ok(()),
        };
        Err(self.error(state::SYNTAX_ERROR, start, message))
    }

    /// The arguments of a bound cursor in the order of its parameters; those with a name are put in their place.
    fn cursor_arguments(
        &mut self,
        id: VariableId,
        arguments: Option<&tree::Fragment>,
    ) -> SqlResult<Option<crate::code::expression::Expression>> {
        let (Some(fragment), Some(definition)) = (arguments, &self.variables[id as usize].cursor) else {
            return Ok(None);
        };
        let start = fragment.start.unwrap_or(0);
        let end = start + fragment.text.len() as u32;
        let cursor = self.variables[id as usize].name.clone();
        let name_of = |&id: &VariableId| self.variables[id as usize].name.clone();
        let names: Vec<String> = definition.parameters.iter().map(name_of).collect();
        let mut places: Vec<Option<&str>> = vec![None; names.len()];
        let refuse = |message: String| Err(self.error(state::SYNTAX_ERROR, end, message));
        for (number, (name, value)) in split_arguments(&fragment.text).into_iter().enumerate() {
            let place = match name {
                None => number,
                Some(name) => match names.iter().position(|known| *known == name) {
                    Some(place) => place,
                    None => return refuse(format!("cursor \"{cursor}\" has no argument named \"{name}\"")),
                },
            };
            match places.get_mut(place) {
                None => {
                    // At the comma in front.
                    let offset = value.as_ptr() as usize - fragment.text.as_ptr() as usize;
                    let comma = fragment.text[..offset].rfind(',').unwrap_or(0) as u32;
                    let message = format!("too many arguments for cursor \"{cursor}\"");
                    return Err(self.error(state::SYNTAX_ERROR, start + comma, message));
                }
                Some(Some(_)) => {
                    return refuse(format!(
                        "value for parameter \"{}\" of cursor \"{cursor}\" specified more than once",
                        names[place]
                    ));
                }
                Some(free) => *free = Some(value),
            }
        }
        if places.iter().any(Option::is_none) {
            return refuse(format!("not enough arguments for cursor \"{cursor}\""));
        }
        let text: Vec<&str> = places.into_iter().flatten().collect();
        let text = text.join(", ");
        // Reordered or named, the text is not the body's any more: its errors have no place there.
        let start = (*text == *fragment.text).then_some(start);
        let fragment = tree::Fragment {
            text: text.into(),
            skip: 0,
            start,
            kind: FragmentKind::Expression,
        };
        self.expression(&fragment).map(Some)
    }

    /// OPEN: a bound cursor takes arguments, any other a query.
    fn open(&mut self, cursor: &tree::Path, how: &tree::Open) -> SqlResult<StatementKind> {
        let id = self.cursor_variable(cursor)?;
        let how = match how {
            tree::Open::Bound(arguments) => {
                let Some(definition) = &self.variables[id as usize].cursor else {
                    // The error of PostgreSQL's parser, which wants FOR there.
                    let near = self.body[cursor.start as usize..].find(';').unwrap_or(0) as u32;
                    let place = cursor.start + near;
                    let message = "syntax error, expected \"FOR\" at or near \";\"";
                    return Err(self.error(state::SYNTAX_ERROR, place, message));
                };
                self.check_cursor_arguments(
                    id,
                    definition.parameters.len(),
                    arguments.is_some(),
                    cursor.start,
                )?;
                Open::Bound(self.cursor_arguments(id, arguments.as_ref())?)
            }
            tree::Open::Query { scroll, query } => {
                if self.variables[id as usize].cursor.is_some() {
                    return Err(self.error(
                        state::SYNTAX_ERROR,
                        cursor.start,
                        "syntax error at or near \"FOR\"",
                    ));
                }
                Open::Query {
                    scroll: *scroll,
                    query: self.query(query)?,
                }
            }
        };
        Ok(StatementKind::Open { cursor: id, how })
    }

    /// The same with its expressions compiled.
    fn direction(&mut self, direction: &tree::Direction) -> SqlResult<Direction> {
        let mut count = |count: &tree::Count| -> SqlResult<Count> {
            Ok(match count {
                tree::Count::One => Count::One,
                tree::Count::All => Count::All,
                tree::Count::Computed(count) => Count::Computed(self.expression(count)?),
            })
        };
        Ok(match direction {
            tree::Direction::Forward(number) => Direction::Forward(count(number)?),
            tree::Direction::Backward(number) => Direction::Backward(count(number)?),
            tree::Direction::Absolute(place) => Direction::Absolute(self.expression(place)?),
            tree::Direction::Relative(place) => Direction::Relative(self.expression(place)?),
            tree::Direction::First => Direction::First,
            tree::Direction::Last => Direction::Last,
        })
    }
}

/// PostgreSQL has words of its own for loops over what is no variable.
fn loop_target(error: SqlError, compiler: &Compiler<'_>, targets: &[tree::Target]) -> SqlError {
    if !error.message().ends_with("is not a known variable") {
        return error;
    }
    let message = "loop variable of loop over rows must be a record variable or list of scalar variables";
    compiler.error(state::SYNTAX_ERROR, targets[0].path.start, message)
}

/// Errors without a place tell the line of the statement in their context.
fn at_line(error: SqlError, line: u32) -> SqlError {
    match error.fields().position.is_some() || error.fields().context.is_some() {
        true => error,
        false => error.context(format!("near line {line}")),
    }
}

/// `a, name := b`: the names that are given, and the texts between the commas outside of brackets.
fn split_arguments(text: &str) -> Vec<(Option<String>, &str)> {
    let mut lexer = Lexer::new(text);
    let (mut arguments, mut open, mut start) = (Vec::new(), 0i32, 0);
    let mut tokens = Vec::new();
    // Commas in brackets and strings are no separators: the lexer knows both. An error of the lexer ends the walk;
    // the grammar will meet it again.
    while let Some(Ok(token)) = lexer.next_token() {
        match token.kind {
            TokenKind::Open => open += 1,
            TokenKind::Close => open -= 1,
            TokenKind::Comma if open == 0 => {
                arguments.push(argument(text, start, token.start, &tokens));
                tokens.clear();
                start = token.end;
                continue;
            }
            _ => {}
        }
        tokens.push(token);
    }
    arguments.push(argument(text, start, text.len(), &tokens));
    arguments
}

/// One argument between two commas: its name, folded, if it has one, and the text of its value.
fn argument<'t>(text: &'t str, start: usize, end: usize, tokens: &[Token]) -> (Option<String>, &'t str) {
    if let [name, sign, ..] = tokens
        && name.kind == TokenKind::Identifier
        && matches!(sign.text(text), ":=" | "=>")
    {
        return (
            Some(name.text(text).to_ascii_lowercase()),
            text[sign.end..end].trim(),
        );
    }
    (None, text[start..end].trim())
}
