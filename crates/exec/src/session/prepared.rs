//! PREPARE TRANSACTION, COMMIT PREPARED, ROLLBACK PREPARED.
//!
//! The engine keeps prepared transactions and gives back the note made here: who prepared, where, when. All three are
//! durable before they are answered, whatever `synchronous_commit` says: a coordinator builds on the answer.

use mote_common::error::{Severity, state};
use mote_common::{Lsn, SqlError, SqlResult};
use mote_engine::{Awaited, FinishError, Level, PrepareError, PreparedInfo};

use super::Session;
use super::block::BlockState;
use mote_catalog::catalog_store::prepared;
use mote_catalog::host::Host;
use mote_catalog::prepared_note::PreparedNote;
use mote_catalog::tag::CommandTag;
use mote_catalog::write_error;
use mote_executor::context::retry;

impl Session {
    /// PREPARE TRANSACTION. Whatever fails, the transaction is rolled back and the block over, as in PostgreSQL
    /// (PrepareTransactionBlock, PrepareTransaction in xact.c).
    pub(super) fn prepare_transaction(&mut self, gid: &str, host: &mut dyn Host) -> SqlResult<CommandTag> {
        match self.block.state {
            // Outside a block it warns and prepares nothing; the tag says ROLLBACK.
            BlockState::Idle | BlockState::Implicit => {
                host.notice(
                    SqlError::new(
                        state::NO_ACTIVE_SQL_TRANSACTION,
                        "there is no transaction in progress",
                    )
                    .severity(Severity::Warning),
                );
                return Ok(CommandTag::Word("ROLLBACK"));
            }
            BlockState::Failed => {
                self.rollback_transaction(host);
                return Ok(CommandTag::Word("ROLLBACK"));
            }
            BlockState::Block => {}
        }
        self.ensure_transaction()?;
        // Deferred triggers and constraints belong to the session, and must be done with before it lets go.
        if let Err(error) = self.fire_deferred(host) {
            self.rollback_transaction(host);
            return Err(error);
        }
        // What follows is bound to the session, which may be gone when somebody decides.
        if !self.holdings.portals.to_hold(false).is_empty() {
            self.rollback_transaction(host);
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "cannot PREPARE a transaction that has created a cursor WITH HOLD",
            ));
        }
        if self.database.exported_snapshots().has_exported(self.state.pid) {
            self.rollback_transaction(host);
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "cannot PREPARE a transaction that has exported snapshots",
            ));
        }
        if self.state.notifications.is_used() {
            self.rollback_transaction(host);
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "cannot PREPARE a transaction that has executed LISTEN, UNLISTEN, or NOTIFY",
            ));
        }
        // Their snapshots end before the transaction leaves the session.
        self.close_portals_at_end();
        // After the deferred triggers, which may have touched temporary tables as well.
        if self.state.catalog.has_used_temporary() {
            self.rollback_transaction(host);
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "cannot PREPARE a transaction that has operated on temporary objects",
            ));
        }
        let note = PreparedNote {
            owner: self.state.identity().user_oid,
            database: self.state.catalog.database,
            prepared_us: self.state.clock_us(),
        };
        let note = note.encode();
        // The last wait: behind it nothing can be cancelled.
        let room = self.await_room(|transaction| transaction.await_prepare_room(gid, &note), host);
        if let Err(error) = room {
            self.rollback_transaction(host);
            return Err(error);
        }
        let transaction = self.transaction.take().expect("ensured above");
        let outcome = transaction.prepare(gid, &note);
        // What it changed of the catalog stands in the rows it wrote, for whoever commits it.
        self.state.catalog.discard_changes();
        self.transaction_ended(outcome.is_ok(), host);
        match outcome {
            Ok(receipt) => {
                // The reply says that a crash will not undo it.
                self.gate_durable(receipt.seen, host);
                Ok(CommandTag::Word("PREPARE TRANSACTION"))
            }
            Err(failure) => {
                // Rolled back: the error tells of what the transaction saw.
                self.gate(failure.receipt, host);
                Err(prepare_error(failure.error, gid))
            }
        }
    }

    /// COMMIT PREPARED and ROLLBACK PREPARED.
    pub(super) fn finish_prepared(
        &mut self,
        gid: &str,
        commit: bool,
        host: &mut dyn Host,
    ) -> SqlResult<CommandTag> {
        let command = if commit {
            "COMMIT PREPARED"
        } else {
            "ROLLBACK PREPARED"
        };
        // It decides at once and for good: a block around it could not roll that back.
        if self.block.state != BlockState::Idle {
            return Err(SqlError::new(
                state::ACTIVE_SQL_TRANSACTION,
                format!("{command} cannot run inside a transaction block"),
            ));
        }
        let engine = self.database.engine().clone();
        let store = self.state.catalog.store().clone();
        let wake = self.wake.clone();
        // May run twice, if it had to wait for room in the log: the check and the publication begin anew each time.
        let finish = || {
            engine.finish_prepared(gid, commit, Some(&wake), |undecided| {
                self.check_may_finish(undecided.info)?;
                match commit {
                    // The change of the catalog is made from the rows that the transaction wrote: whoever prepared it
                    // may be gone.
                    true => prepared::begin_publication(&store, &engine, &undecided),
                    false => Ok(None),
                }
            })
        };
        let (receipt, changes) = match retry(finish, |ticket| self.wait_for_log(ticket, host))? {
            Ok(finished) => finished,
            Err(FinishError::Unknown) => {
                // Somebody else may have decided it: then this answer tells of the commit.
                let tail = engine.horizons().tail;
                self.gate_durable(tail, host);
                return Err(SqlError::new(
                    state::UNDEFINED_OBJECT,
                    format!("prepared transaction with identifier \"{gid}\" does not exist"),
                ));
            }
            Err(FinishError::Refused(error)) => return Err(error),
            Err(FinishError::LogUnavailable(reason)) => return Err(write_error::log_unavailable(reason)),
            Err(FinishError::MustWait(_)) => return Err(write_error::not_waited()),
        };
        if let Some(changes) = changes {
            // Behind the commit, whose timestamp the new catalog bears.
            changes.publish(receipt.commit_ts, &store, &engine);
        }
        self.gate_durable(receipt.seen, host);
        Ok(CommandTag::Word(command))
    }

    /// Its owner or a superuser, in the database where it was prepared: PostgreSQL's LockGXact. A transaction without
    /// a note of this layer belongs to nobody.
    fn check_may_finish(&self, info: &PreparedInfo) -> SqlResult<()> {
        let Some(note) = PreparedNote::of(info) else {
            return Ok(());
        };
        if note.owner != self.state.identity().user_oid && !self.state.identity().superuser {
            return Err(SqlError::new(
                state::INSUFFICIENT_PRIVILEGE,
                "permission denied to finish prepared transaction",
            )
            .hint("Must be superuser or the user that prepared the transaction."));
        }
        if note.database != self.state.catalog.database {
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "prepared transaction belongs to another database",
            )
            .hint("Connect to the database where the transaction was prepared to finish it."));
        }
        Ok(())
    }

    /// Holds replies back until `until` is on disk, the quorum's too, also where commits need not be.
    fn gate_durable(&mut self, until: Lsn, host: &mut dyn Host) {
        self.seen = self.seen.max(until);
        let level = self.state.settings.effective.synchronous_commit.max(Level::On);
        host.gate(Awaited { level, lsn: until });
    }
}

