//! COPY FROM: lines or tuples, fields, values, rows.
//!
//! Everything that can be decided once is decided before the first byte is asked for; a row then costs its fields'
//! input functions and the insert. The statement lets others run every few rows (`burn`) and may wait for the client
//! or for a lock between any two; nothing of the engine is borrowed there but the layout that rows are written with,
//! which the table's lock keeps in force.

use std::io::ErrorKind;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_engine::{Access, RowWriter, TableLockMode};
use mote_grammar::ast;
use mote_grammar::ast::CopyTarget;
use mote_planner::plan::walk::opened_for_rows;
use mote_sql::access::{RelationAccess, RelationLock, privilege};
use mote_sql::catalog::{Relation, RelationKind};
use mote_types::format::utf8;
use mote_types::{Datum, FormatSettings, input_text};

use super::super::{internal, privileges, schema};
use mote_catalog::write_error;
use mote_copy::binary::Tuples;
use mote_copy::fields::Fields;
use mote_copy::insert::{Sink, table_of};
use mote_copy::lines::{Input, Lines, Origin, malformed};
use mote_copy::options::{CopyOptions, Format, Header};
use mote_copy::target::{Place, Target};
use mote_executor::context::StatementContext;
use mote_executor::runtime::{Runtime, Values};
use mote_executor::server_files::FileReader;

/// Bytes of a value or a line that a message shows.
const SHOWN_BYTES_MAX: usize = 100;

/// COPY table FROM: PostgreSQL's DoCopy and CopyFrom (copyfrom.c). All that can be refused is refused before the
/// client is asked for data, since it sends them without waiting.
pub(super) fn run(
    copy: &ast::Copy,
    name: &ast::RelationName,
    options: &CopyOptions,
    context: &mut StatementContext<'_>,
) -> SqlResult<u64> {
    // RowExclusive, as INSERT: it keeps the layout in force that rows are written with.
    let relation = lock_target(name, context)?;
    let targets = targets(copy, &relation, options)?;
    let table = table_of(&relation, context)?;
    let given: Vec<usize> = targets.iter().map(|target| target.position).collect();
    let sink = internal::on_large_stack(context, |session| {
        let sink = Sink::new(&relation, table, &given, copy.filter.as_ref(), &session.catalog)?;
        sink.with_triggers(&relation, &session.catalog)
    })?;
    // From here on the client sends data, whatever happens.
    let origin = open(&copy.target, targets.len(), options, context)?;
    // What was committed while we waited for the lock counts, for foreign keys and functions in defaults.
    context
        .transaction
        .check_before_writing()
        .map_err(write_error::refused_early("during write"))?;
    context.transaction.start_statement(Access::Write);
    let rows = Rows {
        relation,
        targets,
        format: context.session.settings.effective.format.clone(),
        place: Place::default(),
        line_valid: false,
    };
    let (format, converter) = (options.format, options.converter(context)?);
    // What code in defaults and triggers shall not change.
    let mut opened = Vec::new();
    opened_for_rows(&rows.relation, &mut |object| opened.push(object));
    context.session.in_use.enter(opened.into());
    let copied = match format {
        Format::Binary => copy_binary(
            rows,
            sink,
            Tuples::new(Input::new(origin, None), converter),
            context,
        ),
        Format::Text | Format::Csv => {
            let input = Input::new(origin, converter);
            copy_lines(rows, sink, Lines::new(input, options), options, context)
        }
    };
    // Also after an error: the list is the session's.
    context.session.in_use.leave();
    copied
}

/// The table, locked, with the right to insert.
fn lock_target(name: &ast::RelationName, context: &mut StatementContext<'_>) -> SqlResult<Arc<Relation>> {
    let entry = schema::lock_relation(name, TableLockMode::RowExclusive, context)?
        .ok_or_else(|| schema::no_rows_there(name, context))?;
    let relation = entry.described.clone();
    let access = RelationAccess {
        relation: relation.oid,
        lock: RelationLock::RowExclusive,
        privileges: privilege::INSERT,
        check_as: mote_common::Oid::INVALID,
    };
    privileges::check_relation(&context.session.catalog, &access)?;
    let wrong = |message: String| SqlError::new(state::WRONG_OBJECT_TYPE, message);
    match relation.kind {
        RelationKind::Table => Ok(relation),
        RelationKind::View => Err(wrong(format!("cannot copy to view \"{}\"", relation.name))
            .hint("To enable copying to a view, provide an INSTEAD OF INSERT trigger.")),
        RelationKind::MaterializedView => Err(wrong(format!(
            "cannot copy to materialized view \"{}\"",
            relation.name
        ))),
        RelationKind::Sequence => Err(wrong(format!("cannot copy to sequence \"{}\"", relation.name))),
        _ => Err(wrong(format!(
            "cannot copy to non-table relation \"{}\"",
            relation.name
        ))),
    }
}

