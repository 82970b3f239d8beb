//! `mote bench ch`: CH-benCHmark's queries on several servers in turn, and beside order entry.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::args::ChArgs;
use super::asked::{self, Patience, Topic};
use super::asked::{Client, Line, Replies};
use super::contenders::{self, Contender, geometric_mean, median};
use super::quiet::Quiet;
use crate::report::table;
use crate::server::EmbeddedServer;
use mote_driver::Target;
use mote_workload::answers::Question;
use mote_workload::ch::{self, SCHEMA, Tables};
use mote_workload::loader::LoadMode;
use mote_workload::tpcc::{self, Settings};

pub fn run(args: &ChArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let asking = &args.asking;
    let quiet = Quiet::new(asking.output.quiet);
    let mut servers = contenders::open(&args.contenders, embedded, &quiet)?;
    let tables = Tables::new(args.warehouses, asking.seed);
    for server in &mut servers {
        server.search_in(SCHEMA)?;
        asked::load(asking, server, &tables, &quiet)?;
    }
    if asking.load == LoadMode::Only {
        contenders::stop(servers)?;
        return Ok(true);
    }
    let questions = asked::chosen(ch::questions(), &asking.queries);
    let patience = Patience::of(asking);
    let lines = asked::ask(patience, &servers, &questions, &quiet)?;
    let topic = Topic {
        experiment: "ch",
        title: "CH-benCHmark's queries",
        size: format!("{} warehouses", args.warehouses),
        settings: json!({"warehouses": args.warehouses, "seed": asking.seed}),
        html: &asking.html,
        output: &asking.output,
    };
    let mut pass = asked::tell(&topic, patience, &lines, &servers)?;
    if args.terminals > 0 {
        pass &= beside(args, &questions, &lines, &servers, &quiet)?;
    }
    contenders::stop(servers)?;
    Ok(pass)
}

/// What order entry and queries cost each other on each server; answers whether the conditions hold. Their answers are not compared: each
/// server has run other transactions.
fn beside(
    args: &ChArgs,
    questions: &[Question],
    lines: &[Line],
    servers: &[Contender],
    quiet: &Quiet,
) -> Result<bool, String> {
    let (mut rows, mut pass) = (Vec::new(), true);
    for (at, server) in servers.iter().enumerate() {
        let failed = |error: String| format!("{}: {error}", server.name);
        let (alone, _) = order_entry(args, server, quiet, false).map_err(failed)?;
        let ended = AtomicBool::new(false); // Relaxed: nothing else is handed over with it
        let target = &server.subject.target;
        let (done, replies) = std::thread::scope(|scope| {
            let asker = scope.spawn(|| ask_until(args, target, questions, &ended));
            let nopm = order_entry(args, server, quiet, true);
            ended.store(true, Ordering::Relaxed);
            (
                nopm,
                asker
                    .join()
                    .unwrap_or_else(|_| Err("the asking thread panicked".into())),
            )
        });
        let ((nopm, holds), replies) = (done.map_err(failed)?, replies.map_err(failed)?);
        pass &= holds;
        let slower: Vec<f64> = lines
            .iter()
            .zip(&replies)
            .filter_map(|(line, reply)| Some(median(&reply.seconds)? / line.systems[at].seconds?.max(1e-9)))
            .collect();
        let answers: usize = replies.iter().map(|reply| reply.seconds.len()).sum();
        rows.push(vec![
            server.name.clone(),
            table::grouped(alone),
            table::grouped(nopm),
            format!("{:.2}", nopm / alone),
            answers.to_string(),
            geometric_mean(&slower).map_or("-".to_string(), |slower| format!("{slower:.2}")),
            table::pass(holds).to_string(),
        ]);
    }
    println!(
        "order entry with {} terminals, {} s",
        args.terminals, args.duration
    );
    let header = [
        "system",
        "NOPM alone",
        "beside queries",
        "ratio",
        "answers",
        "times beside / alone",
        "conditions",
    ];
    print!("{}", table::table(&header, &rows));
    Ok(pass)
}

/// NOPM, and whether the conditions hold if they were to be checked.
fn order_entry(args: &ChArgs, server: &Contender, quiet: &Quiet, check: bool) -> Result<(f64, bool), String> {
    let settings = Settings {
        warmup_s: args.duration / 10.0,
        duration_s: args.duration,
        seed: args.asking.seed,
        load: LoadMode::Never,
        check,
        ..Settings::closed_loop(args.warehouses, args.terminals as usize)
    };
    let subject = &server.subject;
    let done = tpcc::experiment(settings, &subject.target, subject.processes, &mut quiet.clone())?;
    let outcome = done.outcome.as_ref().ok_or("nothing was measured")?;
    let holds = done.conditions.iter().all(|verdict| verdict.pass);
    Ok((super::tpcc::summarize(outcome).first_kind_per_minute(), holds))
}

/// Asks one question after the other, over and over; what an answer was is not kept from one to the next.
fn ask_until(
    args: &ChArgs,
    target: &Target,
    questions: &[Question],
    ended: &AtomicBool,
) -> Result<Vec<Replies>, String> {
    let mut client = Client::new(target, args.asking.time_limit);
    let mut replies: Vec<Replies> = questions.iter().map(|_| Replies::default()).collect();
    while !ended.load(Ordering::Relaxed) {
        for (question, reply) in questions.iter().zip(&mut replies) {
            if ended.load(Ordering::Relaxed) {
                break;
            }
            reply.forget_answer();
            client.ask(question, reply).map_err(|error| error.to_string())?;
        }
    }
    Ok(replies)
}
