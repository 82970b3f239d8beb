//! How long planning takes, as EXPLAIN (SUMMARY) says it.

use super::{Laboratory, REFERENCE};
use crate::command::contenders::{Contender, median};
use crate::command::judgement::Judgement;
use mote_driver::{Admin, DriverResult, Target};

const SCHEMA: &str = "bench_planning";
const TABLES: usize = 6;
/// How often a statement is planned in a round, after as many that do not count.
const TIMES: usize = 50;
const ONE_TABLE_US: f64 = 8.0;
const SIX_TABLES_US: f64 = 300.0;

impl Laboratory<'_> {
    pub(super) fn planning(&mut self, servers: &mut [Contender]) -> Result<Vec<Judgement>, String> {
        let statements = [
            ("planning a one-table statement, us", one_table(), ONE_TABLE_US),
            ("planning a six-way join, us", six_tables(), SIX_TABLES_US),
        ];
        for server in servers.iter() {
            set_up(&server.subject.target).map_err(|error| format!("{}: {error}", server.name))?;
        }
        let mut lines = Vec::new();
        for (what, sql, limit) in statements {
            let mut rounds: Vec<Vec<f64>> = servers.iter().map(|_| Vec::new()).collect();
            for round in 0..self.args.rounds as usize {
                for place in 0..servers.len() {
                    let at = (place + round) % servers.len();
                    let server = &servers[at];
                    let taken = plan(&server.subject.target, &sql)
                        .map_err(|error| format!("{}: {error}", server.name))?;
                    rounds[at].extend(taken);
                }
            }
            let of = |at: usize| rounds.get(at).and_then(|figures| median(figures));
            lines.push(Judgement::absolute(what, of(0), limit).beside(of(1), REFERENCE));
        }
        for server in servers.iter() {
            let dropped = Admin::connect(&server.subject.target)
                .and_then(|mut admin| admin.execute(&format!("DROP SCHEMA {SCHEMA} CASCADE")));
            dropped.map_err(|error| format!("{}: {error}", server.name))?;
        }
        Ok(lines)
    }
}

fn one_table() -> String {
    format!("SELECT b, c FROM {SCHEMA}.t1 WHERE a = 17")
}

/// A chain: each table's second column is the next one's key.
fn six_tables() -> String {
    let tables: Vec<String> = (1..=TABLES).map(|number| format!("{SCHEMA}.t{number}")).collect();
    let joins: Vec<String> = (1..TABLES)
        .map(|number| format!("t{number}.b = t{}.a", number + 1))
        .collect();
    format!(
        "SELECT t1.c, t6.c FROM {} WHERE {} AND t1.c < 100 AND t6.c > 5",
        tables.join(", "),
        joins.join(" AND ")
    )
}

fn set_up(target: &Target) -> DriverResult<()> {
    let mut admin = Admin::connect(target)?;
    admin.execute(&format!("DROP SCHEMA IF EXISTS {SCHEMA} CASCADE"))?;
    admin.execute(&format!("CREATE SCHEMA {SCHEMA}"))?;
    for number in 1..=TABLES {
        let table = format!("{SCHEMA}.t{number}");
        admin.execute(&format!(
            "CREATE TABLE {table} (a integer PRIMARY KEY, b integer, c integer)"
        ))?;
        let rows = 1_000 * number;
        admin.execute(&format!(
            "INSERT INTO {table} SELECT n, n % 1000 + 1, n % 500 FROM generate_series(1, {rows}) AS n"
        ))?;
        admin.execute(&format!("CREATE INDEX ON {table} (b)"))?;
        admin.execute(&format!("ANALYZE {table}"))?;
    }
    Ok(())
}

/// Microseconds of each planning. Another number in the text each time, so that no plan is found ready.
fn plan(target: &Target, sql: &str) -> DriverResult<Vec<f64>> {
    let mut admin = Admin::connect(target)?;
    let mut taken = Vec::new();
    for time in 0..2 * TIMES {
        let rows = admin.query(&format!("EXPLAIN (SUMMARY) {sql} AND {time} >= 0"))?;
        let lines = rows.into_iter().flatten().flatten();
        let said = lines.filter_map(|line| milliseconds(&line)).next_back();
        if time >= TIMES {
            taken.extend(said.map(|milliseconds| 1e3 * milliseconds));
        }
    }
    Ok(taken)
}

fn milliseconds(line: &str) -> Option<f64> {
    let text = line.strip_prefix("Planning Time: ")?;
    text.strip_suffix(" ms")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_plans() {
        assert_eq!(milliseconds("Planning Time: 0.165 ms"), Some(0.165));
        assert_eq!(milliseconds("Execution Time: 0.165 ms"), None);
        assert!(six_tables().contains("t5.b = t6.a"));
    }
}
