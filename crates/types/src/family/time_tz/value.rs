//! The value: a time of day on the clock of an offset, as a number whose order is that of the type.
//!
//! ```text
//! bits 55 .. 18   the same moment in Greenwich, microseconds, plus a shift that makes it positive
//! bits 17 .. 0    seconds west of Greenwich, plus a shift: among equal moments the more western is the greater
//! ```

use crate::calendar::{DAY_US, SECOND_US};
use crate::datetime::write_time;
use crate::datum::{Datum, Interval};
use crate::time_zone::OFFSET_S_END;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

const ZONE_BITS: u32 = 18;
const ZONE_SHIFT_S: i64 = 1 << (ZONE_BITS - 1);
const MOMENT_SHIFT_US: i64 = OFFSET_S_END as i64 * SECOND_US;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeTz {
    /// Since midnight of its own clock, 0..=DAY_US.
    pub us: i64,
    pub east_s: i32,
}

impl TimeTz {
    /// The moment in Greenwich, on the same day as the clock's reading: below 0 or above 24 hours for some.
    pub fn moment_us(self) -> i64 {
        self.us - i64::from(self.east_s) * SECOND_US
    }

    /// Of an offset that a zone has given: those in POSIX's form have up to 167 hours, and numbers as above have no place for them.
    pub fn held(self) -> SqlResult<Datum> {
        match self.east_s.abs() < OFFSET_S_END {
            true => Ok(self.to_datum()),
            false => Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "time zone displacements of 16 hours and more are not supported for type time with time zone",
            )),
        }
    }

    pub fn to_datum(self) -> Datum {
        let moment = (self.moment_us() + MOMENT_SHIFT_US) as u64;
        let west = (ZONE_SHIFT_S - i64::from(self.east_s)) as u64;
        Datum::Unsigned8(moment << ZONE_BITS | west)
    }

    pub fn of(datum: &Datum) -> TimeTz {
        let Datum::Unsigned8(number) = datum else {
            panic!(
                "a time with time zone is held as a number, not as {}: the binder resolves argument types",
                datum.variant_name()
            )
        };
        let east_s = ZONE_SHIFT_S - (number & ((1 << ZONE_BITS) - 1)) as i64;
        let moment_us = (number >> ZONE_BITS) as i64 - MOMENT_SHIFT_US;
        TimeTz {
            us: moment_us + east_s * SECOND_US,
            east_s: east_s as i32,
        }
    }

    pub fn plus(self, interval: &Interval, sign: i64) -> TimeTz {
        let span = interval.us % DAY_US * sign;
        let us = (self.us + span).rem_euclid(DAY_US);
        TimeTz { us, ..self }
    }

    /// The same moment on another clock, 22009 if there is none so far from Greenwich.
    pub fn at(self, east_s: i32) -> SqlResult<TimeTz> {
        check_offset(east_s)?;
        let moved = self.us + i64::from(east_s - self.east_s) * SECOND_US;
        Ok(TimeTz {
            us: moved.rem_euclid(DAY_US),
            east_s,
        })
    }

    /// `hh:mm:ss.ffffff+hh:mm:ss`, without the parts of the offset that are zero at its end.
    pub fn write(self, out: &mut Vec<u8>) {
        write_time(self.us, out);
        let seconds = self.east_s.unsigned_abs();
        out.push(if self.east_s < 0 { b'-' } else { b'+' });
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let parts: &[u32] = match (minutes, seconds) {
            (0, 0) => &[hours],
            (_, 0) => &[hours, minutes],
            _ => &[hours, minutes, seconds],
        };
        for (place, &part) in parts.iter().enumerate() {
            if place > 0 {
                out.push(b':');
            }
            out.extend_from_slice(&[b'0' + (part / 10) as u8, b'0' + (part % 10) as u8]);
        }
    }

    /// Eight bytes of time, four of seconds west.
    pub fn receive(bytes: &[u8]) -> SqlResult<TimeTz> {
        let Some((time, zone)) = bytes.split_first_chunk::<8>() else {
            return Err(malformed());
        };
        let west_s = i32::from_be_bytes(zone.try_into().map_err(|_| malformed())?);
        let us = i64::from_be_bytes(*time);
        if !(0..=DAY_US).contains(&us) {
            return Err(SqlError::new(state::DATETIME_FIELD_OVERFLOW, "time out of range"));
        }
        check_offset(west_s)?;
        Ok(TimeTz { us, east_s: -west_s })
    }

    pub fn send(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.us.to_be_bytes());
        out.extend_from_slice(&(-self.east_s).to_be_bytes());
    }
}

/// East or west.
fn check_offset(seconds: i32) -> SqlResult<()> {
    if seconds > -OFFSET_S_END && seconds < OFFSET_S_END {
        return Ok(());
    }
    let message = "time zone displacement out of range";
    Err(SqlError::new(
        state::INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
        message,
    ))
}

fn malformed() -> SqlError {
    let message = "insufficient data left in message";
    SqlError::new(state::PROTOCOL_VIOLATION, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::compare;

    #[test]
    fn numbers_hold_values_and_sort_as_postgresql_does() {
        let edges = [0, 1, DAY_US / 2, DAY_US - 1, DAY_US];
        let zones = [-OFFSET_S_END + 1, -3600, -1, 0, 1, 3600, OFFSET_S_END - 1];
        let all: Vec<TimeTz> = edges
            .iter()
            .flat_map(|&us| zones.iter().map(move |&east_s| TimeTz { us, east_s }))
            .collect();
        for a in &all {
            assert_eq!(TimeTz::of(&a.to_datum()), *a);
            let mut sent = Vec::new();
            a.send(&mut sent);
            assert_eq!(TimeTz::receive(&sent).expect("it was sent"), *a);
            for b in &all {
                let key = |value: &TimeTz| (value.moment_us(), -value.east_s);
                assert_eq!(
                    compare(&a.to_datum(), &b.to_datum()),
                    key(a).cmp(&key(b)),
                    "{a:?} {b:?}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_value_is_refused() {
        let mut bytes = Vec::new();
        TimeTz { us: 0, east_s: 0 }.send(&mut bytes);
        assert!(TimeTz::receive(&bytes[..11]).is_err());
        bytes[0] = 0x80;
        assert!(TimeTz::receive(&bytes).is_err());
        bytes[0] = 0;
        bytes[8] = 0x7f;
        assert!(TimeTz::receive(&bytes).is_err());
    }

    /// They would be read as others.
    #[test]
    fn offsets_without_a_place_are_refused() {
        let held = |east_s| TimeTz { us: 0, east_s }.held();
        for east_s in [OFFSET_S_END - 1, 1 - OFFSET_S_END] {
            let datum = held(east_s).expect("it has a place");
            assert_eq!(TimeTz::of(&datum), TimeTz { us: 0, east_s });
        }
        assert!(held(OFFSET_S_END).is_err() && held(-40 * 3600).is_err());
    }

    #[test]
    fn offsets_are_shown_as_far_as_they_go() {
        let shown = |east_s| {
            let mut out = Vec::new();
            TimeTz { us: 0, east_s }.write(&mut out);
            String::from_utf8(out).expect("ASCII")
        };
        assert_eq!(shown(0), "00:00:00+00");
        assert_eq!(shown(-19_800), "00:00:00-05:30");
        assert_eq!(shown(3601), "00:00:00+01:00:01");
    }
}
