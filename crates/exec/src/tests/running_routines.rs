//! What changes under a body while it runs: tables, roles, search paths, the routines that it calls, its own definition. A
//! statement that stands in a loop means in each turn what it means then.

use crate::embedded::LocalSession;
use crate::tests::support::session;

fn one(session: &mut LocalSession, query: &str) -> Option<String> {
    session.rows(query).expect(query).remove(0).remove(0)
}

fn text(session: &mut LocalSession, query: &str) -> String {
    one(session, query).expect("not null")
}

fn state_of(session: &mut LocalSession, statement: &str) -> String {
    let error = session.query(statement).expect_err(statement);
    error.fields().state.to_string()
}

fn run(session: &mut LocalSession, statements: &[&str]) {
    for statement in statements {
        session.query(statement).expect(statement);
    }
}

#[test]
fn a_table_that_is_altered_dropped_and_made_again() {
    let mut session = session();
    run(
        &mut session,
        &[
            "create table t (a int); insert into t values (1); create table log (n int, said text)",
            "create procedure change() language plpgsql as $$
             declare r record;
             begin
               for turn in 1 .. 4 loop
                 select * into r from t;
                 insert into log values (turn, r::text);
                 if turn = 1 then
                   alter table t add column b text default 'x';
                 elsif turn = 2 then
                   alter table t alter column a type numeric(5,2);
                 elsif turn = 3 then
                   drop table t;
                   create table t (c date, d int);
                   insert into t values ('2024-02-29', 7);
                 end if;
               end loop;
             end $$",
            "call change()",
        ],
    );
    let said = "select string_agg(n || said, ' ' order by n) from log";
    assert_eq!(text(&mut session, said), "1(1) 2(1,x) 3(1.00,x) 4(2024-02-29,7)");
    // The same with a transaction for each turn.
    run(
        &mut session,
        &[
            "delete from log; drop table t; create table t (a int); insert into t values (1)",
            "create procedure change_and_commit() language plpgsql as $$
             declare r record;
             begin
               for turn in 1 .. 2 loop
                 select * into r from t;
                 insert into log values (turn, r::text);
                 alter table t add column b text default 'x';
                 commit;
                 alter table t rename column b to c;
                 rollback;
                 select * into r from t;
                 insert into log values (10 + turn, r::text);
                 alter table t drop column b;
                 commit;
               end loop;
             end $$",
            "call change_and_commit()",
        ],
    );
    assert_eq!(text(&mut session, said), "1(1) 2(1) 11(1,x) 12(1,x)");
}

