//! From trees back to text, in the style of PostgreSQL's `pg_get_expr` and `pg_get_viewdef`.
//!
//! Reading order: this file (writer, names, literals), `expr`, `pretty` (which parentheses can be left out), `query`.
//!
//! Invariants: every operator is parenthesised, so the text means what the tree means whatever the precedences; clauses
//! stand on lines of their own with PostgreSQL's indentation; parsing the text gives a tree with the same meaning
//! (BETWEEN and IN come out as the comparisons they stand for, as in PostgreSQL).
//!
//! Source: PostgreSQL's ruleutils.c, whose layout this follows.
//!
//! Leaves out: data-modifying statements in WITH, which are refused; what only binding knows. PostgreSQL prints resolved trees:
//! columns qualified, stars expanded, literals with their types. Who wants those resolves them in the tree first
//! (`mote_sql::query_text`).

mod expr;
mod pretty;
mod query;

#[cfg(test)]
mod tests;

pub use pretty::is_tighter_arithmetic;

use mote_common::{SqlError, SqlResult};

use super::{Expr, Query, Statement, TypeName};

/// An expression that binding has accepted, as in CHECK, DEFAULT and index definitions: WITH with a data-modifying
/// statement, which has no text, stands at the top of statements only.
pub fn expression(expr: &Expr) -> String {
    let mut writer = Writer::default();
    writer.expr(expr);
    writer.out
}

/// A query as the catalog keeps it, without a semicolon: IN and BETWEEN stay what they are, since their operands are converted
/// together. Fails on a data-modifying statement in WITH.
pub fn query(query: &Query) -> SqlResult<String> {
    let mut writer = Writer {
        kept: true,
        ..Writer::default()
    };
    writer.query(query);
    writer.finish()
}

/// A query that has been spelled out (`mote_sql::query_text`), as `pg_get_viewdef` prints it, without the semicolon; `pretty`:
/// without the parentheses that PostgreSQL's pretty form leaves out.
pub fn spelled_out(query: &Query, pretty: bool) -> SqlResult<String> {
    let mut writer = Writer {
        spelled_out: true,
        pretty,
        ..Writer::default()
    };
    writer.query(query);
    writer.finish()
}

/// The same with as many columns of a SELECT on one line as fit into `width` characters.
pub fn wrapped(query: &Query, width: usize) -> SqlResult<String> {
    let mut writer = Writer {
        spelled_out: true,
        pretty: true,
        width,
        ..Writer::default()
    };
    writer.query(query);
    writer.finish()
}

/// An expression that has been spelled out, in the plain or the pretty form.
pub fn spelled_out_expression(expr: &Expr, pretty: bool) -> String {
    let mut writer = Writer {
        spelled_out: true,
        pretty,
        ..Writer::default()
    };
    writer.expr(expr);
    writer.out
}

/// The text of a statement, if it is a query.
pub fn statement(statement: &Statement) -> SqlResult<Option<String>> {
    match statement {
        Statement::Query(body) => query(body).map(Some),
        _ => Ok(None),
    }
}

/// A type as written, with SQL's spelling for the types that have one.
pub fn type_name(name: &TypeName) -> String {
    let mut writer = Writer::default();
    writer.type_name(name);
    writer.out
}

/// An identifier, quoted if it must be.
pub fn identifier(name: &str) -> String {
    let mut writer = Writer::default();
    writer.name(name);
    writer.out
}

/// Text under construction, with the indentation of the clause at hand.
#[derive(Default)]
struct Writer {
    out: String,
    indent: usize,
    /// The first thing met that has no text.
    refused: Option<&'static str>,
    /// IN and BETWEEN are not taken apart.
    kept: bool,
    /// The tree says all that PostgreSQL shows.
    spelled_out: bool,
    /// Parentheses only where PostgreSQL's pretty form has them.
    pretty: bool,
    /// How long lines of targets may become; 0: each has a line of its own.
    width: usize,
}

