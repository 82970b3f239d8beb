//! Every setting that PostgreSQL 15 lists, set to good, bad and edge values in the three ways there are: by SET, when a
//! session starts, and for a role. mote must answer as PostgreSQL does: the value that SHOW prints afterwards, or the
//! error with its hint.
//!
//! The values follow from pg_settings. `every_setting.txt` lists where the two may differ (`mote_it::allowed`); a line
//! there that matches nothing any more fails the test. `MOTE_IT_SETTING=work_mem` tries one setting.

use std::fmt::Write;

use mote_it::TestServer;
use mote_it::allowed::{Allowed, Answer};
use mote_it::postgres::PostgresServer;
use mote_it::wire::RawClient;

/// Settings that would stop or silence the session that tries them, or that follow from the machine.
const LEFT_OUT: &[&str] = &[
    "post_auth_delay",
    "pre_auth_delay",
    "max_stack_depth",
    "client_min_messages",
];

const SETTINGS: &str = "\
select name, vartype, coalesce(boot_val, ''), coalesce(min_val, ''), coalesce(max_val, ''),
       coalesce(array_to_string(enumvals, ','), '')
  from pg_settings order by name";

fn values(kind: &str, boot: &str, low: &str, high: &str, words: &str) -> Vec<String> {
    let beyond = |bound: &str, step: i64| {
        bound
            .parse::<i64>()
            .map_or(String::new(), |n| (n + step).to_string())
    };
    let fixed: &[&str] = match kind {
        "bool" => &["off", "tr", "o", "nope", "1"],
        "integer" => &["1.5", "nope", "0x10", "1 fortnight", " 5 ", "10kB"],
        "real" => &["NaN", "nope", "0.5", "1e400"],
        "enum" => &["nope", "on"],
        _ => &["nope", "a, b", "C"],
    };
    let mut values: Vec<String> = fixed.iter().map(|value| value.to_string()).collect();
    let more = [boot.to_string(), String::new(), low.to_string(), high.to_string()];
    values.extend(more);
    if kind == "integer" {
        values.extend([beyond(low, -1), beyond(high, 1)]);
    }
    let mut words = words.split(',');
    values.extend(words.next().map(str::to_uppercase));
    values.extend(words.next_back().map(str::to_string));
    values.sort();
    values.dedup();
    values
}

/// A time limit this short could end the statement that asks for it.
fn is_short_limit(setting: &str, value: &str) -> bool {
    setting.ends_with("_timeout") && !matches!(value, "0" | "-1" | "nope" | "" | "2147483647" | "2147483648")
}

fn trials(control: &TestServer) -> Vec<(String, String)> {
    let only = std::env::var("MOTE_IT_SETTING").ok();
    let mut trials = Vec::new();
    for row in RawClient::connect(control).rows(SETTINGS) {
        let fields: Vec<&str> = row.split('|').collect();
        let [name, kind, boot, low, high, words] = fields[..] else {
            panic!("six columns: {row}");
        };
        let wanted = only.as_ref().is_none_or(|only| name == only);
        if !wanted || LEFT_OUT.contains(&name) {
            continue;
        }
        let values = values(kind, boot, low, high, words);
        let calm = values.into_iter().filter(|value| !is_short_limit(name, value));
        trials.extend(calm.map(|value| (name.to_string(), value)));
    }
    trials
}

/// The value afterwards, or what refused it.
fn shown_after(client: &mut RawClient, change: &str, show: &str) -> Answer {
    match Answer::of(&client.query(change)) {
        Answer::Rows(_) => Answer::of(&client.query(show)),
        refused => refused,
    }
}

fn by_set(server: &TestServer, trials: &[(String, String)]) -> Vec<Answer> {
    let mut client = RawClient::connect(server);
    let one = |(name, value): &(String, String)| {
        client.query("begin");
        let answer = shown_after(
            &mut client,
            &format!("set {name} = '{}'", quoted(value)),
            &format!("show {name}"),
        );
        client.query("rollback");
        answer
    };
    trials.iter().map(one).collect()
}

fn by_role(server: &TestServer, trials: &[(String, String)]) -> Vec<Answer> {
    let mut client = RawClient::connect(server);
    let one = |(name, value): &(String, String)| {
        client.query("begin");
        let answer = shown_after(
            &mut client,
            &format!("alter role {} set {name} = '{}'", server.user(), quoted(value)),
            "select unnest(rolconfig) from pg_roles where rolname = current_user",
        );
        client.query("rollback");
        answer
    };
    trials.iter().map(one).collect()
}

fn at_start(server: &TestServer, trials: &[(String, String)]) -> Vec<Answer> {
    let one = |(name, value): &(String, String)| {
        // A session for each: those that SET refuses as well say nothing new.
        if matches!(
            value.as_str(),
            " 5 " | "0x10" | "1 fortnight" | "10kB" | "o" | "tr"
        ) {
            return Answer::Rows(String::new());
        }
        let mut client = RawClient::open(server);
        let escaped = value.replace('\\', "\\\\").replace(' ', "\\ ");
        let options = format!("-c {name}={escaped}");
        let parameters = [
            ("user", server.user()),
            ("database", server.database()),
            ("options", &options),
        ];
        client.start_up(&parameters);
        match Answer::of(&client.until(b'Z')) {
            Answer::Rows(_) => Answer::of(&client.query(&format!("show {name}"))),
            refused => refused,
        }
    };
    trials.iter().map(one).collect()
}

fn quoted(value: &str) -> String {
    value.replace('\'', "''")
}

type Way = fn(&TestServer, &[(String, String)]) -> Vec<Answer>;
const WAYS: &[(&str, Way)] = &[("set", by_set), ("start", at_start), ("role", by_role)];

#[test]
fn every_setting_takes_what_postgresql_takes() {
    let postgres = PostgresServer::start();
    let control = TestServer::in_server(&postgres.url());
    let mote = TestServer::start_with("every-setting", &[]);
    let trials = trials(&control);
    let minor = postgres.minor_release();
    let mut allowed = Allowed::read(include_str!("every_setting.txt"), minor);
    let mut report = String::new();
    let mut differences = 0;
    for (word, way) in WAYS {
        let (expected, got) = std::thread::scope(|scope| {
            let expected = scope.spawn(|| way(&control, &trials));
            let got = way(&mote, &trials);
            (expected.join().expect("PostgreSQL answers"), got)
        });
        for (((name, value), expected), got) in trials.iter().zip(&expected).zip(&got) {
            let tried = format!("{word} {name} = {value}");
            if expected == got || allowed.covers(&tried, expected, got) {
                continue;
            }
            differences += 1;
            let _ = writeln!(
                report,
                "{tried}\n  PostgreSQL: {expected:?}\n  mote:       {got:?}"
            );
        }
    }
    println!("{} trials, PostgreSQL 15.{minor}", trials.len());
    assert!(differences == 0, "{differences} answers differ\n{report}");
    if std::env::var_os("MOTE_IT_SETTING").is_none() {
        let unused = allowed.unused();
        assert!(
            unused.is_empty(),
            "every_setting.txt allows what no longer differs: {unused:#?}"
        );
    }
}