fn prepare_error(error: PrepareError, gid: &str) -> SqlError {
    match error {
        PrepareError::GidTooLong => SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            format!("transaction identifier \"{gid}\" is too long"),
        ),
        PrepareError::Disabled => SqlError::new(
            state::OBJECT_NOT_IN_PREREQUISITE_STATE,
            "prepared transactions are disabled",
        )
        .hint("Set max_prepared_transactions to a nonzero value."),
        PrepareError::GidInUse => SqlError::new(
            state::DUPLICATE_OBJECT,
            format!("transaction identifier \"{gid}\" is already in use"),
        ),
        PrepareError::TooMany { maximum } => SqlError::new(
            state::OUT_OF_MEMORY,
            "maximum number of prepared transactions reached",
        )
        .hint(format!(
            "Increase max_prepared_transactions (currently {maximum})."
        )),
        PrepareError::Unsupported(what) => SqlError::unsupported(what),
        PrepareError::LockedAtBothLevels => SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "cannot PREPARE while holding both session-level and transaction-level locks on the same object",
        ),
        PrepareError::TooManyLocks { bytes, maximum_bytes } => SqlError::new(
            state::PROGRAM_LIMIT_EXCEEDED,
            "the transaction holds too many row locks to be prepared",
        )
        .detail(format!(
            "They take {bytes} bytes of the log, at most {maximum_bytes} are possible."
        )),
        PrepareError::LogUnavailable(reason) => write_error::log_unavailable(reason),
    }
}

#[cfg(test)]
mod tests {
    use crate::embedded::LocalSession;
    use crate::tests::support::session;
    use mote_executor::index_keys::EVALUATION;

    fn fails(session: &mut LocalSession, statement: &str) -> (String, String) {
        let error = session.query(statement).expect_err(statement);
        let fields = error.fields();
        (fields.state.to_string(), fields.message.to_string())
    }

    fn listed(session: &mut LocalSession) -> Vec<Option<String>> {
        let text = "select gid || ' ' || owner || ' ' || database from pg_prepared_xacts order by gid";
        let rows = session.rows(text).expect("the view can be read");
        rows.into_iter().map(|mut row| row.remove(0)).collect()
    }

