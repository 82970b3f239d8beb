//! Blocks, declarations and control: by recursive descent over the tokens.

use mote_common::SqlResult;

use super::DEPTH_MAX;
use super::scanner::Scanner;
use super::tree::*;
use crate::ast::Name;
use crate::lexer::TokenKind;
use crate::plpgsql::tree::NameConflict;

/// Parses a body. Errors carry positions in `text`, in characters.
pub fn parse(text: &str) -> SqlResult<Body> {
    let mut scanner = Scanner::new(text)?;
    let options = scanner.options()?;
    let label = scanner.label()?;
    let block = scanner.block(label)?;
    scanner.take_symbol(";");
    match scanner.token(0) {
        None => Ok(Body { options, block }),
        Some(_) => Err(scanner.syntax_error()),
    }
}

impl Scanner<'_> {
    fn options(&mut self) -> SqlResult<Options> {
        let mut options = Options::default();
        while self.is_symbol(0, "#") {
            self.at += 1;
            if self.take_keyword("variable_conflict") {
                let rule = match () {
                    () if self.take_keyword("error") => NameConflict::Error,
                    () if self.take_keyword("use_variable") => NameConflict::Variable,
                    () if self.take_keyword("use_column") => NameConflict::Column,
                    () => return Err(self.syntax_error()),
                };
                options.variable_conflict = Some(rule);
            } else if self.take_keyword("print_strict_params") {
                options.print_strict_params = Some(match () {
                    () if self.take_keyword("on") => true,
                    () if self.take_keyword("off") => false,
                    () => return Err(self.syntax_error()),
                });
            } else if self.take_keyword("option") {
                self.expect_keyword("dump")?;
            } else {
                return Err(self.syntax_error());
            }
        }
        Ok(options)
    }

    /// `<<name>>`, if there is one.
    pub(super) fn label(&mut self) -> SqlResult<Option<Name>> {
        if !self.take_symbol("<<") {
            return Ok(None);
        }
        let name = self.name()?;
        self.expect_symbol(">>")?;
        Ok(Some(name))
    }

    /// From DECLARE or BEGIN to the label behind END; the semicolon stays.
    pub(super) fn block(&mut self, label: Option<Name>) -> SqlResult<Block> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(crate::parser::too_deep());
        }
        let mut declarations = Vec::new();
        if self.take_keyword("declare") {
            while !self.is("begin") {
                if self.take_keyword("declare") {
                    continue;
                }
                if self.is_symbol(0, "<<") {
                    return Err(self.error_here("block label must be placed before DECLARE, not after"));
                }
                declarations.push(self.declaration()?);
            }
        }
        let line = self.line();
        self.expect_keyword("begin")?;
        let statements = self.statements()?;
        let handlers = match self.is("exception") {
            true => Some(self.handlers()?),
            false => None,
        };
        self.expect_keyword("end")?;
        self.end_label(label.as_ref())?;
        self.depth -= 1;
        Ok(Block {
            line,
            label,
            declarations,
            statements,
            handlers,
        })
    }

    /// The label that END may repeat.
    fn end_label(&mut self, label: Option<&Name>) -> SqlResult<()> {
        if !self.is_name(0) {
            return Ok(());
        }
        let start = self.start();
        let found = self.name()?;
        match label {
            None => {
                let message = format!("end label \"{found}\" specified for unlabeled block");
                Err(self.error_at(start, message))
            }
            Some(label) if *label != found => {
                let message = format!("end label \"{found}\" differs from block's label \"{label}\"");
                Err(self.error_at(start, message))
            }
            Some(_) => Ok(()),
        }
    }

    fn handlers(&mut self) -> SqlResult<Vec<Handler>> {
        self.expect_keyword("exception")?;
        let mut handlers = Vec::new();
        while self.is("when") {
            let line = self.line();
            self.at += 1;
            let mut conditions = vec![self.condition_name()?];
            while self.take_keyword("or") {
                conditions.push(self.condition_name()?);
            }
            self.expect_keyword("then")?;
            let statements = self.statements()?;
            handlers.push(Handler {
                line,
                conditions,
                statements,
            });
        }
        match handlers.is_empty() {
            true => Err(self.syntax_error()),
            false => Ok(handlers),
        }
    }

    pub(super) fn condition_name(&mut self) -> SqlResult<ConditionName> {
        let start = self.start();
        if self.is("sqlstate") && matches!(self.kind(1), Some(TokenKind::String)) {
            self.at += 1;
            let code = self.string()?;
            let valid = code.len() == 5 && code.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
            if !valid {
                self.at -= 1;
                return Err(self.near_error("invalid SQLSTATE code"));
            }
            return Ok(ConditionName::State(code.into(), start));
        }
        Ok(ConditionName::Name(self.name()?, start))
    }

    fn declaration(&mut self) -> SqlResult<Declaration> {
        let (line, start) = (self.line(), self.start());
        let name = self.name()?;
        let kind = if self.take_keyword("alias") {
            self.expect_keyword("for")?;
            DeclarationKind::Alias(self.path()?)
        } else if self.is_cursor_declaration() {
            self.cursor_declaration()?
        } else {
            self.variable_declaration()?
        };
        self.expect_semicolon()?;
        Ok(Declaration {
            line,
            start,
            name,
            kind,
        })
    }

    fn is_cursor_declaration(&self) -> bool {
        self.is("cursor") || self.is("scroll") || (self.is("no") && self.is_at(1, "scroll"))
    }

    pub(super) fn scroll(&mut self) -> Option<bool> {
        if self.is("no") && self.is_at(1, "scroll") {
            self.at += 2;
            return Some(false);
        }
        self.take_keyword("scroll").then_some(true)
    }

    fn cursor_declaration(&mut self) -> SqlResult<DeclarationKind> {
        let scroll = self.scroll();
        self.expect_keyword("cursor")?;
        let mut parameters = Vec::new();
        if self.take_symbol("(") {
            loop {
                let name = self.name()?;
                let ty = self.type_until(|scanner| scanner.is_symbol(0, ",") || scanner.is_symbol(0, ")"))?;
                parameters.push(CursorParameter { name, ty });
                if !self.take_symbol(",") {
                    break;
                }
            }
            self.expect_symbol(")")?;
        }
        if !self.take_keyword("is") {
            self.expect_keyword("for")?;
        }
        let query = self.statement_fragment()?;
        Ok(DeclarationKind::Cursor {
            scroll,
            parameters,
            query,
        })
    }

    fn variable_declaration(&mut self) -> SqlResult<DeclarationKind> {
        let constant = self.take_keyword("constant");
        let ty = self.type_until(|scanner| {
            scanner.is_any(&["not", "default", "collate"])
                || scanner.is_assignment(0)
                || scanner.is_symbol(0, ";")
        })?;
        if self.is("collate") {
            return Err(mote_common::SqlError::unsupported("COLLATE of a variable"));
        }
        let start = self.start();
        let not_null = self.take_keyword("not").then_some(start);
        if not_null.is_some() {
            self.expect_keyword("null")?;
        }
        let default = if self.take_keyword("default") || self.take_symbol(":=") || self.take_symbol("=") {
            Some(self.expression_until(";", |scanner| scanner.is_symbol(0, ";"))?)
        } else {
            None
        };
        Ok(DeclarationKind::Variable {
            constant,
            ty,
            not_null,
            default,
        })
    }

    fn type_until(&mut self, ends: impl Fn(&Scanner<'_>) -> bool) -> SqlResult<TypeText> {
        let (first, start) = (self.at, self.start());
        let mut open = 0u32;
        while let Some(kind) = self.kind(0) {
            if open == 0 && ends(self) {
                break;
            }
            match kind {
                TokenKind::Open => open += 1,
                TokenKind::Close if open == 0 => return Err(self.near_error("mismatched parentheses")),
                TokenKind::Close => open -= 1,
                TokenKind::Semicolon => return Err(self.near_error("incomplete data type declaration")),
                _ => {}
            }
            self.at += 1;
        }
        if self.token(0).is_none() {
            return Err(self.syntax_error());
        }
        if self.at == first {
            return Err(self.near_error("missing data type declaration"));
        }
        let text = self.text[start as usize..self.end_of_last()].into();
        Ok(TypeText { text, start })
    }

    pub(super) fn path(&mut self) -> SqlResult<Path> {
        let start = self.start();
        if self.is_kind(TokenKind::Parameter) {
            let token = self.token(0).expect("looked at above");
            self.at += 1;
            let parts = vec![self.text_of(token).into()];
            return Ok(Path { parts, start });
        }
        let mut parts = vec![self.name()?];
        while self.is_symbol(0, ".") && self.is_any_word(1) {
            self.at += 1;
            parts.push(self.any_word()?);
        }
        Ok(Path { parts, start })
    }

    /// Behind a dot reserved words are names too.
    fn is_any_word(&self, ahead: usize) -> bool {
        matches!(
            self.kind(ahead),
            Some(TokenKind::Identifier | TokenKind::QuotedIdentifier)
        )
    }

    fn any_word(&mut self) -> SqlResult<Name> {
        match self.token(0) {
            Some(token) if token.kind == TokenKind::Identifier => {
                self.at += 1;
                Ok(self.text_of(token).to_ascii_lowercase().as_str().into())
            }
            _ => self.name(),
        }
    }

    /// A variable with fields and subscripts.
    pub(super) fn target(&mut self) -> SqlResult<Target> {
        let first = self.start() as usize;
        let path = self.path()?;
        let mut subscripts = Vec::new();
        loop {
            if self.is_symbol(0, "[") {
                subscripts.push(self.subscript()?);
            } else if !subscripts.is_empty() && self.is_symbol(0, ".") {
                self.at += 1;
                subscripts.push(Subscript::Field(self.any_word()?));
            } else {
                break;
            }
        }
        let text = self.text[first..self.end_of_last()].into();
        Ok(Target {
            path,
            subscripts,
            text,
        })
    }

    fn subscript(&mut self) -> SqlResult<Subscript> {
        self.expect_symbol("[")?;
        let ends = |scanner: &Scanner<'_>| scanner.is_symbol(0, "]") || scanner.is_symbol(0, ":");
        let low = match self.is_symbol(0, ":") {
            true => None,
            false => Some(self.expression_until("]", ends)?),
        };
        if !self.take_symbol(":") {
            self.expect_symbol("]")?;
            return match low {
                Some(low) => Ok(Subscript::Element(low)),
                None => Err(self.syntax_error()),
            };
        }
        let high = match self.is_symbol(0, "]") {
            true => None,
            false => Some(self.expression_until("]", ends)?),
        };
        self.expect_symbol("]")?;
        Ok(Subscript::Slice(low, high))
    }

    pub(super) fn targets(&mut self) -> SqlResult<Vec<Target>> {
        let mut targets = vec![self.target()?];
        while self.take_symbol(",") {
            targets.push(self.target()?);
        }
        Ok(targets)
    }

    /// Statements up to a word that closes their list.
    pub(super) fn statements(&mut self) -> SqlResult<Vec<Statement>> {
        const CLOSING: &[&str] = &["end", "else", "elsif", "elseif", "when", "exception"];
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(crate::parser::too_deep());
        }
        let mut statements = Vec::new();
        while self.token(0).is_some() && !self.is_any(CLOSING) {
            statements.push(self.statement()?);
        }
        if self.token(0).is_none() {
            return Err(self.syntax_error());
        }
        self.depth -= 1;
        Ok(statements)
    }

    pub(super) fn expression_until(
        &mut self,
        expected: &str,
        ends: impl Fn(&Scanner<'_>) -> bool,
    ) -> SqlResult<Fragment> {
        self.fragment_until(FragmentKind::Expression, expected, ends)
    }

    /// An expression up to a keyword, which is taken.
    pub(super) fn expression_before(&mut self, keyword: &str) -> SqlResult<Fragment> {
        let expected = keyword.to_ascii_uppercase();
        let fragment = self.expression_until(&expected, |scanner| scanner.is(keyword))?;
        self.at += 1;
        Ok(fragment)
    }

    /// An expression up to a semicolon, which stays.
    pub(super) fn expression(&mut self) -> SqlResult<Fragment> {
        self.expression_until(";", |scanner| scanner.is_symbol(0, ";"))
    }

    pub(super) fn statement_fragment(&mut self) -> SqlResult<Fragment> {
        self.fragment_until(FragmentKind::Statement, ";", |scanner| scanner.is_symbol(0, ";"))
    }

    pub(super) fn if_statement(&mut self) -> SqlResult<StatementKind> {
        let mut branches = Vec::new();
        loop {
            let condition = self.expression_before("then")?;
            branches.push((condition, self.statements()?));
            if !(self.take_keyword("elsif") || self.take_keyword("elseif")) {
                break;
            }
        }
        let otherwise = match self.take_keyword("else") {
            true => self.statements()?,
            false => Vec::new(),
        };
        self.expect_keyword("end")?;
        self.expect_keyword("if")?;
        self.expect_semicolon()?;
        Ok(StatementKind::If { branches, otherwise })
    }

    pub(super) fn case_statement(&mut self) -> SqlResult<StatementKind> {
        let operand = match self.is("when") {
            true => None,
            false => Some(self.expression_until("WHEN", |scanner| scanner.is("when"))?),
        };
        let mut branches = Vec::new();
        while self.is("when") {
            let line = self.line();
            self.at += 1;
            let condition = self.expression_before("then")?;
            let statements = self.statements()?;
            branches.push(CaseBranch {
                line,
                condition,
                statements,
            });
        }
        let otherwise = match self.take_keyword("else") {
            true => Some(self.statements()?),
            false => None,
        };
        self.expect_keyword("end")?;
        self.expect_keyword("case")?;
        self.expect_semicolon()?;
        Ok(StatementKind::Case {
            operand,
            branches,
            otherwise,
        })
    }

    /// LOOP .. END LOOP [label]; the word LOOP itself included.
    pub(super) fn loop_body(&mut self, label: Option<Name>, kind: LoopKind) -> SqlResult<StatementKind> {
        self.expect_keyword("loop")?;
        let statements = self.statements()?;
        self.expect_keyword("end")?;
        self.expect_keyword("loop")?;
        self.end_label(label.as_ref())?;
        self.expect_semicolon()?;
        Ok(StatementKind::Loop(Loop {
            label,
            kind,
            statements,
        }))
    }
}
