//! MySQL's wire, as MariaDB and MySQL speak it, behind the same sessions as PostgreSQL's.
//!
//! The driver's own form of requests and answers is PostgreSQL's: workloads queue Bind messages and read DataRows. A
//! [`Translator`] stands between that form and the socket. It does no input or output itself, so that fixed bytes can test
//! it.
//!
//! Read in this order:
//!  1. `packet`: framing.
//!  2. `handshake`: who we are, and the password.
//!  3. `dialect`: SQL that MariaDB says differently, and settings.
//!  4. `values`: parameters and rows in both forms.
//!  5. `error`: errors under SQL's codes.
//!  6. This file: which answer is awaited, and what it becomes.
//!
//! Invariants
//!  1. One command is under way at a time. MySQL goes on after an error where PostgreSQL skips to the Sync, so whatever is
//!     queued behind a command is sent when its answer is known to be no error: a COMMIT never follows a failed statement.
//!     A batch costs a round trip for each of its statements, and is counted so.
//!  2. COMMIT is answered by COMMIT only if the transaction was open until then: a deadlock ends it in the server.
//!
//! Leaves out: TLS, compression, packets of 16 MB and more, and the pipelining that MariaDB has for bulk statements.

mod packet;
mod handshake;
pub(super) mod dialect;
mod values;
pub(super) mod error;

use mysql_common::constants::{ColumnFlags, Command, StatusFlags};
use mysql_common::io::ParseBuf;

use self::handshake::{Handshake, Next};
use self::packet::Sequence;
use self::values::{Column, Statement};
use super::error::{DriverError, DriverResult};
use super::form::{self, Tag};
use super::url::Target;
use super::wire::{self, Frame};

/// First bytes of an answer that are not a number of columns.
const OK: u8 = 0x00;
const LOCAL_INFILE: u8 = 0xfb;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;
/// A packet that begins as END and is as long is a row.
const END_BYTES_MAX: usize = 9;

/// What the next packet of the server is.
enum Awaiting {
    Handshake(Box<Handshake>),
    /// The answer to the setting with this number, of those that a session begins with.
    Setting(usize),
    Nothing,
    Prepared,
    /// Definitions of parameters and columns that follow a prepared statement, and the ends of both lists.
    Definitions(usize),
    /// The first packet of an answer.
    Answer,
    /// Definitions of so many columns, and the end of their list.
    Columns(usize),
    Rows,
    /// Nothing until all rows are sent: the server reads a COPY's data.
    Copying,
}

/// The command under way.
#[derive(Clone, Copy)]
struct Under {
    tag: Tag,
    /// The prepared statement, or a text whose rows come as text.
    statement: Option<usize>,
    /// Whether its answer ends with ReadyForQuery by itself, without a Sync.
    simple: bool,
    rows: u64,
}

pub struct Translator {
    settings: Vec<String>,
    engine: Option<String>,
    awaiting: Awaiting,
    under: Under,
    sequence: Sequence,
    /// The driver's messages that are not sent yet, from `next` on.
    queue: Vec<u8>,
    next: usize,
    statements: Vec<Statement>,
    columns: Vec<Column>,
    /// The server's word on whether a transaction is open.
    in_transaction: bool,
    /// The server has ended the transaction by an error, and the client has not heard of it by a ROLLBACK.
    ended: bool,
}

impl Translator {
    pub fn new(target: &Target) -> DriverResult<Translator> {
        Ok(Translator {
            settings: dialect::settings(&target.settings)?,
            engine: target.engine.clone(),
            awaiting: Awaiting::Handshake(Box::new(Handshake::new(target))),
            under: Under {
                tag: Tag::Other,
                statement: None,
                simple: true,
                rows: 0,
            },
            sequence: Sequence::default(),
            queue: Vec::new(),
            next: 0,
            statements: Vec::new(),
            columns: Vec::new(),
            in_transaction: false,
            ended: false,
        })
    }

    /// Takes messages in the driver's form; appends what may be sent of them to `output`, and what needs no server to
    /// `answer`.
    pub fn accept(
        &mut self,
        messages: &[u8],
        output: &mut Vec<u8>,
        answer: &mut Vec<u8>,
    ) -> DriverResult<()> {
        if self.next == self.queue.len() {
            self.queue.clear();
            self.next = 0;
        }
        self.queue.extend_from_slice(messages);
        self.advance(output, answer)
    }

