//! The published experiments on one page, as a user runs them: what was measured stays there, however the run ends.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mote_it::TestServer;
use mote_it::clients::{Said, run_with_input};
use mote_it::server::mote_binary;
use serde_json::Value;

/// Long enough for a machine under load; what is waited for comes in seconds.
const PATIENCE: Duration = Duration::from_secs(600);

fn seeds(arguments: &[&str]) -> Command {
    let mut command = Command::new(mote_binary());
    command.args(["bench", "seeds", "-q"]).args(arguments);
    command
}

fn bench(arguments: &[&str]) -> Said {
    run_with_input(&mut seeds(arguments), "", "the mote binary itself")
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("mote-it-{}-{name}", std::process::id()))
}

#[test]
fn a_published_experiment_stands_beside_its_figures() {
    let out = temporary("seeds");
    let path = out.display().to_string();
    let said = bench(&[
        "--only",
        "x8,X5,X13",
        "--budget",
        "10h",
        "--step",
        "1.5",
        "-w",
        "1",
        "--out",
        &path,
        "--systems",
        "mote,nosuch",
        "--systems-program",
        "/bin/false",
    ])
    .good();
    let page = std::fs::read_to_string(out.join("index.html")).expect("it was written");
    std::fs::remove_dir_all(&out).expect("it is ours");
    assert!(
        said.contains("rows per core and second") && said.contains("10,000"),
        "{said}"
    );
    assert!(said.contains("the same rows by COPY"), "{said}");
    // Its own pair of servers, one of which is killed.
    assert!(said.contains("90 % after, s"), "{said}");
    // Servers of its own, among which the warehouses are divided.
    assert!(
        said.contains("PASS mote over 4 server(s): 14 of 14 conditions hold"),
        "{said}"
    );
    assert!(said.contains("nosuch does not take part"), "{said}");
    assert!(said.contains("PASS mote: "), "{said}");
    assert!(!said.contains("X10 "), "only what was asked for: {said}");
    assert!(page.contains("MOT Data Ingestion Speed") && page.contains("measured here"));
}

fn document(out: &Path) -> Option<Value> {
    serde_json::from_str(&std::fs::read_to_string(out.join("seeds.json")).ok()?).ok()
}

/// How a measurement ended, by the name that the JSON has for it.
fn state(document: &Value, stage: &str) -> Option<String> {
    let mut all = document["ended"].as_array()?.iter();
    let end = all.find(|end| end["stage"] == stage)?;
    end["state"].as_str().map(str::to_string)
}

fn section<'a>(document: &'a Value, name: &str) -> &'a Value {
    let all = document["sections"].as_array().expect("a list");
    let found = all.iter().find(|section| section["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {document}"))
}

/// A program that answers with a server's URL and writes down what it was told.
fn program(path: &Path, url: &str) -> String {
    let log = path.with_extension("log");
    let text = format!(
        "#!/bin/sh\necho \"$1 $2\" >>{}\n[ \"$1\" != start ] || echo {url}\n",
        log.display()
    );
    std::fs::write(path, text).expect("a temporary file");
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("it is ours");
    path.display().to_string()
}

