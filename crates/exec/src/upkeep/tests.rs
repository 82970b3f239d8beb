//! What is due, and that statistics outlive the process.

use mote_catalog::settings::ServerSettings;
use mote_common::env::sim::{SimDisk, env};

use super::*;

struct Nobody;

impl Ending for Nobody {
    fn is_wanted(&self) -> bool {
        false
    }

    fn at_work(&self, _: Option<Arc<SessionSignals>>) {}
}

fn open(disk: &SimDisk) -> Arc<Database> {
    let (env, _clock) = env(disk, 1);
    let evaluation = &mote_executor::index_keys::EVALUATION;
    Database::open_in(env, Default::default(), &Default::default(), evaluation).expect("the disk is whole")
}

fn session(database: &Arc<Database>) -> LocalSession {
    LocalSession::open(database, "postgres", "postgres").expect("the first role exists")
}

/// How often `t` was analyzed by itself, and by a command.
fn analyzed(session: &mut LocalSession) -> (String, String) {
    let counts = "select autoanalyze_count, analyze_count from pg_stat_user_tables where relname = 't'";
    let rows = session.rows(counts).expect("the view is there");
    let count = |column: usize| rows[0][column].clone().expect("a number");
    (count(0), count(1))
}

#[track_caller]
fn check(rounds: &mut Rounds, session: &mut LocalSession, by_itself: &str) {
    rounds.run(&Nobody).expect("a round");
    assert_eq!(analyzed(session).0, by_itself);
}

#[test]
fn tables_that_have_changed_enough_are_analyzed() {
    let database = open(&SimDisk::new(1));
    let mut session = session(&database);
    let mut rounds = Rounds::new(&database);
    session.query("create table t (a int, b int)").unwrap();
    session
        .query("insert into t select g, 1 from generate_series(1, 50) g")
        .unwrap();
    check(&mut rounds, &mut session, "0");
    session
        .query("insert into t select g, 1 from generate_series(51, 100) g")
        .unwrap();
    check(&mut rounds, &mut session, "1");
    check(&mut rounds, &mut session, "1");
    // 60 of 100 are as many as it takes; one row many times is one row.
    for _ in 0..100 {
        session.query("update t set b = 2 where a = 1").unwrap();
    }
    session.query("update t set b = 2 where a <= 60").unwrap();
    check(&mut rounds, &mut session, "1");
    session.query("update t set b = 2 where a = 61").unwrap();
    check(&mut rounds, &mut session, "2");
    session.query("delete from t where a > 30").unwrap();
    check(&mut rounds, &mut session, "3");
    session
        .query("insert into t select g, 1 from generate_series(101, 1000) g")
        .unwrap();
    session.query("analyze t").unwrap();
    check(&mut rounds, &mut session, "3");
    assert_eq!(analyzed(&mut session).1, "1");
    session.query("truncate t").unwrap();
    check(&mut rounds, &mut session, "4");
    check(&mut rounds, &mut session, "4");
    session.query("select pg_stat_reset()").unwrap();
    assert_eq!(analyzed(&mut session), ("0".to_string(), "0".to_string()));
}

#[test]
fn what_is_locked_or_not_wanted_is_left() {
    let database = open(&SimDisk::new(2));
    let (mut owner, mut reader) = (session(&database), session(&database));
    let mut rounds = Rounds::new(&database);
    owner
        .query("create table t (a int) with (autovacuum_enabled = false)")
        .unwrap();
    owner
        .query("insert into t select g from generate_series(1, 100) g")
        .unwrap();
    check(&mut rounds, &mut reader, "0");
    owner.query("alter table t reset (autovacuum_enabled)").unwrap();
    owner
        .query("begin; lock table t in share update exclusive mode")
        .unwrap();
    check(&mut rounds, &mut reader, "0");
    owner.query("commit").unwrap();
    check(&mut rounds, &mut reader, "1");
    let settings: &ServerSettings = database.server_settings();
    settings
        .change(Some(("autovacuum", Some("off"))))
        .expect("it can stand in the file");
    settings.reload().expect("the file is right");
    owner
        .query("insert into t select g from generate_series(1, 1000) g")
        .unwrap();
    check(&mut rounds, &mut reader, "1");
}

#[test]
fn statistics_outlive_the_process() {
    let disk = SimDisk::new(3);
    let histogram = "select n_distinct, histogram_bounds from pg_stats where tablename = 't'";
    let database = open(&disk);
    let mut before = session(&database);
    before.query("create table t (a int)").unwrap();
    before
        .query("insert into t select g from generate_series(1, 1000) g")
        .unwrap();
    before.query("analyze t").unwrap();
    let found = before.rows(histogram).unwrap();
    assert_eq!(found.len(), 1);
    drop(before);
    database.close();
    drop(database);
    let database = open(&disk);
    let mut after = session(&database);
    assert_eq!(after.rows(histogram).unwrap(), found);
    // Nothing has changed since.
    check(&mut Rounds::new(&database), &mut after, "0");
}
