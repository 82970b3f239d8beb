//! Which other rows follow from an earlier difference.
//!
//! A statement that one server refused and the other did not leaves objects behind that differ: what it would have made
//! or changed, and what its transaction had changed. Other rows of a later statement of the same file *follow* if it
//! names such an object, or a view, function, cursor, parent or partition that leads there. A query of catalogs follows
//! only if a literal names an object that one of the servers does not have, or each row that differs does: otherwise a
//! wrong catalog would hide behind any missing feature.
//!
//! Every rule errs on the side of *not following*: what is called following is looked at by nobody.

use std::collections::{HashMap, HashSet};

use super::classify::{Class, Pair, rows_apart};
use super::effects::{Block, Effects, Scope, is_of_operator};

#[derive(Debug, Clone)]
struct Mark {
    cause: String,
    scope: Scope,
}

/// What differs between the servers, by name, as far as it is known.
#[derive(Default)]
pub struct Following {
    marks: HashMap<String, Mark>,
    variables: HashMap<String, String>,
    /// What views, functions, cursors and prepared statements name.
    definitions: HashMap<String, Vec<String>>,
    /// The tables that functions write.
    writes: HashMap<String, Vec<String>>,
    /// Partitions, children and tables of cascading foreign keys.
    descendants: HashMap<String, Vec<String>>,
    /// The trigger functions of tables.
    fires: HashMap<String, Vec<String>>,
    block: Option<Transaction>,
}

/// An open transaction block.
#[derive(Default)]
struct Transaction {
    /// Why it will fail on one server only.
    failed: Option<String>,
    /// What was changed in it.
    targets: Vec<(String, Scope)>,
    savepoints: Vec<Savepoint>,
    /// The marks as they were before it.
    marks: HashMap<String, Mark>,
}

struct Savepoint {
    name: String,
    targets: usize,
    failed: Option<String>,
    marks: HashMap<String, Mark>,
}

impl Following {
    /// A new file is a new session, and its objects are its own.
    pub fn new_file(&mut self) {
        *self = Following::default();
    }

    /// Takes every pair in order, with its class and cause. `Some` tells what other rows, or what PostgreSQL
    /// alone refuses, follow from.
    pub fn judge(&mut self, pair: &Pair<'_>, class: Class, cause: &str) -> Option<String> {
        let effects = Effects::of(pair.statement.body());
        let refused = refused_by_one(pair, class);
        let reason = self.reason(&effects, pair);
        let explains = matches!(class, Class::OtherRows | Class::Accepted);
        let verdict = explains.then(|| reason.clone()).flatten();
        if refused {
            self.mark_refused(&effects, cause);
        } else {
            let failed = !pair.reference.errors.is_empty();
            self.run(&effects, class, failed, reason);
        }
        verdict
    }

    /// Why the answer may differ, if what differs already explains it.
    fn reason(&self, effects: &Effects, pair: &Pair<'_>) -> Option<String> {
        let variable = |name: &String| self.variables.get(name).cloned();
        if let Some(cause) = effects.variables.iter().find_map(variable) {
            return Some(cause);
        }
        let fired = effects
            .writes
            .iter()
            .filter_map(|table| self.fires.get(table))
            .flatten();
        let named = effects.reads.iter().chain(&effects.writes).chain(fired);
        let reached = self.reached(named);
        let data = |name: &&String| self.marks.get(*name).filter(|mark| mark.scope >= Scope::Data);
        if let Some(mark) = reached.iter().find_map(data) {
            return Some(mark.cause.clone());
        }
        if !effects.asks_catalog {
            return None;
        }
        let named = effects.literals.iter().find_map(|name| self.missing(name));
        let mark = named.or_else(|| self.mark_of_all_rows(pair));
        mark.map(|mark| mark.cause.clone())
    }

    /// The mark of an object that one server does not have.
    fn missing(&self, name: &str) -> Option<&Mark> {
        self.marks.get(name).filter(|mark| mark.scope == Scope::Existence)
    }

    /// A mark that belongs to a row that differs, if each such row names something that is missing.
    fn mark_of_all_rows(&self, pair: &Pair<'_>) -> Option<&Mark> {
        let rows = rows_apart(pair);
        let mark = |row: &String| {
            let separates = |c: char| !(c.is_alphanumeric() || c == '_' || is_of_operator(c));
            row.split(separates)
                .find_map(|word| self.missing(&word.to_lowercase()))
        };
        let marks: Option<Vec<&Mark>> = rows.iter().map(mark).collect();
        marks?.first().copied()
    }

