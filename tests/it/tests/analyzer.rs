//! Tables are analyzed by themselves, by a thread of the server.

use std::time::{Duration, Instant};

use mote_it::server::TestServer;
use mote_it::wire::RawClient;

/// Long enough for a machine that does other things as well.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_table_that_was_filled_is_analyzed_unasked() {
    let server = TestServer::start_with("analyzer", &[]);
    let mut client = RawClient::connect(&server);
    client.query("alter system set autovacuum_naptime = 1");
    client.query("select pg_reload_conf()");
    client.query("create table t as select g a from generate_series(1, 1000) g");
    let begun = Instant::now();
    let counts = "select autoanalyze_count > 0, analyze_count from pg_stat_user_tables where relname = 't'";
    // A query is a look at the state, and there is none but the state to wait for.
    while client.rows(counts) != ["t|0"] {
        assert!(begun.elapsed() < PATIENCE, "nobody has analyzed the table");
        client.query("select pg_sleep(0.1)");
    }
    assert_eq!(
        client.rows("select n_distinct from pg_stats where tablename = 't'"),
        ["-1"]
    );
}
