//! Records that can tell whether they are whole: a field's value names its record, its field and its version, and all
//! letters after that follow from the three. A value of another record, of another field, or half of one is found.

use std::fmt::Write;

use super::draw::scramble;
use crate::loader::{Data, Phase, RowSource, counted};
use mote_driver::{Admin, DriverResult};

pub const FIELDS: usize = 10;
/// Record and version in hexadecimal with a point after each, and the field's digit.
pub const FIELD_BYTES_MIN: usize = 16 + 1 + 1 + 16 + 1;
/// Records of a unit of loading, at most.
const UNIT_RECORDS: u64 = 20_000;

/// The key of a record: as the original's with `insertorder=hashed`, in a fixed width.
pub fn key(out: &mut String, record: u64) {
    write!(out, "user{:020}", scramble(record)).expect("writing to a String cannot fail");
}

pub fn put_field(out: &mut String, record: u64, field: usize, version: u64, bytes: usize) {
    let end = out.len() + bytes;
    write!(out, "{record:016x}{field}.{version:016x}.").expect("writing to a String cannot fail");
    let mut state = scramble(record ^ version.rotate_left(20) ^ (field as u64) << 60) | 1;
    while out.len() < end {
        // A multiplicative generator: letters that differ are all that is wanted, at a few cycles each.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        out.push((b'a' + (state >> 59) as u8 % 26) as char);
    }
}

/// Whether `value` was written for this record and field; answers the record if so.
fn record_of(value: &str, field: usize, bytes: usize, scratch: &mut String) -> Option<u64> {
    let record = u64::from_str_radix(value.get(..16)?, 16).ok()?;
    let version = u64::from_str_radix(value.get(18..34)?, 16).ok()?;
    scratch.clear();
    put_field(scratch, record, field, version, bytes);
    (scratch == value).then_some(record)
}

/// Reads the whole table and counts records that are not whole.
pub fn broken_records(admin: &mut Admin, bytes: usize) -> DriverResult<i64> {
    let (mut broken, mut scratch, mut expected) = (0, String::new(), String::new());
    admin.query_each("SELECT * FROM usertable", |row, columns| {
        let found = row.text()?;
        let (mut whole, mut record) = (columns == FIELDS + 1, None);
        for field in 0..columns.saturating_sub(1) {
            let of = record_of(row.text()?, field, bytes, &mut scratch);
            whole &= of.is_some() && (record.is_none() || record == of);
            record = of;
        }
        expected.clear();
        key(&mut expected, record.unwrap_or_default());
        broken += (!whole || found != expected) as i64;
        Ok(())
    })?;
    Ok(broken)
}

pub struct Records {
    pub records: u64,
    pub field_bytes: usize,
    pub seed: u64,
}

impl Data for Records {
    /// All letters run on the same records.
    fn workload(&self) -> &'static str {
        "ycsb"
    }

    fn description(&self) -> String {
        format!(
            "{} records of {FIELDS} fields of {} bytes, seed {}",
            self.records, self.field_bytes, self.seed
        )
    }

    fn tables(&self) -> &'static [&'static str] {
        &["usertable"]
    }

    fn create(&self) -> Vec<String> {
        let field = |number: usize| format!(", field{number} varchar({})", self.field_bytes);
        let fields: String = (0..FIELDS).map(field).collect();
        vec![format!(
            "CREATE TABLE usertable (ycsb_key varchar(64) NOT NULL{fields})"
        )]
    }

    fn units(&self) -> usize {
        self.records.div_ceil(UNIT_RECORDS) as usize
    }

    fn copy_statement(&self, _: usize) -> String {
        "COPY usertable FROM STDIN".to_string()
    }

    fn rows_expected(&self, unit: usize) -> u64 {
        (self.records - unit as u64 * UNIT_RECORDS).min(UNIT_RECORDS)
    }

    fn rows(&self, unit: usize) -> RowSource {
        let (first, bytes, seed) = (unit as u64 * UNIT_RECORDS, self.field_bytes, self.seed);
        let mut line = String::new();
        counted(self.rows_expected(unit), move |out, number| {
            let record = first + number - 1;
            line.clear();
            key(&mut line, record);
            for field in 0..FIELDS {
                line.push('\t');
                put_field(&mut line, record, field, seed << 48, bytes);
            }
            line.push('\n');
            out.extend_from_slice(line.as_bytes());
        })
    }

    fn phases(&self) -> Vec<Phase> {
        vec![Phase {
            name: "keys",
            statements: vec!["ALTER TABLE usertable ADD PRIMARY KEY (ycsb_key)".to_string()],
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_knows_where_it_belongs() {
        let (mut value, mut scratch) = (String::new(), String::new());
        put_field(&mut value, 0xabc, 7, 0x1234, 100);
        assert_eq!(value.len(), 100);
        assert_eq!(record_of(&value, 7, 100, &mut scratch), Some(0xabc));
        assert_eq!(record_of(&value, 6, 100, &mut scratch), None);
        assert_eq!(record_of(&value[..99], 7, 100, &mut scratch), None);
        let mut torn = value.clone();
        torn.replace_range(60..61, if &value[60..61] == "x" { "y" } else { "x" });
        assert_eq!(record_of(&torn, 7, 100, &mut scratch), None);
        let mut shortest = String::new();
        put_field(&mut shortest, 1, 0, 2, FIELD_BYTES_MIN);
        assert_eq!(record_of(&shortest, 0, FIELD_BYTES_MIN, &mut scratch), Some(1));
    }
}
