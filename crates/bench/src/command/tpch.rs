//! `mote bench tpch`: 22 queries that read much, on several servers in turn; whether they answer the same, and how fast.

use serde_json::json;

use super::args::TpcHArgs;
use super::asked::{self, Patience, Topic};
use super::contenders;
use super::quiet::Quiet;
use crate::server::EmbeddedServer;
use mote_tpch::TpcH;
use mote_workload::loader::LoadMode;
use mote_workload::tpch::{self, SCHEMA, Tables};

pub fn run(args: &TpcHArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let asking = &args.asking;
    let quiet = Quiet::new(asking.output.quiet);
    let mut servers = contenders::open(&args.contenders, embedded, &quiet)?;
    let tables = Tables(TpcH::new(args.scale, asking.seed));
    for server in &mut servers {
        server.search_in(SCHEMA)?;
        asked::load(asking, server, &tables, &quiet)?;
    }
    if asking.load == LoadMode::Only {
        contenders::stop(servers)?;
        return Ok(true);
    }
    let questions = asked::chosen(tpch::questions(args.scale), &asking.queries);
    let patience = Patience::of(asking);
    let lines = asked::ask(patience, &servers, &questions, &quiet)?;
    let topic = Topic {
        experiment: "tpch",
        title: "TPC-H's queries",
        size: format!("scale {}", args.scale),
        settings: json!({"scale": args.scale, "seed": asking.seed}),
        html: &asking.html,
        output: &asking.output,
    };
    let pass = asked::tell(&topic, patience, &lines, &servers)?;
    contenders::stop(servers)?;
    Ok(pass)
}
