//! Random transactions of all kinds, with definitions between them, told to a PostgreSQL 15 and compared row by row.
//!
//! `MOTE_CDC_CHANGES` is the number of row changes (3,000), `MOTE_CDC_SEED` the seed, which is printed. The changes are made in
//! rounds; between two of them the server is killed, or another node takes over.

use mote_common::env::real::entropy_u64;
use mote_common::prng::Prng;
use mote_it::TestServer;
use mote_it::clients::psql_strict;
use mote_it::cluster::Nodes;
use mote_it::postgres::PostgresServer;

use super::subscriber::Subscriber;

const TABLES: [&str; 5] = ["keyed", "whole", "indexed", "part", "listed"];

const SETUP: &str = "create type mood as enum ('sad', 'fine', 'glad');
    create type pair as (a int, b text);
    create table keyed (id int primary key, v text, n numeric, m mood, p pair, l text[], j jsonb, at timestamptz);
    create table whole (a int, b text, d numeric(8,2));
    alter table whole replica identity full;
    create table indexed (k int not null, v text, u uuid);
    create unique index indexed_k on indexed (k);
    alter table indexed replica identity using index indexed_k;
    create table part (id int primary key, v text) partition by range (id);
    create table part_0 partition of part for values from (minvalue) to (1000);
    create table part_1 partition of part for values from (1000) to (3000);
    create table part_2 partition of part default;
    create table listed (id int primary key, kept text, hidden text);";

/// What is asked for.
struct Size {
    changes: u64,
    rounds: u64,
    seed: u64,
}

fn size(rounds: u64) -> Size {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seed = number("MOTE_CDC_SEED").unwrap_or_else(entropy_u64);
    let changes = number("MOTE_CDC_CHANGES").unwrap_or(3000);
    println!("MOTE_CDC_SEED={seed} MOTE_CDC_CHANGES={changes}");
    Size {
        changes,
        rounds,
        seed,
    }
}

/// Makes transactions, and counts the rows they change at least.
struct Generator {
    prng: Prng,
    changes: u64,
    next_id: u64,
    columns: u64,
    scratch: u64,
}

impl Generator {
    fn new(seed: u64) -> Generator {
        Generator {
            prng: Prng::new(seed),
            changes: 0,
            next_id: 1,
            columns: 0,
            scratch: 0,
        }
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.prng.below(n) == 0
    }

    /// An id that may be there.
    fn id(&mut self) -> u64 {
        1 + self.prng.below(self.next_id + 10)
    }

    fn fresh(&mut self, count: u64) -> u64 {
        let first = self.next_id;
        self.next_id += count;
        first
    }

    fn text(&mut self) -> String {
        match self.prng.below(7) {
            0 => "null".into(),
            // All that LATIN1 has beyond ASCII begins and ends with these.
            6 => format!("E'\\u0080 \u{a0}\u{ff} {}'", self.prng.below(100)),
            1 => "''".into(),
            2 => format!(
                "repeat('long {} ', {})",
                self.prng.below(100),
                1 + self.prng.below(400)
            ),
            3 => format!("E'tab\\t line\\n quote'' back\\\\ {}'", self.prng.below(100)),
            4 => format!("'süß {}'", self.prng.below(1000)),
            _ => format!("'v{}'", self.prng.below(10_000)),
        }
    }

    fn numeric(&mut self) -> String {
        match self.prng.below(5) {
            0 => "null".into(),
            1 => "'NaN'".into(),
            2 => format!("-{}.{:05}", self.prng.below(1_000_000), self.prng.below(100_000)),
            3 => format!("1e{}", self.prng.below(60)),
            _ => self.prng.below(1000).to_string(),
        }
    }

    fn insert_keyed(&mut self, count: u64) -> String {
        let first = self.fresh(count);
        let (text, numeric) = (self.text(), self.numeric());
        let mood = ["'sad'", "'fine'", "'glad'", "null"][self.prng.below(4) as usize];
        let array =
            ["null", "'{}'", "array['a', null, 'b,\"c']", "'{{x,y},{z,w}}'"][self.prng.below(4) as usize];
        let json = ["null", "'{\"a\": [1, 2.50, null]}'", "'\"text\"'", "'[]'"][self.prng.below(4) as usize];
        let last = first + count - 1;
        self.changes += count;
        format!(
            "insert into keyed select i, {text}, {numeric}, {mood}, (i, {text})::pair, {array}, {json}, \
             timestamptz '2026-01-01 00:00:00.123456+00' + i * interval '1 second' from generate_series({first}, {last}) i;"
        )
    }

