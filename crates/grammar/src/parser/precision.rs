//! `time(7)` and its kin: a second has six digits at most, and PostgreSQL warns of more.
//!
//! The types keep what was written; whoever reads the modifier lowers it. Here is noted what to tell the client, in the
//! order and as often as PostgreSQL's analysis comes by: columns are told twice, the second time without their place.
//! Leaves out: bodies of routines, whose statements are parsed when they are first run.

use crate::ast::*;

/// Digits of a second.
const PRECISION_MAX: i32 = 6;

/// What a statement asks for and does not get.
#[derive(Default)]
pub(super) struct LoweredPrecisions {
    pub(super) noted: Vec<LoweredPrecision>,
    /// Told behind the others: columns are made when all of the statement has been analyzed.
    pub(super) again: Vec<LoweredPrecision>,
}

/// How the type of a column or argument is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// Once, with its place.
    Once,
    /// As those of tables: with its place, and once more when the column is made.
    Twice,
    /// Once, without its place.
    Unplaced,
}

impl LoweredPrecisions {
    /// Notes a type as it was written.
    pub fn note_type(&mut self, name: &TypeName) {
        if name.modifiers.is_empty() || !matches!(name.name.qualifier(), None | Some("pg_catalog")) {
            return;
        }
        let (kind, zone) = match name.name.last() {
            "time" => ("TIME", ""),
            "timetz" => ("TIME", " WITH TIME ZONE"),
            "timestamp" => ("TIMESTAMP", ""),
            "timestamptz" => ("TIMESTAMP", " WITH TIME ZONE"),
            "interval" => ("INTERVAL", ""),
            _ => return,
        };
        // Before an interval's precision stands which fields it has.
        let precision = match (kind, name.modifiers.as_slice()) {
            ("INTERVAL", [_, precision]) => precision,
            ("INTERVAL", _) => return,
            (_, [precision]) => precision,
            _ => return,
        };
        if let ExprKind::Constant(Constant::Integer(precision)) = precision.kind {
            self.note(kind, precision, zone, name.location);
        }
    }

    /// Notes `localtime(7)` and its kin, which are told without their place.
    pub fn note_value(&mut self, function: SqlValueFunction, precision: i32) {
        let (kind, zone) = match function {
            SqlValueFunction::CurrentTime => ("TIME", " WITH TIME ZONE"),
            SqlValueFunction::CurrentTimestamp => ("TIMESTAMP", " WITH TIME ZONE"),
            SqlValueFunction::LocalTime => ("TIME", ""),
            SqlValueFunction::LocalTimestamp => ("TIMESTAMP", ""),
            _ => return,
        };
        self.note(kind, precision, zone, Location::NONE);
    }

    fn note(&mut self, kind: &str, precision: i32, zone: &str, location: Location) {
        if precision > PRECISION_MAX {
            self.noted.push(LoweredPrecision {
                written: format!("{kind}({precision}){zone}"),
                location,
            });
        }
    }

    /// Tells what was noted since there were `known` of them as the type of a column or argument is told.
    pub fn tell(&mut self, known: usize, told: Told) {
        for lowered in &mut self.noted[known..] {
            let unplaced = LoweredPrecision {
                written: lowered.written.clone(),
                location: Location::NONE,
            };
            match told {
                Told::Once => {}
                Told::Twice => self.again.push(unplaced),
                Told::Unplaced => *lowered = unplaced,
            }
        }
    }
}
