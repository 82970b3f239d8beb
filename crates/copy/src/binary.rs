//! The binary form of COPY: header, tuples of length-prefixed fields, trailer.
//!
//! Layout: 11 bytes of signature, 4 of flags, 4 with the length of an extension; per tuple the number of fields (2 bytes)
//! and per field its length (4 bytes, -1 = NULL) and its bytes; at the end -1 as a number of fields. All big-endian.

use mote_common::SqlResult;
use mote_types::encoding::{Converter, binary_from_client};
use mote_types::{Datum, input_binary};

use crate::lines::{Input, LINE_BYTES_MAX, malformed};
use crate::target::{Place, Target};
use mote_executor::context::StatementContext;

pub const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// Flag bits a reader may not ignore; none of them has a meaning any more.
const CRITICAL_FLAGS: u32 = 0xffff_0000;

/// Reads tuples. Lengths come from the client: each is checked against the bound of a line before memory is taken.
pub struct Tuples {
    input: Input,
    field: Vec<u8>,
    /// 1-based number of the current tuple.
    pub number: u64,
    /// For text inside of the values.
    converter: Option<Converter>,
}

impl Tuples {
    pub fn new(input: Input, converter: Option<Converter>) -> Tuples {
        Tuples {
            input,
            field: Vec::new(),
            number: 0,
            converter,
        }
    }

    /// Reads the header, before the first tuple.
    pub fn header(&mut self, context: &mut StatementContext<'_>) -> SqlResult<()> {
        match self.bytes(SIGNATURE.len(), context)? {
            Some(bytes) if bytes == SIGNATURE => {}
            _ => return Err(malformed("COPY file signature not recognized")),
        }
        let flags = self
            .int4(context)?
            .ok_or_else(|| malformed("invalid COPY file header (missing flags)"))?;
        if flags as u32 & CRITICAL_FLAGS != 0 {
            return Err(malformed("unrecognized critical flags in COPY file header"));
        }
        let extension = self
            .int4(context)?
            .ok_or_else(|| malformed("invalid COPY file header (missing length)"))?;
        let wrong = || malformed("invalid COPY file header (wrong length)");
        // The extension is skipped: nobody has defined one.
        let length = usize::try_from(extension)
            .ok()
            .filter(|length| *length <= LINE_BYTES_MAX)
            .ok_or_else(wrong)?;
        self.bytes(length, context)?.ok_or_else(wrong)?;
        Ok(())
    }

    /// Reads the next tuple into the row. False behind the trailer.
    pub fn next(
        &mut self,
        targets: &[Target],
        row: &mut [Datum],
        place: &mut Place,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<bool> {
        place.column = None;
        self.number += 1;
        // PostgreSQL takes an end without a trailer for the end of the data.
        let Some(count) = self.int2(context)? else {
            return Ok(false);
        };
        if count == -1 {
            // Nothing may follow the trailer.
            if self.bytes(1, context)?.is_some() {
                return Err(malformed("received copy data after EOF marker"));
            }
            return Ok(false);
        }
        // Every tuple tells its number of fields; COPY wants them equal.
        if count as i64 != targets.len() as i64 {
            return Err(malformed(format!(
                "row field count is {count}, expected {}",
                targets.len()
            )));
        }
        for target in targets {
            row[target.position] = self.value(target, context).inspect_err(|_| {
                place.column = Some((target.name.clone(), None));
            })?;
        }
        Ok(true)
    }

    /// One field, by the receive function of its type.
    fn value(&mut self, target: &Target, context: &mut StatementContext<'_>) -> SqlResult<Datum> {
        let length = self.int4(context)?.ok_or_else(unexpected_end)?;
        if length == -1 {
            return Ok(Datum::Null);
        }
        let length = usize::try_from(length).map_err(|_| malformed("invalid field size"))?;
        if length > LINE_BYTES_MAX {
            return Err(malformed("invalid field size"));
        }
        let converter = self.converter;
        let bytes = self.bytes(length, context)?.ok_or_else(unexpected_end)?;
        let Some(converter) = converter else {
            return input_binary(target.ty, bytes);
        };
        let mut recoded = Vec::with_capacity(bytes.len());
        binary_from_client(converter, target.ty.oid, bytes, &mut recoded)?;
        input_binary(target.ty, &recoded)
    }

    /// Two bytes; None at the end of the input.
    fn int2(&mut self, context: &mut StatementContext<'_>) -> SqlResult<Option<i16>> {
        let bytes = self.bytes(2, context)?;
        Ok(bytes.map(|bytes| i16::from_be_bytes(bytes.try_into().expect("two bytes were asked for"))))
    }

    fn int4(&mut self, context: &mut StatementContext<'_>) -> SqlResult<Option<i32>> {
        let bytes = self.bytes(4, context)?;
        Ok(bytes.map(|bytes| i32::from_be_bytes(bytes.try_into().expect("four bytes were asked for"))))
    }

    /// The next bytes; None when the input ends before them.
    fn bytes(&mut self, count: usize, context: &mut StatementContext<'_>) -> SqlResult<Option<&[u8]>> {
        while self.input.available().len() < count {
            if !self.input.fill(context)? {
                return Ok(None);
            }
        }
        self.field.clear();
        self.field.extend_from_slice(&self.input.available()[..count]);
        self.input.consume(count);
        Ok(Some(&self.field))
    }
}

#[cold]
fn unexpected_end() -> mote_common::SqlError {
    malformed("unexpected EOF in COPY data")
}