/// The indentation a query adds to its clauses.
const QUERY_INDENT: usize = 8;
/// The indentation of items of a list or of WHEN.
const ITEM_INDENT: usize = 4;

impl Writer {
    fn finish(self) -> SqlResult<String> {
        match self.refused {
            None => Ok(self.out),
            Some(what) => Err(SqlError::unsupported(what)),
        }
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Starts a line, `spaces` in.
    fn line(&mut self, spaces: usize, text: &str) {
        let kept = self.out.trim_end_matches(' ').len();
        self.out.truncate(kept);
        // A line that holds nothing yet is this one.
        if !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        // PostgreSQL stops indenting somewhere too, so that deep queries do not grow quadratically.
        self.out.extend(std::iter::repeat_n(' ', spaces.min(40)));
        self.push(text);
    }

    fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            write(self, item);
        }
    }

    fn name(&mut self, name: &str) {
        let mut bytes = name.bytes();
        let plain_start = matches!(bytes.next(), Some(b'a'..=b'z' | b'_'));
        let plain = plain_start && bytes.all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
        if plain && !is_reserved(name) {
            self.push(name);
        } else {
            self.out.push('"');
            self.push(&name.replace('"', "\"\""));
            self.out.push('"');
        }
    }

    fn names(&mut self, names: &[Box<str>]) {
        self.list(names, |this, name| this.name(name));
    }

    fn dotted(&mut self, parts: &[Box<str>]) {
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                self.push(".");
            }
            self.name(part);
        }
    }

    fn string(&mut self, text: &str) {
        // PostgreSQL's views rely on backslashes that mean themselves.
        let backslash = text.contains('\\') && !self.spelled_out;
        self.push(if backslash { "E'" } else { "'" });
        for character in text.chars() {
            if character == '\'' || character == '\\' && backslash {
                self.out.push(character);
            }
            self.out.push(character);
        }
        self.push("'");
    }

    fn type_name(&mut self, name: &TypeName) {
        if name.set_of {
            self.push("SETOF ");
        }
        let parts = &name.name.parts;
        let spelling = match parts.as_slice() {
            [schema, own] if &**schema == "pg_catalog" => sql_spelling(own),
            _ => None,
        };
        // `timestamp(3) with time zone`: the precision stands inside the name.
        let (front, back) = spelling.unwrap_or(("", ""));
        if front.is_empty() {
            match parts.as_slice() {
                [schema, own] if &**schema == "pg_catalog" => self.name(own),
                parts => self.dotted(parts),
            }
        } else {
            self.push(front);
        }
        if !name.modifiers.is_empty() {
            if front == "interval" {
                self.interval_modifiers(name);
            } else {
                self.push("(");
                let separator = if self.spelled_out { "," } else { ", " };
                for (index, modifier) in name.modifiers.iter().enumerate() {
                    self.push(if index > 0 { separator } else { "" });
                    self.expr(modifier);
                }
                self.push(")");
            }
        }
        self.push(back);
        if name.percent_type {
            self.push("%TYPE");
        }
        for bound in &name.array_bounds {
            if *bound < 0 {
                self.push("[]")
            } else {
                self.push(&format!("[{bound}]"))
            }
        }
    }

    /// The first modifier is a mask of fields, the second a precision.
    fn interval_modifiers(&mut self, name: &TypeName) {
        use super::{Constant, ExprKind};
        let number = |index: usize| match name.modifiers.get(index).map(|expr| &expr.kind) {
            Some(ExprKind::Constant(Constant::Integer(value))) => Some(*value),
            _ => None,
        };
        let fields = match number(0) {
            Some(0x0004) => " year",
            Some(0x0002) => " month",
            Some(0x0008) => " day",
            Some(0x0400) => " hour",
            Some(0x0800) => " minute",
            Some(0x1000) => " second",
            Some(0x0006) => " year to month",
            Some(0x0408) => " day to hour",
            Some(0x0C08) => " day to minute",
            Some(0x1C08) => " day to second",
            Some(0x0C00) => " hour to minute",
            Some(0x1C00) => " hour to second",
            Some(0x1800) => " minute to second",
            _ => "",
        };
        self.push(fields);
        if let Some(precision) = number(1) {
            self.push(&format!("({precision})"));
        }
    }
}

