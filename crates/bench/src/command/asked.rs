//! Questions that several servers are asked in turn: whether they answer the same, and how fast.

use std::path::PathBuf;
use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};

use super::args::{AskingArgs, OutputArgs};
use super::contenders::{Contender, geometric_mean, median};
use super::quiet::Quiet;
use super::tpcc::processors;
use crate::report::html::{self, AskedBar};
use crate::report::{json, page, table};
use mote_driver::admin::TextRow;
use mote_driver::{Admin, DriverError, DriverResult, Target};
use mote_measure::readback;
use mote_workload::answers::Question;
use mote_workload::loader::{self, Data, LoadMode};
use mote_workload::tpcc::Observer;

/// Beyond the server's own time limit nothing is waited for, and the query is not asked again.
const TIMED_OUT: &str = "57014";

/// What one server made of one query.
#[derive(Default)]
pub(super) struct Replies {
    pub seconds: Vec<f64>,
    /// The first answer; later ones have to be the same.
    rows: Option<Vec<TextRow>>,
    ended: Ended,
    plan: Option<String>,
}

impl Replies {
    /// The next answer may be another one.
    pub fn forget_answer(&mut self) {
        self.rows = None;
        self.ended = Ended::Well;
    }
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
pub(super) struct Line {
    pub query: usize,
    pub rows: Option<usize>,
    pub systems: Vec<Figure>,
    /// How the first answer that differs does.
    pub difference: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Figure {
    pub system: String,
    /// The median; `None` where it did not end or was refused.
    pub seconds: Option<f64>,
    pub runs: Vec<f64>,
    pub error: Option<String>,
    pub did_not_end: bool,
    /// The first system's seconds over these.
    pub ratio: Option<f64>,
    plan: Option<String>,
}

impl Line {
    pub fn pass(&self) -> bool {
        self.difference.is_none() && self.systems.iter().all(|figure| figure.error.is_none())
    }
}

/// What the queries are, for reports.
pub(super) struct Topic<'a> {
    /// As the JSON names the experiment.
    pub experiment: &'static str,
    /// As a heading does, as in "TPC-H's queries".
    pub title: &'static str,
    /// As in "scale 0.1".
    pub size: String,
    /// What decides the rows.
    pub settings: Value,
    pub html: &'a Option<PathBuf>,
    pub output: &'a OutputArgs,
}

/// How often a query is asked of each server, and what it is given.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Patience {
    pub runs: u32,
    pub time_limit_s: f64,
}

impl Patience {
    pub fn of(args: &AskingArgs) -> Patience {
        Patience {
            runs: args.runs,
            time_limit_s: args.time_limit,
        }
    }
}

/// Loads a server's tables as the arguments say.
pub(super) fn load(
    args: &AskingArgs,
    server: &Contender,
    tables: &dyn Data,
    quiet: &Quiet,
) -> Result<(), String> {
    let plan = loader::Plan {
        target: &server.subject.target,
        connections: args.load_connections.unwrap_or(2 * processors()),
        progress: args.output.progress || quiet.interactive(),
        resume: args.load == LoadMode::Resume,
    };
    let loaded = loader::provide(&plan, tables, args.load);
    if let Some(report) = loaded.map_err(|error| format!("{}: {error}", server.name))? {
        print!("{}: {}", server.name, table::load_lines(&report));
    }
    Ok(())
}

/// The questions that were chosen by number; all if none was.
pub(super) fn chosen(questions: Vec<Question>, numbers: &[u32]) -> Vec<Question> {
    let wanted = |question: &Question| numbers.is_empty() || numbers.contains(&(question.number as u32));
    questions.into_iter().filter(wanted).collect()
}

/// Asks and compares: a line for each question.
pub(super) fn ask(
    patience: Patience,
    servers: &[Contender],
    questions: &[Question],
    quiet: &Quiet,
) -> Result<Vec<Line>, String> {
    let replies = ask_all(patience, servers, questions, quiet)?;
    let lines = questions
        .iter()
        .zip(&replies)
        .map(|(question, replies)| line(question, replies, servers));
    Ok(lines.collect())
}

/// Prints and writes what was found; answers whether every query was answered, everywhere the same.
pub(super) fn tell(
    topic: &Topic<'_>,
    patience: Patience,
    lines: &[Line],
    servers: &[Contender],
) -> Result<bool, String> {
    let pass = lines.iter().all(Line::pass);
    print!("{}", text(topic, patience, lines, servers));
    report(topic, patience, lines, servers, pass)?;
    println!(
        "{} every query is answered, and all answers are the same",
        table::pass(pass)
    );
    Ok(pass)
}

/// Asks each query of all servers before the next, in an order that turns from run to run.
fn ask_all(
    patience: Patience,
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
        .map(|server| Client::new(&server.subject.target, patience.time_limit_s))
        .collect();
    for run in 0..patience.runs as usize {
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
pub(super) struct Client<'a> {
    target: &'a Target,
    time_limit: f64,
    admin: Option<Admin>,
}

impl Client<'_> {
    pub fn new(target: &Target, time_limit: f64) -> Client<'_> {
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
    pub fn ask(&mut self, question: &Question, reply: &mut Replies) -> DriverResult<()> {
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
pub(super) fn means(lines: &[Line], servers: &[Contender]) -> Vec<(String, Option<f64>)> {
    let each = (1..servers.len()).map(|at| {
        let ratios: Vec<f64> = lines.iter().filter_map(|line| line.systems[at].ratio).collect();
        (servers[at].name.clone(), geometric_mean(&ratios))
    });
    each.collect()
}

fn text(topic: &Topic<'_>, patience: Patience, lines: &[Line], servers: &[Contender]) -> String {
    let header = header(servers);
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut out = format!(
        "{}, {}, medians of {} runs\n",
        topic.title, topic.size, patience.runs
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

fn report(
    topic: &Topic<'_>,
    patience: Patience,
    lines: &[Line],
    servers: &[Contender],
    pass: bool,
) -> Result<(), String> {
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
    let mut settings = json!(patience);
    if let (Some(settings), Some(own)) = (settings.as_object_mut(), topic.settings.as_object()) {
        settings.extend(own.clone());
    }
    let document = json!({
        "experiment": topic.experiment,
        "environment": json::environment(),
        "settings": settings,
        "systems": systems,
        "queries": lines,
        "geometric_means": means(lines, servers),
        "pass": pass,
    });
    if let Some(path) = &topic.output.json {
        json::write(path, &document)?;
    }
    if page::is_wanted(topic.html) {
        let bars = lines.iter().flat_map(|line| {
            line.systems.iter().map(|figure| AskedBar {
                query: line.query,
                system: &figure.system,
                seconds: figure.seconds,
            })
        });
        let bars: Vec<AskedBar<'_>> = bars.collect();
        html::asked(
            topic.title,
            &document,
            &bars,
            &means(lines, servers),
            &header(servers),
            &rows(lines),
        )
        .deliver(topic.html)?;
    }
    Ok(())
}
