//! Two definitions of one object at the same time: the second one waits for the first, then sees it, or is refused, or
//! does nothing; never does it write back what it knew before. The expectations hold for PostgreSQL 15 too
//! (`MOTE_IT_TARGET`), but for those of `READ_AGAIN`.

use mote_it::TestServer;
use mote_it::server::is_oracle;
use mote_it::waiting::{await_lock, pid};
use mote_it::wire::*;

const UPDATED: Option<&str> = Some("XX000");

/// What is there before each pair.
const SETUP: &str = "drop schema if exists s cascade; create schema s;
    create function s.f(int) returns int language sql as 'select 1';
    grant execute on function s.f(int) to pairs_a;
    create table s.t (a int, b int default 1);
    create index ti on s.t (a);
    create view s.v as select a, b from s.t;
    create sequence s.q;
    create type s.mood as enum ('sad', 'ok');
    grant usage, create on schema s to pairs_a;
    grant select on s.t, s.v, s.q to pairs_a;
    grant usage on type s.mood to pairs_a;
    alter database pairs_d reset all;
    revoke all on database pairs_d from public;
    grant connect on database pairs_d to pairs_a;
    alter database pairs_d owner to postgres;
    alter database pairs_d connection limit -1;
    alter role pairs_c reset all;
    alter role pairs_c set work_mem = '1MB'";

const FUNCTION: &str = "select proname, proowner::regrole, proisstrict, procost, prosecdef, prosrc,
    has_function_privilege('pairs_b', oid, 'execute') from pg_proc where proname in ('f', 'g')
    and pronamespace = 's'::regnamespace";
const SCHEMA: &str = "select nspname from pg_namespace where nspname = 's'";
const INDEX: &str = "select relname from pg_class where relnamespace = 's'::regnamespace and relkind = 'i'";

/// Of these kinds of objects: what they are called, to whom they belong, and what `pairs_a` may do with them.
const TABLE: &str =
    "select relname, relowner::regrole, has_table_privilege('pairs_a', oid, 'select'), reloptions, relnatts
    from pg_class where relnamespace = 's'::regnamespace and relkind = 'r'";
const VIEW: &str =
    "select relname, relowner::regrole, has_table_privilege('pairs_a', oid, 'select'), reloptions, relnatts
    from pg_class where relnamespace = 's'::regnamespace and relkind = 'v'";
const SEQUENCE: &str =
    "select relname, relowner::regrole, has_sequence_privilege('pairs_a', c.oid, 'select'), seqmax
    from pg_class c join pg_sequence on seqrelid = c.oid where relnamespace = 's'::regnamespace";
const TYPE: &str = "select typname, typowner::regrole, has_type_privilege('pairs_a', oid, 'usage'),
    (select string_agg(enumlabel, ' ' order by enumsortorder) from pg_enum where enumtypid = t.oid)
    from pg_type t where typnamespace = 's'::regnamespace and typtype = 'e'";
const NAMESPACE: &str = "select nspname, nspowner::regrole, has_schema_privilege('pairs_a', oid, 'usage'),
    has_schema_privilege('pairs_a', oid, 'create') from pg_namespace where nspname in ('s', 'r')";
const DATABASE: &str = "select datname, datdba::regrole, has_database_privilege('pairs_a', oid, 'connect'), datconnlimit,
    (select setconfig from pg_db_role_setting where setdatabase = d.oid) from pg_database d where datname = 'pairs_d'";
const ROLE: &str = "select rolname, rolconfig from pg_roles where rolname = 'pairs_c'";

/// First, second, how the second is refused, what is asked afterwards, and its answer.
type Pair = (
    &'static str,
    &'static str,
    Option<&'static str>,
    &'static str,
    &'static [&'static str],
);

