//! COPY TO: the rows of a table or a query, as text, CSV or binary, to the client or to a file.
//!
//! Each row is one message to the client, as the protocol has it; a header or signature goes with the first.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_grammar::ast;
use mote_grammar::ast::{CopyTarget, ParsedStatement, Statement, deparse};
use mote_planner::plan::OutputColumn;
use mote_sql::catalog::RelationKind;
use mote_types::encoding::{Converter, binary_to_client};
use mote_types::format::utf8;
use mote_types::{Datum, FormatSettings, output_binary, output_text};

use super::super::internal;
use mote_copy::binary::SIGNATURE;
use mote_copy::options::{CopyOptions, Format, Header};
use mote_executor::context::StatementContext;
use mote_executor::server_files::FileWriter;

/// COPY of a table's columns.
pub(super) fn table(
    copy: &ast::Copy,
    name: &ast::RelationName,
    options: &CopyOptions,
    context: &mut StatementContext<'_>,
) -> SqlResult<u64> {
    let relation = super::copied_relation(name, context)?;
    let wrong = |message: String| Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
    match relation.kind {
        RelationKind::Table | RelationKind::Virtual => {}
        RelationKind::View | RelationKind::MaterializedView => {
            let kind = relation.kind.word();
            return wrong(format!("cannot copy from {kind} \"{}\"", relation.name))
                .map_err(|error: SqlError| error.hint("Try the COPY (SELECT ...) TO variant."));
        }
        RelationKind::Sequence => return wrong(format!("cannot copy from sequence \"{}\"", relation.name)),
        RelationKind::Index => {
            return wrong(format!(
                "cannot copy from non-table relation \"{}\"",
                relation.name
            ));
        }
    }
    let positions = super::copied_columns(&copy.columns, &relation)?;
    let columns: Vec<String> = positions
        .iter()
        .map(|&p| deparse::identifier(&relation.columns[p].name))
        .collect();
    // PostgreSQL, too, reads the table by a query of this form if row security wants it; here always.
    let text = format!(
        "SELECT {} FROM ONLY {}.{}",
        columns.join(", "),
        deparse::identifier(&relation.schema),
        deparse::identifier(&relation.name)
    );
    let statement = internal::parse(&text, context)?;
    run(&statement, &text, copy, options, context)
}

/// COPY of a query's rows.
pub(super) fn query(
    statement: &Statement,
    text: &str,
    copy: &ast::Copy,
    options: &CopyOptions,
    context: &mut StatementContext<'_>,
) -> SqlResult<u64> {
    match statement {
        Statement::Query(_) => {}
        // With RETURNING; without rows it is refused below.
        Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {}
        Statement::Merge(_) => return Err(SqlError::unsupported("COPY (MERGE)")),
        Statement::CreateTableAs(_) => return Err(SqlError::unsupported("COPY (SELECT INTO)")),
        _ => return Err(SqlError::unsupported("COPY of this kind of query")),
    }
    let parsed = ParsedStatement {
        statement: statement.clone(),
        range: 0..text.len(),
        warnings: Vec::new(),
    };
    run(&parsed, text, copy, options, context)
}

/// Runs the query, each row on its way as it comes.
fn run(
    statement: &ParsedStatement,
    text: &str,
    copy: &ast::Copy,
    options: &CopyOptions,
    context: &mut StatementContext<'_>,
) -> SqlResult<u64> {
    let mut query = internal::Query::prepare(statement, text, context)?;
    if !query.returns_rows() {
        return Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "COPY query must have a RETURNING clause",
        ));
    }
    let columns = query.output().to_vec();
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let force_quote = options.force_quote.flags("FORCE_QUOTE", &names)?;
    // The client is told that rows come only when nothing can be refused any more but by the query itself.
    let mut output = Output::open(&copy.target, columns.len(), options, context)?;
    let mut rows = Rows {
        options,
        columns: &columns,
        force_quote,
        format: context.session.settings.effective.format.clone(),
        buffer: Vec::new(),
        field: Vec::new(),
        converter: options.converter(context)?,
    };
    rows.begin();
    let mut count = 0;
    query.run(context, &mut |context, row| {
        rows.row(row)?;
        output.write(rows.bytes()?, context)?;
        rows.buffer.clear();
        count += 1;
        Ok(())
    })?;
    if options.format == Format::Binary {
        // The trailer: -1 as a number of fields.
        rows.buffer.extend_from_slice(&(-1i16).to_be_bytes());
    }
    if !rows.buffer.is_empty() {
        output.write(rows.bytes()?, context)?;
    }
    output.finish(context)?;
    Ok(count)
}

/// Where the bytes go.
enum Output {
    Client,
    File { file: FileWriter, path: String },
}

impl Output {
    fn open(
        target: &CopyTarget,
        columns: usize,
        options: &CopyOptions,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<Output> {
        let path = match target {
            CopyTarget::Client => {
                context
                    .host
                    .start_copy_out(columns, options.format == Format::Binary)?;
                return Ok(Output::Client);
            }
            CopyTarget::Program(_) => return Err(SqlError::unsupported("COPY PROGRAM")),
            CopyTarget::File(path) => path,
        };
        super::require_file_access(false, context)?;
        // A relative path would be one of the server's directory.
        if !path.starts_with('/') {
            return Err(SqlError::new(
                state::INVALID_NAME,
                "relative path not allowed for COPY to file",
            ));
        }
        let file = FileWriter::create(path, context)?.map_err(|error| {
            super::file_error(&error, format!("could not open file \"{path}\" for writing"))
                .hint("COPY TO instructs the PostgreSQL server process to write a file. You may want a client-side facility such as psql's \\copy.")
        })?;
        Ok(Output::File {
            file,
            path: path.to_string(),
        })
    }

    fn write(&mut self, bytes: &[u8], context: &mut StatementContext<'_>) -> SqlResult<()> {
        match self {
            Output::Client => context.host.copy_out(bytes),
            Output::File { file, .. } => file.write(bytes, context)?.map_err(|error| {
                SqlError::new(state::IO_ERROR, format!("could not write to COPY file: {error}"))
            }),
        }
    }

    fn finish(self, context: &mut StatementContext<'_>) -> SqlResult<()> {
        match self {
            Output::Client => context.host.finish_copy_out(),
            Output::File { file, path } => file
                .finish(context)?
                .map_err(|error| super::file_error(&error, format!("could not close file \"{path}\""))),
        }
    }
}

/// Rows in their outer form, one at a time in `buffer`.
struct Rows<'a> {
    options: &'a CopyOptions,
    columns: &'a [OutputColumn],
    force_quote: Vec<bool>,
    format: FormatSettings,
    buffer: Vec<u8>,
    field: Vec<u8>,
    converter: Option<Converter>,
}

