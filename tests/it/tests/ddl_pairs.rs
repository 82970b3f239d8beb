//! Two definitions of one object at the same time: the second one waits for the first, then sees it, or is refused, or
//! does nothing; never does it write back what it knew before. Every expectation holds for PostgreSQL 15 too
//! (`MOTE_IT_TARGET`).

use mote_it::TestServer;
use mote_it::waiting::{await_lock, pid};
use mote_it::wire::*;

const UPDATED: Option<&str> = Some("XX000");

/// What is there before each pair.
const SETUP: &str = "drop schema if exists s cascade; create schema s;
    create function s.f(int) returns int language sql as 'select 1';
    grant execute on function s.f(int) to pairs_a;
    create table s.t (a int, b int default 1);
    create index ti on s.t (a)";

const FUNCTION: &str = "select proname, proowner::regrole, proisstrict, procost, prosecdef, prosrc,
    has_function_privilege('pairs_b', oid, 'execute') from pg_proc where proname in ('f', 'g')
    and pronamespace = 's'::regnamespace";
const SCHEMA: &str = "select nspname from pg_namespace where nspname = 's'";
const INDEX: &str = "select relname from pg_class where relnamespace = 's'::regnamespace and relkind = 'i'";

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
];

#[test]
fn the_second_definition_sees_the_first() {
    let server = TestServer::start("ddl-pairs");
    let (mut first, mut second, mut observer) = (
        RawClient::connect(&server),
        RawClient::connect(&server),
        RawClient::connect(&server),
    );
    observer.query("create role pairs_a; create role pairs_b");
    let pid = pid(&mut second);
    for &(one, two, refused, asked, expected) in PAIRS {
        assert_eq!(error(&observer.query(SETUP)), None);
        first.query("begin");
        assert_eq!(error(&first.query(one)), None, "{one}");
        second.send(b'Q', format!("{two}\0").as_bytes());
        await_lock(&mut observer, &pid);
        assert_eq!(error(&first.query("commit")), None, "{one}");
        let messages = second.until(b'Z');
        assert_eq!(
            sqlstate(&messages).as_deref(),
            refused,
            "{one}; {two}: {:?}",
            error(&messages)
        );
        assert_eq!(observer.rows(asked), expected, "{one}; {two}");

        // Taken back, the first one was never there.
        assert_eq!(error(&observer.query(SETUP)), None);
        first.query("begin");
        assert_eq!(error(&first.query(one)), None, "{one}");
        second.send(b'Q', format!("{two}\0").as_bytes());
        await_lock(&mut observer, &pid);
        first.query("rollback");
        assert_eq!(error(&second.until(b'Z')), None, "{one} taken back; {two}");
    }
    observer.query("drop schema s cascade; drop role pairs_a, pairs_b");
}