const REVOKE: &str = "revoke all on function s.f(int) from public, pairs_a";
const STRICT: &str = "alter function s.f(int) strict";
const COST: &str = "alter function s.f(int) cost 7";
const DEFINER: &str = "alter function s.f(int) security definer";
const OWNER: &str = "alter function s.f(int) owner to pairs_a";
const RENAME: &str = "alter function s.f(int) rename to g";
const REPLACE: &str = "create or replace function s.f(int) returns int language sql as 'select 2'";
const DROP: &str = "drop function s.f(int)";

const REVOKE_TABLE: &str = "revoke select on s.t from pairs_a";
const OPTION_TABLE: &str = "alter table s.t set (fillfactor = 50)";
const ADD_COLUMN: &str = "alter table s.t add column c int";
const OWNER_TABLE: &str = "alter table s.t owner to pairs_b";
const RENAME_TABLE: &str = "alter table s.t rename to u";
const REVOKE_VIEW: &str = "revoke select on s.v from pairs_a";
const REPLACE_VIEW: &str = "create or replace view s.v as select a, b, a + b as c from s.t";
const OWNER_VIEW: &str = "alter view s.v owner to pairs_b";
const REVOKE_SEQUENCE: &str = "revoke select on s.q from pairs_a";
const OWNER_SEQUENCE: &str = "alter sequence s.q owner to pairs_b";
const REVOKE_TYPE: &str = "revoke all on type s.mood from public, pairs_a";
const OWNER_TYPE: &str = "alter type s.mood owner to pairs_b";
const RENAME_TYPE: &str = "alter type s.mood rename to temper";
const REVOKE_SCHEMA: &str = "revoke usage on schema s from pairs_a";
const GRANT_SCHEMA: &str = "grant all on schema s to pairs_b";
const OWNER_SCHEMA: &str = "alter schema s owner to pairs_b";
const REVOKE_DATABASE: &str = "revoke connect on database pairs_d from pairs_a";
const LIMIT_DATABASE: &str = "alter database pairs_d connection limit 7";
const OWNER_DATABASE: &str = "alter database pairs_d owner to pairs_b";
const SET_ROLE: &str = "alter role pairs_c set work_mem = '2MB'";
const SET_ROLE_TOO: &str = "alter role pairs_c set statement_timeout = '3s'";

const REVOKED: &[&str] = &["f|postgres|f|100|f|select 1|f"];
const IS_STRICT: &[&str] = &["f|postgres|t|100|f|select 1|t"];
const OWNED: &[&str] = &["f|pairs_a|f|100|f|select 1|t"];
const RENAMED: &[&str] = &["g|postgres|f|100|f|select 1|t"];
const REPLACED: &[&str] = &["f|postgres|f|100|f|select 2|t"];

