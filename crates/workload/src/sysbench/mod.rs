//! The transactions of sysbench's OLTP scripts (version 1.0): short reads by key, ranges of a hundred rows, updates of a column
//! with an index and of one without, deletes and inserts of the same key.
//!
//! Read in this order: `rows` (the tables), and this file.
//!
//! As in the original a transaction that finds its key inserted by somebody else in between (23505) is rolled back and is no
//! error; each statement is a round trip, BEGIN and COMMIT too.

mod rows;

use mote_common::prng::Prng;
use serde::Serialize;
use serde_json::{Value, json};

use self::rows::Tables;
use super::condition::{self, Condition, ConditionVerdict};
use super::contract::{BEGIN, Client, Done, Effect, Exchange, Workload};
use super::loader::Data;
use mote_driver::Format::Text as T;
use mote_driver::Param::{self, Int, Text};
use mote_driver::statement::Definition;
use mote_driver::{Admin, DriverResult, StatementId, StatementSet};

/// Point selects of a transaction that reads.
const POINT_SELECTS: usize = 10;
/// Rows of a range.
const RANGE_ROWS: i32 = 100;

/// Which script.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mix {
    PointSelect,
    ReadOnly,
    ReadWrite,
    Ranges,
    UpdateIndex,
    UpdateNonIndex,
    Insert,
    Delete,
    WriteOnly,
    /// Each of the others, one after the other.
    All,
}

impl Mix {
    /// In the order in which they are run; deletes come last, since they use rows up.
    pub const EACH: [Mix; 9] = [
        Mix::PointSelect,
        Mix::ReadOnly,
        Mix::Ranges,
        Mix::ReadWrite,
        Mix::WriteOnly,
        Mix::UpdateIndex,
        Mix::UpdateNonIndex,
        Mix::Insert,
        Mix::Delete,
    ];

    pub fn name(self) -> &'static str {
        self.kinds()[0]
    }

    fn kinds(self) -> &'static [&'static str] {
        match self {
            Mix::PointSelect => &["point-select"],
            Mix::ReadOnly => &["read-only"],
            Mix::ReadWrite => &["read-write"],
            Mix::Ranges => &["ranges"],
            Mix::UpdateIndex => &["update-index"],
            Mix::UpdateNonIndex => &["update-non-index"],
            Mix::Insert => &["insert"],
            Mix::Delete => &["delete"],
            Mix::WriteOnly => &["write-only"],
            Mix::All => &["all"],
        }
    }

    fn writes(self) -> bool {
        !matches!(self, Mix::PointSelect | Mix::ReadOnly | Mix::Ranges)
    }
}

/// How rows are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Draw {
    /// Three of four from the hundredth in the middle, the others around it.
    Special,
    Uniform,
}

impl Draw {
    /// One of 1 to `rows`.
    pub fn row(self, prng: &mut Prng, rows: i32) -> i32 {
        let all = rows as u64;
        let drawn = match self {
            Draw::Uniform => prng.below(all),
            Draw::Special if prng.chance(3, 4) => {
                let hot = (all / 100).max(1);
                (all - hot) / 2 + prng.below(hot)
            }
            // The mean of twelve even draws: the middle is likelier than the ends.
            Draw::Special => (0..12).map(|_| prng.below(all)).sum::<u64>() / 12,
        };
        drawn as i32 + 1
    }
}

/// The statements of each table, in this order after the three that every workload has.
#[derive(Clone, Copy)]
enum Action {
    Point,
    Range,
    Sum,
    Ordered,
    Distinct,
    UpdateIndex,
    UpdateOther,
    Delete,
    InsertKey,
    Insert,
}

const ACTIONS: [(&str, &[Param], bool); 10] = [
    ("SELECT c FROM sbtest# WHERE id = $1", &[Int], true),
    (
        "SELECT c FROM sbtest# WHERE id BETWEEN $1 AND $2",
        &[Int, Int],
        true,
    ),
    (
        "SELECT SUM(k) FROM sbtest# WHERE id BETWEEN $1 AND $2",
        &[Int, Int],
        true,
    ),
    (
        "SELECT c FROM sbtest# WHERE id BETWEEN $1 AND $2 ORDER BY c",
        &[Int, Int],
        true,
    ),
    (
        "SELECT DISTINCT c FROM sbtest# WHERE id BETWEEN $1 AND $2 ORDER BY c",
        &[Int, Int],
        true,
    ),
    ("UPDATE sbtest# SET k = k + 1 WHERE id = $1", &[Int], false),
    ("UPDATE sbtest# SET c = $1 WHERE id = $2", &[Text, Int], false),
    ("DELETE FROM sbtest# WHERE id = $1", &[Int], false),
    (
        "INSERT INTO sbtest# (id, k, c, pad) VALUES ($1, $2, $3, $4)",
        &[Int, Int, Text, Text],
        false,
    ),
    (
        "INSERT INTO sbtest# (k, c, pad) VALUES ($1, $2, $3)",
        &[Int, Text, Text],
        false,
    ),
];
const RANGES: [Action; 4] = [Action::Range, Action::Sum, Action::Ordered, Action::Distinct];

