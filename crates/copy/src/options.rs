//! The options of COPY: read from the statement, checked against each other as PostgreSQL 15 does.
//!
//! Invariant: a `CopyOptions` that exists is consistent; nothing is checked again while rows flow.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult, SqlState};
use mote_grammar::ast::{DefinitionOption, OptionValue};
use mote_types::encoding::{Converter, Encoding};

use mote_executor::context::StatementContext;

/// The form of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Text,
    Csv,
    Binary,
}

/// What the first line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    None,
    Skip,
    /// The names must be those of the columns.
    Match,
}

/// Columns that an option is about.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum ColumnChoice {
    #[default]
    None,
    All,
    Listed(Vec<String>),
}

impl ColumnChoice {
    /// One flag per copied column. A name that is not copied is an error.
    pub fn flags(&self, option: &str, columns: &[&str]) -> SqlResult<Vec<bool>> {
        match self {
            ColumnChoice::None => Ok(vec![false; columns.len()]),
            ColumnChoice::All => Ok(vec![true; columns.len()]),
            ColumnChoice::Listed(names) => {
                let mut flags = vec![false; columns.len()];
                for name in names {
                    let position = columns.iter().position(|column| column == name).ok_or_else(|| {
                        SqlError::new(
                            state::INVALID_COLUMN_REFERENCE,
                            format!("{option} column \"{name}\" not referenced by COPY"),
                        )
                    })?;
                    flags[position] = true;
                }
                Ok(flags)
            }
        }
    }
}

/// The options, complete and consistent, defaults filled in.
#[derive(Clone, Debug)]
pub struct CopyOptions {
    pub format: Format,
    pub delimiter: u8,
    /// What stands for NULL.
    pub null: Box<[u8]>,
    pub header: Header,
    pub quote: u8,
    pub escape: u8,
    pub force_quote: ColumnChoice,
    pub force_not_null: ColumnChoice,
    pub force_null: ColumnChoice,
    /// The text's, where it is not the client's.
    pub encoding: Option<Encoding>,
}

/// Options as written: None where the default applies.
#[derive(Default)]
struct Written {
    format: Option<Format>,
    freeze: Option<bool>,
    delimiter: Option<String>,
    null: Option<String>,
    header: Option<Header>,
    quote: Option<String>,
    escape: Option<String>,
    force_quote: Option<ColumnChoice>,
    force_not_null: Option<ColumnChoice>,
    force_null: Option<ColumnChoice>,
    encoding: Option<Encoding>,
}

impl CopyOptions {
    /// How text gets to the client or the file, if not as it is. Binary values are the client's whatever the option says,
    /// as in PostgreSQL.
    pub fn converter(&self, context: &StatementContext<'_>) -> SqlResult<Option<Converter>> {
        let client = context.session.settings.effective.client_encoding;
        let named = self.encoding.filter(|_| self.format != Format::Binary);
        named.unwrap_or(client).converter()
    }

    pub fn parse(options: &[DefinitionOption], from: bool, text: &str) -> SqlResult<CopyOptions> {
        let mut written = Written::default();
        for (number, option) in options.iter().enumerate() {
            let placed = |error: SqlError| error.at(option.location.position(text));
            let refused = |message: &str| Err(placed(SqlError::new(state::SYNTAX_ERROR, message)));
            // PostgreSQL: ProcessCopyOptions, which looks at options one by one, then at what they say together.
            if options[..number].iter().any(|before| before.name == option.name) {
                return refused("conflicting or redundant options");
            }
            // PostgreSQL shows where a value stands that names nothing, not one that is of the wrong kind.
            let known = written.read(option, from).map_err(|error| match error.state() {
                state::INVALID_PARAMETER_VALUE => placed(error),
                _ => error,
            })?;
            if !known {
                return refused(&format!("option \"{}\" not recognized", option.name));
            }
        }
        written.check(from)
    }
}