const PAIRS: &[Pair] = &[
    (REVOKE, STRICT, UPDATED, FUNCTION, REVOKED),
    (REVOKE, COST, UPDATED, FUNCTION, REVOKED),
    (REVOKE, DEFINER, UPDATED, FUNCTION, REVOKED),
    (REVOKE, REPLACE, UPDATED, FUNCTION, REVOKED),
    (STRICT, REVOKE, UPDATED, FUNCTION, IS_STRICT),
    (STRICT, COST, UPDATED, FUNCTION, IS_STRICT),
    (STRICT, DEFINER, UPDATED, FUNCTION, IS_STRICT),
    (STRICT, REPLACE, UPDATED, FUNCTION, IS_STRICT),
    (OWNER, STRICT, UPDATED, FUNCTION, OWNED),
    (OWNER, REVOKE, UPDATED, FUNCTION, OWNED),
    (OWNER, REPLACE, UPDATED, FUNCTION, OWNED),
    (OWNER, RENAME, None, FUNCTION, &["g|pairs_a|f|100|f|select 1|t"]),
    (OWNER, DROP, None, FUNCTION, &[]),
    (RENAME, STRICT, UPDATED, FUNCTION, RENAMED),
    (RENAME, REVOKE, UPDATED, FUNCTION, RENAMED),
    (RENAME, OWNER, Some("42883"), FUNCTION, RENAMED),
    (RENAME, DROP, Some("42883"), FUNCTION, RENAMED),
    (REPLACE, STRICT, UPDATED, FUNCTION, REPLACED),
    (REPLACE, REVOKE, UPDATED, FUNCTION, REPLACED),
    (REPLACE, OWNER, None, FUNCTION, &["f|pairs_a|f|100|f|select 2|t"]),
    (DROP, DROP, Some("42883"), FUNCTION, &[]),
    (DROP, "drop schema s cascade", None, SCHEMA, &[]),
    (OWNER, "drop schema s cascade", None, SCHEMA, &[]),
    (DROP, RENAME, Some("42883"), FUNCTION, &[]),
    (
        "alter index s.ti rename to tk",
        "drop index s.ti",
        Some("42704"),
        INDEX,
        &["tk"],
    ),
    (
        "drop index s.ti",
        "alter index s.ti rename to tk",
        Some("42P01"),
        INDEX,
        &[],
    ),
    (
        "alter index s.ti rename to tk",
        "alter index s.ti rename to tl",
        Some("42P01"),
        INDEX,
        &["tk"],
    ),
    // Of other kinds of objects.
    (REVOKE_TABLE, OPTION_TABLE, UPDATED, TABLE, &["t|postgres|f|~|2"]),
    (
        OPTION_TABLE,
        REVOKE_TABLE,
        UPDATED,
        TABLE,
        &["t|postgres|t|{fillfactor=50}|2"],
    ),
    (
        REVOKE_DATABASE,
        OWNER_DATABASE,
        UPDATED,
        DATABASE,
        &["pairs_d|postgres|f|-1|~"],
    ),
    (
        OWNER_DATABASE,
        REVOKE_DATABASE,
        UPDATED,
        DATABASE,
        &["pairs_d|pairs_b|t|-1|~"],
    ),
];

/// Here the second one looks at the object once it has it, so that both are done; PostgreSQL had looked before, and refuses
/// it as `tuple concurrently updated` (COMPAT.md).
const READ_AGAIN: &[Pair] = &[
    (REVOKE_TABLE, ADD_COLUMN, None, TABLE, &["t|postgres|f|~|3"]),
    (ADD_COLUMN, REVOKE_TABLE, None, TABLE, &["t|postgres|f|~|3"]),
    (REVOKE_TABLE, OWNER_TABLE, None, TABLE, &["t|pairs_b|f|~|2"]),
    (OWNER_TABLE, REVOKE_TABLE, None, TABLE, &["t|pairs_b|f|~|2"]),
    (REVOKE_TABLE, RENAME_TABLE, None, TABLE, &["u|postgres|f|~|2"]),
    (
        RENAME_TABLE,
        REVOKE_TABLE,
        Some("42P01"),
        TABLE,
        &["u|postgres|t|~|2"],
    ),
    (REVOKE_VIEW, REPLACE_VIEW, None, VIEW, &["v|postgres|f|~|3"]),
    (REPLACE_VIEW, REVOKE_VIEW, None, VIEW, &["v|postgres|f|~|3"]),
    (REVOKE_VIEW, OWNER_VIEW, None, VIEW, &["v|pairs_b|f|~|2"]),
    (OWNER_VIEW, REVOKE_VIEW, None, VIEW, &["v|pairs_b|f|~|2"]),
    (
        REVOKE_SEQUENCE,
        OWNER_SEQUENCE,
        None,
        SEQUENCE,
        &["q|pairs_b|f|9223372036854775807"],
    ),
    (
        OWNER_SEQUENCE,
        REVOKE_SEQUENCE,
        None,
        SEQUENCE,
        &["q|pairs_b|f|9223372036854775807"],
    ),
    (REVOKE_TYPE, OWNER_TYPE, None, TYPE, &["mood|pairs_b|f|sad ok"]),
    (OWNER_TYPE, REVOKE_TYPE, None, TYPE, &["mood|pairs_b|f|sad ok"]),
    (
        REVOKE_TYPE,
        RENAME_TYPE,
        None,
        TYPE,
        &["temper|postgres|f|sad ok"],
    ),
    (
        RENAME_TYPE,
        REVOKE_TYPE,
        None,
        TYPE,
        &["temper|postgres|f|sad ok"],
    ),
    (REVOKE_SCHEMA, OWNER_SCHEMA, None, NAMESPACE, &["s|pairs_b|f|t"]),
    (OWNER_SCHEMA, REVOKE_SCHEMA, None, NAMESPACE, &["s|pairs_b|f|t"]),
    (REVOKE_SCHEMA, GRANT_SCHEMA, None, NAMESPACE, &["s|postgres|f|t"]),
    (GRANT_SCHEMA, REVOKE_SCHEMA, None, NAMESPACE, &["s|postgres|f|t"]),
    (
        REVOKE_DATABASE,
        LIMIT_DATABASE,
        None,
        DATABASE,
        &["pairs_d|postgres|f|7|~"],
    ),
    (
        LIMIT_DATABASE,
        REVOKE_DATABASE,
        None,
        DATABASE,
        &["pairs_d|postgres|f|7|~"],
    ),
    (
        SET_ROLE,
        SET_ROLE_TOO,
        None,
        ROLE,
        &["pairs_c|{work_mem=2MB,statement_timeout=3s}"],
    ),
    (
        SET_ROLE_TOO,
        SET_ROLE,
        None,
        ROLE,
        &["pairs_c|{statement_timeout=3s,work_mem=2MB}"],
    ),
];

