//! `mote bench speed`: every workload that has a target, on two systems in turn, and a verdict for each line.
//!
//! Read in this order: this file (parts and reports), `queries` (sysbench, TPC-H, CH-benCHmark), `orders` (order entry in all its ways),
//! `planning`. A part answers its lines; the first server is judged, the second is the reference.

mod orders;
mod planning;
mod queries;

use serde_json::json;

use super::args::{SpeedArgs, SpeedPart};
use super::contenders::{self, Contender};
use super::judgement::{self, Judgement};
use super::quiet::Quiet;
use crate::report::{html, json, page, table};
use crate::server::EmbeddedServer;
use mote_workload::tpcc::DISCLAIMER;

/// What the reference is called.
const REFERENCE: &str = "reference";

/// What all parts are given.
struct Laboratory<'a> {
    args: &'a SpeedArgs,
    quiet: Quiet,
    /// What a reader should know of the lines.
    remarks: Vec<String>,
    /// Whether everything that was to be proved holds.
    proven: bool,
}

pub fn run(args: &SpeedArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let quiet = Quiet::new(args.output.quiet);
    let mut servers = contenders::open(&args.contenders, embedded, &quiet)?;
    if servers.len() > 2 {
        return Err("the table has one server that is judged and one reference".into());
    }
    let mut laboratory = Laboratory {
        args,
        quiet,
        remarks: Vec::new(),
        proven: true,
    };
    let mut lines = Vec::new();
    for part in SpeedPart::ALL {
        if args.only.contains(&part) {
            let more = laboratory.part(part, &mut servers)?;
            // Told at once: the whole table takes hours.
            laboratory.quiet.say(&judgement::text(&more));
            lines.extend(more);
        }
    }
    let pass = laboratory.proven && lines.iter().all(|line| line.pass != Some(false));
    print!("{}", judgement::text(&lines));
    for remark in &laboratory.remarks {
        println!("{remark}");
    }
    println!("{} {DISCLAIMER}", table::pass(pass));
    report(&laboratory, &lines, &servers, pass)?;
    contenders::stop(servers)?;
    Ok(pass)
}

impl Laboratory<'_> {
    fn part(&mut self, part: SpeedPart, servers: &mut [Contender]) -> Result<Vec<Judgement>, String> {
        match part {
            SpeedPart::Sysbench => self.sysbench(servers),
            SpeedPart::TpcH => self.tpch(servers),
            SpeedPart::Ch => self.ch(servers),
            SpeedPart::Procedures => self.procedures(servers),
            SpeedPart::Tpcc => self.interactive(servers),
            SpeedPart::Planning => self.planning(servers),
            SpeedPart::Tls => self.tls(servers),
            SpeedPart::Statistics => self.statistics(servers),
        }
    }
}

fn report(
    laboratory: &Laboratory<'_>,
    lines: &[Judgement],
    servers: &[Contender],
    pass: bool,
) -> Result<(), String> {
    let args = laboratory.args;
    let systems: Vec<_> = servers
        .iter()
        .map(|server| {
            json!({"name": server.name, "server_version": server.version,
                   "target": server.subject.target.to_string()})
        })
        .collect();
    let document = json!({
        "experiment": "speed",
        "disclaimer": DISCLAIMER,
        "environment": json::environment(),
        "settings": {"rounds": args.rounds, "rows": args.rows, "scale": args.scale, "warehouses": args.warehouses,
            "ch_warehouses": args.ch_warehouses, "warmup_s": args.measured.warmup, "duration_s": args.measured.duration,
            "seed": args.measured.seed, "time_limit_s": args.time_limit},
        "systems": systems,
        "lines": lines,
        "remarks": laboratory.remarks,
        "pass": pass,
    });
    if let Some(path) = &args.output.json {
        json::write(path, &document)?;
    }
    if page::is_wanted(&args.html) {
        let bars: Vec<(&str, Option<f64>)> = lines
            .iter()
            .map(|line| (line.what.as_str(), line.of_target()))
            .collect();
        let rows = judgement::rows(lines);
        html::speed(&document, &bars, &judgement::HEADER, &rows, &laboratory.remarks).deliver(&args.html)?;
    }
    Ok(())
}