impl Written {
    /// Takes up one option; false: there is none of this name.
    fn read(&mut self, option: &DefinitionOption, from: bool) -> SqlResult<bool> {
        match &*option.name {
            "format" => self.format = Some(format_of(&text_of(option)?)?),
            // A hint about visibility on disk pages: rows are never written to pages here (COMPAT.md).
            "freeze" => self.freeze = Some(option.flag()?),
            "delimiter" => self.delimiter = Some(text_of(option)?),
            "null" => self.null = Some(text_of(option)?),
            "header" => self.header = Some(header_of(option, from)?),
            "quote" => self.quote = Some(text_of(option)?),
            "escape" => self.escape = Some(text_of(option)?),
            "force_quote" => self.force_quote = Some(columns_of(option, true)?),
            "force_not_null" => self.force_not_null = Some(columns_of(option, false)?),
            "force_null" => self.force_null = Some(columns_of(option, false)?),
            "encoding" => self.encoding = Some(encoding_of(&text_of(option)?)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Fills in defaults and refuses what does not go together, in PostgreSQL's order: the first error counts.
    fn check(self, from: bool) -> SqlResult<CopyOptions> {
        let format = self.format.unwrap_or(Format::Text);
        let csv = format == Format::Csv;
        let refused = |state: SqlState, message: &str| Err(SqlError::new(state, message));
        if format == Format::Binary {
            if self.delimiter.is_some() {
                return refused(state::SYNTAX_ERROR, "cannot specify DELIMITER in BINARY mode");
            }
            if self.null.is_some() {
                return refused(state::SYNTAX_ERROR, "cannot specify NULL in BINARY mode");
            }
        }
        let delimiter = self.delimiter.as_deref().unwrap_or(if csv { "," } else { "\t" });
        let null = self.null.as_deref().unwrap_or(if csv { "" } else { "\\N" });
        let quote = self.quote.as_deref().unwrap_or("\"");
        // Without ESCAPE the quote doubles itself.
        let escape = self.escape.as_deref().unwrap_or(quote);
        check_delimiter(delimiter, null, csv)?;
        let header = self.header.unwrap_or(Header::None);
        if format == Format::Binary && header != Header::None {
            return refused(
                state::FEATURE_NOT_SUPPORTED,
                "cannot specify HEADER in BINARY mode",
            );
        }
        self.check_csv(csv, delimiter, null, quote, escape)?;
        let force_quote = self.force_quote.unwrap_or_default();
        let force_not_null = self.force_not_null.unwrap_or_default();
        let force_null = self.force_null.unwrap_or_default();
        for (choice, name, needs_from) in [
            (&force_quote, "quote", false),
            (&force_not_null, "not null", true),
            (&force_null, "null", true),
        ] {
            if *choice == ColumnChoice::None {
                continue;
            }
            if !csv {
                return refused(
                    state::FEATURE_NOT_SUPPORTED,
                    &format!("COPY force {name} available only in CSV mode"),
                );
            }
            if needs_from != from {
                let direction = if needs_from { "FROM" } else { "TO" };
                return refused(
                    state::FEATURE_NOT_SUPPORTED,
                    &format!("COPY force {name} only available using COPY {direction}"),
                );
            }
        }
        Ok(CopyOptions {
            format,
            delimiter: delimiter.as_bytes()[0],
            null: null.as_bytes().into(),
            header,
            quote: quote.as_bytes()[0],
            escape: escape.as_bytes()[0],
            force_quote,
            force_not_null,
            force_null,
            encoding: self.encoding,
        })
    }

    /// QUOTE and ESCAPE: for CSV only, one byte each, apart from DELIMITER and NULL.
    fn check_csv(&self, csv: bool, delimiter: &str, null: &str, quote: &str, escape: &str) -> SqlResult<()> {
        let unsupported = |message: &str| Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        if !csv && self.quote.is_some() {
            return unsupported("COPY quote available only in CSV mode");
        }
        if csv && quote.len() != 1 {
            return unsupported("COPY quote must be a single one-byte character");
        }
        if csv && delimiter == quote {
            return Err(SqlError::new(
                state::INVALID_PARAMETER_VALUE,
                "COPY delimiter and quote must be different",
            ));
        }
        if !csv && self.escape.is_some() {
            return unsupported("COPY escape available only in CSV mode");
        }
        if csv && escape.len() != 1 {
            return unsupported("COPY escape must be a single one-byte character");
        }
        if null.contains(delimiter) {
            return unsupported("COPY delimiter must not appear in the NULL specification");
        }
        if csv && null.contains(quote) {
            return unsupported("CSV quote character must not appear in the NULL specification");
        }
        Ok(())
    }
}

/// A delimiter that can be told from the rest of a line.
fn check_delimiter(delimiter: &str, null: &str, csv: bool) -> SqlResult<()> {
    let invalid = |message: String| Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    if delimiter.len() != 1 {
        return Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "COPY delimiter must be a single one-byte character",
        ));
    }
    if delimiter.contains(['\r', '\n']) {
        return invalid("COPY delimiter cannot be newline or carriage return".into());
    }
    if null.contains(['\r', '\n']) {
        return invalid("COPY null representation cannot use newline or carriage return".into());
    }
    // These would be taken for escape sequences when the text is read back.
    let ambiguous = |c: char| c == '\\' || c == '.' || c.is_ascii_lowercase() || c.is_ascii_digit();
    if !csv && delimiter.chars().any(ambiguous) {
        return invalid(format!("COPY delimiter cannot be \"{delimiter}\""));
    }
    Ok(())
}

/// An option's value as a text, however it was written.
fn text_of(option: &DefinitionOption) -> SqlResult<String> {
    match &option.value {
        Some(OptionValue::String(text)) => Ok(text.to_string()),
        Some(OptionValue::Integer(number)) => Ok(number.to_string()),
        Some(OptionValue::Number(number)) => Ok(number.to_string()),
        Some(OptionValue::Boolean(flag)) => Ok(flag.to_string()),
        Some(OptionValue::Type(name)) => Ok(name.name.last().to_string()),
        Some(OptionValue::Name(name)) => Ok(name.last().to_string()),
        _ => Err(SqlError::new(
            state::SYNTAX_ERROR,
            format!("{} requires a parameter", option.name),
        )),
    }
}

fn header_of(option: &DefinitionOption, from: bool) -> SqlResult<Header> {
    if let Some(OptionValue::String(text)) = &option.value
        && text.eq_ignore_ascii_case("match")
    {
        if !from {
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                format!("cannot use \"{text}\" with HEADER in COPY TO"),
            ));
        }
        return Ok(Header::Match);
    }
    let flag = option.flag().map_err(|_| {
        SqlError::new(
            state::SYNTAX_ERROR,
            format!("{} requires a Boolean value or \"match\"", option.name),
        )
    })?;
    Ok(if flag { Header::Skip } else { Header::None })
}