/// The plan was made from a table that its transaction had made and has given up: the catalog is as it was before.
#[test]
fn a_table_that_was_rolled_back_is_gone() {
    let mut session = session();
    run(
        &mut session,
        &["create procedure make() language plpgsql as $$
           declare said text := '';
           begin
             for turn in 1 .. 2 loop
               begin
                 if turn = 1 then
                   create table made (a int);
                 end if;
                 insert into made values (turn);
                 said := said || 'inserted ';
                 raise exception 'back';
               exception when others then
                 said := said || sqlstate || ' ';
               end;
             end loop;
             raise exception '%', said;
           end $$"],
    );
    let error = session.query("call make()").expect_err("it raises");
    assert_eq!(error.fields().message, "inserted P0001 42P01 ");
}

#[test]
fn another_role_is_asked_for_its_privileges() {
    let mut session = session();
    run(
        &mut session,
        &[
            "create role weak; create table secret (a int); insert into secret values (1)",
            "create table log (n int); grant all on log to weak; grant usage, create on schema public to weak",
            "create function look(roles text[]) returns text language plpgsql as $$
             declare n int; said text := '';
             begin
               for turn in 1 .. array_length(roles, 1) loop
                 perform set_config('role', roles[turn], true);
                 begin
                   select count(*) into n from secret;
                   said := said || n || current_user || ' ';
                 exception when insufficient_privilege then
                   said := said || 'denied ';
                 end;
               end loop;
               return said;
             end $$",
        ],
    );
    session.query("begin").unwrap();
    let said = text(&mut session, "select look('{none, weak, none, weak, none}')");
    assert_eq!(said, "1postgres denied 1postgres denied 1postgres ");
    session.query("commit").unwrap();
    // And a privilege that goes and comes while the body runs.
    run(
        &mut session,
        &["create procedure grant_and_revoke() language plpgsql as $$
           declare n int; said text := '';
           begin
             for turn in 1 .. 3 loop
               perform set_config('role', 'weak', true);
               begin
                 select count(*) into n from secret;
                 said := said || n || ' ';
               exception when insufficient_privilege then
                 said := said || 'denied ';
               end;
               perform set_config('role', 'none', true);
               if turn = 1 then
                 grant select on secret to weak;
               else
                 revoke select on secret from weak;
               end if;
             end loop;
             raise exception '%', said;
           end $$"],
    );
    let error = session.query("call grant_and_revoke()").expect_err("it raises");
    assert_eq!(error.fields().message, "denied 1 denied ");
}

#[test]
fn another_search_path_finds_other_tables_and_functions() {
    let mut session = session();
    run(
        &mut session,
        &[
            "create schema one; create schema two",
            "create table one.t (a int); insert into one.t values (1)",
            "create table two.t (a text); insert into two.t values ('second')",
            "create function one.f() returns text language sql as $$select 'f1'$$",
            "create function two.f() returns text language sql as $$select 'f2'$$",
            "create function public.look() returns text language plpgsql as $$
             declare found_here text; said text := '';
             begin
               for turn in 1 .. 4 loop
                 perform set_config('search_path', case turn % 2 when 1 then 'one' else 'two' end, true);
                 select a into found_here from t;
                 said := said || found_here || f() || ' ';
               end loop;
               return said;
             end $$",
        ],
    );
    session.query("begin").unwrap();
    assert_eq!(
        text(&mut session, "select public.look()"),
        "1f1 secondf2 1f1 secondf2 "
    );
    session.query("rollback").unwrap();
    // A function with a path of its own, called between statements that have another one.
    run(
        &mut session,
        &[
            "create function public.second() returns text language plpgsql set search_path = two as
             $$declare v text; begin select a into v from t; return v; end$$",
            "create function public.two_paths() returns text language plpgsql set search_path = one as $$
             declare v text; said text := '';
             begin
               for turn in 1 .. 2 loop
                 select a into v from t;
                 said := said || v || public.second() || ' ';
               end loop;
               return said;
             end $$",
        ],
    );
    assert_eq!(
        text(&mut session, "select public.two_paths()"),
        "1second 1second "
    );
}

#[test]
fn a_routine_that_is_replaced_while_it_runs() {
    let mut session = session();
    run(
        &mut session,
        &[
            "create table log (n int, said text)",
            "create function helper() returns text language plpgsql as $$begin return 'old'; end$$",
            "create procedure replace_helper() language plpgsql as $$
             begin
               for turn in 1 .. 3 loop
                 insert into log values (turn, helper());
                 if turn = 1 then
                   create or replace function helper() returns text language plpgsql as
                     'begin return ''new''; end';
                 elsif turn = 2 then
                   alter function helper() rename to former;
                   create function helper() returns text language sql as 'select ''third''::text';
                 end if;
               end loop;
             end $$",
            "call replace_helper()",
        ],
    );
    let said = "select string_agg(n || said, ' ' order by n) from log";
    assert_eq!(text(&mut session, said), "1old 2new 3third");
    // Its own definition: the run goes on with what it began with, the next call takes the new one.
    run(
        &mut session,
        &[
            "delete from log",
            "create procedure own(n int) language plpgsql as $$
             begin
               create or replace procedure own(n int) language plpgsql as
                 'begin insert into log values (n, ''second''); end';
               insert into log values (n, 'first');
               if n = 1 then
                 call own(2);
               end if;
             end $$",
            "call own(1)",
            "call own(3)",
        ],
    );
    assert_eq!(text(&mut session, said), "1first 2second 3second");
}

#[test]
fn a_call_that_comes_again_means_what_it_means_now() {
    let mut session = session();
    let database = session.session().database().clone();
    let mut other = LocalSession::open(&database, "postgres", "postgres").unwrap();
    run(
        &mut session,
        &[
            "create schema one; create schema two; create role weak; grant usage on schema one, two to weak",
            "create table public.log (n int, said text); grant all on public.log to weak",
            "create procedure one.p(n int) language plpgsql as $$begin insert into public.log values (n, 'one'); end$$",
            "create procedure two.p(n bigint) language plpgsql as $$begin insert into public.log values (n, 'two'); end$$",
            "set search_path = one",
            "call p(1)",
            "call p(1)",
            "set search_path = two",
            "call p(1)",
            "set search_path = one",
            "call p(1)",
        ],
    );
    let said = "select string_agg(said, ' ' order by ctid) from public.log";
    assert_eq!(text(&mut session, said), "one one two one");
    other
        .query("create or replace procedure one.p(n int) language plpgsql as 'begin insert into public.log values (n, ''new''); end'")
        .unwrap();
    run(&mut session, &["delete from public.log", "call p(1)"]);
    assert_eq!(text(&mut session, said), "new");
    other
        .query("revoke execute on procedure one.p(int) from public")
        .unwrap();
    session.query("call p(1)").unwrap();
    session.query("set role weak").unwrap();
    assert_eq!(state_of(&mut session, "call p(1)"), "42501");
    other
        .query("grant execute on procedure one.p(int) to weak")
        .unwrap();
    session.query("call p(1)").unwrap();
    session.query("reset role").unwrap();
    other.query("drop procedure one.p(int)").unwrap();
    assert_eq!(state_of(&mut session, "call p(1)"), "42883");
    // Made and called in a transaction that is rolled back.
    run(
        &mut session,
        &[
            "begin",
            "create procedure one.p(n int) language plpgsql as 'begin insert into public.log values (n, ''mine''); end'",
            "call p(1)",
            "rollback",
        ],
    );
    assert_eq!(state_of(&mut session, "call p(1)"), "42883");
}

/// Statements read a body's variables where they stand: whatever ends a statement, they are there again.
#[test]
fn variables_are_there_whatever_ends_a_statement() {
    let mut session = session();
    run(
        &mut session,
        &[
            "create table t (a int primary key, b int); insert into t values (1, 0), (2, 5)",
            "create function fails(kept int, list int[]) returns text language plpgsql as $$
             declare found_b int := 42; said text := '';
             begin
               begin
                 select 1 / b into found_b from t where a = kept;
               exception when division_by_zero then
                 said := said || kept || list::text || found_b || ' ';
               end;
               begin
                 select b into strict found_b from t where a = any (list);
               exception when too_many_rows then
                 said := said || kept || list::text || found_b || ' ';
               end;
               begin
                 insert into t values (kept, 1) returning b into found_b;
               exception when unique_violation then
                 said := said || kept || list::text || found_b || ' ';
               end;
               update t set b = b + kept where a = kept returning b into found_b;
               return said || kept || list::text || found_b;
             end $$",
        ],
    );
    let said = text(&mut session, "select fails(1, '{1,2}')");
    assert_eq!(said, "1{1,2}42 1{1,2}42 1{1,2}42 1{1,2}1");
    // A body within a statement of the same body.
    run(
        &mut session,
        &["create function sum_to(n int) returns int language plpgsql as $$
           declare r int; before int := n;
           begin
             if n = 0 then return 0; end if;
             select sum_to(n - 1) + n into r from t where a = 1;
             if before <> n then raise exception 'lost'; end if;
             return r;
           end $$"],
    );
    assert_eq!(text(&mut session, "select sum_to(10)"), "55");
    assert_eq!(text(&mut session, "select sum_to(10)"), "55");
}

#[test]
fn assigned_elements_and_fields() {
    let mut session = session();
    run(
        &mut session,
        &["create type pair as (x int, y numeric(4,1));
           create function assign() returns text language plpgsql as $$
           declare
             list int[] := '{1,2,3}';
             texts varchar(2)[];
             matrix int[] := '{{1,2},{3,4}}';
             far int[] := '[5:6]={5,6}';
             p pair := (1, 2);
             r record;
             said text := '';
           begin
             list[2] := 20; list[4] := 40; list[7] := 70;
             texts[1] := 'a'; texts[2] := 'b';
             matrix[2][1] := 30;
             far[4] := 4; far[7] := 7;
             p.x := 7; p.y := 3.14159;
             select 1 as one, 'b' as two into r;
             r.two := 'changed';
             begin
               list[null] := 1;
             exception when others then said := said || sqlstate || ' ';
             end;
             begin
               list[1] := 'word';
             exception when others then said := said || sqlstate || ' ';
             end;
             begin
               texts[1] := 'too long';
             exception when others then said := said || sqlstate || ' ';
             end;
             begin
               matrix[3][1] := 1;
             exception when others then said := said || sqlstate || ' ';
             end;
             begin
               matrix[1] := 1;
             exception when others then said := said || sqlstate || ' ';
             end;
             begin
               p.x := 'word';
             exception when others then said := said || sqlstate || ' ';
             end;
             begin
               list[200000000] := 1;
             exception when others then said := said || sqlstate || ' ';
             end;
             return concat_ws(' ', said, list, texts, matrix, far, p, r);
           end $$"],
    );
    assert_eq!(
        text(&mut session, "select assign()"),
        "22004 22P02 22001 2202E 2202E 22P02 54000  {1,20,3,40,NULL,NULL,70} {a,b} {{1,2},{30,4}} [4:7]={4,5,6,7} (7,3.1) (1,changed)"
    );
}
