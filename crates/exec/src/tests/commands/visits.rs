//! What a change of the catalog looks at: objects are counted, not time, in debug builds.

use crate::embedded::LocalSession;
use crate::tests::support::session;

/// Each undone by the ones behind it, so that the list can run again.
const CHANGES: [&str; 32] = [
    "create table fresh (id serial primary key, a int check (a > 0), b text default lower('B'))",
    "create table child (id int primary key, up int constraint up_exists references fresh deferrable)",
    "create index on fresh (a)",
    "create type mood as enum ('sad', 'happy')",
    "create table felt (id int, what mood default 'sad')",
    "create function one() returns int language sql as 'select 1'",
    "alter table fresh add column c int default one()",
    "alter table fresh alter column c type bigint",
    "alter table fresh rename column b to d",
    "alter table child rename to offspring",
    "alter sequence fresh_id_seq rename to numbers",
    "create view seen as select id, a from fresh",
    "comment on table fresh is 'short-lived'",
    "create role reader",
    "grant select on fresh to reader",
    "revoke select on fresh from reader",
    "drop role reader",
    "set constraints up_exists immediate",
    "truncate fresh cascade",
    "alter type mood rename value 'happy' to 'glad'",
    "alter table fresh alter column c drop default",
    "drop function one()",
    "drop table felt",
    "drop type mood",
    "create schema apart",
    "create table apart.alone (id int)",
    "alter schema apart rename to aside",
    "drop schema aside cascade",
    "drop view seen",
    "drop table offspring",
    "alter table fresh drop column a",
    "drop table fresh",
];

fn visits(session: &mut LocalSession) -> u64 {
    session.session().state.catalog.current().visits_so_far()
}

/// Objects that each change looks at.
fn costs(session: &mut LocalSession) -> Vec<u64> {
    let mut costs = Vec::new();
    for change in CHANGES {
        let before = visits(session);
        session
            .query(change)
            .unwrap_or_else(|error| panic!("{change}: {error:?}"));
        costs.push(visits(session) - before);
    }
    costs
}

#[test]
fn a_change_looks_at_what_it_touches_however_many_objects_there_are() {
    let mut session = session();
    session.query("create schema crowd").unwrap();
    let among_few = costs(&mut session);
    for number in 0..200 {
        session
            .query(&format!(
                "create table crowd.t{number} (id serial primary key, n int default 1 check (n > 0))"
            ))
            .unwrap();
    }
    session
        .query("create view crowd.v as select n from crowd.t1")
        .unwrap();
    let among_many = costs(&mut session);
    let changes = CHANGES.iter().zip(among_few.iter().zip(&among_many));
    for (change, (few, many)) in changes {
        assert_eq!(few, many, "objects visited by: {change}");
    }
    // The counter counts.
    assert!(among_few.iter().sum::<u64>() > CHANGES.len() as u64);
    let before = visits(&mut session);
    assert!(session.session().state.catalog.current().relations().count() > 200);
    assert!(visits(&mut session) - before > 200);
}

#[test]
fn a_copy_shares_its_maps() {
    let mut session = session();
    session.query("create table t (id int)").unwrap();
    let catalog = session.session().state.catalog.current();
    let copy = (*catalog).clone();
    assert!(copy.schemas.ptr_eq(&catalog.schemas));
}