struct Sessions {
    first: RawClient,
    second: RawClient,
    observer: RawClient,
    waiting: String,
}

impl Sessions {
    /// Runs both, the second one while the first one is not over, and ends the first one so. What the second one gets.
    fn run(&mut self, one: &str, two: &str, end: &str) -> Vec<Message> {
        for statement in SETUP.split(';') {
            assert_eq!(error(&self.observer.query(statement)), None, "{statement}");
        }
        self.first.query("begin");
        assert_eq!(error(&self.first.query(one)), None, "{one}");
        self.second.send(b'Q', format!("{two}\0").as_bytes());
        await_lock(&mut self.observer, &self.waiting);
        assert_eq!(error(&self.first.query(end)), None, "{one}; {end}");
        self.second.until(b'Z')
    }
}

#[test]
fn the_second_definition_sees_the_first() {
    let server = TestServer::start("ddl-pairs");
    let mut second = RawClient::connect(&server);
    let mut sessions = Sessions {
        waiting: pid(&mut second),
        first: RawClient::connect(&server),
        second,
        observer: RawClient::connect(&server),
    };
    let made = "create role pairs_a; create role pairs_b; create role pairs_c; create database pairs_d";
    for statement in made.split(';') {
        assert_eq!(error(&sessions.observer.query(statement)), None, "{statement}");
    }
    let mut wrong = Vec::new();
    let read_again = READ_AGAIN.iter().map(|pair| (pair, is_oracle()));
    for (&(one, two, refused, asked, expected), refuses) in
        PAIRS.iter().map(|pair| (pair, false)).chain(read_again)
    {
        let messages = sessions.run(one, two, "commit");
        let (state, found) = (sqlstate(&messages), sessions.observer.rows(asked));
        let right = match refuses {
            true => state.as_deref() == UPDATED,
            false => state.as_deref() == refused && found == expected,
        };
        if !right {
            wrong.push(format!("{one}; {two}: {:?}, {found:?}", error(&messages)));
        }
        // Taken back, the first one was never there.
        let messages = sessions.run(one, two, "rollback");
        if let Some(error) = error(&messages) {
            wrong.push(format!("{one}, taken back; {two}: {error:?}"));
        }
    }
    for statement in [
        "drop schema s cascade",
        "drop database pairs_d",
        "drop role pairs_a, pairs_b, pairs_c",
    ] {
        sessions.observer.query(statement);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
