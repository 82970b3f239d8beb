//! `mote bench tpch`: 22 queries that read much, on several servers in turn; whether they answer the same, and how fast.

use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};

use super::args::TpcHArgs;
use super::contenders::{self, Contender, geometric_mean, median};
use super::quiet::Quiet;
use super::tpcc::processors;
use crate::measure::readback;
use crate::report::html::{self, AskedBar};
use crate::report::{json, table};
use crate::server::EmbeddedServer;
use crate::workload::answers::Question;
use crate::workload::loader::{self, LoadMode};
use crate::workload::tpch::{self, SCHEMA, Tables};
use mote_driver::admin::TextRow;
use mote_driver::{Admin, DriverError, DriverResult, Target};
use mote_tpch::TpcH;

/// Beyond the server's own time limit nothing is waited for, and the query is not asked again.
const TIMED_OUT: &str = "57014";

/// What one server made of one query.
#[derive(Default)]
struct Replies {
    seconds: Vec<f64>,
    /// The first answer; later ones have to be the same.
    rows: Option<Vec<TextRow>>,
    ended: Ended,
    plan: Option<String>,
}

#[derive(Clone, Default, PartialEq)]
enum Ended {
    #[default]
    Well,
    /// It did not, within the limit.
    NotYet,
    /// Refused, or answered otherwise in another run.
    Badly(String),
}

/// A query as reports have it.
#[derive(Serialize)]
struct Line {
    query: usize,
    rows: Option<usize>,
    systems: Vec<Figure>,
    /// How the first answer that differs does.
    difference: Option<String>,
}

#[derive(Serialize)]
struct Figure {
    system: String,
    /// The median; `None` where it did not end or was refused.
    seconds: Option<f64>,
    runs: Vec<f64>,
    error: Option<String>,
    did_not_end: bool,
    /// The first system's seconds over these.
    ratio: Option<f64>,
    plan: Option<String>,
}

impl Line {
    fn pass(&self) -> bool {
        self.difference.is_none() && self.systems.iter().all(|figure| figure.error.is_none())
    }
}

pub fn run(args: &TpcHArgs, embedded: &dyn EmbeddedServer) -> Result<bool, String> {
    let quiet = Quiet::new(args.output.quiet);
    let mut servers = contenders::open(&args.contenders, embedded, &quiet)?;
    let tables = Tables(TpcH::new(args.scale, args.seed));
    for server in &mut servers {
        server.subject.target.settings.push(tpch::search_path());
        load(args, server, &tables, &quiet).map_err(|error| format!("{}: {error}", server.name))?;
    }
    if args.load == LoadMode::Only {
        contenders::stop(servers)?;
        return Ok(true);
    }
    let chosen =
        |question: &Question| args.queries.is_empty() || args.queries.contains(&(question.number as u32));
    let questions: Vec<Question> = tpch::questions(args.scale).into_iter().filter(chosen).collect();
    let replies = ask_all(args, &servers, &questions, &quiet)?;
    let lines: Vec<Line> = questions
        .iter()
        .zip(&replies)
        .map(|(question, replies)| line(question, replies, &servers))
        .collect();
    let pass = lines.iter().all(Line::pass);
    print!("{}", text(args, &lines, &servers));
    report(args, &lines, &servers, pass)?;
    println!(
        "{} every query is answered, and all answers are the same",
        table::pass(pass)
    );
    contenders::stop(servers)?;
    Ok(pass)
}

fn load(args: &TpcHArgs, server: &Contender, tables: &Tables, quiet: &Quiet) -> Result<(), String> {
    use crate::workload::tpcc::Observer;
    let target = &server.subject.target;
    Admin::connect(target)
        .and_then(|mut admin| admin.execute(&format!("CREATE SCHEMA IF NOT EXISTS {SCHEMA}")))
        .map_err(|error| format!("cannot make the schema {SCHEMA}: {error}"))?;
    let plan = loader::Plan {
        target,
        connections: args.load_connections.unwrap_or(2 * processors()),
        progress: args.output.progress || quiet.interactive(),
        resume: args.load == LoadMode::Resume,
    };
    if let Some(report) = loader::provide(&plan, tables, args.load)? {
        print!("{}: {}", server.name, table::load_lines(&report));
    }
    Ok(())
}

