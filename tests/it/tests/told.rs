//! Whoever is told of a commit, by a lock, a notification or another client, sees it in the next plain SELECT.
//!
//! Most tests count: many clients take the same lock, read a number, and write one more than they have read. A lock is
//! handed over before its holder's commit is durable; a reader that then reads what was acknowledged loses counts.

use mote_it::TestServer;
use mote_it::wire::{RawClient, error, sqlstate, text_rows};

const CLIENTS: usize = 8;
const ROUNDS: usize = 25;

/// Each client runs `round` so often, all at once.
fn together(server: &TestServer, round: impl Fn(&mut RawClient, usize) + Sync) {
    let clients: Vec<RawClient> = (0..CLIENTS).map(|_| RawClient::connect(server)).collect();
    std::thread::scope(|scope| {
        for (number, mut client) in clients.into_iter().enumerate() {
            let round = &round;
            scope.spawn(move || (0..ROUNDS).for_each(|_| round(&mut client, number)));
        }
    });
}

/// Runs statements that give no row anybody wants.
#[track_caller]
fn run(client: &mut RawClient, text: &str) {
    let messages = client.query(text);
    assert_eq!(error(&messages), None, "{text}");
}

#[track_caller]
fn number(client: &mut RawClient, text: &str) -> i64 {
    let rows = client.rows(text);
    rows[0].parse().unwrap_or_else(|_| panic!("{text}: {rows:?}"))
}

fn counting(name: &str) -> (TestServer, RawClient) {
    let server = TestServer::start(name);
    let mut client = RawClient::connect(&server);
    run(
        &mut client,
        "DROP TABLE IF EXISTS counter, guard, numbers; \
         CREATE TABLE counter (id int PRIMARY KEY, v int NOT NULL); \
         CREATE TABLE guard (id int PRIMARY KEY, v int NOT NULL); \
         CREATE TABLE numbers (id int NOT NULL); \
         INSERT INTO counter SELECT i, 0 FROM generate_series(1, 3) i; \
         INSERT INTO guard SELECT i, 0 FROM generate_series(1, 3) i",
    );
    (server, client)
}

/// What was read stands in the update as a constant: nothing but the SELECT can have seen the others' counts.
fn count(client: &mut RawClient, id: i64) {
    let read = number(client, &format!("SELECT v FROM counter WHERE id = {id}"));
    run(
        client,
        &format!("UPDATE counter SET v = {} WHERE id = {id}", read + 1),
    );
}

/// All clients count under `lock`, which is asked for until it answers.
fn counts_under(name: &str, lock: impl Fn(&mut RawClient) + Sync) {
    let (server, mut client) = counting(name);
    together(&server, |client, _| {
        run(client, "BEGIN");
        lock(client);
        count(client, 1);
        run(client, "COMMIT");
    });
    let counted = number(&mut client, "SELECT v FROM counter WHERE id = 1");
    assert_eq!(counted, (CLIENTS * ROUNDS) as i64);
}

#[test]
fn under_lock_table() {
    counts_under("told-table", |client| {
        run(client, "LOCK TABLE counter IN EXCLUSIVE MODE")
    });
    counts_under("told-share", |client| {
        run(client, "LOCK TABLE counter IN SHARE ROW EXCLUSIVE MODE")
    });
    // Another table protects this one.
    counts_under("told-guard-table", |client| run(client, "LOCK TABLE guard"));
}

#[test]
fn under_advisory_locks_of_transactions() {
    counts_under("told-advisory", |client| {
        run(client, "SELECT pg_advisory_xact_lock(7)")
    });
    counts_under("told-try", |client| {
        while client.rows("SELECT pg_try_advisory_xact_lock(1, 7)") != ["t"] {}
    });
}

/// The commit and the unlock arrive together, so that the lock is free before the commit is durable.
#[test]
fn under_advisory_locks_of_sessions() {
    for take in ["pg_advisory_lock(7)", "pg_try_advisory_lock(7)"] {
        let (server, mut client) = counting("told-session");
        together(&server, |client, _| {
            // The one that waits answers with an empty text.
            while client.rows(&format!("SELECT {take}")) == ["f"] {}
            run(client, "BEGIN");
            count(client, 1);
            run(client, "COMMIT; SELECT pg_advisory_unlock(7)");
        });
        let counted = number(&mut client, "SELECT v FROM counter WHERE id = 1");
        assert_eq!(counted, (CLIENTS * ROUNDS) as i64, "{take}");
    }
}

