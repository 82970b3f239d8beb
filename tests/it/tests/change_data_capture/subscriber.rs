//! A PostgreSQL 15 that subscribes to a server.

use std::time::Duration;

use mote_it::TestServer;
use mote_it::clients::psql_strict;
use mote_it::nodes::value;
use mote_it::postgres::PostgresServer;
use mote_it::process::await_that;

/// A machine that does much else at the same time.
const TIMEOUT: Duration = Duration::from_secs(300);

pub struct Subscriber<'p> {
    postgres: &'p PostgresServer,
    database: &'static str,
}

fn place(server: &TestServer, parameters: &str) -> String {
    let address = server.address;
    format!(
        "host={} port={} user=postgres dbname=postgres {parameters}",
        address.ip(),
        address.port()
    )
}

impl<'p> Subscriber<'p> {
    /// With an initial copy. The tables are on both sides.
    pub fn begin(postgres: &'p PostgresServer, server: &TestServer, publication: &str) -> Subscriber<'p> {
        Subscriber::begin_with(postgres, server, publication, "")
    }

    /// The same with more parameters of a connection string.
    pub fn begin_with(
        postgres: &'p PostgresServer,
        server: &TestServer,
        publication: &str,
        parameters: &str,
    ) -> Subscriber<'p> {
        Subscriber::begin_in(postgres, "postgres", server, publication, parameters)
    }

    /// The same in one of its databases.
    pub fn begin_in(
        postgres: &'p PostgresServer,
        database: &'static str,
        server: &TestServer,
        publication: &str,
        parameters: &str,
    ) -> Subscriber<'p> {
        let mark = "create table if not exists mark (n bigint primary key)";
        psql_strict(server, mark).good();
        psql_strict(server, &format!("alter publication {publication} add table mark")).good();
        let subscriber = Subscriber { postgres, database };
        subscriber.execute(mark);
        let place = place(server, parameters);
        subscriber.execute(&format!(
            "create subscription s connection '{place}' publication {publication}"
        ));
        subscriber
    }

    pub fn execute(&self, sql: &str) {
        self.postgres.execute_in(self.database, sql);
    }

    fn value(&self, sql: &str) -> String {
        self.postgres.value_in(self.database, sql)
    }

    /// Another server, or the same at another place, has the slot.
    pub fn connect(&self, server: &TestServer) {
        let place = place(server, "");
        self.execute(&format!("alter subscription s connection '{place}'"));
    }

    pub fn await_copied(&self) {
        self.await_answer(
            "select count(*) from pg_subscription_rel where srsubstate <> 'r'",
            "0",
        );
    }

    pub fn await_answer(&self, sql: &str, expected: &str) {
        let mut found = String::new();
        let reached = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            await_that(sql, TIMEOUT, || {
                found = self.value(sql);
                found == expected
            })
        }));
        if reached.is_err() {
            let log = self.postgres.log();
            let tail: Vec<&str> = log.lines().rev().take(30).collect();
            panic!("{sql}: {found} and not {expected}\n{tail:#?}");
        }
    }

    /// Everything that was committed before is here when this returns.
    pub fn await_mark(&self, server: &TestServer) {
        let insert = "insert into mark select coalesce(max(n), 0) + 1 from mark returning n";
        let number = value(server, insert);
        let number = number.lines().next().expect("a number").to_string();
        self.await_answer(&format!("select count(*) from mark where n = {number}"), "1");
    }

    /// Row by row. A hash is one of bytes, which are those of UTF-8 here and of its own encoding there. Hashes are sorted and
    /// not rows: a seed may make 20 MB of these, and a session of a small node may keep no more than 32.
    pub fn compare(&self, server: &TestServer, tables: &[&str]) {
        self.await_mark(server);
        for table in tables {
            let sum = format!(
                "select count(*), md5(coalesce(string_agg(h, '/' order by h collate \"C\"), '')) \
                 from (select md5(convert_to(t::text, 'UTF8')) as h from {table} t) x"
            );
            let (here, there) = (value(server, &sum), self.value(&sum));
            if here == there {
                continue;
            }
            let rows = format!(
                "select r from (select left(t::text, 200) || ' ' || md5(convert_to(t::text, 'UTF8')) as r from {table} t) x \
                 order by r collate \"C\""
            );
            let (here, there) = (value(server, &rows), self.value(&rows));
            let differ: Vec<_> = here
                .lines()
                .zip(there.lines())
                .filter(|(a, b)| a != b)
                .take(3)
                .collect();
            panic!(
                "{table}: {} rows and {}, {differ:#?}",
                here.lines().count(),
                there.lines().count()
            );
        }
    }

    /// DROP SUBSCRIPTION drops the slot, too.
    pub fn end(self) {
        self.execute("drop subscription s");
    }
}