    #[test]
    fn a_transaction_is_prepared_and_decided() {
        let mut session = session();
        session
            .query("create table t (id int primary key, v int)")
            .unwrap();
        session
            .query("begin; insert into t values (1, 1); prepare transaction 'a'")
            .unwrap();
        assert_eq!(session.rows("select * from t").unwrap().len(), 0);
        assert_eq!(listed(&mut session), [Some("a postgres postgres".to_string())]);
        // A session does not get past what it has prepared itself.
        session.query("begin").unwrap();
        let lock = "lock table t in access exclusive mode nowait";
        assert_eq!(fails(&mut session, lock).0, "55P03");
        session.query("rollback").unwrap();
        session.query("commit prepared 'a'").unwrap();
        assert_eq!(session.rows("select * from t").unwrap().len(), 1);
        session
            .query("begin; update t set v = 2; prepare transaction 'a'")
            .unwrap();
        session.query("rollback prepared 'a'").unwrap();
        assert_eq!(
            session.rows("select v from t").unwrap()[0][0].as_deref(),
            Some("1")
        );
        assert!(listed(&mut session).is_empty());
        assert_eq!(fails(&mut session, "commit prepared 'a'").0, "42704");
    }

    #[test]
    fn changes_of_the_catalog_wait_for_the_decision() {
        let mut session = session();
        for statement in [
            "create table t (id int primary key, v int)",
            "insert into t select g, g from generate_series(1, 9) g",
            "create table gone (a int)",
        ] {
            session.query(statement).unwrap();
        }
        let database = session.session().database().clone();
        for word in ["rollback", "commit"] {
            for statement in [
                "begin",
                "create table made (a serial, b text)",
                "insert into made (b) values ('x')",
                "create index on made (lower(b)) where a > 0",
                "create role somebody",
                "alter table t add column w int default 5",
                "drop table gone",
                "create view shown as select v from t",
                "grant select on shown to somebody",
                "prepare transaction 'ddl'",
            ] {
                session.query(statement).unwrap();
            }
            assert_eq!(fails(&mut session, "select * from made").0, "42P01");
            let lock = "begin; lock table t in access share mode nowait";
            assert_eq!(fails(&mut session, lock).0, "55P03");
            session.query("rollback").unwrap();
            let mut other = LocalSession::open(&database, "postgres", "postgres").unwrap();
            other.query(&format!("{word} prepared 'ddl'")).unwrap();
            for session in [&mut session, &mut other] {
                if word == "rollback" {
                    assert_eq!(fails(session, "select * from made").0, "42P01");
                    assert_eq!(fails(session, "select w from t").0, "42703");
                    session.query("select * from gone").unwrap();
                    continue;
                }
                let made = "select a, b from made where lower(b) = 'x' and a > 0";
                assert_eq!(session.rows(made).unwrap().len(), 1);
                session.query("insert into made (b) values ('y')").unwrap();
                session.query("select w from t where id = 3").unwrap();
                session
                    .query("set role somebody; select * from shown; reset role")
                    .unwrap();
                assert_eq!(fails(session, "select * from gone").0, "42P01");
            }
        }
    }

    /// A type's OID is not the number that it took.
    #[test]
    fn new_objects_are_numbered_behind_prepared_ones() {
        let mut session = session();
        session
            .query("begin; create table t (a int); create type mood as enum ('sad'); prepare transaction 'a'")
            .unwrap();
        let database = session.session().database().clone();
        let highest =
            mote_catalog::catalog_store::prepared::highest_oid(database.engine(), &EVALUATION).unwrap();
        session.query("create table next (a int)").unwrap();
        let next = "select 'next'::regclass::oid::int";
        let next = session.rows(next).unwrap()[0][0].clone().unwrap();
        assert!(highest < next.parse().unwrap(), "{highest} and {next}");
        assert!(highest + 10 > next.parse().unwrap(), "{highest} and {next}");
    }

    #[test]
    fn a_serializable_transaction_cannot_be_prepared() {
        let mut session = session();
        session.query("create table t (a int)").unwrap();
        session
            .query("begin isolation level serializable; insert into t values (1)")
            .unwrap();
        assert_eq!(fails(&mut session, "prepare transaction 'a'").0, "0A000");
        assert!(session.rows("select * from t").unwrap().is_empty());
        assert!(listed(&mut session).is_empty());
    }

    #[test]
    fn a_database_with_prepared_transactions_is_not_dropped() {
        let mut session = session();
        session.query("create database d").unwrap();
        let database = session.session().database().clone();
        let mut other = LocalSession::open(&database, "postgres", "d").unwrap();
        other.query("begin; prepare transaction 'a'").unwrap();
        assert_eq!(fails(&mut session, "commit prepared 'a'").0, "0A000");
        assert_eq!(fails(&mut session, "drop database d").0, "55006");
        other.query("commit prepared 'a'").unwrap();
        drop(other);
        session.query("drop database d").unwrap();
    }
}