    /// Takes one packet off the front of what has arrived and answers its length, or 0 when it is not complete.
    pub fn digest(
        &mut self,
        arrived: &[u8],
        output: &mut Vec<u8>,
        answer: &mut Vec<u8>,
    ) -> DriverResult<usize> {
        let Some((body, length)) = packet::split(arrived, &mut self.sequence)? else {
            return Ok(0);
        };
        self.read(body, output, answer)?;
        self.advance(output, answer)?;
        Ok(length)
    }

    fn advance(&mut self, output: &mut Vec<u8>, answer: &mut Vec<u8>) -> DriverResult<()> {
        while matches!(self.awaiting, Awaiting::Nothing | Awaiting::Copying) {
            // Taken out, since sending changes everything else.
            let queue = std::mem::take(&mut self.queue);
            let sent = match wire::frame(&queue[self.next..]) {
                Ok(Some((message, length))) => {
                    self.next += length;
                    self.send(&message, output, answer).map(|()| true)
                }
                other => other.map(|_| false),
            };
            self.queue = queue;
            if !sent? {
                break;
            }
        }
        Ok(())
    }

    /// Sends one message of the driver.
    fn send(&mut self, message: &Frame<'_>, output: &mut Vec<u8>, answer: &mut Vec<u8>) -> DriverResult<()> {
        match (message.kind, &self.awaiting) {
            (b'd', Awaiting::Copying) => {
                // An empty packet would say that there are no more.
                if !message.body.is_empty() {
                    self.sequence
                        .packet(output, |out| out.extend_from_slice(message.body))?;
                }
            }
            (b'c', Awaiting::Copying) => {
                self.sequence.packet(output, |_| {})?;
                self.awaiting = Awaiting::Answer;
            }
            (_, Awaiting::Copying) => return Err(DriverError::protocol("only rows can follow a COPY")),
            // The Execute behind a Bind, which has said all.
            (b'E', _) => {}
            (b'S', _) => self.ready(answer),
            (b'P', _) => self.prepare(message.body, output)?,
            (b'B', _) => self.execute(message.body, output)?,
            (b'Q', _) => {
                let text = message.body.strip_suffix(&[0]).unwrap_or(message.body);
                let text =
                    std::str::from_utf8(text).map_err(|_| DriverError::protocol("SQL is not UTF-8"))?;
                match dialect::translate(text, self.engine.as_deref()) {
                    Ok(text) => self.query(&text, true, output)?,
                    Err(refusal) => {
                        error::refuse(answer, &refusal);
                        self.ready(answer);
                    }
                }
            }
            (kind, _) => {
                return Err(DriverError::protocol(format!(
                    "message '{}' has no counterpart in MySQL's protocol",
                    kind as char
                )));
            }
        }
        Ok(())
    }

    fn query(&mut self, text: &str, simple: bool, output: &mut Vec<u8>) -> DriverResult<()> {
        self.under = Under {
            tag: Tag::of(text),
            statement: None,
            simple,
            rows: 0,
        };
        self.awaiting = Awaiting::Answer;
        self.command(Command::COM_QUERY, output, |out| {
            out.extend_from_slice(text.as_bytes())
        })
    }

