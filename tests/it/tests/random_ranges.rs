//! Random expressions over ranges and multiranges, on mote and on a real PostgreSQL 15: the same values, the same SQLSTATEs.
//!
//! The seed is drawn anew for each run and printed with a failure; `MOTE_IT_RANGES=seed` runs it again.
//! Numeric bounds are compared without the zeros at their end: which of 1, 1.0 and 1.00 a union of ranges shows depends on
//! the order that an unstable sort leaves them in (COMPAT.md).

use std::fmt::Write;

use mote_common::prng::Prng;
use mote_it::TestServer;
use mote_it::postgres::PostgresServer;
use mote_it::wire::{Message, RawClient};

const EXPRESSIONS: usize = 1_500;
const FAILURES_MAX: usize = 12;

/// A range type's name without `range`, its subtype, and values in their order.
struct Family(&'static str, &'static str, &'static [&'static str]);

#[rustfmt::skip]
const FAMILIES: &[Family] = &[
    Family("int4", "int4", &["-2147483648", "-1", "0", "1", "2", "3", "5", "10", "2147483647"]),
    Family("int8", "int8", &["-9223372036854775808", "0", "1", "2", "7", "9223372036854775807"]),
    Family("num", "numeric", &["-Infinity", "-2", "0", "1", "1.0", "1.00", "1.5", "1e3", "Infinity", "NaN"]),
    Family("date", "date", &["-infinity", "4713-01-01 BC", "2020-01-01", "2020-01-02", "2020-02-29", "5874897-12-31", "infinity"]),
    Family("ts", "timestamp", &["-infinity", "2020-01-01", "2020-01-01 12:00", "2021-06-01 00:00:01", "infinity"]),
    Family("tstz", "timestamptz", &["-infinity", "2020-01-01", "2020-01-01 12:00+00", "2021-06-01 00:00:01 UTC", "infinity"]),
];
const OPERATORS: &[&str] = &[
    "=", "<>", "<", "<=", ">", ">=", "@>", "<@", "&&", "<<", ">>", "&<", "&>", "-|-", "+", "*", "-",
];
const FUNCTIONS: &[&str] = &[
    "lower",
    "upper",
    "isempty",
    "lower_inc",
    "upper_inc",
    "lower_inf",
    "upper_inf",
    "multirange",
    "text",
];
const AGGREGATES: &[&str] = &["range_agg", "range_intersect_agg", "min", "max", "array_agg"];

struct Generator {
    prng: Prng,
}

impl Generator {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.prng.below(from.len() as u64) as usize]
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.prng.chance(percent, 100)
    }

    /// Two bounds, mostly in order; an empty one is infinite.
    fn bounds(&mut self, family: &Family) -> (&'static str, &'static str) {
        let one = |this: &mut Generator| if this.chance(15) { "" } else { this.pick(family.2) };
        let (low, high) = (one(self), one(self));
        let place = |value: &str| family.2.iter().position(|known| *known == value);
        match !low.is_empty() && !high.is_empty() && place(low) > place(high) && self.chance(93) {
            true => (high, low),
            false => (low, high),
        }
    }

    fn range(&mut self, family: &Family) -> String {
        let Family(name, element, _) = family;
        if self.chance(8) {
            return format!("'empty'::{name}range");
        }
        let (low, high) = self.bounds(family);
        let (open, close) = (self.pick(&["[", "("]), self.pick(&["]", ")"]));
        if self.chance(60) {
            let quoted = |value: &str, quotes: bool| match quotes && !value.is_empty() {
                true => format!("\"{value}\""),
                false => value.to_string(),
            };
            let (low, high) = (quoted(low, self.chance(50)), quoted(high, self.chance(50)));
            return format!("'{open}{low},{high}{close}'::{name}range");
        }
        let value = |value: &str| match value {
            "" => "null".to_string(),
            value => format!("'{value}'::{element}"),
        };
        let (low, high) = (value(low), value(high));
        match self.chance(50) {
            true => format!("{name}range({low}, {high})"),
            false => format!("{name}range({low}, {high}, '{open}{close}')"),
        }
    }

    fn multirange(&mut self, family: &Family) -> String {
        let name = family.0;
        match self.prng.below(10) {
            0 => format!("'{{}}'::{name}multirange"),
            1 => format!("multirange({})", self.range(family)),
            2..6 => {
                let count = self.prng.below(4);
                let ranges: Vec<String> = (0..count).map(|_| self.range(family)).collect();
                format!("{name}multirange({})", ranges.join(", "))
            }
            _ => {
                let count = 1 + self.prng.below(3);
                let part = |this: &mut Generator| {
                    let (low, high) = this.bounds(family);
                    format!("{}{low},{high}{}", this.pick(&["[", "("]), this.pick(&["]", ")"]))
                };
                let parts: Vec<String> = (0..count).map(|_| part(self)).collect();
                format!("'{{{}}}'::{name}multirange", parts.join(","))
            }
        }
    }

    fn operand(&mut self, family: &Family) -> String {
        match self.chance(50) {
            true => self.range(family),
            false => self.multirange(family),
        }
    }

    fn element(&mut self, family: &Family) -> String {
        format!("'{}'::{}", self.pick(family.2), family.1)
    }

    fn expression(&mut self) -> String {
        let family = &FAMILIES[self.prng.below(FAMILIES.len() as u64) as usize];
        match self.prng.below(20) {
            0..12 => {
                let (mut left, mut right) = (self.operand(family), self.operand(family));
                match self.prng.below(14) {
                    0 => left = self.element(family),
                    1 => right = self.element(family),
                    _ => {}
                }
                format!("select {left} {} {right}", self.pick(OPERATORS))
            }
            12..15 => match self.pick(FUNCTIONS) {
                "text" => format!("select ({})::text", self.operand(family)),
                name => format!("select {name}({})", self.operand(family)),
            },
            15 => format!(
                "select range_merge({}, {})",
                self.range(family),
                self.range(family)
            ),
            16 => format!("select array(select unnest({}))", self.multirange(family)),
            _ => {
                let ranges = self.chance(50);
                let rows: Vec<String> = (0..3)
                    .map(|_| match (self.chance(10), ranges) {
                        (true, _) => "null".into(),
                        (_, true) => self.range(family),
                        (_, false) => self.multirange(family),
                    })
                    .collect();
                let aggregate = self.pick(AGGREGATES);
                format!("select {aggregate}(x) from (values ({})) v(x)", rows.join("), ("))
            }
        }
    }
}