const CONDITIONS: [Condition; 1] = [Condition {
    number: 1,
    says: "texts have their lengths",
    violations: "SELECT count(*) FROM sbtest1 WHERE length(c) <> 119 OR length(pad) <> 59",
}];

#[derive(Clone, Copy, Debug)]
pub struct Sysbench {
    pub mix: Mix,
    pub tables: u8,
    /// Of each table.
    pub rows: i32,
    pub draw: Draw,
    pub seed: u64,
}

impl Workload for Sysbench {
    fn name(&self) -> &'static str {
        "sysbench"
    }

    fn title(&self) -> String {
        format!(
            "sysbench {}, {} tables of {} rows",
            self.mix.name(),
            self.tables,
            self.rows
        )
    }

    fn kinds(&self) -> &'static [&'static str] {
        self.mix.kinds()
    }

    /// Deletes of rows that are gone commit nothing, so that their number says nothing of the disk.
    fn writing(&self) -> &'static [usize] {
        match self.mix {
            Mix::Delete => &[],
            mix if mix.writes() => &[0],
            _ => &[],
        }
    }

    fn settings(&self) -> Value {
        json!({"mix": self.mix, "tables": self.tables, "rows": self.rows, "rand": self.draw})
    }

    fn data(&self) -> Box<dyn Data + '_> {
        Box::new(Tables(*self))
    }

    fn statements(&self) -> StatementSet {
        let plain = |sql: &'static str| Definition {
            sql: sql.into(),
            params: (&[]).into(),
            results: &[],
        };
        let mut all = vec![plain("BEGIN"), plain("COMMIT"), plain("ROLLBACK")];
        for table in 1..=self.tables {
            let each = ACTIONS.iter().map(|(sql, params, reads)| Definition {
                sql: sql.replace('#', &table.to_string()).into(),
                params: (*params).into(),
                results: if *reads { &[T] } else { &[] },
            });
            all.extend(each);
        }
        StatementSet::new(all)
    }

    fn client(&self, number: usize, seed: u64) -> Box<dyn Client> {
        Box::new(Thread {
            sysbench: *self,
            prng: Prng::fork(seed, 1_000 + number as u64),
            drawn: 0,
            text: String::new(),
            pad: String::new(),
        })
    }

    fn effect(&self, admin: &mut Admin) -> DriverResult<Effect> {
        let each = (1..=self.tables).map(|table| format!("(SELECT count(*) FROM sbtest{table})"));
        let counts: Vec<String> = each.collect();
        Effect::of(&admin.query(&format!("SELECT {}, 0", counts.join(" + ")))?)
    }

    fn effect_says(&self) -> &'static str {
        "the number of rows"
    }

    fn conditions(&self, admin: &mut Admin, _: bool) -> Vec<ConditionVerdict> {
        CONDITIONS
            .iter()
            .map(|one| condition::check(admin, one))
            .collect()
    }
}

struct Thread {
    sysbench: Sysbench,
    prng: Prng,
    /// Decides the transaction, so that another attempt at it does the same.
    drawn: u64,
    text: String,
    pad: String,
}

impl Client for Thread {
    fn draw(&mut self) -> usize {
        self.drawn = self.prng.next_u64();
        0
    }

    fn attempt(&mut self, exchange: &mut Exchange<'_, '_>) -> DriverResult<Done> {
        let mut prng = Prng::new(self.drawn);
        match self.sysbench.mix {
            Mix::PointSelect => self.point(exchange, &mut prng)?,
            Mix::UpdateIndex => self.update_index(exchange, &mut prng)?,
            Mix::UpdateNonIndex => self.update_other(exchange, &mut prng)?,
            Mix::Insert => self.insert(exchange, &mut prng)?,
            Mix::Delete => self.delete(exchange, &mut prng)?,
            Mix::ReadOnly | Mix::Ranges | Mix::ReadWrite | Mix::WriteOnly | Mix::All => {
                return self.transaction(exchange, &mut prng);
            }
        }
        Ok(Done::Committed)
    }
}

impl Thread {
    /// A statement of a table that is drawn.
    fn statement(&self, prng: &mut Prng, action: Action) -> StatementId {
        let table = prng.below(u64::from(self.sysbench.tables)) as u8;
        StatementId(3 + table * ACTIONS.len() as u8 + action as u8)
    }

    fn row(&self, prng: &mut Prng) -> i32 {
        self.sysbench.draw.row(prng, self.sysbench.rows)
    }