    fn command(
        &mut self,
        command: Command,
        output: &mut Vec<u8>,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> DriverResult<()> {
        self.sequence = Sequence::default();
        self.sequence.packet(output, |out| {
            out.push(command as u8);
            body(out);
        })
    }

    fn prepare(&mut self, parse: &[u8], output: &mut Vec<u8>) -> DriverResult<()> {
        let (statement, text) = Statement::of_parse(parse)?;
        self.under.simple = false;
        // MySQL does not prepare BEGIN, and nobody gains by preparing the other two.
        let control = statement.is_control();
        self.statements.push(statement);
        if control {
            return Ok(());
        }
        self.awaiting = Awaiting::Prepared;
        self.command(Command::COM_STMT_PREPARE, output, |out| {
            out.extend_from_slice(text.as_bytes())
        })
    }

    fn execute(&mut self, bind: &[u8], output: &mut Vec<u8>) -> DriverResult<()> {
        let number = form::statement_number(bind)?;
        let unknown = || DriverError::protocol("a statement that was never prepared is executed");
        let tag = self.statements.get(number).ok_or_else(unknown)?.tag;
        if let Some(text) = tag.control() {
            return self.query(text, false, output);
        }
        self.under = Under {
            tag,
            statement: Some(number),
            simple: false,
            rows: 0,
        };
        self.awaiting = Awaiting::Answer;
        self.sequence = Sequence::default();
        let statement = &mut self.statements[number];
        let mut written = Ok(());
        self.sequence.packet(output, |out| {
            out.push(Command::COM_STMT_EXECUTE as u8);
            written = statement.write_execute(bind, out);
        })?;
        written
    }

    fn read(&mut self, body: &[u8], output: &mut Vec<u8>, answer: &mut Vec<u8>) -> DriverResult<()> {
        let first = *body.first().ok_or_else(malformed)?;
        let end = first == END && body.len() < END_BYTES_MAX;
        match &mut self.awaiting {
            Awaiting::Handshake(handshake) => match handshake.next(body)? {
                Next::Send(reply) => self.sequence.packet(output, |out| out.extend_from_slice(&reply)),
                Next::Wait => Ok(()),
                Next::Done => {
                    wire::message(answer, b'S', |out| {
                        wire::put_string(out, "server_version");
                        wire::put_string(out, &handshake.server_version);
                    });
                    self.set(0, output, answer)
                }
            },
            Awaiting::Setting(_) | Awaiting::Answer | Awaiting::Prepared | Awaiting::Rows
                if first == ERROR =>
            {
                self.fail(body, answer)
            }
            Awaiting::Setting(number) => {
                let next = *number + 1;
                self.set(next, output, answer)
            }
            Awaiting::Prepared => self.prepared(body),
            Awaiting::Definitions(left) => {
                *left -= 1;
                if *left == 0 {
                    self.awaiting = Awaiting::Nothing;
                }
                Ok(())
            }
            Awaiting::Answer => match first {
                OK => self.complete(body, answer),
                LOCAL_INFILE => self.begin_copy(answer),
                _ => {
                    let columns = ParseBuf(body).checked_eat_lenenc_int().ok_or_else(malformed)?;
                    self.columns.clear();
                    self.awaiting = Awaiting::Columns(columns as usize);
                    Ok(())
                }
            },
            Awaiting::Columns(0) => {
                self.awaiting = Awaiting::Rows;
                Ok(())
            }
            Awaiting::Columns(left) => {
                *left -= 1;
                self.columns.push(Column::of_definition(body)?);
                Ok(())
            }
            Awaiting::Rows if end => {
                self.note_status(body.get(3..5).ok_or_else(malformed)?);
                self.end(self.under.rows, answer);
                Ok(())
            }
            Awaiting::Rows => {
                self.under.rows += 1;
                match self.under.statement {
                    None => values::text_row(body, self.columns.len(), answer),
                    Some(number) => self.statements[number].binary_row(body, &self.columns, answer),
                }
            }
            Awaiting::Nothing | Awaiting::Copying => {
                // Whoever shuts down says so unasked.
                match first {
                    ERROR => Err(DriverError::Server(Box::new(error::decode(body)?))),
                    _ => Err(DriverError::protocol("the server sent more than its answer")),
                }
            }
        }
    }

    /// Sends the next of the settings that a session begins with, or says that it is ready.
    fn set(&mut self, number: usize, output: &mut Vec<u8>, answer: &mut Vec<u8>) -> DriverResult<()> {
        let Some(text) = self.settings.get(number).cloned() else {
            self.awaiting = Awaiting::Nothing;
            self.ready(answer);
            return Ok(());
        };
        self.query(&text, true, output)?;
        self.awaiting = Awaiting::Setting(number);
        Ok(())
    }

    fn prepared(&mut self, body: &[u8]) -> DriverResult<()> {
        let mut fields = ParseBuf(body.get(1..).ok_or_else(malformed)?);
        let id = fields.checked_eat_u32_le().ok_or_else(malformed)?;
        let columns = fields.checked_eat_u16_le().ok_or_else(malformed)? as usize;
        let params = fields.checked_eat_u16_le().ok_or_else(malformed)? as usize;
        let statement = self.statements.last_mut().ok_or_else(malformed)?;
        statement.prepared_as(id, params)?;
        // A list that is empty has no end either.
        let packets = [columns, params]
            .iter()
            .map(|count| count + (*count > 0) as usize)
            .sum();
        self.awaiting = match packets {
            0 => Awaiting::Nothing,
            packets => Awaiting::Definitions(packets),
        };
        Ok(())
    }

    fn begin_copy(&mut self, answer: &mut Vec<u8>) -> DriverResult<()> {
        // A server may ask for a file at any time; it gets rows where COPY asked for that, and nothing else ever.
        if self.under.tag != Tag::Copy {
            return Err(DriverError::protocol(
                "the server asks for a file that nobody offered",
            ));
        }
        wire::message(answer, b'G', |out| {
            out.push(0);
            wire::put_i16(out, 0);
        });
        self.awaiting = Awaiting::Copying;
        Ok(())
    }

    /// An OK packet ends the command.
    fn complete(&mut self, body: &[u8], answer: &mut Vec<u8>) -> DriverResult<()> {
        let mut fields = ParseBuf(body.get(1..).ok_or_else(malformed)?);
        let affected = fields.checked_eat_lenenc_int().ok_or_else(malformed)?;
        fields.checked_eat_lenenc_int().ok_or_else(malformed)?;
        self.note_status(fields.checked_eat(2).ok_or_else(malformed)?);
        let warnings = fields.checked_eat_u16_le().ok_or_else(malformed)?;
        // What a LOAD DATA LOCAL cannot store it changes or skips, with a warning.
        if self.under.tag == Tag::Copy && warnings > 0 {
            error::rows_changed(answer, warnings);
            return self.after_error(answer);
        }
        self.end(affected, answer);
        Ok(())
    }

    fn note_status(&mut self, status: &[u8]) {
        let status = status
            .first_chunk::<2>()
            .map_or(0, |bytes| u16::from_le_bytes(*bytes));
        self.in_transaction = status & StatusFlags::SERVER_STATUS_IN_TRANS.bits() != 0;
    }

    /// The command has succeeded.
    fn end(&mut self, rows: u64, answer: &mut Vec<u8>) {
        let mut tag = self.under.tag;
        if tag.control().is_some() && std::mem::take(&mut self.ended) && tag == Tag::Commit {
            tag = Tag::Rollback;
        }
        wire::message(answer, b'C', |out| {
            tag.write(rows, out);
            out.push(0);
        });
        self.awaiting = Awaiting::Nothing;
        if self.under.simple {
            self.ready(answer);
        }
    }

    fn fail(&mut self, body: &[u8], answer: &mut Vec<u8>) -> DriverResult<()> {
        let server = error::decode(body)?;
        form::write_error(answer, &server);
        // The server ends the whole transaction, and says so with the next status only.
        if error::ends_transaction(&server) && self.in_transaction {
            self.ended = true;
        }
        self.after_error(answer)
    }

    /// Skips what is queued to the Sync.
    fn after_error(&mut self, answer: &mut Vec<u8>) -> DriverResult<()> {
        self.awaiting = Awaiting::Nothing;
        if self.under.simple {
            self.ready(answer);
            return Ok(());
        }
        while let Some((frame, length)) = wire::frame(&self.queue[self.next..])? {
            if frame.kind == b'S' {
                break;
            }
            self.next += length;
        }
        Ok(())
    }

    fn ready(&self, answer: &mut Vec<u8>) {
        let status = match (self.in_transaction, self.ended) {
            (_, true) => b'E',
            (true, false) => b'T',
            (false, false) => b'I',
        };
        wire::message(answer, b'Z', |out| out.push(status));
    }

    /// What a client says that leaves.
    pub fn goodbye(output: &mut Vec<u8>) {
        output.extend_from_slice(&[1, 0, 0, 0, Command::COM_QUIT as u8]);
    }
}

/// Whether a column's numbers have no sign.
fn is_unsigned(flags: u16) -> bool {
    flags & ColumnFlags::UNSIGNED_FLAG.bits() != 0
}

fn malformed() -> DriverError {
    DriverError::protocol("a packet of MySQL's protocol is cut short")
}

#[cfg(test)]
mod tests;