fn format_of(name: &str) -> SqlResult<Format> {
    match name {
        "text" => Ok(Format::Text),
        "csv" => Ok(Format::Csv),
        "binary" => Ok(Format::Binary),
        _ => Err(SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            format!("COPY format \"{name}\" not recognized"),
        )),
    }
}

/// `(a, b)`, or `*` where the option takes it.
fn columns_of(option: &DefinitionOption, star: bool) -> SqlResult<ColumnChoice> {
    match &option.value {
        Some(OptionValue::Star) if star => return Ok(ColumnChoice::All),
        Some(OptionValue::List(items)) => {
            let names = items.iter().map(|item| match item {
                OptionValue::String(name) => Some(name.to_string()),
                OptionValue::Type(name) => Some(name.name.last().to_string()),
                OptionValue::Name(name) => Some(name.last().to_string()),
                _ => None,
            });
            if let Some(names) = names.collect::<Option<Vec<String>>>() {
                return Ok(ColumnChoice::Listed(names));
            }
        }
        _ => {}
    }
    Err(SqlError::new(
        state::INVALID_PARAMETER_VALUE,
        format!(
            "argument to option \"{}\" must be a list of column names",
            option.name
        ),
    ))
}

fn encoding_of(name: &str) -> SqlResult<Encoding> {
    let encoding = Encoding::from_name(name).ok_or_else(|| {
        SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            "argument to option \"encoding\" must be a valid encoding name",
        )
    })?;
    // Refuses now an encoding that is known and has no conversion.
    encoding.converter()?;
    Ok(encoding)
}
