//! A primary that stands still, is replaced, and goes on: no statement that was sent to it after the first reply of its
//! successor is answered, its log is cut, and it follows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mote_it::clients::psql;
use mote_it::cluster::{Further, NAMES, Nodes};
use mote_it::nodes::{await_value, value};
use mote_it::process::await_that;
use rustix::process::Signal;
use tokio::time::timeout;
use tokio_postgres::{Client, Config, Error, NoTls, SimpleQueryMessage};

const TIMEOUT: Duration = Duration::from_secs(60);
/// Sessions that are open when the primary stands still.
const SESSIONS: usize = 8;
/// So long somebody new comes again and again.
const KNOCKING: Duration = Duration::from_secs(3);
/// To write without the others before the lease is over.
const QUICK: Duration = Duration::from_millis(300);

async fn open(config: &Config) -> Result<Client, Error> {
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// What somebody is told who asks the old primary now; `None`: nothing, or that it is over.
async fn told(client: &Client, question: &str) -> Option<Vec<String>> {
    let answer = timeout(TIMEOUT, client.simple_query(question)).await;
    let messages = answer.expect("the connection ends, or the answer comes").ok()?;
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(String::from),
        _ => None,
    });
    Some(rows.collect())
}

/// New sessions, until `over`; answers what anybody was told by who thinks that he leads.
async fn knock(config: Config, over: Arc<AtomicBool>) -> Vec<String> {
    let mut wrong = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let asked = async {
            let client = open(&config).await.ok()?;
            told(&client, "select pg_is_in_recovery()").await
        };
        // Whatever a follower says is right.
        if let Ok(Some(rows)) = timeout(TIMEOUT, asked).await
            && rows.iter().any(|row| row == "f")
        {
            wrong.extend(rows);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    wrong
}

#[test]
fn nothing_is_answered_that_was_asked_after_the_successors_first_reply() {
    let further = Further {
        cuts: true,
        ..Further::default()
    };
    let nodes = Nodes::start_with("split-brain", further);
    let cuts = nodes.cuts.as_ref().expect("it has cables");
    let leader = nodes.leader();
    value(
        nodes.node(leader),
        "create table t (id int primary key, by_whom text)",
    );
    value(nodes.node(leader), "insert into t values (1, 'both')");
    let config = nodes.node(leader).config();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let sessions: Vec<Client> = runtime.block_on(async {
        let mut sessions = Vec::new();
        for _ in 0..SESSIONS {
            sessions.push(open(&config).await.expect("it leads"));
        }
        sessions
    });

    // Log that nobody else has: it must go.
    let others = (0..NAMES.len()).filter(|other| *other != leader);
    others.for_each(|other| cuts.cut(leader, other));
    let alone = "set synchronous_commit = local; insert into t values (2, 'the first alone')";
    // Told or not: a lease that is over meanwhile keeps the answer back, and the row is on the disk all the same.
    let _ = runtime.block_on(async { timeout(QUICK, sessions[0].batch_execute(alone)).await });
    nodes.node(leader).signal(Signal::STOP);

    let next = nodes.leader_but(Some(leader));
    await_that("the successor takes writes", TIMEOUT, || {
        psql(nodes.node(next), "insert into t values (3, 'the successor')").ok
    });

    // The successor has answered. From here on every statement is one too many for the first.
    let over = Arc::new(AtomicBool::new(false));
    let (wrong, answered) = runtime.block_on(async {
        let questions = sessions.into_iter().enumerate().map(|(number, client)| {
            tokio::spawn(async move {
                let question = match number % 3 {
                    0 => "select count(*) from t".to_string(),
                    1 => format!("insert into t values ({}, 'too late') returning id", 100 + number),
                    _ => "select 'nothing of the database'".to_string(),
                };
                let mut answered = Vec::new();
                // One after the other, until the connection ends.
                while let Some(rows) = told(&client, &question).await {
                    answered.extend(rows);
                }
                answered
            })
        });
        let questions: Vec<_> = questions.collect();
        let knocking = tokio::spawn(knock(config.clone(), over.clone()));
        // They are in the socket before it goes on.
        tokio::time::sleep(Duration::from_millis(100)).await;
        nodes.node(leader).signal(Signal::CONT);
        tokio::time::sleep(QUICK).await;
        cuts.mend();
        let mut answered = Vec::new();
        for question in questions {
            answered.extend(question.await.expect("no panic"));
        }
        let since = Instant::now();
        while since.elapsed() < KNOCKING {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        over.store(true, Ordering::Relaxed);
        (knocking.await.expect("no panic"), answered)
    });
    assert!(answered.is_empty(), "{answered:?}\n{}", nodes.logs());
    assert!(wrong.is_empty(), "{wrong:?}\n{}", nodes.logs());

    nodes.node(leader).await_log("the log is cut at");
    nodes.await_replay();
    assert_ne!(nodes.leader(), leader);
    for index in nodes.up() {
        let rows = "select string_agg(id || ' ' || by_whom, ', ' order by id) from t";
        await_value(nodes.node(index), rows, "1 both, 3 the successor");
    }
    let follows = "select status from pg_stat_wal_receiver";
    await_value(nodes.node(leader), follows, "streaming");
}