/// The value that is shown, or the SQLSTATE and message.
fn answer(client: &mut RawClient, query: &str) -> String {
    let messages = client.query(query);
    let shown = |message: &Message| match message.kind {
        b'E' => {
            let fields = b"CM".iter().filter_map(|code| message.field(*code));
            Some(fields.collect::<Vec<_>>().join(" "))
        }
        b'D' => {
            let columns = message.columns();
            let value = columns.first()?.as_ref();
            Some(value.map_or("NULL".into(), |bytes| String::from_utf8_lossy(bytes).into_owned()))
        }
        _ => None,
    };
    let answers: Vec<String> = messages.iter().filter_map(shown).collect();
    let answer = answers.join("\n");
    match query.contains("num") {
        true => without_trailing_zeros(&answer),
        false => answer,
    }
}

/// `1.00` and `1.0` as `1`, `1.50` as `1.5`.
fn without_trailing_zeros(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let number = &rest[start..];
        let end = number
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(number.len());
        let (number, behind) = number.split_at(end);
        out.push_str(&rest[..start]);
        out.push_str(match number.contains('.') {
            true => number.trim_end_matches('0').trim_end_matches('.'),
            false => number,
        });
        rest = behind;
    }
    out + rest
}

#[test]
fn random_expressions_over_ranges_are_postgresql_s() {
    let seed = std::env::var("MOTE_IT_RANGES").map_or_else(
        |_| mote_common::env::real::entropy_u64(),
        |seed| seed.parse().expect("MOTE_IT_RANGES is a number"),
    );
    let postgres = PostgresServer::start();
    let theirs = TestServer::in_server(&postgres.url());
    let mut ours = TestServer::start("random-ranges");
    let mut clients = [&theirs, &ours].map(|server| {
        let mut client = RawClient::connect(server);
        client.query("set timezone = 'UTC'");
        client
    });
    let mut generator = Generator {
        prng: Prng::new(seed),
    };
    let (mut report, mut failures, mut refused) = (String::new(), 0, 0);
    for _ in 0..EXPRESSIONS {
        let query = generator.expression();
        let [expected, got] = [0, 1].map(|server| answer(&mut clients[server], &query));
        refused += usize::from(expected.starts_with("22") || expected.starts_with("42"));
        if expected != got {
            failures += 1;
            let _ = write!(report, "\n{query}\n--- PostgreSQL\n{expected}\n--- mote\n{got}");
            if failures == FAILURES_MAX {
                break;
            }
        }
    }
    ours.assert_unharmed();
    assert!(report.is_empty(), "seed {seed}: {failures} differ{report}");
    // Most have a value, or the test would compare messages.
    assert!(refused < EXPRESSIONS / 2, "seed {seed}: {refused} were refused");
}