/// Asks each query of all servers before the next, in an order that turns from run to run.
fn ask_all(
    args: &TpcHArgs,
    servers: &[Contender],
    questions: &[Question],
    quiet: &Quiet,
) -> Result<Vec<Vec<Replies>>, String> {
    let mut replies: Vec<Vec<Replies>> = questions
        .iter()
        .map(|_| servers.iter().map(|_| Replies::default()).collect())
        .collect();
    let mut clients: Vec<Client<'_>> = servers
        .iter()
        .map(|server| Client::new(&server.subject.target, args.time_limit))
        .collect();
    for run in 0..args.runs as usize {
        for (at, question) in questions.iter().enumerate() {
            for place in 0..servers.len() {
                let server = (place + run + at) % servers.len();
                let reply = &mut replies[at][server];
                if reply.ended == Ended::Well {
                    clients[server]
                        .ask(question, reply)
                        .map_err(|error| format!("{}: {error}", servers[server].name))?;
                }
            }
            let said = replies[at].iter().zip(servers).map(|(reply, server)| {
                let seconds = reply
                    .seconds
                    .last()
                    .map_or("-".to_string(), |seconds| format!("{seconds:.3} s"));
                format!("  {} {seconds}", server.name)
            });
            quiet.say(&format!(
                "run {}, query {}:{}",
                run + 1,
                question.number,
                said.collect::<String>()
            ));
        }
    }
    Ok(replies)
}

/// A connection that is made anew when it is lost.
struct Client<'a> {
    target: &'a Target,
    time_limit: f64,
    admin: Option<Admin>,
}

impl Client<'_> {
    fn new(target: &Target, time_limit: f64) -> Client<'_> {
        Client {
            target,
            time_limit,
            admin: None,
        }
    }

    fn connected(&mut self) -> DriverResult<&mut Admin> {
        let admin = match self.admin.take() {
            Some(admin) => admin,
            None => {
                let mut admin = Admin::connect(self.target)?;
                admin.execute(&format!(
                    "SET statement_timeout = {}",
                    (self.time_limit * 1e3).ceil()
                ))?;
                admin
            }
        };
        Ok(self.admin.insert(admin))
    }

    /// One run of the query. An error is the connection's alone; what the server says of the query goes into the reply.
    fn ask(&mut self, question: &Question, reply: &mut Replies) -> DriverResult<()> {
        let admin = self.connected()?;
        if reply.plan.is_none() {
            let plan = admin.query(&format!("EXPLAIN {}", question.sql));
            reply.plan = plan.ok().map(|rows| {
                let lines: Vec<String> = rows.into_iter().flatten().flatten().collect();
                lines.join("\n")
            });
        }
        let begun = Instant::now();
        let answer = admin.query(&question.sql);
        let seconds = begun.elapsed().as_secs_f64();
        match answer {
            Ok(rows) => {
                reply.seconds.push(seconds);
                match &reply.rows {
                    None => reply.rows = Some(rows),
                    Some(first) => {
                        if let Some(difference) = question.difference(first, &rows) {
                            reply.ended = Ended::Badly(format!("two runs differ: {difference}"));
                        }
                    }
                }
            }
            Err(error) if error.sqlstate() == TIMED_OUT => reply.ended = Ended::NotYet,
            Err(error) => {
                if error.is_fatal() {
                    self.admin = None;
                }
                reply.ended = Ended::Badly(error.to_string());
            }
        }
        Ok(())
    }
}

fn line(question: &Question, replies: &[Replies], servers: &[Contender]) -> Line {
    let seconds = |reply: &Replies| match reply.ended {
        Ended::NotYet => None,
        _ => median(&reply.seconds),
    };
    let base = replies.first().and_then(seconds);
    let figures = replies.iter().zip(servers).map(|(reply, server)| Figure {
        system: server.name.clone(),
        seconds: seconds(reply),
        runs: reply.seconds.clone(),
        error: match &reply.ended {
            Ended::Badly(error) => Some(error.clone()),
            _ => None,
        },
        did_not_end: reply.ended == Ended::NotYet,
        ratio: base.zip(seconds(reply)).map(|(base, own)| base / own.max(1e-9)),
        plan: reply.plan.clone(),
    });
    let answered = || {
        replies
            .iter()
            .zip(servers)
            .filter_map(|(reply, server)| Some((reply.rows.as_ref()?, server)))
    };
    let first = answered().next();
    let difference = first.and_then(|(first, _)| {
        answered().skip(1).find_map(|(rows, server)| {
            let difference = question.difference(first, rows)?;
            Some(format!("{}: {difference}", server.name))
        })
    });
    Line {
        query: question.number,
        rows: first.map(|(rows, _)| rows.len()),
        systems: figures.collect(),
        difference,
    }
}