/// The columns that fields are for, in the order of the fields.
fn targets(copy: &ast::Copy, relation: &Relation, options: &CopyOptions) -> SqlResult<Vec<Target>> {
    let positions = super::copied_columns(&copy.columns, relation)?;
    let names: Vec<&str> = positions
        .iter()
        .map(|&p| relation.columns[p].name.as_str())
        .collect();
    let force_not_null = options.force_not_null.flags("FORCE_NOT_NULL", &names)?;
    let force_null = options.force_null.flags("FORCE_NULL", &names)?;
    let target = |(slot, &position): (usize, &usize)| Target {
        position,
        name: relation.columns[position].name.clone(),
        ty: relation.columns[position].ty,
        force_not_null: force_not_null[slot],
        force_null: force_null[slot],
    };
    Ok(positions.iter().enumerate().map(target).collect())
}

/// Where the data come from; the client is told the number of columns and the format.
fn open(
    target: &CopyTarget,
    columns: usize,
    options: &CopyOptions,
    context: &mut StatementContext<'_>,
) -> SqlResult<Origin> {
    let path = match target {
        CopyTarget::Client => {
            context
                .host
                .start_copy_in(columns, options.format == Format::Binary)?;
            return Ok(Origin::Client);
        }
        CopyTarget::Program(_) => return Err(SqlError::unsupported("COPY PROGRAM")),
        CopyTarget::File(path) => path,
    };
    super::require_file_access(true, context)?;
    let file = FileReader::open(path, context)?.map_err(|error| match error.kind() {
        ErrorKind::IsADirectory => {
            SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{path}\" is a directory"))
        }
        _ => super::file_error(&error, format!("could not open file \"{path}\" for reading"))
            .hint("COPY FROM instructs the PostgreSQL server process to read a file. You may want a client-side facility such as psql's \\copy."),
    })?;
    Ok(Origin::File {
        file,
        path: path.to_string(),
    })
}

/// What both forms need to turn fields into a row.
struct Rows {
    relation: Arc<Relation>,
    targets: Vec<Target>,
    format: FormatSettings,
    place: Place,
    /// The line itself may be shown: a row is being read or checked.
    line_valid: bool,
}

impl Rows {
    /// A row of the table with NULL everywhere, which is used again for each line or tuple.
    fn new_row(&self) -> Vec<Datum> {
        vec![Datum::Null; self.relation.columns.len()]
    }

    /// The columns that no field is for: NULL until a default or a trigger fills them, in each row anew.
    fn columns_without_fields(&self) -> Vec<usize> {
        let given = |position: &usize| self.targets.iter().any(|target| target.position == *position);
        (0..self.relation.columns.len())
            .filter(|position| !given(position))
            .collect()
    }

    /// Reads the fields of a line into the row.
    fn read_line(&mut self, line: &[u8], fields: &mut Fields, row: &mut [Datum]) -> SqlResult<()> {
        // The line as a whole, once: fields are cut at ASCII bytes.
        let text = utf8(line)?;
        fields.split(line)?;
        // A table without columns has one empty field per line.
        if fields.len() > self.targets.len() && !(self.targets.is_empty() && line.is_empty()) {
            return Err(malformed("extra data after last expected column"));
        }
        for (slot, target) in self.targets.iter().enumerate() {
            if slot >= fields.len() {
                return Err(malformed(format!("missing data for column \"{}\"", target.name)));
            }
            row[target.position] = if fields.is_null(slot) && !target.force_not_null {
                Datum::Null
            } else {
                let value = fields.text(slot, text)?;
                // A null that FORCE_NOT_NULL made a text stays one.
                if target.force_null && !fields.is_null(slot) && fields.is_null_text(value) {
                    Datum::Null
                } else {
                    match input_text(target.ty, value, &self.format) {
                        Ok(datum) => datum,
                        Err(error) => {
                            self.place.column = Some((target.name.clone(), Some(shortened(value))));
                            return Err(error);
                        }
                    }
                }
            };
        }
        Ok(())
    }

    /// `COPY t, line 3, column a: "abc"`.
    #[cold]
    fn in_context(&self, error: SqlError, line: u64, text: Option<&[u8]>) -> SqlError {
        let table = &self.relation.name;
        let place = match (&self.place.column, text) {
            (Some((column, Some(value))), _) => {
                format!("COPY {table}, line {line}, column {column}: \"{value}\"")
            }
            (Some((column, None)), _) => format!("COPY {table}, line {line}, column {column}"),
            // Behind the end of the data the last line is nobody's place.
            (None, Some(text)) if self.line_valid => {
                format!(
                    "COPY {table}, line {line}: \"{}\"",
                    shortened(&String::from_utf8_lossy(text))
                )
            }
            _ => format!("COPY {table}, line {line}"),
        };
        error.context(place)
    }
}

