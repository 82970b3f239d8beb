//! Every node of a cluster, asked over SQL at the same time.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use mote_driver::{Admin, DriverError, Target};
use mote_replication::roster::{Entry, Roster};

/// For all that a node has to say: one without a lease keeps clients waiting for two patiences, then
/// hangs up.
const PATIENCE: Duration = Duration::from_secs(3);

/// What a node says of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    pub follows: bool,
    /// Its log's end on disk; of a follower, what its readers see.
    pub position: u64,
    /// Whose log it takes.
    pub primary: Option<String>,
}

/// By name.
pub type Answers = BTreeMap<String, Result<Answer, String>>;

/// Asks all at once, each by a thread of its own, and waits no longer than the patience.
pub fn ask_all(roster: &Roster, login: &Target) -> Answers {
    let (sender, answers) = channel();
    for (name, entry) in &roster.0 {
        let (name, target, sender) = (name.clone(), target_of(login, entry), sender.clone());
        std::thread::spawn(move || {
            let answer = ask(&target);
            // Whoever asked waits no longer.
            let _ = sender.send((name, answer));
        });
    }
    drop(sender);
    // Whoever accepts a connection and stands still would be waited for as long as it stands.
    let deadline = Instant::now() + PATIENCE;
    let mut all = Answers::new();
    while let Ok((name, answer)) = answers.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        all.insert(name, answer);
    }
    for name in roster.0.keys() {
        all.entry(name.clone())
            .or_insert_with(|| Err(format!("nothing was heard of it for {} s", PATIENCE.as_secs())));
    }
    all
}

fn target_of(login: &Target, entry: &Entry) -> Target {
    let mut target = login.at(&entry.host, entry.port);
    (target.connect_timeout, target.answer_timeout) = (PATIENCE, Some(PATIENCE));
    target
}

fn ask(target: &Target) -> Result<Answer, String> {
    let answer = Admin::connect(target).and_then(|mut admin| ask_connected(&mut admin));
    answer.map_err(|error| error.to_string())
}

fn ask_connected(admin: &mut Admin) -> Result<Answer, DriverError> {
    let rows = admin.query(
        "SELECT pg_is_in_recovery(), \
         CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END, \
         (SELECT sender_host || ':' || sender_port FROM pg_stat_wal_receiver)",
    )?;
    let mut row = rows.into_iter().next().unwrap_or_default().into_iter();
    let mut next = || row.next().flatten();
    let follows = next().as_deref() == Some("t");
    let position = next().as_deref().and_then(parse_lsn).unwrap_or(0);
    Ok(Answer {
        follows,
        position,
        primary: next(),
    })
}

/// As PostgreSQL writes positions of its log: two hexadecimal halves.
fn parse_lsn(text: &str) -> Option<u64> {
    let (high, low) = text.split_once('/')?;
    let half = |text| u32::from_str_radix(text, 16).ok().map(u64::from);
    Some(half(high)? << 32 | half(low)?)
}

pub fn show_lsn(position: u64) -> String {
    format!("{:X}/{:X}", position >> 32, position & u64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_as_they_are_written() {
        for position in [0, 0x3000A10, 0x1_0000_0000, u64::MAX] {
            assert_eq!(parse_lsn(&show_lsn(position)), Some(position));
        }
        assert_eq!(show_lsn(0x1_0300_0A10), "1/3000A10");
        for wrong in ["", "1", "/", "1/", "1/1_0", "100000000/0"] {
            assert_eq!(parse_lsn(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn who_cannot_be_reached_is_named_with_the_reason() {
        let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let silent = port.local_addr().expect("it is bound").port();
        let entry = |id, port| Entry {
            id: mote_replication::NodeId(id),
            host: "127.0.0.1".into(),
            port,
        };
        let roster = Roster([("gone".into(), entry(1, 1)), ("silent".into(), entry(2, silent))].into());
        let login = Target::parse("postgres://me@any/postgres").expect("sound");
        let answers = ask_all(&roster, &login);
        assert_eq!(answers.len(), 2);
        assert!(answers.values().all(Result::is_err), "{answers:?}");
    }
}
