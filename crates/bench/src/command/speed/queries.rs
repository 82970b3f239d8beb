//! Sysbench's transactions, and the queries of TPC-H and CH-benCHmark.

use super::{Laboratory, REFERENCE};
use crate::command::args::{AskingArgs, SysbenchArgs};
use crate::command::asked::{self, Line, Patience};
use crate::command::contenders::{Contender, geometric_mean};
use crate::command::judgement::Judgement;
use crate::command::sysbench;
use mote_tpch::TpcH;
use mote_workload::answers::Question;
use mote_workload::ch;
use mote_workload::loader::{Data, LoadMode};
use mote_workload::sysbench::{Draw, Mix};
use mote_workload::tpch;

const THREADS: [u32; 2] = [16, 64];
const TRANSACTIONS: f64 = 1.5;
/// Of the reference's speed: all queries together, and each.
const QUERIES_MEAN: f64 = 0.8;
const QUERIES_EACH: f64 = 0.25;

impl Laboratory<'_> {
    pub(super) fn sysbench(&mut self, servers: &mut [Contender]) -> Result<Vec<Judgement>, String> {
        let args = SysbenchArgs {
            contenders: self.args.contenders.clone(),
            workload: vec![Mix::All],
            tables: 1,
            rows: self.args.rows,
            threads: THREADS.to_vec(),
            rand: Draw::Special,
            rounds: self.args.rounds,
            load: LoadMode::Always,
            retries: 10,
            measured: self.args.measured.clone(),
            output: self.args.output.clone(),
        };
        for server in servers.iter() {
            sysbench::load(&args, server, &self.quiet)?;
        }
        let mut lines = Vec::new();
        for mix in Mix::EACH {
            for threads in THREADS {
                let step = sysbench::step(&args, mix, threads, servers, &self.quiet)?;
                let rate = |at: usize| step.systems.get(at).map(|figure| figure.transactions_per_s);
                let what = format!("{} at {threads} threads, a second", mix.name());
                let failed: u64 = step.systems.iter().map(|figure| figure.failed).sum();
                if failed > 0 {
                    self.remarks
                        .push(format!("{what}: {failed} transactions were given up"));
                }
                lines.push(Judgement::ratio(
                    what,
                    (rate(0), rate(1)),
                    REFERENCE,
                    TRANSACTIONS,
                    true,
                ));
            }
        }
        Ok(lines)
    }

    pub(super) fn tpch(&mut self, servers: &mut [Contender]) -> Result<Vec<Judgement>, String> {
        let scale = self.args.scale;
        let tables = tpch::Tables(TpcH::new(scale, self.args.measured.seed));
        self.asked("TPC-H", tpch::SCHEMA, &tables, &tpch::questions(scale), servers)
    }

    pub(super) fn ch(&mut self, servers: &mut [Contender]) -> Result<Vec<Judgement>, String> {
        let tables = ch::Tables::new(self.args.ch_warehouses, self.args.measured.seed);
        self.asked("CH", ch::SCHEMA, &tables, &ch::questions(), servers)
    }

    fn asked(
        &mut self,
        name: &str,
        schema: &str,
        tables: &dyn Data,
        questions: &[Question],
        servers: &mut [Contender],
    ) -> Result<Vec<Judgement>, String> {
        let asking = AskingArgs {
            queries: Vec::new(),
            runs: self.args.rounds,
            time_limit: self.args.time_limit,
            load: LoadMode::Auto,
            load_connections: None,
            seed: self.args.measured.seed,
            html: None,
            output: self.args.output.clone(),
        };
        for server in servers.iter_mut() {
            server.search_in(schema)?;
            asked::load(&asking, server, tables, &self.quiet)?;
        }
        let lines = asked::ask(Patience::of(&asking), servers, questions, &self.quiet)?;
        servers.iter_mut().for_each(Contender::search_everywhere);
        self.proven &= lines.iter().all(Line::pass);
        for line in &lines {
            if let Some(difference) = &line.difference {
                self.remarks
                    .push(format!("{name} query {}: {difference}", line.query));
            }
        }
        Ok(judge(name, &lines))
    }
}

/// Ratios are speeds: the reference's seconds over those of the first server.
fn judge(name: &str, lines: &[Line]) -> Vec<Judgement> {
    let ended = lines
        .iter()
        .filter(|line| line.systems[0].seconds.is_some())
        .count();
    let all = Judgement::at_least(
        format!("{name}: queries that end"),
        Some(ended as f64),
        lines.len() as f64,
    );
    let speeds: Vec<(usize, f64)> = lines
        .iter()
        .filter_map(|line| Some((line.query, speed(line)?)))
        .collect();
    let each: Vec<f64> = speeds
        .iter()
        .map(|(_, speed)| *speed)
        .filter(|speed| *speed > 0.0)
        .collect();
    let mean = Judgement::at_least(
        format!("{name}: geometric mean of speeds"),
        geometric_mean(&each),
        QUERIES_MEAN,
    );
    let slowest = speeds
        .iter()
        .copied()
        .min_by(|one, other| one.1.total_cmp(&other.1));
    let which = slowest.map_or(String::new(), |(query, _)| format!(", query {query}"));
    let least = Judgement::at_least(
        format!("{name}: speed of the slowest{which}"),
        slowest.map(|(_, speed)| speed),
        QUERIES_EACH,
    );
    vec![all, mean, least]
}

/// 0 for what only the reference has answered, none where it has not.
fn speed(line: &Line) -> Option<f64> {
    let reference = line.systems.get(1)?.seconds?;
    Some(
        line.systems[0]
            .seconds
            .map_or(0.0, |own| reference / own.max(1e-9)),
    )
}