fn header(servers: &[Contender]) -> Vec<String> {
    let mut header = vec!["query".to_string(), "rows".to_string()];
    header.extend(servers.iter().map(|server| format!("{} s", server.name)));
    let others = servers.iter().skip(1);
    header.extend(others.map(|server| format!("{} / {}", servers[0].name, server.name)));
    header.push("answers".to_string());
    header
}

fn rows(lines: &[Line]) -> Vec<Vec<String>> {
    let each = lines.iter().map(|line| {
        let shown = |figure: &Figure| match (figure.seconds, &figure.error) {
            (_, Some(_)) => "refused".to_string(),
            (Some(seconds), None) => format!("{seconds:.4}"),
            (None, None) => "did not end".to_string(),
        };
        let ratio = |figure: &Figure| {
            figure
                .ratio
                .map_or("-".to_string(), |ratio| format!("{ratio:.2}"))
        };
        let mut row = vec![
            line.query.to_string(),
            line.rows.map_or("-".into(), |rows| rows.to_string()),
        ];
        row.extend(line.systems.iter().map(shown));
        row.extend(line.systems.iter().skip(1).map(ratio));
        let answered = line
            .systems
            .iter()
            .filter(|figure| figure.seconds.is_some())
            .count();
        row.push(match (line.pass(), answered) {
            (false, _) => "DIFFERENT".to_string(),
            (true, 0 | 1) => "-".to_string(),
            (true, _) => "same".to_string(),
        });
        row
    });
    each.collect()
}

/// The first system's times over another's, over the queries that both have answered.
fn means(lines: &[Line], servers: &[Contender]) -> Vec<(String, Option<f64>)> {
    let each = (1..servers.len()).map(|at| {
        let ratios: Vec<f64> = lines.iter().filter_map(|line| line.systems[at].ratio).collect();
        (servers[at].name.clone(), geometric_mean(&ratios))
    });
    each.collect()
}

fn text(args: &TpcHArgs, lines: &[Line], servers: &[Contender]) -> String {
    let header = header(servers);
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut out = format!(
        "TPC-H's queries, scale {}, medians of {} runs\n",
        args.scale, args.runs
    );
    out += &table::table(&header, &rows(lines));
    for (name, mean) in means(lines, servers) {
        let mean = mean.map_or("-".to_string(), |mean| format!("{mean:.3}"));
        out += &format!("geometric mean of {} / {name}: {mean}\n", servers[0].name);
    }
    for line in lines {
        let errors = line
            .systems
            .iter()
            .filter_map(|figure| Some((&figure.system, figure.error.as_ref()?)));
        for (system, error) in errors {
            out += &format!("query {} on {system}: {error}\n", line.query);
        }
        if let Some(difference) = &line.difference {
            out += &format!("query {}: {difference}\n", line.query);
        }
    }
    out
}

fn report(args: &TpcHArgs, lines: &[Line], servers: &[Contender], pass: bool) -> Result<(), String> {
    let systems: Vec<Value> = servers
        .iter()
        .map(|server| {
            let target = &server.subject.target;
            let settings: Result<_, DriverError> =
                Admin::connect(target).and_then(|mut admin| readback::settings(&mut admin));
            json!({"name": server.name, "target": target.to_string(), "server_version": server.version,
                "server_settings": settings.unwrap_or_default()})
        })
        .collect();
    let document = json!({
        "experiment": "tpch",
        "environment": json::environment(),
        "settings": {"scale": args.scale, "seed": args.seed, "runs": args.runs, "time_limit_s": args.time_limit},
        "systems": systems,
        "queries": lines,
        "geometric_means": means(lines, servers),
        "pass": pass,
    });
    if let Some(path) = &args.output.json {
        json::write(path, &document)?;
    }
    if let Some(path) = &args.html {
        let bars = lines.iter().flat_map(|line| {
            line.systems.iter().map(|figure| AskedBar {
                query: line.query,
                system: &figure.system,
                seconds: figure.seconds,
            })
        });
        let bars: Vec<AskedBar<'_>> = bars.collect();
        html::asked(
            &document,
            &bars,
            &means(lines, servers),
            &header(servers),
            &rows(lines),
        )
        .write(path)?;
    }
    Ok(())
}
