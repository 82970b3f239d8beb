//! One statement of each kind reaches the node it should, with the options that tell it apart.

use super::{one, parse};
use crate::ast::*;

#[test]
fn transactions() {
    let modes = TransactionModes {
        isolation: Some(IsolationLevel::RepeatableRead),
        read_only: Some(true),
        deferrable: Some(false),
    };
    let begin = Statement::Transaction(TransactionStatement::Begin { start: true, modes });
    assert_eq!(
        one("start transaction isolation level repeatable read, read only, not deferrable"),
        begin
    );
    assert_eq!(
        one("commit and chain"),
        Statement::Transaction(TransactionStatement::Commit { chain: true })
    );
    assert_eq!(
        one("rollback to savepoint s"),
        Statement::Transaction(TransactionStatement::RollbackTo {
            name: "s".into(),
            location: Location::NONE
        })
    );
    assert_eq!(
        one("prepare transaction 'g'"),
        Statement::Transaction(TransactionStatement::PrepareTransaction { gid: "g".into() })
    );
    let Statement::Set(set) = one("set session characteristics as transaction read write") else {
        panic!("SET")
    };
    let modes = TransactionModes {
        read_only: Some(false),
        ..TransactionModes::default()
    };
    assert_eq!(set.action, SetAction::SessionCharacteristics(modes));
}

#[test]
fn settings() {
    let Statement::Set(set) = one("set local search_path to a, 'B'") else {
        panic!("SET")
    };
    let values = vec![SetValue::String("a".into()), SetValue::String("B".into())];
    assert!(set.local);
    assert_eq!(
        set.action,
        SetAction::Value {
            name: "search_path".into(),
            values
        }
    );
    let Statement::Set(set) = one("reset all") else {
        panic!("RESET")
    };
    assert_eq!(set.action, SetAction::ResetAll);
    assert_eq!(one("show all"), Statement::Show(ShowVariable::All));
    assert_eq!(one("discard temp"), Statement::Discard(Discard::Temporary));
}

#[test]
fn cursors_and_prepared_statements() {
    let Statement::DeclareCursor(cursor) = one("declare c no scroll cursor with hold for select 1") else {
        panic!("DECLARE")
    };
    assert_eq!(
        (cursor.scroll, cursor.hold, cursor.binary),
        (Some(false), true, false)
    );
    let fetch = Fetch {
        cursor: "c".into(),
        moves: true,
        direction: FetchDirection::Backward,
        count: i64::MAX,
    };
    assert_eq!(one("move backward all in c"), Statement::Fetch(fetch));
    let Statement::Prepare(prepare) = one("prepare p (int) as select $1") else {
        panic!("PREPARE")
    };
    assert_eq!(prepare.types.len(), 1);
    assert_eq!(one("deallocate all"), Statement::Deallocate(Deallocate::All));
}

#[test]
fn objects() {
    let Statement::Drop(drop) = one("drop table if exists a.b, c cascade") else {
        panic!("DROP")
    };
    assert_eq!(
        (drop.kind, drop.objects.len(), drop.if_exists),
        (ObjectKind::Table, 2, true)
    );
    assert_eq!(drop.behavior, DropBehavior::Cascade);
    let Statement::Rename(rename) = one("alter table t rename constraint a to b") else {
        panic!("RENAME")
    };
    assert_eq!(
        (rename.kind, rename.part.as_deref()),
        (ObjectKind::TableConstraint, Some("a"))
    );
    let Statement::Rename(rename) = one("alter role a rename to b") else {
        panic!("RENAME")
    };
    assert_eq!((rename.kind, rename.part), (ObjectKind::Role, None));
    for text in [
        "grant execute on function f(int) to a",
        "grant usage on schema a to public",
        "grant all on all tables in schema a to b with grant option",
    ] {
        assert!(matches!(one(text), Statement::Grant(_)), "{text}");
    }
    assert!(matches!(
        one("grant a to b with admin option"),
        Statement::GrantRole(_)
    ));
    assert!(matches!(
        one("comment on constraint c on t is null"),
        Statement::Comment(_)
    ));
}

