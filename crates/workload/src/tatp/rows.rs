//! The register's rows. What a subscriber has follows from the seed and its number alone, so that each table can be loaded
//! by itself and all agree.

use std::fmt::Write;

use mote_common::prng::Prng;

use super::Tatp;
use crate::loader::{Data, Phase, RowSource};

/// Subscribers of a unit of loading, at most.
const UNIT_SUBSCRIBERS: i32 = 20_000;
const TABLES: [&str; 4] = [
    "tatp_subscriber",
    "tatp_access_info",
    "tatp_special_facility",
    "tatp_call_forwarding",
];
/// Rows of each table per subscriber, on average.
const ROWS_PER_SUBSCRIBER: [f64; 4] = [1.0, 2.5, 2.5, 3.75];
/// Of 100 special facilities, those that are active.
const ACTIVE_PERCENT: u64 = 85;

pub struct Register(pub Tatp);

/// What a subscriber has, as the description distributes it.
struct Holdings {
    /// Which of the types 1 to 4.
    access: [bool; 4],
    facilities: [bool; 4],
    /// By facility: from which of 0, 8 and 16 o'clock calls are forwarded.
    forwarded: [[bool; 3]; 4],
    /// For all other columns.
    prng: Prng,
}

impl Holdings {
    fn of(seed: u64, subscriber: i32) -> Holdings {
        let mut prng = Prng::fork(seed, subscriber as u64);
        let access = chosen(&mut prng, 1);
        let facilities = chosen(&mut prng, 1);
        let forwarded = [(); 4].map(|()| chosen(&mut prng, 0));
        Holdings {
            access,
            facilities,
            forwarded,
            prng,
        }
    }
}

/// Between `least` and all of N things, each number as likely.
fn chosen<const N: usize>(prng: &mut Prng, least: i64) -> [bool; N] {
    let count = prng.between(least, N as i64) as usize;
    let mut all: [usize; N] = std::array::from_fn(|at| at);
    prng.shuffle(&mut all);
    let mut chosen = [false; N];
    all[..count].iter().for_each(|at| chosen[*at] = true);
    chosen
}

impl Register {
    fn parts(&self) -> usize {
        (self.0.subscribers as usize).div_ceil(UNIT_SUBSCRIBERS as usize)
    }

    /// The subscribers of a unit: first and last.
    fn range(&self, unit: usize) -> (i32, i32) {
        let first = (unit % self.parts()) as i32 * UNIT_SUBSCRIBERS + 1;
        (first, (first + UNIT_SUBSCRIBERS - 1).min(self.0.subscribers))
    }
}

impl Data for Register {
    fn workload(&self) -> &'static str {
        "tatp"
    }

    fn description(&self) -> String {
        format!("{} subscribers, seed {}", self.0.subscribers, self.0.seed)
    }

    fn tables(&self) -> &'static [&'static str] {
        &[
            "tatp_call_forwarding",
            "tatp_special_facility",
            "tatp_access_info",
            "tatp_subscriber",
        ]
    }

    fn create(&self) -> Vec<String> {
        let numbered = |name: &str| -> String {
            let each = (1..=10).map(|number| format!(", {name}_{number} smallint"));
            each.collect()
        };
        let (bits, hexes, bytes) = (numbered("bit"), numbered("hex"), numbered("byte2"));
        vec![
            format!(
                "CREATE TABLE tatp_subscriber (s_id integer NOT NULL, sub_nbr varchar(15) NOT NULL{bits}{hexes}{bytes}, \
                 msc_location integer, vlr_location integer)"
            ),
            "CREATE TABLE tatp_access_info (s_id integer NOT NULL, ai_type smallint NOT NULL, data1 smallint, \
             data2 smallint, data3 char(3), data4 char(5))"
                .to_string(),
            "CREATE TABLE tatp_special_facility (s_id integer NOT NULL, sf_type smallint NOT NULL, \
             is_active smallint NOT NULL, error_cntrl smallint, data_a smallint, data_b char(5))"
                .to_string(),
            "CREATE TABLE tatp_call_forwarding (s_id integer NOT NULL, sf_type smallint NOT NULL, \
             start_time smallint NOT NULL, end_time smallint NOT NULL, numberx varchar(15))"
                .to_string(),
        ]
    }

    /// The parts of each table, one table after the other.
    fn units(&self) -> usize {
        self.parts() * TABLES.len()
    }

    fn copy_statement(&self, unit: usize) -> String {
        format!("COPY {} FROM STDIN", TABLES[unit / self.parts()])
    }

    fn rows_expected(&self, unit: usize) -> u64 {
        let (first, last) = self.range(unit);
        ((last - first + 1) as f64 * ROWS_PER_SUBSCRIBER[unit / self.parts()]) as u64
    }

    fn rows(&self, unit: usize) -> RowSource {
        let (table, (first, last)) = (unit / self.parts(), self.range(unit));
        let (seed, subscribers) = (self.0.seed, self.0.subscribers);
        let (mut next, mut text) = (first, String::new());
        Box::new(move |out| {
            // A subscriber without a call forwarding gives no row; the next one may.
            while next <= last {
                text.clear();
                let rows = put(&mut text, table, Holdings::of(seed, next), next, subscribers);
                next += 1;
                if rows > 0 {
                    out.extend_from_slice(text.as_bytes());
                    return rows;
                }
            }
            0
        })
    }

    fn phases(&self) -> Vec<Phase> {
        let keys = [
            "ALTER TABLE tatp_subscriber ADD PRIMARY KEY (s_id)",
            "CREATE UNIQUE INDEX tatp_subscriber_number ON tatp_subscriber (sub_nbr)",
            "ALTER TABLE tatp_access_info ADD PRIMARY KEY (s_id, ai_type)",
            "ALTER TABLE tatp_special_facility ADD PRIMARY KEY (s_id, sf_type)",
            "ALTER TABLE tatp_call_forwarding ADD PRIMARY KEY (s_id, sf_type, start_time)",
        ];
        let foreign_keys = [
            "ALTER TABLE tatp_access_info ADD FOREIGN KEY (s_id) REFERENCES tatp_subscriber (s_id)",
            "ALTER TABLE tatp_special_facility ADD FOREIGN KEY (s_id) REFERENCES tatp_subscriber (s_id)",
            "ALTER TABLE tatp_call_forwarding ADD FOREIGN KEY (s_id, sf_type) \
             REFERENCES tatp_special_facility (s_id, sf_type)",
        ];
        vec![
            Phase {
                name: "keys",
                statements: keys.map(String::from).to_vec(),
            },
            Phase {
                name: "foreign keys",
                statements: foreign_keys.map(String::from).to_vec(),
            },
        ]
    }
}

