//! The slow, convenient client on a blocking socket: DDL, COPY, checks. Not for measured work.

use std::sync::Arc;

use super::error::{DriverError, DriverResult};
use super::fiber::Wait;
use super::session::Session;
use super::statement::StatementSet;
use super::url::{System, Target};
use super::wire::{self, Row};

/// COPY data is sent in messages of about this size: large enough that system calls do not count.
pub const COPY_CHUNK_BYTES: usize = 64 * 1024;

pub struct Admin {
    session: Session,
}

/// A row of text columns; `None` is NULL.
pub type TextRow = Vec<Option<String>>;

impl Admin {
    pub fn connect(target: &Target) -> DriverResult<Admin> {
        let session = Session::open(target, Arc::new(StatementSet::new(Vec::new())), &Wait::Blocking)?;
        Ok(Admin { session })
    }

    pub fn system(&self) -> System {
        self.session.system()
    }

    /// The connection itself, for what works on any.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    pub fn server_version(&self) -> &str {
        self.session.server_version()
    }

    /// Runs statements through the simple protocol and drops their rows.
    pub fn execute(&mut self, sql: &str) -> DriverResult<()> {
        wire::query(self.session.output(), sql);
        self.session.exchange(&Wait::Blocking).map(|_| ())
    }

    /// All rows as text.
    pub fn query(&mut self, sql: &str) -> DriverResult<Vec<TextRow>> {
        let mut rows = Vec::new();
        self.query_each(sql, |row, columns| {
            let mut values = Vec::with_capacity(columns);
            for _ in 0..columns {
                values.push(
                    row.bytes()?
                        .map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
                );
            }
            rows.push(values);
            Ok(())
        })?;
        Ok(rows)
    }

    /// The single value of a query, as text.
    pub fn value(&mut self, sql: &str) -> DriverResult<Option<String>> {
        Ok(self
            .query(sql)?
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next())
            .flatten())
    }

    /// Streams rows to `each`, which gets the row and its number of columns.
    pub fn query_each(
        &mut self,
        sql: &str,
        mut each: impl FnMut(&mut Row<'_>, usize) -> DriverResult<()>,
    ) -> DriverResult<()> {
        wire::query(self.session.output(), sql);
        self.session.flush(&Wait::Blocking)?;
        let mut failure = None;
        loop {
            let frame = self.session.next_frame(&Wait::Blocking)?;
            match frame.kind {
                b'D' if failure.is_none() => {
                    let columns = frame
                        .body
                        .first_chunk::<2>()
                        .map_or(0, |count| u16::from_be_bytes(*count));
                    failure = each(&mut Row::new(frame.body), columns as usize).err();
                }
                b'E' => failure = Some(DriverError::Server(Box::new(wire::decode_error(frame.body)))),
                b'Z' => return failure.map_or(Ok(()), Err),
                _ => {}
            }
        }
    }

    /// COPY .. TO STDOUT in its text form. `each` gets the rows one by one, without their ends.
    pub fn copy_out(
        &mut self,
        sql: &str,
        mut each: impl FnMut(&[u8]) -> DriverResult<()>,
    ) -> DriverResult<()> {
        if self.system() != System::Postgres {
            return Err(DriverError::protocol("COPY TO STDOUT needs PostgreSQL's wire"));
        }
        wire::query(self.session.output(), sql);
        self.session.flush(&Wait::Blocking)?;
        let (mut begun, mut failure) = (false, None);
        loop {
            let frame = self.session.next_frame(&Wait::Blocking)?;
            match frame.kind {
                b'H' => begun = true,
                // Servers send a row in a message.
                b'd' if failure.is_none() => {
                    failure = each(frame.body.strip_suffix(b"\n").unwrap_or(frame.body)).err();
                }
                b'E' => failure = Some(DriverError::Server(Box::new(wire::decode_error(frame.body)))),
                b'Z' if failure.is_none() && !begun => {
                    return Err(DriverError::protocol("the statement did not start a COPY"));
                }
                b'Z' => return failure.map_or(Ok(()), Err),
                _ => {}
            }
        }
    }

    /// COPY .. FROM STDIN. `next` appends rows to the buffer and returns false after the last ones. Returns the bytes
    /// of data sent.
    pub fn copy_in(&mut self, sql: &str, mut next: impl FnMut(&mut Vec<u8>) -> bool) -> DriverResult<u64> {
        let wait = Wait::Blocking;
        wire::query(self.session.output(), sql);
        self.session.flush(&wait)?;
        loop {
            let frame = self.session.next_frame(&wait)?;
            match frame.kind {
                b'G' => break,
                b'E' => {
                    let error = wire::decode_error(frame.body);
                    while self.session.next_frame(&wait)?.kind != b'Z' {}
                    return Err(DriverError::Server(Box::new(error)));
                }
                b'Z' => return Err(DriverError::protocol("the statement did not start a COPY")),
                _ => {}
            }
        }
        let (mut more, mut total) = (true, 0);
        while more {
            let output = self.session.output();
            let at = wire::begin(output, b'd');
            let start = output.len();
            while more && output.len() - start < COPY_CHUNK_BYTES {
                more = next(output);
            }
            total += (output.len() - start) as u64;
            wire::finish(output, at);
            self.session.flush(&wait)?;
        }
        wire::message(self.session.output(), b'c', |_| {});
        self.session.exchange(&wait)?;
        Ok(total)
    }
}