/// How SQL spells a type of `pg_catalog`, in front of and behind its modifiers.
fn sql_spelling(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "int2" => ("smallint", ""),
        "int4" => ("integer", ""),
        "int8" => ("bigint", ""),
        "float4" => ("real", ""),
        "float8" => ("double precision", ""),
        "bool" => ("boolean", ""),
        "bpchar" => ("character", ""),
        "numeric" => ("numeric", ""),
        "bit" => ("bit", ""),
        "json" => ("json", ""),
        "varchar" => ("character varying", ""),
        "varbit" => ("bit varying", ""),
        "interval" => ("interval", ""),
        "time" => ("time", " without time zone"),
        "timetz" => ("time", " with time zone"),
        "timestamp" => ("timestamp", " without time zone"),
        "timestamptz" => ("timestamp", " with time zone"),
        _ => return None,
    })
}

/// Words that PostgreSQL quotes when they are names: all key words but the unreserved.
fn is_reserved(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "all",
        "analyse",
        "analyze",
        "and",
        "any",
        "array",
        "as",
        "asc",
        "asymmetric",
        "authorization",
        "between",
        "bigint",
        "binary",
        "bit",
        "boolean",
        "both",
        "case",
        "cast",
        "char",
        "character",
        "check",
        "coalesce",
        "collate",
        "collation",
        "column",
        "concurrently",
        "constraint",
        "create",
        "cross",
        "current_catalog",
        "current_date",
        "current_role",
        "current_schema",
        "current_time",
        "current_timestamp",
        "current_user",
        "dec",
        "decimal",
        "default",
        "deferrable",
        "desc",
        "distinct",
        "do",
        "else",
        "end",
        "except",
        "exists",
        "extract",
        "false",
        "fetch",
        "float",
        "for",
        "foreign",
        "freeze",
        "from",
        "full",
        "grant",
        "greatest",
        "group",
        "grouping",
        "having",
        "ilike",
        "in",
        "initially",
        "inner",
        "inout",
        "int",
        "integer",
        "intersect",
        "interval",
        "into",
        "is",
        "isnull",
        "join",
        "json",
        "json_array",
        "json_arrayagg",
        "json_exists",
        "json_object",
        "json_objectagg",
        "json_query",
        "json_scalar",
        "json_serialize",
        "json_table",
        "json_value",
        "lateral",
        "leading",
        "least",
        "left",
        "like",
        "limit",
        "localtime",
        "localtimestamp",
        "merge_action",
        "national",
        "natural",
        "nchar",
        "none",
        "normalize",
        "not",
        "notnull",
        "null",
        "nullif",
        "numeric",
        "offset",
        "on",
        "only",
        "or",
        "order",
        "out",
        "outer",
        "overlaps",
        "overlay",
        "placing",
        "position",
        "precision",
        "primary",
        "real",
        "references",
        "returning",
        "right",
        "row",
        "select",
        "session_user",
        "setof",
        "similar",
        "smallint",
        "some",
        "substring",
        "symmetric",
        "system_user",
        "table",
        "tablesample",
        "then",
        "time",
        "timestamp",
        "to",
        "trailing",
        "treat",
        "trim",
        "true",
        "union",
        "unique",
        "user",
        "using",
        "values",
        "varchar",
        "variadic",
        "verbose",
        "when",
        "where",
        "window",
        "with",
        "xmlattributes",
        "xmlconcat",
        "xmlelement",
        "xmlexists",
        "xmlforest",
        "xmlnamespaces",
        "xmlparse",
        "xmlpi",
        "xmlroot",
        "xmlserialize",
        "xmltable",
    ];
    WORDS.binary_search(&word).is_ok()
}