#[test]
fn under_the_lock_of_a_row_of_another_table() {
    counts_under("told-row", |client| {
        run(client, "SELECT v FROM guard WHERE id = 1 FOR UPDATE");
    });
    counts_under("told-row-update", |client| {
        // Half of them lock the row by changing it.
        match number(client, "SELECT pg_backend_pid()") % 2 {
            0 => run(client, "UPDATE guard SET v = v + 1 WHERE id = 1"),
            _ => run(client, "SELECT v FROM guard WHERE id = 1 FOR NO KEY UPDATE"),
        }
    });
}

/// A lock that is refused fails the transaction; the next one begins anew.
#[test]
fn under_locks_that_are_not_waited_for() {
    let lock_again = |lock: &'static str| {
        move |client: &mut RawClient| loop {
            let messages = client.query(lock);
            match sqlstate(&messages).as_deref() {
                None => return,
                Some("55P03") => run(client, "ROLLBACK; BEGIN"),
                Some(other) => panic!("{other}"),
            }
        }
    };
    counts_under(
        "told-nowait",
        lock_again("SELECT v FROM guard WHERE id = 1 FOR UPDATE NOWAIT"),
    );
    counts_under(
        "told-table-nowait",
        lock_again("LOCK TABLE counter IN EXCLUSIVE MODE NOWAIT"),
    );
}

/// Whoever finds a token counts where the token says.
#[test]
fn under_tokens_of_a_queue_that_skips_locked_rows() {
    let (server, mut client) = counting("told-skip");
    together(&server, |client, _| {
        loop {
            run(client, "BEGIN");
            let token = client.rows("SELECT id FROM guard ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED");
            match token.first() {
                Some(token) => {
                    count(client, token.parse().expect("an id"));
                    return run(client, "COMMIT");
                }
                None => run(client, "COMMIT"),
            }
        }
    });
    let counted = number(&mut client, "SELECT sum(v) FROM counter");
    assert_eq!(counted, (CLIENTS * ROUNDS) as i64);
}

#[test]
fn numbers_drawn_under_a_table_lock_are_different() {
    let (server, mut client) = counting("told-max");
    together(&server, |client, _| {
        run(client, "BEGIN; LOCK TABLE numbers IN SHARE ROW EXCLUSIVE MODE");
        let rows = number(client, "SELECT count(*) FROM numbers");
        let next = number(client, "SELECT coalesce(max(id), 0) + 1 FROM numbers");
        assert_eq!(rows + 1, next);
        run(client, &format!("INSERT INTO numbers VALUES ({next})"));
        run(client, "COMMIT");
    });
    let drawn = client.rows("SELECT count(*), count(DISTINCT id), max(id) FROM numbers");
    let all = CLIENTS * ROUNDS;
    assert_eq!(drawn, [format!("{all}|{all}|{all}")]);
}

/// Weak locks of INSERT, then a strong one: what is counted under it does not change, and is all there is.
#[test]
fn a_strong_lock_tells_of_weak_ones() {
    let (server, mut client) = counting("told-weak");
    together(&server, |client, number_of_client| {
        if number_of_client % 2 == 0 {
            return run(client, "INSERT INTO numbers VALUES (1), (2)");
        }
        run(client, "BEGIN; LOCK TABLE numbers IN SHARE MODE");
        let first = number(client, "SELECT count(*) FROM numbers");
        let written = number(
            client,
            "SELECT count(*) FROM (SELECT FROM numbers FOR SHARE) locked",
        );
        assert_eq!(first, written, "a locking read sees the tail");
        run(client, "COMMIT");
    });
    assert_eq!(
        number(&mut client, "SELECT count(*) FROM numbers"),
        (CLIENTS * ROUNDS) as i64
    );
}

/// A plain SELECT that waited for ACCESS EXCLUSIVE, and one that came when it was free again.
#[test]
fn a_select_behind_access_exclusive_sees_what_its_holder_wrote() {
    let (server, mut holder) = counting("told-exclusive");
    let mut readers: Vec<RawClient> = (0..3).map(|_| RawClient::connect(&server)).collect();
    for round in 1..=ROUNDS {
        run(&mut holder, "BEGIN; LOCK TABLE counter");
        let waits = b"SELECT v FROM counter WHERE id = 2\0";
        readers[0].send(b'Q', waits);
        // All in one: nothing of it is acknowledged when the readers come by.
        let text = format!("UPDATE counter SET v = {round} WHERE id = 2; COMMIT\0");
        holder.send(b'Q', text.as_bytes());
        for reader in &mut readers[1..] {
            reader.send(b'Q', waits);
        }
        for reader in &mut readers {
            assert_eq!(text_rows(&reader.until(b'Z')), [round.to_string()]);
        }
        holder.until(b'Z');
    }
}

