//! Statements, one form after the other.

use std::cmp::Ordering;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

use super::scanner::{Scanner, character};
use super::tree::*;
use crate::ast::Name;
use crate::lexer::TokenKind;

/// Words with which a query begins: FOR .. IN what does not is a cursor.
const QUERY_WORDS: &[&str] = &[
    "select", "with", "values", "table", "insert", "update", "delete", "merge", "show", "explain", "fetch",
    "call",
];

impl Scanner<'_> {
    pub(super) fn statement(&mut self) -> SqlResult<Statement> {
        let line = self.line();
        let kind = if self.is_symbol(0, "<<") {
            let label = self.label()?;
            let line = self.line();
            let kind = self.labelled(label)?;
            return Ok(Statement { line, kind });
        } else if self.begins_assignment() {
            self.assignment()?
        } else {
            self.statement_by_keyword()?
        };
        Ok(Statement { line, kind })
    }

    fn labelled(&mut self, label: Option<Name>) -> SqlResult<StatementKind> {
        if self.is("declare") || self.is("begin") {
            let block = self.block(label)?;
            self.expect_semicolon()?;
            return Ok(StatementKind::Block(block));
        }
        if self.is("loop") {
            return self.loop_body(label, LoopKind::Endless);
        }
        if self.take_keyword("while") {
            let condition = self.expression_until("LOOP", |scanner| scanner.is("loop"))?;
            return self.loop_body(label, LoopKind::While(condition));
        }
        if self.take_keyword("for") {
            let kind = self.for_loop()?;
            return self.loop_body(label, kind);
        }
        if self.take_keyword("foreach") {
            let kind = self.foreach()?;
            return self.loop_body(label, kind);
        }
        Err(self.syntax_error())
    }

    /// A name, fields and subscripts, then `:=` or `=`.
    fn begins_assignment(&self) -> bool {
        let mut ahead = match self.kind(0) {
            Some(TokenKind::Parameter | TokenKind::QuotedIdentifier | TokenKind::Identifier) => 1,
            _ => return false,
        };
        let mut open = 0u32;
        loop {
            match self.kind(ahead) {
                _ if open == 0 && self.is_assignment(ahead) => return self.is_name(0) || ahead == 1,
                Some(TokenKind::Dot) if open == 0 && self.is_symbol(ahead, ".") => ahead += 1,
                Some(TokenKind::Open) if open > 0 || self.is_symbol(ahead, "[") => open += 1,
                Some(TokenKind::Close) if open > 0 => open -= 1,
                Some(TokenKind::Semicolon) | None => return false,
                _ if open == 0 => return false,
                _ => {}
            }
            ahead += 1;
        }
    }

    fn assignment(&mut self) -> SqlResult<StatementKind> {
        let start = self.start();
        let target = self.target()?;
        self.at += 1;
        let skip = self.end_of_last() as u32 - start;
        let mut value =
            self.fragment_until(FragmentKind::Assignment, ";", |scanner| scanner.is_symbol(0, ";"))?;
        value.text = self.text[start as usize..self.end_of_last()].into();
        value.skip = skip;
        value.start = Some(start);
        value.kind = FragmentKind::Assignment;
        self.expect_semicolon()?;
        Ok(StatementKind::Assign { target, value })
    }

    fn statement_by_keyword(&mut self) -> SqlResult<StatementKind> {
        let Some(token) = self.token(0).filter(|token| token.kind == TokenKind::Identifier) else {
            return Err(self.syntax_error());
        };
        let word = self.text_of(token).to_ascii_lowercase();
        let start = self.start();
        match word.as_str() {
            "declare" | "begin" | "loop" | "while" | "for" | "foreach" => return self.labelled(None),
            // Statements of SQL: their first word is part of them.
            "call" | "do" => {
                let fragment = self.statement_fragment()?;
                self.expect_semicolon()?;
                return Ok(StatementKind::Call(fragment));
            }
            "if" | "case" | "exit" | "continue" | "return" | "raise" | "assert" | "perform" | "execute"
            | "get" | "open" | "fetch" | "move" | "close" | "null" | "commit" | "rollback" => self.at += 1,
            _ => return self.sql_statement(),
        }
        match word.as_str() {
            "if" => return self.if_statement(),
            "case" => return self.case_statement(),
            _ => {}
        }
        let kind = match word.as_str() {
            "exit" => self.exit(true, start)?,
            "continue" => self.exit(false, start)?,
            "return" => self.return_statement(start)?,
            "raise" => self.raise()?,
            "assert" => self.assert()?,
            "perform" => StatementKind::Perform(self.perform(start)?),
            "execute" => self.execute()?,
            "get" => self.get_diagnostics(start)?,
            "open" => self.open()?,
            "fetch" => self.fetch(true, start)?,
            "move" => self.fetch(false, start)?,
            "close" => StatementKind::Close(self.path()?),
            "null" => StatementKind::Null,
            _ => self.transaction_end(word == "commit")?,
        };
        self.expect_semicolon()?;
        Ok(kind)
    }

    fn exit(&mut self, leaves: bool, mut start: u32) -> SqlResult<StatementKind> {
        if self.is_name(0) {
            start = self.start();
        }
        let label = match self.is_name(0) {
            true => Some(self.name()?),
            false => None,
        };
        let condition = match self.take_keyword("when") {
            true => Some(self.expression()?),
            false => None,
        };
        Ok(StatementKind::Exit {
            leaves,
            label,
            condition,
            start,
        })
    }

    fn return_statement(&mut self, start: u32) -> SqlResult<StatementKind> {
        if self.take_keyword("next") {
            let value = self.optional_expression()?;
            return Ok(StatementKind::ReturnNext { value, start });
        }
        if self.take_keyword("query") {
            let query = match self.take_keyword("execute") {
                true => self.dynamic_query(&[";"], ";")?,
                false => Query::Static(self.statement_fragment()?),
            };
            return Ok(StatementKind::ReturnQuery { query, start });
        }
        let value = self.optional_expression()?;
        Ok(StatementKind::Return { value, start })
    }

    fn optional_expression(&mut self) -> SqlResult<Option<Fragment>> {
        if self.is_symbol(0, ";") {
            return Ok(None);
        }
        self.expression().map(Some)
    }

    /// What follows EXECUTE in queries: text, and USING; the delimiter stays.
    fn dynamic_query(&mut self, symbols: &[&str], expected: &str) -> SqlResult<Query> {
        let ends = |scanner: &Scanner<'_>| {
            symbols.iter().any(|symbol| scanner.is_symbol(0, symbol))
                || (expected == "LOOP" && scanner.is("loop"))
        };
        let text = self.expression_until(expected, |scanner| scanner.is("using") || ends(scanner))?;
        let using = self.using(ends, expected)?;
        Ok(Query::Dynamic { text, using })
    }

    fn using(&mut self, ends: impl Fn(&Scanner<'_>) -> bool, expected: &str) -> SqlResult<Vec<Fragment>> {
        let mut using = Vec::new();
        if self.take_keyword("using") {
            loop {
                let argument =
                    self.expression_until(expected, |scanner| scanner.is_symbol(0, ",") || ends(scanner))?;
                using.push(argument);
                if !self.take_symbol(",") {
                    break;
                }
            }
        }
        Ok(using)
    }

    /// PERFORM runs as the SELECT that it stands for.
    fn perform(&mut self, start: u32) -> SqlResult<Fragment> {
        let mut fragment = self.statement_fragment()?;
        let own = self.text[start as usize + "PERFORM".len()..self.end_of_last()].to_string();
        // One character shorter than PERFORM.
        fragment.text = format!("SELECT{own}").into();
        fragment.start = Some(start + 1);
        Ok(fragment)
    }

    fn assert(&mut self) -> SqlResult<StatementKind> {
        let ends = |scanner: &Scanner<'_>| scanner.is_symbol(0, ",") || scanner.is_symbol(0, ";");
        let condition = self.expression_until(";", ends)?;
        let message = match self.take_symbol(",") {
            true => Some(self.expression()?),
            false => None,
        };
        Ok(StatementKind::Assert { condition, message })
    }

    fn raise(&mut self) -> SqlResult<StatementKind> {
        let mut raise = Raise {
            level: RaiseLevel::Exception,
            again: self.is_symbol(0, ";"),
            condition: None,
            format: None,
            arguments: Vec::new(),
            options: Vec::new(),
        };
        if raise.again {
            return Ok(StatementKind::Raise(raise));
        }
        let levels = [
            ("exception", RaiseLevel::Exception),
            ("warning", RaiseLevel::Warning),
            ("notice", RaiseLevel::Notice),
            ("info", RaiseLevel::Info),
            ("log", RaiseLevel::Log),
            ("debug", RaiseLevel::Debug),
        ];
        if let Some((_, level)) = levels.iter().find(|(word, _)| self.is(word)) {
            raise.level = *level;
            self.at += 1;
        }
        match self.kind(0) {
            Some(TokenKind::String | TokenKind::SpecialString) => {
                let format = self.string()?;
                let ends = |scanner: &Scanner<'_>| {
                    scanner.is_symbol(0, ",") || scanner.is_symbol(0, ";") || scanner.is("using")
                };
                while self.take_symbol(",") {
                    raise.arguments.push(self.expression_until(";", ends)?);
                }
                let line = self.line();
                check_arguments(&format, raise.arguments.len())
                    .map_err(|error| error.context(format!("near line {line}")))?;
                raise.format = Some(format.into());
            }
            _ if self.is("using") => {}
            _ => raise.condition = Some(self.condition_name()?),
        }
        if self.take_keyword("using") {
            self.raise_options(&mut raise)?;
        }
        Ok(StatementKind::Raise(raise))
    }

    fn raise_options(&mut self, raise: &mut Raise) -> SqlResult<()> {
        let names = [
            ("errcode", RaiseOption::ErrorCode),
            ("message", RaiseOption::Message),
            ("detail", RaiseOption::Detail),
            ("hint", RaiseOption::Hint),
            ("column", RaiseOption::Column),
            ("constraint", RaiseOption::Constraint),
            ("datatype", RaiseOption::DataType),
            ("table", RaiseOption::Table),
            ("schema", RaiseOption::Schema),
        ];
        loop {
            let Some((_, option)) = names.iter().find(|(word, _)| self.is(word)) else {
                return Err(self.near_error("unrecognized RAISE statement option"));
            };
            self.at += 1;
            if !self.is_assignment(0) {
                return Err(self.near_error("syntax error, expected \"=\""));
            }
            self.at += 1;
            let ends = |scanner: &Scanner<'_>| scanner.is_symbol(0, ",") || scanner.is_symbol(0, ";");
            raise.options.push((*option, self.expression_until(";", ends)?));
            if !self.take_symbol(",") {
                return Ok(());
            }
        }
    }

    fn execute(&mut self) -> SqlResult<StatementKind> {
        let ends =
            |scanner: &Scanner<'_>| scanner.is("into") || scanner.is("using") || scanner.is_symbol(0, ";");
        let query = self.expression_until("INTO, USING, or ;", ends)?;
        let (mut into, mut using) = (None, Vec::new());
        loop {
            if into.is_none() && self.take_keyword("into") {
                into = Some(self.into_targets()?);
            } else if using.is_empty() && self.is("using") {
                using = self.using(
                    |scanner| scanner.is("into") || scanner.is_symbol(0, ";"),
                    ", or ;",
                )?;
            } else if self.is_symbol(0, ";") {
                return Ok(StatementKind::Execute { query, using, into });
            } else {
                return Err(self.syntax_error());
            }
        }
    }

    /// Behind INTO.
    fn into_targets(&mut self) -> SqlResult<Into> {
        let strict = self.take_keyword("strict");
        let targets = self.targets()?;
        Ok(Into { strict, targets })
    }

    /// A statement of SQL: up to its semicolon, INTO taken out.
    fn sql_statement(&mut self) -> SqlResult<StatementKind> {
        let (first, start) = (self.at, self.start() as usize);
        let mut into: Option<(Into, usize, usize)> = None;
        let mut open = 0usize;
        loop {
            let Some(token) = self.token(0) else {
                return Err(self.near_error("unexpected end of function definition"));
            };
            match token.kind {
                TokenKind::Open => open += 1,
                TokenKind::Close => open = open.saturating_sub(1),
                TokenKind::Semicolon if open == 0 => break,
                TokenKind::Semicolon => return Err(self.near_error("mismatched parentheses")),
                _ if self.is("into") && self.at > first && !self.follows_insert() => {
                    if into.is_some() {
                        return Err(self.near_error("INTO specified more than once"));
                    }
                    let from = token.start;
                    self.at += 1;
                    let targets = self.into_targets()?;
                    into = Some((targets, from, self.end_of_last()));
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
        let mut query = self.fragment_from(first, FragmentKind::Statement);
        self.expect_semicolon()?;
        let into = into.map(|(into, from, to)| {
            // Blanks keep the places of what follows.
            let blanks = " ".repeat(self.text[from..to].chars().count());
            query.text = format!(
                "{}{blanks}{}",
                &query.text[..from - start],
                &query.text[to - start..]
            )
            .into();
            query.text = query.text.trim_end().into();
            into
        });
        Ok(StatementKind::Sql { query, into })
    }

    /// INSERT INTO and MERGE INTO are not SELECT .. INTO.
    fn follows_insert(&self) -> bool {
        let before = self.text_before();
        ["insert", "merge"]
            .iter()
            .any(|word| before.eq_ignore_ascii_case(word))
    }

    fn get_diagnostics(&mut self, start: u32) -> SqlResult<StatementKind> {
        let stacked = self.take_keyword("stacked");
        if !stacked {
            self.take_keyword("current");
        }
        self.expect_keyword("diagnostics")?;
        let mut items = Vec::new();
        loop {
            let target = self.target()?;
            if !self.is_assignment(0) {
                return Err(self.syntax_error());
            }
            self.at += 1;
            items.push((target, self.diagnostics_item(stacked, start)?));
            if !self.take_symbol(",") {
                return Ok(StatementKind::GetDiagnostics { stacked, items });
            }
        }
    }

    fn diagnostics_item(&mut self, stacked: bool, start: u32) -> SqlResult<DiagnosticsItem> {
        use DiagnosticsItem::*;
        let items = [
            ("row_count", RowCount, false),
            ("pg_context", Context, false),
            ("pg_exception_detail", ExceptionDetail, true),
            ("pg_exception_hint", ExceptionHint, true),
            ("pg_exception_context", ExceptionContext, true),
            ("column_name", ColumnName, true),
            ("constraint_name", ConstraintName, true),
            ("pg_datatype_name", DataTypeName, true),
            ("message_text", MessageText, true),
            ("table_name", TableName, true),
            ("schema_name", SchemaName, true),
            ("returned_sqlstate", ReturnedState, true),
        ];
        let Some((word, item, of_stacked)) = items.iter().find(|(word, ..)| self.is(word)) else {
            return Err(self.near_error("unrecognized GET DIAGNOSTICS item"));
        };
        if *of_stacked != stacked {
            let message = format!(
                "diagnostics item {} is not allowed in GET {} DIAGNOSTICS",
                word.to_ascii_uppercase(),
                if stacked { "STACKED" } else { "CURRENT" }
            );
            return Err(self.error_at(start, message));
        }
        self.at += 1;
        Ok(*item)
    }

    fn open(&mut self) -> SqlResult<StatementKind> {
        let cursor = self.path()?;
        let scroll = self.scroll();
        let how = if self.take_keyword("for") {
            let query = match self.take_keyword("execute") {
                true => self.dynamic_query(&[";"], "USING or ;")?,
                false => Query::Static(self.statement_fragment()?),
            };
            Open::Query { scroll, query }
        } else {
            Open::Bound(self.arguments()?)
        };
        Ok(StatementKind::Open { cursor, how })
    }

    /// `(..)` as one fragment; None where there are no parentheses.
    fn arguments(&mut self) -> SqlResult<Option<Fragment>> {
        if !self.take_symbol("(") {
            return Ok(None);
        }
        let fragment = self.expression_until(")", |scanner| scanner.is_symbol(0, ")"))?;
        self.expect_symbol(")")?;
        Ok(Some(fragment))
    }

    fn fetch(&mut self, fetches: bool, start: u32) -> SqlResult<StatementKind> {
        let direction = self.direction(fetches, start)?;
        if !self.take_keyword("from") {
            self.take_keyword("in");
        }
        let cursor = self.path()?;
        let into = match fetches {
            true => {
                self.expect_keyword("into")?;
                Some(Into {
                    strict: false,
                    targets: self.targets()?,
                })
            }
            false => None,
        };
        Ok(StatementKind::Fetch {
            cursor,
            direction,
            into,
        })
    }

    fn direction(&mut self, fetches: bool, start: u32) -> SqlResult<Direction> {
        let one = Direction::Forward(Count::One);
        // A lone name is the cursor's, also when it is called NEXT.
        let alone = self.is_name(0) && (self.is_at(1, "into") || self.is_symbol(1, ";"));
        if alone {
            return Ok(one);
        }
        let direction = if self.take_keyword("next") {
            one
        } else if self.take_keyword("prior") {
            Direction::Backward(Count::One)
        } else if self.take_keyword("first") {
            Direction::First
        } else if self.take_keyword("last") {
            Direction::Last
        } else if self.take_keyword("absolute") {
            Direction::Absolute(self.count_before_from()?)
        } else if self.take_keyword("relative") {
            Direction::Relative(self.count_before_from()?)
        } else if self.take_keyword("all") {
            Direction::Forward(Count::All)
        } else if self.take_keyword("forward") {
            Direction::Forward(self.count()?)
        } else if self.take_keyword("backward") {
            Direction::Backward(self.count()?)
        } else if self.is_any(&["from", "in"]) || self.is_name(0) {
            one
        } else {
            Direction::Forward(Count::Computed(self.count_before_from()?))
        };
        let many = matches!(
            direction,
            Direction::Forward(Count::All | Count::Computed(_))
                | Direction::Backward(Count::All | Count::Computed(_))
        );
        if fetches && many {
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "FETCH statement cannot return multiple rows",
            )
            .at(character(self.text, start)));
        }
        Ok(direction)
    }

    fn count(&mut self) -> SqlResult<Count> {
        if self.take_keyword("all") {
            return Ok(Count::All);
        }
        if self.is_any(&["from", "in"])
            || (self.is_name(0) && self.is_symbol(1, ";"))
            || self.is_at(1, "into")
        {
            return Ok(Count::One);
        }
        self.count_before_from().map(Count::Computed)
    }

    fn count_before_from(&mut self) -> SqlResult<Fragment> {
        self.expression_until("FROM", |scanner| scanner.is_any(&["from", "in"]))
    }

    fn transaction_end(&mut self, commit: bool) -> SqlResult<StatementKind> {
        let mut chain = false;
        if self.take_keyword("and") {
            chain = !self.take_keyword("no");
            self.expect_keyword("chain")?;
        }
        Ok(StatementKind::Transaction { commit, chain })
    }

    /// Behind FOR, up to LOOP.
    fn for_loop(&mut self) -> SqlResult<LoopKind> {
        let start = self.start();
        let targets = self.targets()?;
        self.expect_keyword("in")?;
        if self.take_keyword("execute") {
            let query = self.dynamic_query(&[], "LOOP")?;
            return Ok(LoopKind::Query { targets, query });
        }
        if let Some(kind) = self.cursor_loop(&targets)? {
            return Ok(kind);
        }
        let reverse = self.is("reverse");
        let is_integer = self.has_range();
        if !is_integer {
            if reverse {
                return Err(self.error_here("cannot specify REVERSE in query FOR loop"));
            }
            let query = self.fragment_until(FragmentKind::Statement, "LOOP", |scanner| scanner.is("loop"))?;
            let query = Query::Static(query);
            return Ok(LoopKind::Query { targets, query });
        }
        self.at += usize::from(reverse);
        let [Target { path, subscripts, .. }] = &targets[..] else {
            return Err(self.error_at(start, "integer FOR loop must have only one target variable"));
        };
        if path.parts.len() != 1 || !subscripts.is_empty() {
            return Err(self.error_at(start, "integer FOR loop must have only one target variable"));
        }
        let variable = path.parts[0].clone();
        let low = self.expression_until("..", |scanner| scanner.is_symbol(0, ".."))?;
        self.at += 1;
        let high = self.expression_until("LOOP", |scanner| scanner.is("loop") || scanner.is("by"))?;
        let step = match self.take_keyword("by") {
            true => Some(self.expression_until("LOOP", |scanner| scanner.is("loop"))?),
            false => None,
        };
        Ok(LoopKind::Integer {
            variable,
            reverse,
            low,
            high,
            step,
        })
    }

    /// FOR row IN cursor[(arguments)] LOOP.
    fn cursor_loop(&mut self, targets: &[Target]) -> SqlResult<Option<LoopKind>> {
        if !self.is_name(0) || self.is_any(QUERY_WORDS) {
            return Ok(None);
        }
        let mut ahead = 1;
        while self.is_symbol(ahead, ".") {
            ahead += 2;
        }
        let called = self.is_symbol(ahead, "(") && !self.has_range();
        if !called && !self.is_at(ahead, "loop") {
            return Ok(None);
        }
        let cursor = self.path()?;
        let arguments = self.arguments()?;
        if !self.is("loop") {
            return Err(self.syntax_error());
        }
        let [Target { path, subscripts, .. }] = targets else {
            return Err(self.error_here("cursor FOR loop must have only one target variable"));
        };
        if path.parts.len() != 1 || !subscripts.is_empty() {
            return Err(self.error_here("cursor FOR loop must have only one target variable"));
        }
        let variable = path.parts[0].clone();
        Ok(Some(LoopKind::Cursor {
            variable,
            cursor,
            arguments,
        }))
    }

    /// Whether `..` stands before LOOP.
    fn has_range(&self) -> bool {
        let (mut ahead, mut open) = (0, 0usize);
        while let Some(kind) = self.kind(ahead) {
            match kind {
                TokenKind::Open => open += 1,
                TokenKind::Close => open = open.saturating_sub(1),
                TokenKind::Dot if open == 0 && self.is_symbol(ahead, "..") => return true,
                TokenKind::Semicolon => return false,
                _ if open == 0 && self.is_at(ahead, "loop") => return false,
                _ => {}
            }
            ahead += 1;
        }
        false
    }

    fn foreach(&mut self) -> SqlResult<LoopKind> {
        let targets = self.targets()?;
        let mut slice = 0;
        if self.take_keyword("slice") {
            let token = self.token(0).filter(|token| token.kind == TokenKind::Integer);
            let number = token.and_then(|token| self.text_of(token).parse().ok());
            slice = number.ok_or_else(|| self.syntax_error())?;
            self.at += 1;
        }
        self.expect_keyword("in")?;
        self.expect_keyword("array")?;
        let array = self.expression_until("LOOP", |scanner| scanner.is("loop"))?;
        Ok(LoopKind::Array {
            targets,
            slice,
            array,
        })
    }
}

/// Every % of the format takes an argument. PostgreSQL knows no place for this error.
fn check_arguments(format: &str, given: usize) -> SqlResult<()> {
    let wanted = format.replace("%%", "").matches('%').count();
    let amount = match wanted.cmp(&given) {
        Ordering::Equal => return Ok(()),
        Ordering::Greater => "few",
        Ordering::Less => "many",
    };
    let message = format!("too {amount} parameters specified for RAISE");
    Err(SqlError::new(state::SYNTAX_ERROR, message))
}