    fn statement(&mut self) -> String {
        let (text, id) = (self.text(), self.id());
        let width = 1 + self.prng.below(5);
        let (low, high) = (id, id + width);
        self.changes += 1;
        match self.prng.below(26) {
            0..=3 => {
                let count = 1 + self.prng.below(4);
                self.insert_keyed(count)
            }
            4..=6 => format!("update keyed set v = {text} where id between {low} and {high};"),
            7 => {
                let fresh = self.fresh(1);
                format!("update keyed set id = {fresh}, m = 'glad' where id = {id};")
            }
            8..=9 => format!("delete from keyed where id between {low} and {high};"),
            10..=11 => {
                let numeric = self.prng.below(9999);
                format!(
                    "insert into whole values ({}, {text}, {numeric} / 7.0), (1, 'twice', 1);",
                    id % 40
                )
            }
            12 => format!("update whole set b = {text} where a = {};", id % 40),
            13 => format!("delete from whole where a = {};", id % 40),
            14..=15 => {
                let fresh = self.fresh(1);
                format!(
                    "insert into indexed values ({fresh}, {text}, '00000000-0000-0000-0000-{fresh:012}');"
                )
            }
            16 => format!("update indexed set v = {text} where k between {low} and {high};"),
            17 => {
                let fresh = self.fresh(1);
                format!("update indexed set k = {fresh} where k = {id};")
            }
            18 => format!("delete from indexed where k = {id};"),
            19..=20 => {
                format!(
                    "insert into part values ({id}, {text}) on conflict (id) do update set v = excluded.v;"
                )
            }
            // Often into another partition.
            21 => {
                let fresh = self.fresh(1);
                format!("update part set id = {fresh}, v = {text} where id = {id};")
            }
            22 => format!("delete from part where id = {id};"),
            23 => {
                let fresh = self.fresh(1);
                format!(
                    "insert into listed values ({fresh}, {text}, 'secret'); \
                     merge into listed l using (select distinct id from (values ({id}), ({fresh})) v(id)) s on l.id = s.id \
                     when matched then update set kept = 'merged' when not matched then do nothing;"
                )
            }
            24 => format!("update listed set hidden = {text}, kept = {text} where id = {id};"),
            _ => format!("delete from listed where id between {low} and {high};"),
        }
    }

    /// One transaction, as a script.
    fn transaction(&mut self) -> String {
        let before = (self.changes, self.next_id);
        let mut script = String::from("begin;");
        for _ in 0..1 + self.prng.below(5) {
            script.push_str(&self.statement());
            if self.one_in(6) {
                let kept = self.changes;
                script.push_str("savepoint a;");
                script.push_str(&self.statement());
                if self.one_in(2) {
                    script.push_str(&self.insert_keyed(1));
                }
                match self.one_in(2) {
                    true => {
                        self.changes = kept;
                        script.push_str("rollback to a;");
                    }
                    false => script.push_str("release a;"),
                }
            }
        }
        if self.one_in(60) {
            // Several fragments.
            let count = 300 + self.prng.below(1500);
            script.push_str(&self.insert_keyed(count));
            if self.one_in(3) {
                script.push_str(
                    "savepoint b; update keyed set v = 'rolled back' where id % 2 = 0; rollback to b;",
                );
            }
        }
        if self.one_in(80) {
            let table = TABLES[self.prng.below(TABLES.len() as u64) as usize];
            script.push_str(&format!("truncate {table};"));
            script.push_str(&self.statement());
        }
        if self.one_in(10) {
            self.changes = before.0;
            return script + "rollback;\n";
        }
        if self.one_in(30) {
            self.scratch += 1;
            let gid = format!("cdc {}", self.scratch);
            let end = if self.one_in(4) { "rollback" } else { "commit" };
            return script + &format!("prepare transaction '{gid}'; {end} prepared '{gid}';\n");
        }
        script + "commit;\n"
    }

    /// A definition: the subscriber's side, which has it first, and the publisher's.
    fn definition(&mut self) -> (String, String) {
        self.scratch += 1;
        let number = self.scratch;
        match self.prng.below(5) {
            // What was made before goes: a million changes would else fill the memory with it.
            0 => (
                String::new(),
                "drop table if exists scratch; create table scratch (a int); insert into scratch values (1);".into(),
            ),
            1 => {
                self.columns += 1;
                let add = format!("alter table keyed add column c{} int default {number};", self.columns);
                (add.clone(), add)
            }
            2 => {
                let add = format!("alter table whole add column w{number} text default 'w{number}';");
                (add.clone(), add)
            }
            3 => (String::new(), "drop index if exists keyed_at; create index keyed_at on keyed (at); vacuum analyze keyed;".into()),
            _ => (String::new(), "alter table part alter column v set default 'd'; alter table indexed alter column v drop default;".into()),
        }
    }