impl Rows<'_> {
    /// What stands before the first row.
    fn begin(&mut self) {
        if self.options.format == Format::Binary {
            self.buffer.extend_from_slice(SIGNATURE);
            self.buffer.extend_from_slice(&[0; 8]);
        }
        if self.options.header != Header::None {
            for (slot, column) in self.columns.iter().enumerate() {
                self.separate(slot);
                self.field.clear();
                self.field.extend_from_slice(column.name.as_bytes());
                self.text_field(false);
            }
            self.buffer.push(b'\n');
        }
    }

    /// What stands in `buffer`, in the encoding that was asked for.
    fn bytes(&mut self) -> SqlResult<&[u8]> {
        if let Some(converter) = self.converter
            // Binary values were converted one by one.
            && self.options.format != Format::Binary
            && !self.buffer.is_ascii()
        {
            self.field.clear();
            converter.encode(utf8(&self.buffer)?, &mut self.field)?;
            std::mem::swap(&mut self.field, &mut self.buffer);
        }
        Ok(&self.buffer)
    }

    /// The delimiter in front of all fields but the first.
    fn separate(&mut self, slot: usize) {
        if slot > 0 {
            self.buffer.push(self.options.delimiter);
        }
    }

    /// A row in text form or CSV, with its end of line.
    fn row(&mut self, row: &[Datum]) -> SqlResult<()> {
        if self.options.format == Format::Binary {
            return self.binary_row(row);
        }
        for (slot, (value, column)) in row.iter().zip(self.columns).enumerate() {
            self.separate(slot);
            if value.is_null() {
                // Unquoted, so that CSV tells it from an equal value, which is quoted.
                self.buffer.extend_from_slice(&self.options.null);
                continue;
            }
            self.field.clear();
            output_text(value, column.ty, &self.format, &mut self.field);
            self.text_field(self.force_quote[slot]);
        }
        self.buffer.push(b'\n');
        Ok(())
    }

    /// A row in binary form: the number of fields, and each with its length in front.
    fn binary_row(&mut self, row: &[Datum]) -> SqlResult<()> {
        self.buffer.extend_from_slice(&(row.len() as i16).to_be_bytes());
        for (value, column) in row.iter().zip(self.columns) {
            if value.is_null() {
                self.buffer.extend_from_slice(&(-1i32).to_be_bytes());
                continue;
            }
            let start = self.buffer.len();
            // Room for the length, which is known behind the value.
            self.buffer.extend_from_slice(&[0; 4]);
            match self.converter {
                None => output_binary(value, column.ty, &mut self.buffer),
                Some(converter) => {
                    self.field.clear();
                    output_binary(value, column.ty, &mut self.field);
                    binary_to_client(converter, column.ty.oid, &self.field, &mut self.buffer)?;
                }
            }
            let length = (self.buffer.len() - start - 4) as i32;
            self.buffer[start..start + 4].copy_from_slice(&length.to_be_bytes());
        }
        Ok(())
    }

    /// Appends `self.field`, escaped or quoted.
    fn text_field(&mut self, force_quote: bool) {
        if self.options.format == Format::Csv {
            let alone = self.columns.len() == 1;
            append_csv(&self.field, force_quote, alone, self.options, &mut self.buffer);
        } else {
            append_escaped(&self.field, self.options.delimiter, &mut self.buffer);
        }
    }
}

/// The text form: control characters, backslashes and delimiters get a backslash.
fn append_escaped(field: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    let mut copied = 0;
    // Runs without escapes are copied whole.
    for (at, &byte) in field.iter().enumerate() {
        let escaped = match byte {
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x0b => b'v',
            b'\\' => b'\\',
            byte if byte == delimiter => byte,
            _ => continue,
        };
        out.extend_from_slice(&field[copied..at]);
        out.extend_from_slice(&[b'\\', escaped]);
        copied = at + 1;
    }
    out.extend_from_slice(&field[copied..]);
}

/// A value in CSV: quoted where it has to be, quotes and escapes within doubled or escaped.
fn append_csv(field: &[u8], force_quote: bool, alone: bool, options: &CopyOptions, out: &mut Vec<u8>) {
    let special =
        |byte: &u8| *byte == options.delimiter || *byte == options.quote || *byte == b'\n' || *byte == b'\r';
    let quoted = force_quote
        // A value that looks like NULL is quoted, so that it is read back as a value.
        || *field == *options.null
        // Alone on its line it would end the data.
        || (alone && field == b"\\.")
        || field.iter().any(special);
    if !quoted {
        return out.extend_from_slice(field);
    }
    out.push(options.quote);
    for &byte in field {
        if byte == options.quote || byte == options.escape {
            out.push(options.escape);
        }
        out.push(byte);
    }
    out.push(options.quote);
}