    /// Names, and what their definitions lead to.
    fn reached<'a>(&'a self, names: impl Iterator<Item = &'a String>) -> HashSet<&'a String> {
        let mut reached = HashSet::new();
        let mut open: Vec<&String> = names.collect();
        while let Some(name) = open.pop() {
            if reached.insert(name) {
                let next = [&self.definitions, &self.descendants].map(|edges| edges.get(name));
                open.extend(next.into_iter().flatten().flatten());
            }
        }
        reached
    }

    /// A statement that only one server ran.
    fn mark_refused(&mut self, effects: &Effects, cause: &str) {
        let sets = effects.sets.iter().map(|name| (name.clone(), cause.to_string()));
        self.variables.extend(sets);
        for (name, scope) in self.all_targets(effects) {
            self.mark(&name, scope, cause);
        }
        match (&effects.block, &mut self.block) {
            (Block::End, _) => self.end(Some(cause)),
            (_, Some(block)) => {
                block.failed.get_or_insert_with(|| cause.to_string());
                block.targets.extend(effects.targets.iter().cloned());
            }
            _ => {}
        }
        // What it would have defined leads to the same places.
        self.define(effects);
    }

    /// A statement that both servers ran, or both refused.
    fn run(&mut self, effects: &Effects, class: Class, failed: bool, reason: Option<String>) {
        match &effects.block {
            Block::Begin => {
                let marks = self.marks.clone();
                self.block = Some(Transaction {
                    marks,
                    ..Transaction::default()
                });
            }
            Block::End => self.end(None),
            Block::Rollback => {
                if let Some(block) = self.block.take() {
                    self.marks = block.marks;
                }
            }
            Block::Savepoint(name) => self.save(name),
            Block::RollbackTo(name) => self.roll_back_to(name),
            Block::None => {}
        }
        if class == Class::OtherRows && !effects.sets.is_empty() {
            let cause = reason.clone().unwrap_or_else(|| "other rows".to_string());
            self.variables
                .extend(effects.sets.iter().map(|name| (name.clone(), cause.clone())));
        }
        if failed {
            return;
        }
        if let Some(block) = &mut self.block {
            block.targets.extend(effects.targets.iter().cloned());
        }
        self.define(effects);
        self.forget(effects);
        if let (Some(cause), false) = (reason, effects.asks_catalog || effects.drops) {
            for (name, _) in self
                .all_targets(effects)
                .into_iter()
                .filter(|target| target.1 >= Scope::Data)
            {
                self.mark(&name, Scope::Data, &cause);
            }
        }
    }

    /// What a statement changes by itself, through the functions it calls and through triggers.
    fn all_targets(&self, effects: &Effects) -> Vec<(String, Scope)> {
        let mut targets = effects.targets.clone();
        if effects.defines.is_none() {
            // A rule's action.
            targets.extend(
                effects
                    .body_writes
                    .iter()
                    .cloned()
                    .map(|table| (table, Scope::Data)),
            );
        }
        let fired = effects
            .writes
            .iter()
            .filter_map(|table| self.fires.get(table))
            .flatten();
        let new_trigger = effects.fires.iter().map(|(_, function)| function);
        for name in self.reached(effects.reads.iter().chain(fired).chain(new_trigger)) {
            let written = self.writes.get(name).into_iter().flatten();
            targets.extend(written.map(|table| (table.clone(), Scope::Data)));
        }
        targets
    }

    /// Marks a name, and what goes with it: partitions, children, the tables of a view that is written.
    fn mark(&mut self, name: &str, scope: Scope, cause: &str) {
        let name = name.to_string();
        if scope >= Scope::Data {
            let beneath: Vec<String> = self
                .reached(std::iter::once(&name))
                .into_iter()
                .cloned()
                .collect();
            beneath
                .into_iter()
                .for_each(|name| self.note(name, Scope::Data, cause));
        }
        self.note(name, scope, cause);
    }

    /// A mark stays as it is beside a lesser one.
    fn note(&mut self, name: String, scope: Scope, cause: &str) {
        if self.marks.get(&name).is_none_or(|known| known.scope < scope) {
            let cause = cause.to_string();
            self.marks.insert(name, Mark { cause, scope });
        }
    }

    fn define(&mut self, effects: &Effects) {
        if let Some(name) = &effects.defines {
            self.definitions.insert(name.clone(), effects.reads.clone());
            self.writes.insert(name.clone(), effects.body_writes.clone());
        }
        for (parent, child) in &effects.descends {
            self.descendants
                .entry(parent.clone())
                .or_default()
                .push(child.clone());
        }
        if let Some((table, function)) = &effects.fires {
            self.fires
                .entry(table.clone())
                .or_default()
                .push(function.clone());
        }
    }

    /// A new object, or one that is gone on both servers, has no history.
    fn forget(&mut self, effects: &Effects) {
        for name in &effects.renews {
            self.marks.remove(name);
            if effects.drops {
                self.definitions.remove(name);
                self.descendants.remove(name);
                self.fires.remove(name);
            }
        }
    }

