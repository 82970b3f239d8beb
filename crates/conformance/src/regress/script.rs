//! A psql script cut into statements, by the rules of psql's own scanner.
//!
//! A statement ends with a semicolon outside of quotes, parentheses and BEGIN ATOMIC bodies, or with a psql command
//! that sends it, such as `\gset`. A psql command on a line of its own is a statement too. Everything from `\if` to its
//! `\endif` is one statement: a marker behind a part of it would be skipped together with an inactive branch.

/// A statement, the comments before it, and the rest of its last line if that is a comment.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// The line of the script on which it begins, comments left out; counted from 1.
    pub line: usize,
    pub text: String,
    /// What follows a COPY FROM STDIN, one for each, `\.` included: known once a server has asked for it.
    pub data: Vec<String>,
}

impl Statement {
    /// Without comments in front.
    pub fn body(&self) -> &str {
        let mut rest = self.text.trim_start();
        loop {
            if rest.starts_with("--") {
                rest = rest.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
            } else if rest.starts_with("/*") {
                rest = rest[comment_length(rest)..].trim_start();
            } else {
                return rest;
            }
        }
    }

    /// How often a server may ask for data. (FROM STDOUT means the same as FROM STDIN.)
    pub fn copies_in(&self) -> usize {
        let text = self.text.to_ascii_lowercase();
        if !text.contains("copy") {
            return 0;
        }
        let separates = |c: char| c.is_whitespace() || matches!(c, ';' | '\\');
        let words: Vec<&str> = text.split(separates).filter(|word| !word.is_empty()).collect();
        let from_client = |pair: &&[&str]| pair[0] == "from" && matches!(pair[1], "stdin" | "stdout");
        words.windows(2).filter(from_client).count()
    }
}

/// Hands out the statements of a script in order.
pub struct Script<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Script<'a> {
    pub fn new(text: &'a str) -> Script<'a> {
        Script { text, at: 0, line: 1 }
    }

    /// The next statement, or `None` when only blanks and comments are left. `conforming` is the session's
    /// standard_conforming_strings: without it a backslash escapes in every literal.
    pub fn next(&mut self, conforming: bool) -> Option<Statement> {
        let rest = &self.text[self.at..];
        let length = Scanner::new(rest, conforming).statement();
        let text = &rest[..length];
        let mut statement = Statement {
            line: 0,
            text: text.to_string(),
            data: Vec::new(),
        };
        let comments = text.len() - statement.body().len();
        if statement.body().is_empty() {
            return None;
        }
        statement.line = self.line + text[..comments].matches('\n').count();
        self.advance(length);
        Some(statement)
    }

    /// The lines up to `\.`, which a COPY FROM STDIN reads.
    pub fn data(&mut self) -> String {
        let rest = &self.text[self.at..];
        let mut length = 0;
        for line in rest.split_inclusive('\n') {
            length += line.len();
            if line.trim_end_matches(['\n', '\r']) == "\\." {
                break;
            }
        }
        let data = rest[..length].to_string();
        self.advance(length);
        data
    }

    fn advance(&mut self, length: usize) {
        self.line += self.text[self.at..self.at + length].matches('\n').count();
        self.at += length;
    }
}

/// psql commands that send what was typed before them, or throw it away.
const SENDING: [&str; 10] = [
    "g",
    "gx",
    "gset",
    "gexec",
    "gdesc",
    "crosstabview",
    "watch",
    "r",
    "reset",
    "q",
];