#[test]
fn a_listener_sees_what_it_is_told_of() {
    let (server, mut notifier) = counting("told-notify");
    let mut listener = RawClient::connect(&server);
    run(&mut listener, "LISTEN counted");
    for round in 1..=ROUNDS {
        notifier.query(&format!(
            "BEGIN; UPDATE counter SET v = {round} WHERE id = 1; NOTIFY counted; COMMIT"
        ));
        assert_eq!(listener.receive().expect("the server stays").kind, b'A');
        let read = number(&mut listener, "SELECT v FROM counter WHERE id = 1");
        assert_eq!(read, round as i64);
    }
}

/// One client tells another: what was acknowledged to anybody is seen by everybody.
#[test]
fn a_second_client_sees_what_the_first_was_told() {
    for level in ["on", "off"] {
        let (server, mut first) = counting("told-second");
        let mut second = RawClient::connect(&server);
        run(&mut first, &format!("SET synchronous_commit = {level}"));
        for round in 1..=ROUNDS {
            run(
                &mut first,
                &format!("UPDATE counter SET v = {round} WHERE id = 1"),
            );
            let read = number(&mut second, "SELECT v FROM counter WHERE id = 1");
            assert_eq!(read, round as i64, "{level}");
        }
    }
}

/// A lock of a prepared transaction is let go by another session's COMMIT PREPARED.
#[test]
fn a_lock_that_a_prepared_transaction_held_tells_of_its_commit() {
    let (server, mut client) = counting("told-prepared");
    if number(
        &mut client,
        "SELECT setting::int FROM pg_settings WHERE name = 'max_prepared_transactions'",
    ) == 0
    {
        return;
    }
    let mut waits = RawClient::connect(&server);
    let mut decides = RawClient::connect(&server);
    for round in 1..=ROUNDS {
        run(
            &mut client,
            &format!(
                "BEGIN; SELECT v FROM guard WHERE id = 1 FOR UPDATE; \
                 UPDATE counter SET v = {round} WHERE id = 1; PREPARE TRANSACTION 'told'"
            ),
        );
        run(&mut waits, "BEGIN");
        waits.send(b'Q', b"SELECT v FROM guard WHERE id = 1 FOR UPDATE\0");
        decides.send(b'Q', b"COMMIT PREPARED 'told'\0");
        assert_eq!(error(&waits.until(b'Z')), None);
        let read = number(&mut waits, "SELECT v FROM counter WHERE id = 1");
        assert_eq!(read, round as i64);
        run(&mut waits, "COMMIT");
        assert_eq!(error(&decides.until(b'Z')), None);
    }
}

/// Whoever is told that a prepared transaction is gone, or sees it gone, sees what it did.
#[test]
fn a_prepared_transaction_that_is_gone_tells_of_its_commit() {
    let (server, mut client) = counting("told-gone");
    if number(
        &mut client,
        "SELECT setting::int FROM pg_settings WHERE name = 'max_prepared_transactions'",
    ) == 0
    {
        return;
    }
    let mut late = RawClient::connect(&server);
    for round in 1..=ROUNDS {
        run(
            &mut client,
            &format!("BEGIN; UPDATE counter SET v = {round} WHERE id = 1; PREPARE TRANSACTION 'gone'"),
        );
        client.send(b'Q', b"COMMIT PREPARED 'gone'\0");
        match round % 2 {
            0 => {
                while !late
                    .rows("SELECT gid FROM pg_prepared_xacts WHERE gid = 'gone'")
                    .is_empty()
                {}
            }
            // Refused, since it is gone; or it was this one that decided.
            _ => _ = late.query("COMMIT PREPARED 'gone'"),
        }
        let read = number(&mut late, "SELECT v FROM counter WHERE id = 1");
        assert_eq!(read, round as i64);
        client.until(b'Z');
    }
}

/// A lock that is seen to be gone from pg_locks.
#[test]
fn pg_locks_tells_of_a_commit() {
    let (server, mut client) = counting("told-view");
    let mut looks = RawClient::connect(&server);
    for round in 1..=ROUNDS {
        run(&mut client, "BEGIN; SELECT pg_advisory_xact_lock(99)");
        let text = format!("UPDATE counter SET v = {round} WHERE id = 1; COMMIT\0");
        client.send(b'Q', text.as_bytes());
        while !looks
            .rows("SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND objid = 99 AND granted")
            .is_empty()
        {}
        let read = number(&mut looks, "SELECT v FROM counter WHERE id = 1");
        assert_eq!(read, round as i64);
        client.until(b'Z');
    }
}