    /// COMMIT; `cause` if only one server ended the block so.
    fn end(&mut self, cause: Option<&str>) {
        let Some(block) = self.block.take() else { return };
        let cause = block.failed.as_deref().or(cause).map(str::to_string);
        for (name, scope) in cause.is_some().then_some(block.targets).into_iter().flatten() {
            self.mark(&name, scope, cause.as_deref().expect("it is some here"));
        }
    }

    fn save(&mut self, name: &str) {
        let marks = self.marks.clone();
        if let Some(block) = &mut self.block {
            block.savepoints.push(Savepoint {
                name: name.to_string(),
                targets: block.targets.len(),
                failed: block.failed.clone(),
                marks,
            });
        }
    }

    fn roll_back_to(&mut self, name: &str) {
        let Some(block) = &mut self.block else { return };
        let Some(at) = block
            .savepoints
            .iter()
            .rposition(|savepoint| savepoint.name == name)
        else {
            return;
        };
        block.savepoints.truncate(at + 1);
        let savepoint = &block.savepoints[at];
        block.targets.truncate(savepoint.targets);
        block.failed.clone_from(&savepoint.failed);
        self.marks.clone_from(&savepoint.marks);
    }
}

/// Whether one server ran the statement and the other did not.
fn refused_by_one(pair: &Pair<'_>, class: Class) -> bool {
    match class {
        Class::Refused | Class::Panic | Class::Library | Class::Unanswered | Class::Accepted => true,
        Class::NotSupported => pair.reference.errors.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::script::Statement;
    use super::super::session::{Answer, End};
    use super::*;

    const SAME: Class = Class::Identical;
    const ROWS: Class = Class::OtherRows;
    const LACKS: Class = Class::NotSupported;

    /// Whether the last statement's rows follow from what came before it.
    fn follows(statements: &[(Class, &str)]) -> bool {
        follows_with(statements, "", "")
    }

    fn follows_with(statements: &[(Class, &str)], wanted: &str, got: &str) -> bool {
        let mut following = Following::default();
        let mut last = None;
        for (class, text) in statements {
            let answer = |text: &str| Answer {
                text: text.to_string(),
                errors: Vec::new(),
                end: End::Answered,
            };
            let statement = Statement {
                line: 1,
                text: text.to_string(),
                data: Vec::new(),
            };
            let pair = Pair {
                statement: &statement,
                reference: &answer(wanted),
                reference_build: Path::new("/a"),
                answer: Some(&answer(got)),
                build: Path::new("/b"),
            };
            last = following.judge(&pair, *class, "a cause");
        }
        last.is_some()
    }

    #[test]
    fn rows_of_what_was_refused_follow() {
        let rule = (
            LACKS,
            "create rule r as on insert to t do also insert into log values (1)",
        );
        for query in [
            "select * from t",
            "select * from a, s.T x",
            "insert into t values (1) returning *",
        ] {
            assert!(follows(&[rule, (ROWS, query)]), "{query}");
        }
        assert!(follows(&[rule, (ROWS, "select * from log")]));
        let write = (
            Class::Refused,
            "with x as (update t set a = 1 returning *) select * from x",
        );
        assert!(follows(&[write, (ROWS, "table t")]));
        assert!(follows(&[
            (Class::Accepted, "insert into t values ('x')"),
            (ROWS, "select a from t")
        ]));
        let variable = (LACKS, "select lo_creat(1) as id \\gset");
        assert!(follows(&[variable, (ROWS, "select * from x where y = :'id'")]));
        assert!(follows(&[
            (LACKS, "update t set a = 1 where current of c"),
            (ROWS, "select * from t")
        ]));
    }

    #[test]
    fn other_rows_do_not_follow() {
        let refused = (
            LACKS,
            "create rule r as on insert to t do also insert into log values (1)",
        );
        // Another table; a column, an alias, a literal and a comment with the name of the table.
        for query in [
            "select * from u",
            "select t from u order by t",
            "select u.t, 't' from u where t = 1",
            "select 1 -- from t",
            "select * from u as t_1 group by t",
        ] {
            assert!(!follows(&[refused, (ROWS, query)]), "{query}");
        }
        // What describes a table does not change its rows.
        for describing in [
            "create index i on t using gist (a)",
            "comment on table t is 'x'",
            "grant select on t to r",
            "alter table t owner to r",
            "alter table t alter column a set statistics 5",
            "reindex table concurrently t",
        ] {
            assert!(
                !follows(&[(LACKS, describing), (ROWS, "select * from t")]),
                "{describing}"
            );
        }
        // Both refused it, or the rows came before, or the table is another one of the name.
        assert!(!follows(&[
            (Class::OtherError, "delete from t"),
            (ROWS, "select * from t")
        ]));
        assert!(!follows(&[(SAME, "delete from t"), (ROWS, "select * from t")]));
        assert!(!follows(&[
            refused,
            (SAME, "drop table t"),
            (SAME, "create table t (a int)"),
            (ROWS, "table t")
        ]));
    }

    #[test]
    fn views_functions_cursors_and_partitions_lead_on() {
        let refused = (LACKS, "alter table t alter a type b");
        assert!(follows(&[
            (SAME, "create view v as select * from t"),
            (SAME, "create view w as select * from v"),
            refused,
            (ROWS, "select * from w")
        ]));
        let function = "create function f() returns int language sql as $$ select a from t $$";
        assert!(follows(&[(SAME, function), refused, (ROWS, "select f()")]));
        assert!(!follows(&[(SAME, function), refused, (ROWS, "select f from u")]));
        let cursor = (SAME, "declare c cursor for select * from t");
        assert!(follows(&[refused, cursor, (ROWS, "fetch all from c")]));
        let part = (SAME, "create table p partition of q for values in (1)");
        assert!(follows(&[
            part,
            (LACKS, "insert into p values (1)"),
            (ROWS, "select * from q")
        ]));
        assert!(follows(&[
            part,
            (LACKS, "insert into q values (1)"),
            (ROWS, "select * from p")
        ]));
        let copied = (SAME, "insert into u select * from t");
        assert!(follows(&[refused, copied, (ROWS, "select * from u")]));
        assert!(!follows(&[copied, refused, (ROWS, "select * from u")]));
        let writer =
            "create function f() returns int language plpgsql as $$ begin delete from u; return 1; end $$";
        assert!(follows(&[
            (SAME, writer),
            (LACKS, "select f()"),
            (ROWS, "select * from u")
        ]));
    }

    #[test]
    fn a_transaction_takes_its_changes_with_it() {
        let begin = (SAME, "begin");
        let write = (SAME, "insert into t values (1)");
        let refused = (LACKS, "create aggregate a (int) (sfunc = f)");
        let query = (ROWS, "select * from t");
        assert!(follows(&[begin, write, refused, (SAME, "commit"), query]));
        assert!(!follows(&[begin, write, refused, (SAME, "rollback"), query]));
        assert!(!follows(&[begin, write, (SAME, "commit"), refused, query]));
        let (save, back) = ((SAME, "savepoint s"), (SAME, "rollback to s"));
        assert!(!follows(&[
            begin,
            write,
            save,
            refused,
            back,
            (SAME, "commit"),
            query
        ]));
        assert!(!follows(&[
            begin,
            save,
            write,
            back,
            refused,
            (SAME, "commit"),
            query
        ]));
        assert!(follows(&[
            begin,
            write,
            (LACKS, "prepare transaction 'g'"),
            query
        ]));
    }

    #[test]
    fn catalogs_follow_by_name_only() {
        let refused = (LACKS, "create publication pub for table t");
        let all = (ROWS, "select pubname from pg_publication");
        assert!(follows_with(
            &[refused, all],
            " pubname\n-----\n pub\n(1 row)\n",
            " pubname\n-----\n(0 rows)\n"
        ));
        let two = " pubname\n-----\n pub\n other\n(2 rows)\n";
        assert!(!follows_with(&[refused, all], two, " pubname\n-----\n(0 rows)\n"));
        assert!(!follows_with(
            &[refused, all],
            " count\n-----\n 1\n",
            " count\n-----\n 0\n"
        ));
        assert!(follows(&[
            refused,
            (ROWS, "select 1 from pg_publication where pubname = 'pub'")
        ]));
        let index = (LACKS, "create index i on t using gist (a)");
        assert!(!follows(&[
            index,
            (
                ROWS,
                "select count(*) from pg_index where indrelid = 't_1'::regclass"
            )
        ]));
        // A single letter in a literal is a code.
        assert!(!follows(&[
            index,
            (ROWS, "select count(*) from pg_class where relkind = 'i'")
        ]));
        // The index is missing, its table is not.
        let long = (LACKS, "create index idx on tab using gist (a)");
        assert!(follows(&[
            long,
            (ROWS, "select relkind from pg_class where oid = 's.idx'::regclass")
        ]));
        assert!(!follows(&[
            long,
            (
                ROWS,
                "select count(*) from pg_index where indrelid = 'tab'::regclass"
            )
        ]));
        let altered = (LACKS, "alter table tab alter a type b");
        assert!(!follows(&[altered, (ROWS, "select pg_get_viewdef('tab')")]));
    }
}