/// The state of psql's scanner within one statement.
struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    conforming: bool,
    parentheses: usize,
    /// Open BEGIN ATOMIC bodies and CASEs in them.
    bodies: usize,
    /// Open `\if`s.
    conditions: usize,
    /// The first words: `create or replace function` may be followed by BEGIN ATOMIC.
    words: Vec<String>,
    /// Something other than blanks and comments was seen.
    begun: bool,
    /// The same before the outermost open `\if`: what stands between that and its `\endif` ends there.
    begun_before: bool,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str, conforming: bool) -> Scanner<'a> {
        Scanner {
            text,
            bytes: text.as_bytes(),
            conforming,
            parentheses: 0,
            bodies: 0,
            conditions: 0,
            words: Vec::new(),
            begun: false,
            begun_before: false,
        }
    }

    /// The length of the first statement.
    fn statement(&mut self) -> usize {
        let mut at = 0;
        while at < self.bytes.len() {
            let rest = &self.text.as_bytes()[at..];
            match rest[0] {
                b'-' if rest.starts_with(b"--") => at += line_length(rest),
                b'/' if rest.starts_with(b"/*") => at += comment_length(&self.text[at..]),
                b'\\' => match self.command(at) {
                    (length, true) => return at + length,
                    (length, false) => at += length,
                },
                b';' if self.parentheses == 0 && self.bodies == 0 && self.conditions == 0 => {
                    return at + 1 + self.rest_of_line(at + 1);
                }
                byte => {
                    self.begun |= !byte.is_ascii_whitespace();
                    at += self.token(at);
                }
            }
        }
        at
    }

    /// The length of a literal, a name, or another byte.
    fn token(&mut self, at: usize) -> usize {
        let rest = &self.bytes[at..];
        match rest[0] {
            b'\'' => quoted_length(rest, b'\'', !self.conforming),
            b'e' | b'E' if rest.get(1) == Some(&b'\'') => 1 + quoted_length(&rest[1..], b'\'', true),
            b'"' => quoted_length(rest, b'"', false),
            b'$' => dollar_length(&self.text[at..]).unwrap_or(1),
            byte if is_name_start(byte) => {
                let length = rest.iter().take_while(|byte| is_name(**byte)).count();
                // The E of `E'..'` may stand for itself only.
                self.word(&self.text[at..at + length]);
                length
            }
            byte if byte.is_ascii_digit() => rest.iter().take_while(|b| b.is_ascii_digit()).count(),
            byte => {
                match byte {
                    b'(' => self.parentheses += 1,
                    b')' => self.parentheses = self.parentheses.saturating_sub(1),
                    _ => {}
                }
                1
            }
        }
    }

    /// psql's rule for the bodies of SQL-standard functions.
    fn word(&mut self, word: &str) {
        let word = word.to_ascii_lowercase();
        let header = |words: &[String]| {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            matches!(
                words[..],
                ["create", "function" | "procedure", ..]
                    | ["create", "or", "replace", "function" | "procedure", ..]
            )
        };
        if self.parentheses == 0 && header(&self.words) {
            match word.as_str() {
                "begin" => self.bodies += 1,
                "case" if self.bodies > 0 => self.bodies += 1,
                "end" => self.bodies = self.bodies.saturating_sub(1),
                _ => {}
            }
        }
        if self.words.len() < 4 {
            self.words.push(word);
        }
    }

    /// A psql command at a backslash: its length, and whether the statement ends with it.
    fn command(&mut self, at: usize) -> (usize, bool) {
        let rest = &self.bytes[at..];
        // `\;` and `\:` are the characters themselves.
        if matches!(rest.get(1), Some(b';' | b':')) {
            self.begun = true;
            return (2, false);
        }
        let length = line_length(rest);
        let line = &self.text[at..at + length];
        let mut sends = false;
        for command in line.split('\\').skip(1) {
            let end = command
                .find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(command.len());
            match &command[..end] {
                "if" => {
                    if self.conditions == 0 {
                        self.begun_before = self.begun;
                    }
                    self.conditions += 1;
                }
                "endif" => {
                    self.conditions = self.conditions.saturating_sub(1);
                    if self.conditions == 0 {
                        self.begun = self.begun_before;
                    }
                }
                name => sends |= SENDING.contains(&name),
            }
        }
        (length, (!self.begun || sends) && self.conditions == 0)
    }

    /// The rest of the line behind a semicolon if it is blank or a comment: it says nothing by itself.
    fn rest_of_line(&self, at: usize) -> usize {
        let length = line_length(&self.bytes[at..]);
        let line = self.text[at..at + length].trim();
        if line.is_empty() || line.starts_with("--") {
            length
        } else {
            0
        }
    }
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn is_name(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit() || byte == b'$'
}

/// Its end of line included.
fn line_length(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(bytes.len(), |at| at + 1)
}