/// A text cut at a character's border, for messages.
fn shortened(text: &str) -> String {
    if text.len() <= SHOWN_BYTES_MAX {
        return text.to_string();
    }
    let mut end = SHOWN_BYTES_MAX;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}...", &text[..end])
}

/// Text and CSV: lines until the end of the data.
fn copy_lines(
    mut rows: Rows,
    mut sink: Sink,
    mut lines: Lines,
    options: &CopyOptions,
    context: &mut StatementContext<'_>,
) -> SqlResult<u64> {
    let mut fields = Fields::new(options);
    let mut values = Values::default();
    // For defaults, checks and triggers.
    let snapshot = context.transaction.snapshot();
    let mut runtime = Runtime::new(context, &snapshot, &mut values);
    sink.begin(&mut runtime)?;
    let count = copy_all_lines(
        &mut rows,
        &mut sink,
        &mut lines,
        &mut fields,
        options,
        &mut runtime,
    );
    // The line is still in its buffer: the message can show it.
    let count = count.map_err(|error| rows.in_context(error, lines.number, Some(lines.line())))?;
    sink.end(&mut runtime)?;
    Ok(count)
}

/// The header, then one row per line.
fn copy_all_lines(
    rows: &mut Rows,
    sink: &mut Sink,
    lines: &mut Lines,
    fields: &mut Fields,
    options: &CopyOptions,
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<u64> {
    let table = sink.table().clone();
    let layout = table.newest_layout().clone();
    let mut writer = RowWriter::new(&layout);
    let mut row = rows.new_row();
    let others = rows.columns_without_fields();
    let mut count = 0;
    // A file with nothing in it has no header either.
    if options.header != Header::None {
        if !lines.next(runtime.context())? {
            return Ok(0);
        }
        if options.header == Header::Match {
            check_header(rows, fields, lines.line())?;
        }
    }
    loop {
        rows.line_valid = false;
        if !lines.next(runtime.context())? {
            return Ok(count);
        }
        rows.line_valid = true;
        rows.read_line(lines.line(), fields, &mut row)?;
        others.iter().for_each(|&position| row[position] = Datum::Null);
        if sink.insert(&mut row, &mut writer, runtime)? {
            count += 1;
        }
        runtime.burn(1)?;
    }
}

/// HEADER MATCH: the first line must name the columns.
fn check_header(rows: &Rows, fields: &mut Fields, line: &[u8]) -> SqlResult<()> {
    let text = utf8(line)?;
    fields.split(line)?;
    if fields.len() != rows.targets.len() {
        return Err(malformed(format!(
            "wrong number of fields in header line: got {}, expected {}",
            fields.len(),
            rows.targets.len()
        )));
    }
    for (slot, target) in rows.targets.iter().enumerate() {
        let name = fields.text(slot, text)?;
        let mismatch = |got: String| {
            malformed(format!(
                "column name mismatch in header line field {}: got {got}, expected \"{}\"",
                slot + 1,
                target.name
            ))
        };
        if fields.is_null(slot) {
            return Err(mismatch(format!("null value (\"{name}\")")));
        }
        if name != target.name {
            return Err(mismatch(format!("\"{name}\"")));
        }
    }
    Ok(())
}

/// Binary: tuples until the trailer.
fn copy_binary(
    mut rows: Rows,
    mut sink: Sink,
    mut tuples: Tuples,
    context: &mut StatementContext<'_>,
) -> SqlResult<u64> {
    let mut values = Values::default();
    let snapshot = context.transaction.snapshot();
    let mut runtime = Runtime::new(context, &snapshot, &mut values);
    // Before the statement triggers: a file that is no binary COPY does nothing.
    tuples.header(runtime.context())?;
    sink.begin(&mut runtime)?;
    let count = copy_all_tuples(&mut rows, &mut sink, &mut tuples, &mut runtime);
    let count = count.map_err(|error| rows.in_context(error, tuples.number, None))?;
    sink.end(&mut runtime)?;
    Ok(count)
}

/// One row per tuple.
fn copy_all_tuples(
    rows: &mut Rows,
    sink: &mut Sink,
    tuples: &mut Tuples,
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<u64> {
    let table = sink.table().clone();
    let layout = table.newest_layout().clone();
    let mut writer = RowWriter::new(&layout);
    let mut row = rows.new_row();
    let others = rows.columns_without_fields();
    let mut count = 0;
    while tuples.next(&rows.targets, &mut row, &mut rows.place, runtime.context())? {
        others.iter().for_each(|&position| row[position] = Datum::Null);
        if sink.insert(&mut row, &mut writer, runtime)? {
            count += 1;
        }
        runtime.burn(1)?;
    }
    Ok(count)
}