/// A table that is there has the rows that its transaction put into it.
#[test]
fn a_new_table_is_seen_with_its_rows() {
    let (server, mut client) = counting("told-ddl");
    let mut looks = RawClient::connect(&server);
    for round in 1..=ROUNDS {
        let text = format!(
            "BEGIN; CREATE TABLE made_{round} AS SELECT 1 AS x; UPDATE counter SET v = {round} WHERE id = 1; COMMIT\0"
        );
        client.send(b'Q', text.as_bytes());
        while looks.rows(&format!("SELECT to_regclass('made_{round}')")) != [format!("made_{round}")] {}
        assert_eq!(
            number(&mut looks, "SELECT v FROM counter WHERE id = 1"),
            round as i64
        );
        assert_eq!(
            number(&mut looks, &format!("SELECT count(*) FROM made_{round}")),
            1
        );
        client.until(b'Z');
        run(&mut client, &format!("DROP TABLE made_{round}"));
    }
}

/// A key that can be inserted again was deleted, and a key that cannot was inserted, by a commit.
#[test]
fn keys_tell_of_commits() {
    let (server, mut client) = counting("told-key");
    let mut other = RawClient::connect(&server);
    for round in 1..=ROUNDS {
        let read = "SELECT v FROM counter WHERE id = 1";
        let text = format!(
            "BEGIN; INSERT INTO guard VALUES (9, 0); UPDATE counter SET v = {round} WHERE id = 1; COMMIT\0"
        );
        client.send(b'Q', text.as_bytes());
        // Until the other one's row is there; then also what it wrote besides.
        loop {
            let messages = other.query("BEGIN; INSERT INTO guard VALUES (9, 0)");
            run(&mut other, "ROLLBACK");
            if sqlstate(&messages).as_deref() == Some("23505") {
                break;
            }
        }
        assert_eq!(number(&mut other, read), round as i64);
        client.until(b'Z');
        let text = format!(
            "BEGIN; DELETE FROM guard WHERE id = 9; UPDATE counter SET v = -{round} WHERE id = 1; COMMIT\0"
        );
        client.send(b'Q', text.as_bytes());
        loop {
            let messages = other.query("BEGIN; INSERT INTO guard VALUES (9, 0)");
            if error(&messages).is_none() {
                break;
            }
            run(&mut other, "ROLLBACK");
        }
        assert_eq!(number(&mut other, read), -(round as i64));
        run(&mut other, "ROLLBACK");
        client.until(b'Z');
    }
}

/// The first query of a higher level comes behind its LOCK TABLE, and sees whom that waited for.
#[test]
fn lock_table_first_at_higher_levels() {
    for level in ["REPEATABLE READ", "SERIALIZABLE", "REPEATABLE READ READ ONLY"] {
        let (server, mut holder) = counting("told-first");
        let mut asks = RawClient::connect(&server);
        for round in 1..=ROUNDS {
            run(&mut holder, "BEGIN; LOCK TABLE counter IN EXCLUSIVE MODE");
            run(&mut asks, &format!("BEGIN ISOLATION LEVEL {level}"));
            asks.send(b'Q', b"LOCK TABLE counter IN SHARE MODE\0");
            let text = format!("UPDATE counter SET v = {round} WHERE id = 1; COMMIT\0");
            holder.send(b'Q', text.as_bytes());
            assert_eq!(error(&asks.until(b'Z')), None);
            assert_eq!(
                number(&mut asks, "SELECT v FROM counter WHERE id = 1"),
                round as i64
            );
            run(&mut asks, "COMMIT");
            holder.until(b'Z');
        }
    }
}

/// What a savepoint took back had been granted, and told.
#[test]
fn savepoints_and_functions_take_locks_too() {
    counts_under("told-savepoint", |client| {
        run(
            client,
            "SAVEPOINT s; LOCK TABLE guard; ROLLBACK TO s; SAVEPOINT s",
        );
        run(client, "LOCK TABLE counter IN EXCLUSIVE MODE; RELEASE s");
    });
    let (server, mut client) = counting("told-function");
    run(
        &mut client,
        "CREATE OR REPLACE FUNCTION count_up() RETURNS int LANGUAGE plpgsql AS $$ \
         DECLARE read int; \
         BEGIN \
           LOCK TABLE counter IN EXCLUSIVE MODE; \
           SELECT v INTO read FROM counter WHERE id = 1; \
           UPDATE counter SET v = read + 1 WHERE id = 1; \
           RETURN read + 1; \
         END $$",
    );
    together(&server, |client, _| run(client, "SELECT count_up()"));
    let counted = number(&mut client, "SELECT v FROM counter WHERE id = 1");
    assert_eq!(counted, (CLIENTS * ROUNDS) as i64);
}