/// A literal or a quoted name from its opening quote; a doubled quote begins the next one, which comes to the same.
fn quoted_length(bytes: &[u8], quote: u8, escapes: bool) -> usize {
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if escapes => at += 2,
            // Within E'..' a doubled quote must not end the mode in which backslashes escape.
            byte if byte == quote && escapes && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// `$tag$ .. $tag$`, or `None` where a dollar begins no quote.
fn dollar_length(text: &str) -> Option<usize> {
    let tag_end = 1 + text[1..].find('$')?;
    let tag = &text[1..tag_end];
    let starts_well = tag.bytes().next().is_none_or(is_name_start);
    if !starts_well || !tag.bytes().all(|byte| is_name(byte) && byte != b'$') {
        return None;
    }
    let opening = &text[..=tag_end];
    let body = &text[opening.len()..];
    Some(body.find(opening).map_or(text.len(), |at| at + 2 * opening.len()))
}

/// Comments in `/* */` nest.
fn comment_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0usize);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<String> {
        let mut script = Script::new(text);
        let mut statements = Vec::new();
        while let Some(statement) = script.next(true) {
            statements.push(statement.body().trim_end().to_string());
        }
        statements
    }

    #[test]
    fn semicolons_end_statements_outside_of_quotes_and_parentheses() {
        assert_eq!(
            cut("select 1; select 2 ; -- two\nselect ';', \"a;\"\n, $$;$$, $x$;$$;$x$;\n"),
            [
                "select 1;",
                "select 2 ; -- two",
                "select ';', \"a;\"\n, $$;$$, $x$;$$;$x$;"
            ]
        );
        assert_eq!(
            cut("create rule r as on insert to t do also (select 1; select 2);\nselect 3"),
            [
                "create rule r as on insert to t do also (select 1; select 2);",
                "select 3"
            ]
        );
        assert_eq!(
            cut("select /* ; /* ; */ ; */ 1;"),
            ["select /* ; /* ; */ ; */ 1;"]
        );
        assert_eq!(cut("select a$1;b$2;"), ["select a$1;", "b$2;"]);
        assert_eq!(cut("select $1; select $2;"), ["select $1;", "select $2;"]);
    }

    #[test]
    fn backslashes_escape_where_the_literal_says_so() {
        assert_eq!(
            cut(r"select E'\';', E'a''\';'; select 1;"),
            [r"select E'\';', E'a''\';';", "select 1;"]
        );
        assert_eq!(cut(r"select 'a\'; select 1;"), [r"select 'a\';", "select 1;"]);
        let text = r"select 'a\'; select 1;'; select 2;";
        let mut script = Script::new(text);
        assert_eq!(
            script.next(false).expect("a statement").text,
            r"select 'a\'; select 1;';"
        );
    }

    #[test]
    fn bodies_of_routines_are_whole() {
        let routine = "create or replace function f() returns int begin atomic\n select case when true then 1 end; \n end;";
        assert_eq!(
            cut(&format!("{routine}\nbegin;\nselect 1;end;")),
            [routine, "begin;", "select 1;", "end;"]
        );
    }

    #[test]
    fn psql_commands_end_statements_or_stand_alone() {
        assert_eq!(
            cut("\\d t\nselect 1 as a \\gset\nselect 2\n\\p\n\\g\nselect 1\\; select 2;\n"),
            [
                "\\d t",
                "select 1 as a \\gset",
                "select 2\n\\p\n\\g",
                "select 1\\; select 2;"
            ]
        );
        assert_eq!(
            cut("select 1;\n\\if :x\nselect 2;\n\\else\n\\if y\nselect 3;\n\\endif\n\\endif\nselect 4;"),
            [
                "select 1;",
                "\\if :x\nselect 2;\n\\else\n\\if y\nselect 3;\n\\endif\n\\endif",
                "select 4;"
            ]
        );
    }

    #[test]
    fn lines_are_those_of_the_statement_and_data_is_taken_on_request() {
        let mut script = Script::new("-- about t\n\ncopy t from stdin;\n1;\n'\n\\.\nselect 1;\n-- the end\n");
        let copy = script.next(true).expect("COPY");
        assert_eq!(
            (copy.line, copy.body(), copy.copies_in()),
            (3, "copy t from stdin;\n", 1)
        );
        assert_eq!(script.data(), "1;\n'\n\\.\n");
        let select = script.next(true).expect("SELECT");
        assert_eq!((select.line, select.copies_in()), (7, 0));
        let mut script = Script::new("copy t to stdout\\; copy t FROM\n stdin\\; copy t from stdout;");
        assert_eq!(script.next(true).expect("COPY").copies_in(), 2);
        assert_eq!(script.next(true), None);
    }
}