#[test]
fn multiple_assignment_is_one_item() {
    let Statement::Update(update) = one("update t set (a, b) = (select 1, 2), c = default") else {
        panic!("UPDATE")
    };
    let [
        Assignment::Multiple { columns, source },
        Assignment::Single { value, .. },
    ] = &update.assignments[..]
    else {
        panic!("{:?}", update.assignments)
    };
    assert_eq!(columns.len(), 2);
    assert!(matches!(source.kind, ExprKind::ScalarQuery(_)));
    assert_eq!(value.kind, ExprKind::Default);
}

#[test]
fn select_into_creates_a_table() {
    let Statement::CreateTableAs(create) = one("select 1 into temp x union select 2") else {
        panic!("SELECT INTO")
    };
    assert_eq!(
        (&*create.name.name, create.persistence),
        ("x", Persistence::Temporary)
    );
}

#[test]
fn locking_clauses() {
    let Statement::Query(query) = one("select * from a, b for no key update of a nowait for key share of b")
    else {
        panic!("a query")
    };
    let clauses: Vec<_> = query
        .locking
        .iter()
        .map(|locking| (locking.strength, locking.wait))
        .collect();
    assert_eq!(
        clauses,
        [
            (LockStrength::NoKeyUpdate, LockWait::NoWait),
            (LockStrength::KeyShare, LockWait::Block)
        ]
    );
}

#[test]
fn column_constraints_keep_their_attributes() {
    let Statement::CreateTable(table) = one(
        "create table t (a int references u deferrable initially deferred not null check (a > 0) not enforced)",
    ) else {
        panic!("CREATE TABLE")
    };
    let [key, not_null, check] = &table.columns[0].constraints[..] else {
        panic!("three constraints")
    };
    assert!(key.deferrable && key.initially_deferred && !key.not_enforced);
    assert_eq!(not_null.kind, ConstraintKind::NotNull { column: None });
    assert!(check.not_enforced && !check.not_valid);
}

/// What is told of a text: the type as it was written, and the byte at which it stands; -1 for none.
fn lowered(text: &str) -> Vec<(String, i32)> {
    let statements = parse(text).expect("a statement");
    let warnings = statements.into_iter().flat_map(|statement| statement.warnings);
    warnings
        .map(|lowered| (lowered.written, lowered.location.0))
        .collect()
}

#[test]
fn precisions_above_six_are_told_as_often_as_types_are_looked_at() {
    let told = |written: &str, at: i32| (written.to_owned(), at);
    assert_eq!(
        lowered("select '1'::time(6), interval '1' hour, 1::numeric(9)"),
        []
    );
    assert_eq!(lowered("select null::s.time(7), null::timestamp"), []);
    assert_eq!(
        lowered("select '1'::time(7); select current_time(8)"),
        [told("TIME(7)", 12), told("TIME(8) WITH TIME ZONE", -1)]
    );
    assert_eq!(
        lowered("select interval '1' second(7), interval(8) '1'"),
        [told("INTERVAL(7)", 7), told("INTERVAL(8)", 31)]
    );
    // A column twice, its default once.
    assert_eq!(
        lowered("create table t (a time(7) default '1'::time(8), b timestamptz(9))"),
        [
            told("TIME(7)", 18),
            told("TIME(8)", 39),
            told("TIMESTAMP(9) WITH TIME ZONE", 50),
            told("TIME(7)", -1),
            told("TIMESTAMP(9) WITH TIME ZONE", -1),
        ]
    );
    assert_eq!(
        lowered("alter table t alter a type time(7)"),
        [told("TIME(7)", -1), told("TIME(7)", -1)]
    );
    assert_eq!(lowered("drop function f(time(7))"), [told("TIME(7)", -1)]);
    assert_eq!(lowered("create type t as (a time(7))"), [told("TIME(7)", -1)]);
}