fn wait_for(what: &str, child: &mut Child, mut came: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !came() {
        let ended = child.try_wait().expect("a child");
        assert!(ended.is_none(), "it ended with {ended:?} before {what}");
        assert!(Instant::now() < deadline, "{what} did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Processes that were started with something below a directory as an argument.
fn processes_of(directory: &Path) -> usize {
    let processes = std::fs::read_dir("/proc").expect("Linux");
    let named = processes.flatten().filter(|process| {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains("serve") && line.contains(&directory.display().to_string())
    });
    named.count()
}

/// A server that can be stopped and started is, and says when it answers first and when it has read everything.
#[test]
fn a_restart_is_timed_to_the_first_answer_and_to_the_last_row() {
    let out = temporary("seeds-restart");
    let path = out.display().to_string();
    let said = bench(&[
        "--only",
        "X6",
        "--budget",
        "10h",
        "-w",
        "1",
        "--out",
        &path,
        "--systems",
        "mote",
    ])
    .good();
    let document = document(&out).expect("a JSON");
    std::fs::remove_dir_all(&out).expect("it is ours");
    let restart = &document["restarts"][0];
    let seconds = |name: &str| {
        restart[name]
            .as_f64()
            .unwrap_or_else(|| panic!("{name} of {restart}"))
    };
    assert_eq!(restart["system"], "mote", "{document}");
    assert!(0.0 < seconds("first_answer_s") && seconds("first_answer_s") <= seconds("all_read_s"));
    assert!(seconds("data_bytes") > 1e6, "{restart}");
    assert!(said.contains("every row read once, s"), "{said}");
}

#[test]
fn an_interrupted_run_keeps_what_it_has_and_another_goes_on() {
    let server = TestServer::start("seeds");
    let out = temporary("seeds-interrupted");
    std::fs::create_dir_all(&out).expect("a temporary directory");
    let (path, told) = (out.display().to_string(), out.join("systems"));
    let program = program(&told, &server.url());
    let arguments = [
        "--only",
        "X8,X10,X13",
        "--budget",
        "10h",
        "--step",
        "1",
        "-w",
        "1",
        "--out",
        &path,
        "--systems",
        "mote,other",
        "--systems-program",
        &program,
    ];
    let mut child = seeds(&arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the mote binary itself");
    // The page is there from the beginning, and names what is to come.
    wait_for("the first page", &mut child, || {
        document(&out).is_some_and(|document| document["to_come"] == serde_json::json!(["X8", "X10", "X13"]))
    });
    wait_for("the first two experiments", &mut child, || {
        document(&out).is_some_and(|document| state(&document, "ingest").is_some())
    });
    // Two servers of its own at least: the system, and the first over which warehouses are dealt out.
    wait_for("the third experiment", &mut child, || processes_of(&out) >= 2);
    let signalled = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(signalled.expect("kill is there").success());
    let ended = child.wait_with_output().expect("a child");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(
        said.contains("interrupted") && said.contains("--resume goes on"),
        "{said}"
    );
    assert_eq!(processes_of(&out), 0, "servers of its own are stopped");
    let log = std::fs::read_to_string(told.with_extension("log")).expect("it was told");
    assert!(log.ends_with("stop other\n"), "{log}");
    let first = document(&out).expect("the JSON stays");
    assert_eq!(state(&first, "side-by-side").as_deref(), Some("done"), "{first}");
    assert_eq!(state(&first, "ingest").as_deref(), Some("done"), "{first}");
    assert_eq!(state(&first, "shards").as_deref(), Some("interrupted"), "{first}");
    let page = std::fs::read_to_string(out.join("index.html")).expect("the page stays");
    assert!(page.contains("rows per core and second") && page.contains("interrupted; --resume measures it"));

    let mut more = arguments.to_vec();
    more.push("--resume");
    let other_size: Vec<&str> = more
        .iter()
        .map(|word| if *word == "1" { "2" } else { word })
        .collect();
    assert!(bench(&other_size).err.contains("it had 1 warehouses"));
    bench(&more).good();
    let second = document(&out).expect("a JSON");
    for (stage, name) in [("side-by-side", "X10"), ("ingest", "X8")] {
        assert_eq!(state(&second, stage).as_deref(), Some("done"));
        let figures = |document: &Value| section(document, name)["measured"].clone();
        assert_eq!(figures(&first), figures(&second), "{name} was not measured again");
    }
    assert_eq!(state(&second, "shards").as_deref(), Some("done"), "{second}");
    assert_eq!(second["to_come"], serde_json::json!([]));
    // Who is better stands first on the page, also of what the earlier run has measured.
    let page = std::fs::read_to_string(out.join("index.html")).expect("the page");
    let summary = page
        .find("Who is better: mote beside each other system")
        .expect("a summary");
    let (head, _) = page[summary..].split_once("<h2>").expect("more follows");
    for figure in [
        "X8  rows a second, inserts of 10",
        "X8  rows a second, COPY",
        "X10  NOPM at 1000 connections",
    ] {
        assert!(
            head.contains(figure) || page.contains("has no figure at 1000 connections"),
            "{figure}: {head}"
        );
    }
    assert_eq!(second["pass"], true, "{}", second["failed"]);
    std::fs::remove_dir_all(&out).expect("it is ours");
}

#[test]
fn an_experiment_that_overruns_its_share_is_cut_and_says_so() {
    let out = temporary("seeds-cut");
    let path = out.display().to_string();
    let said = bench(&[
        "--only",
        "X3,X8",
        "--budget",
        "1s",
        "--step",
        "1",
        "-w",
        "1",
        "--out",
        &path,
        "--systems",
        "mote",
    ])
    .good();
    let document = document(&out).expect("a JSON");
    std::fs::remove_dir_all(&out).expect("it is ours");
    assert_eq!(
        state(&document, "connections").as_deref(),
        Some("cut"),
        "{document}"
    );
    assert!(
        said.contains("cut after its share of the time") && said.contains("not measured: mote"),
        "{said}"
    );
}

/// A program that starts systems and is asked for their standbys: a system without one does not take part, one whose standby is
/// listed and does not start has failed.
#[test]
fn a_standby_that_is_listed_and_does_not_start_is_a_failure() {
    let server = TestServer::start("seeds-standby");
    let out = temporary("seeds-standby");
    std::fs::create_dir_all(&out).expect("a temporary directory");
    for (listed, fails) in [("other", false), ("other other-standby", true)] {
        let text = format!(
            "#!/bin/sh\ncase \"$1 $2\" in\n\"start other\") echo {} ;;\nlist*) echo {listed} ;;\n\"start other-standby\") \
             echo no room >&2; exit 1 ;;\nesac\n",
            server.url()
        );
        let told = out.join("systems");
        std::fs::write(&told, text).expect("a temporary file");
        std::fs::set_permissions(&told, PermissionsExt::from_mode(0o755)).expect("it is ours");
        let (path, told) = (out.display().to_string(), told.display().to_string());
        let said = bench(&[
            "--only",
            "X5",
            "--budget",
            "10h",
            "--step",
            "1",
            "-w",
            "1",
            "--out",
            &path,
            "--systems",
            "other",
            "--systems-program",
            &told,
        ]);
        let document = document(&out).expect("a JSON");
        let failed = document["failed"].to_string();
        assert_eq!(failed.contains("no room"), fails, "{listed}: {failed}");
        assert_eq!(!said.ok, fails, "{listed}: {} {}", said.out, said.err);
        assert!(
            said.out.contains("its standby does not start"),
            "{listed}: {}",
            said.out
        );
    }
    std::fs::remove_dir_all(&out).expect("it is ours");
}