    /// A round of so many changes.
    fn round(&mut self, changes: u64, server: &TestServer, subscriber: &Subscriber<'_>) {
        let end = self.changes + changes;
        while self.changes < end {
            let mut script = String::new();
            let portion = (self.changes + 2000).min(end);
            while self.changes < portion {
                script.push_str(&self.transaction());
                if self.one_in(40) {
                    let (there, here) = self.definition();
                    if !there.is_empty() {
                        // A PostgreSQL finds no row by its whole old row while it has a column more than was told.
                        psql_strict(server, &std::mem::take(&mut script)).good();
                        subscriber.await_mark(server);
                        subscriber.execute(&there);
                    }
                    script.push_str(&here);
                    script.push('\n');
                }
            }
            psql_strict(server, &script).good();
        }
    }
}

fn publish(server: &TestServer, postgres: &PostgresServer, database: &str) {
    psql_strict(server, SETUP).good();
    postgres.execute_in(database, SETUP);
    // What is not in the list keeps its default on the other side.
    psql_strict(
        server,
        "create publication p for table keyed, whole, indexed, part, listed (id, kept)",
    )
    .good();
}

/// All that is published.
fn compare(subscriber: &Subscriber<'_>, server: &TestServer) {
    subscriber.compare(server, &TABLES[..4]);
    subscriber.compare(server, &["(select id, kept from listed)"]);
}

#[test]
fn changes_reach_a_subscriber_whatever_dies() {
    let size = size(3);
    let mut server = TestServer::start("cdc-random");
    let postgres = PostgresServer::start();
    publish(&server, &postgres, "postgres");
    let mut generator = Generator::new(size.seed);
    let first = generator.insert_keyed(50);
    psql_strict(&server, &first).good();
    let subscriber = Subscriber::begin(&postgres, &server, "p");
    subscriber.await_copied();
    let mut directories = Vec::new();
    for round in 0..size.rounds {
        generator.round(size.changes / size.rounds, &server, &subscriber);
        if round > 0 {
            // In the midst of what it tells.
            let (data, directory) = server.kill();
            directories.push(directory);
            server = TestServer::open(&data, &[]).expect("it recovers");
            subscriber.connect(&server);
        }
        compare(&subscriber, &server);
    }
    subscriber.end();
    println!("{} changes", generator.changes);
}

/// Copies, changes and what is told anew after a kill come in the encoding of the subscriber's database.
#[test]
fn changes_reach_a_subscriber_in_another_encoding() {
    const LATIN: &str = "latin";
    let size = size(2);
    let mut server = TestServer::start("cdc-latin1");
    let postgres = PostgresServer::start();
    postgres
        .execute("create database latin encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0");
    publish(&server, &postgres, LATIN);
    let mut generator = Generator::new(size.seed);
    let first = generator.insert_keyed(50);
    psql_strict(&server, &first).good();
    let subscriber = Subscriber::begin_in(&postgres, LATIN, &server, "p", "");
    subscriber.await_copied();
    let mut directories = Vec::new();
    for round in 0..size.rounds {
        generator.round(size.changes / size.rounds, &server, &subscriber);
        if round > 0 {
            let (data, directory) = server.kill();
            directories.push(directory);
            server = TestServer::open(&data, &[]).expect("it recovers");
            subscriber.connect(&server);
        }
        compare(&subscriber, &server);
    }
    subscriber.end();
}

#[test]
fn changes_reach_a_subscriber_through_two_fail_overs() {
    let size = size(3);
    let mut nodes = Nodes::start("cdc-cluster");
    let postgres = PostgresServer::start();
    let mut leader = nodes.leader();
    publish(nodes.node(leader), &postgres, "postgres");
    let mut generator = Generator::new(size.seed);
    let subscriber = Subscriber::begin(&postgres, nodes.node(leader), "p");
    subscriber.await_copied();
    for round in 0..size.rounds {
        generator.round(size.changes / size.rounds, nodes.node(leader), &subscriber);
        if round < 2 {
            let killed = leader;
            nodes.running[killed].take().expect("it runs").kill();
            leader = nodes.leader_but(Some(killed));
            subscriber.connect(nodes.node(leader));
            nodes.run(killed);
            nodes.settle();
        }
        compare(&subscriber, nodes.node(leader));
    }
    subscriber.end();
    println!("{} changes", generator.changes);
}