    fn transaction(&mut self, exchange: &mut Exchange<'_, '_>, prng: &mut Prng) -> DriverResult<Done> {
        let mix = self.sysbench.mix;
        exchange.run(BEGIN, |none| none)?;
        if matches!(mix, Mix::ReadOnly | Mix::ReadWrite) {
            for _ in 0..POINT_SELECTS {
                self.point(exchange, prng)?;
            }
        }
        if mix != Mix::WriteOnly {
            for action in RANGES {
                let (statement, first) = (self.statement(prng, action), self.row(prng));
                exchange.run(statement, |v| {
                    v.int(first).int(first.saturating_add(RANGE_ROWS - 1))
                })?;
            }
        }
        let mut effect = Effect::default();
        if mix.writes() {
            self.update_index(exchange, prng)?;
            self.update_other(exchange, prng)?;
            match self.replace(exchange, prng) {
                Ok(rows) => effect.rows = rows,
                // Two have deleted the same row, and both insert it.
                Err(error) if error.sqlstate() == "23505" => {
                    exchange.rollback()?;
                    return Ok(Done::RolledBack);
                }
                Err(error) => return Err(error),
            }
        }
        exchange.commit(effect)?;
        Ok(Done::Committed)
    }

    fn point(&mut self, exchange: &mut Exchange<'_, '_>, prng: &mut Prng) -> DriverResult<()> {
        let (statement, id) = (self.statement(prng, Action::Point), self.row(prng));
        exchange.run(statement, |v| v.int(id)).map(|_| ())
    }

    fn update_index(&mut self, exchange: &mut Exchange<'_, '_>, prng: &mut Prng) -> DriverResult<()> {
        let (statement, id) = (self.statement(prng, Action::UpdateIndex), self.row(prng));
        exchange.run(statement, |v| v.int(id)).map(|_| ())
    }

    fn update_other(&mut self, exchange: &mut Exchange<'_, '_>, prng: &mut Prng) -> DriverResult<()> {
        let (statement, id) = (self.statement(prng, Action::UpdateOther), self.row(prng));
        self.draw_texts(prng);
        exchange
            .run(statement, |v| v.text(&self.text).int(id))
            .map(|_| ())
    }

    fn draw_texts(&mut self, prng: &mut Prng) {
        self.text.clear();
        rows::write_c(prng, &mut self.text);
        self.pad.clear();
        rows::write_pad(prng, &mut self.pad);
    }

    fn insert(&mut self, exchange: &mut Exchange<'_, '_>, prng: &mut Prng) -> DriverResult<()> {
        let (statement, k) = (self.statement(prng, Action::Insert), self.row(prng));
        self.draw_texts(prng);
        let effect = Effect { rows: 1, amount: 0 };
        exchange
            .alone(statement, effect, |v| v.int(k).text(&self.text).text(&self.pad))
            .map(|_| ())
    }

    fn delete(&mut self, exchange: &mut Exchange<'_, '_>, prng: &mut Prng) -> DriverResult<()> {
        let (statement, id) = (self.statement(prng, Action::Delete), self.row(prng));
        let effect = Effect { rows: -1, amount: 0 };
        let deleted = exchange.alone(statement, effect, |v| v.int(id))?.affected();
        exchange.progress.effect.rows = -(deleted as i64);
        Ok(())
    }

    /// Deletes a row and inserts it anew; answers how many rows there are more.
    fn replace(&mut self, exchange: &mut Exchange<'_, '_>, prng: &mut Prng) -> DriverResult<i64> {
        let (statement, id) = (self.statement(prng, Action::Delete), self.row(prng));
        // The same table's.
        let insert = StatementId(statement.0 + Action::InsertKey as u8 - Action::Delete as u8);
        let deleted = exchange.run(statement, |v| v.int(id))?.affected();
        let k = self.row(prng);
        self.draw_texts(prng);
        exchange.run(insert, |v| v.int(id).int(k).text(&self.text).text(&self.pad))?;
        Ok(1 - deleted as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::shared_statements;

    #[test]
    fn draws_stay_within_the_rows_and_prefer_the_middle() {
        let mut prng = Prng::new(5);
        for rows in [100, 1_001, 100_000] {
            let middle = |row: i32| (row - rows / 2).abs() <= rows / 100;
            let mut hot = 0;
            for _ in 0..10_000 {
                let row = Draw::Special.row(&mut prng, rows);
                assert!((1..=rows).contains(&row));
                hot += middle(row) as u32;
                assert!((1..=rows).contains(&Draw::Uniform.row(&mut prng, rows)));
            }
            assert!((7_300..8_700).contains(&hot), "{rows} rows: {hot}, seed 5");
        }
    }

    #[test]
    fn texts_have_sysbench_s_lengths() {
        let (mut prng, mut text) = (Prng::new(1), String::new());
        rows::write_c(&mut prng, &mut text);
        assert_eq!(text.len(), 119);
        text.clear();
        rows::write_pad(&mut prng, &mut text);
        assert_eq!(text.len(), 59);
    }

    #[test]
    fn every_table_has_its_statements() {
        let sysbench = Sysbench {
            mix: Mix::ReadWrite,
            tables: 16,
            rows: 100,
            draw: Draw::Uniform,
            seed: 1,
        };
        let set = shared_statements(&sysbench);
        assert_eq!(set.len(), 3 + 16 * ACTIONS.len());
        assert_eq!(set.sql(StatementId(3)), "SELECT c FROM sbtest1 WHERE id = $1");
        let last = StatementId(3 + 15 * ACTIONS.len() as u8 + Action::Insert as u8);
        assert!(set.sql(last).starts_with("INSERT INTO sbtest16 (k, c, pad)"));
    }
}