/// Appends the subscriber's rows of a table; answers how many.
fn put(out: &mut String, table: usize, holdings: Holdings, subscriber: i32, subscribers: i32) -> u64 {
    let (mut rows, mut prng) = (0, holdings.prng);
    let mut line = |out: &mut String, text: std::fmt::Arguments<'_>| {
        out.write_fmt(text).expect("writing to a String cannot fail");
        rows += 1;
    };
    match table {
        0 => put_subscriber(out, &mut prng, subscriber, &mut line),
        1 => {
            for (kind, _) in present(&holdings.access) {
                let (one, two) = (prng.between(0, 255), prng.between(0, 255));
                let (three, four) = (letters::<3>(&mut prng), letters::<5>(&mut prng));
                line(
                    out,
                    format_args!("{subscriber}\t{kind}\t{one}\t{two}\t{three}\t{four}\n"),
                );
            }
        }
        2 => {
            for (kind, _) in present(&holdings.facilities) {
                let active = prng.chance(ACTIVE_PERCENT, 100) as u8;
                let (control, data) = (prng.between(0, 255), prng.between(0, 255));
                let text = letters::<5>(&mut prng);
                line(
                    out,
                    format_args!("{subscriber}\t{kind}\t{active}\t{control}\t{data}\t{text}\n"),
                );
            }
        }
        _ => {
            for (kind, at) in present(&holdings.facilities) {
                for (third, _) in present(&holdings.forwarded[at]) {
                    let start = 8 * (third as i64 - 1);
                    let end = start + prng.between(1, 8);
                    let to = prng.between(1, subscribers as i64);
                    line(
                        out,
                        format_args!("{subscriber}\t{kind}\t{start}\t{end}\t{to:015}\n"),
                    );
                }
            }
        }
    }
    rows
}

fn put_subscriber(
    out: &mut String,
    prng: &mut Prng,
    subscriber: i32,
    line: &mut impl FnMut(&mut String, std::fmt::Arguments<'_>),
) {
    line(out, format_args!("{subscriber}\t{subscriber:015}"));
    for highest in [1, 15, 255] {
        for _ in 0..10 {
            write!(out, "\t{}", prng.between(0, highest)).expect("writing to a String cannot fail");
        }
    }
    let (msc, vlr) = (prng.between(1, i32::MAX as i64), prng.between(1, i32::MAX as i64));
    writeln!(out, "\t{msc}\t{vlr}").expect("writing to a String cannot fail");
}

/// The types that are there, counted from 1, with their positions.
fn present(those: &[bool]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let there = those.iter().enumerate().filter(|(_, there)| **there);
    there.map(|(at, _)| (at + 1, at))
}

fn letters<const N: usize>(prng: &mut Prng) -> String {
    (0..N).map(|_| (b'A' + prng.below(26) as u8) as char).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_agree_and_have_the_description_s_sizes() {
        let register = Register(Tatp {
            subscribers: 20_500,
            uniform: false,
            seed: 4,
        });
        assert_eq!(register.units(), 8);
        let mut counts = [0u64; 4];
        let mut facilities = std::collections::HashSet::new();
        for unit in 0..8 {
            let (mut source, mut out) = (register.rows(unit), Vec::new());
            loop {
                let rows = source(&mut out);
                counts[unit / 2] += rows;
                if rows == 0 {
                    break;
                }
            }
            let text = String::from_utf8(out).expect("ASCII");
            for line in text.lines() {
                let mut fields = line.split('\t').map(String::from);
                let key = (fields.next(), fields.next());
                match unit / 2 {
                    2 => assert!(facilities.insert(key)),
                    3 => assert!(facilities.contains(&key), "{line}"),
                    _ => {}
                }
            }
        }
        for (count, each) in counts.iter().zip(ROWS_PER_SUBSCRIBER) {
            assert!(
                (*count as f64 / 20_500.0 / each - 1.0).abs() < 0.03,
                "{counts:?}, seed 4"
            );
        }
    }
}
