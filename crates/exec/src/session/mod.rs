//! One client's session: statements, portals, transaction block, settings.
//!
//! Read in this order: `mote_executor::context::state` (what statements may read and change), `routine::holdings` (what
//! layers above the executor keep with it), `block` (the transaction block), `planning` (text to plan), `transaction` (begin, commit, savepoints), `prepared` (two-phase commit), `revocation` (when memory runs out),
//! `procedure` (bodies that end their transaction), `run` (executing a portal), `ending` (how a transaction ends), then this file: the
//! calls that a host makes. Besides: `log_in` (who may begin), `own` with `statements`, `cursor`, `explain`, `detach` and `steps` (what
//! commands ask of the session), `stripped` and `strings` (texts of the simple protocol), `function_call`, `notifications`,
//! `objects` and `counting` (what views show), `slot` (the snapshot at which a subscriber's slot begins).
//!
//! Source: PostgreSQL's postgres.c (exec_simple_query, exec_parse_message, exec_bind_message, exec_execute_message) and xact.c (states of a
//! transaction block). Other than there a session is an object that a host drives, not a process.
//!
//! Promises: a failed call leaves the session usable, with its transaction failed or rolled back as PostgreSQL would;
//! nothing here blocks except through the host. Leaves out: framing, value formats, authentication.

mod block;
mod counting;
mod cursor;
mod detach;
mod ending;
mod explain;
mod function_call;
mod log_in;
mod objects;
mod own;
mod planning;
mod prepared;
mod procedure;
mod revocation;
mod run;
mod slot;
mod strings;
mod statements;
mod steps;
mod notifications;
mod stripped;
mod transaction;

use std::sync::Arc;

use compact_str::CompactString;
use hashbrown::HashMap;
use mote_common::{Lsn, Oid, SqlError, SqlResult, error::state as sqlstate};
use mote_engine::{MemoryCharge, SessionMemory, Transaction, Wake};
use mote_grammar::ast::Statement;
use mote_planner::plan::OutputColumn;
use mote_types::catalog::user::Entered;
use mote_types::{ColumnType, Datum, FormatSettings};

use block::{BlockState, TransactionBlock};
use mote_catalog::activity::{Activity, IdleStatus};
use mote_catalog::catalog_store::{Identity, SessionCatalog};
use mote_catalog::database::Database;
use mote_catalog::host::Host;
use mote_catalog::settings::{Reported, Settings, Source};
use mote_catalog::signals::SessionSignals;
use mote_catalog::views::SessionObjects;
use mote_commands::routine;
use mote_commands::routine::{Above, Holdings};
use mote_executor::context::in_use::InUse;
use mote_executor::context::large_objects::LargeObjectDescriptors;
use mote_executor::context::notifications::SessionNotifications;
use mote_executor::context::{SequenceValues, SessionState};
use mote_executor::memory::{self, row_bytes};
use mote_executor::plans::{CachedPlan, Prepared};
// For hosts, which look at portals when they describe and bind them.
pub use mote_portals::{Portal, PortalState, ResultFormats};
use objects::NamedStatement;

/// Prepared statements and portals a session may hold at a time, each. One more is 53400.
pub const NAMED_OBJECTS_MAX: usize = 65_536;

/// What bodies of routines find above themselves.
static ABOVE_ROUTINES: Above = Above {
    command: mote_commands::of,
    languages: &[&routine::Sql, &mote_plpgsql::PlPgSql, &routine::Internal],
};

/// A statement about to be bound, with the plan that its parameters are read for.
pub struct BindTarget {
    // The three go into the portal: a DEALLOCATE or a new plan between Bind and Execute does not touch it.
    prepared: Arc<Prepared>,
    plan: Arc<CachedPlan>,
    charge: Option<Arc<MemoryCharge>>,
}

impl BindTarget {
    /// Types of the parameters: the message is read by them.
    pub fn parameters(&self) -> &[ColumnType] {
        &self.plan.plan.parameters
    }
}

/// How a portal's execution ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExecuteEnd {
    Complete,
    /// The row limit was reached: more may come.
    Suspended,
    /// The statement was empty.
    Empty,
}

/// Who connects.
pub struct SessionIdentity {
    pub user: String,
    pub database: String,
    /// Number shown as pid.
    pub pid: u32,
    pub signals: Arc<SessionSignals>,
    pub activity: Arc<Activity>,
    /// Called when an engine ticket of this session is decided.
    pub wake: Arc<dyn Wake>,
}

/// A session. One task at a time drives it, through `&mut`; other threads reach its signals and its activity alone.
pub struct Session {
    /// What statements may read and change (`mote_executor::context`).
    pub(crate) state: SessionState,
    /// What layers above the executor keep: portals, spare operators, compiled routines.
    holdings: Holdings,
    database: Arc<Database>,
    wake: Arc<dyn Wake>,
    /// The engine's transaction. A block may be open without one: BEGIN and SET need none (`ensure_transaction`).
    transaction: Option<Transaction>,
    block: TransactionBlock,
    /// Set from the loss of the snapshot until the client has been told.
    given_up: Option<revocation::GivenUp>,
    /// The highest timestamp this session has met: replies wait for it.
    seen: Lsn,
    /// What it knows of commits: later snapshots are not older.
    known: Lsn,
    /// By name; the unnamed one under the empty name.
    statements: HashMap<CompactString, NamedStatement>,
    /// About settings of the role that could not be had.
    warnings: Vec<SqlError>,
    /// Which of the server's settings it has taken over.
    settings_generation: u64,
}

impl Session {
    /// Has the session's role the attribute REPLICATION?
    pub fn may_replicate(&self) -> bool {
        let catalog = self.database.catalog().committed();
        let role = catalog.role_by_name(&self.state.identity().user);
        role.is_some_and(|role| role.object.superuser || role.object.replication)
    }

    /// Opens a session for a role and a database that must exist. Errors are FATAL: the client has no session to go
    /// on with.
    pub fn new(database: &Arc<Database>, identity: SessionIdentity) -> SqlResult<Session> {
        let mut catalog = SessionCatalog::new(
            database.catalog().clone(),
            database.engine().clone(),
            &mote_catalog::views::TABLES,
        );
        let current = catalog.current();
        let fatal = |e: SqlError| e.severity(mote_common::error::Severity::Fatal);
        let role = current.role_by_name(&identity.user).ok_or_else(|| {
            fatal(SqlError::new(
                sqlstate::INVALID_AUTHORIZATION_SPECIFICATION,
                format!("role \"{}\" does not exist", identity.user),
            ))
        })?;
        if !role.object.can_login {
            return Err(fatal(SqlError::new(
                sqlstate::INVALID_AUTHORIZATION_SPECIFICATION,
                format!("role \"{}\" is not permitted to log in", identity.user),
            )));
        }
        let target = current.database_by_name(&identity.database).ok_or_else(|| {
            fatal(SqlError::new(
                sqlstate::INVALID_CATALOG_NAME,
                format!("database \"{}\" does not exist", identity.database),
            ))
        })?;
        log_in::check(database, &role.object, &target.object, identity.pid).map_err(fatal)?;
        catalog.database = Oid(target.object.oid);
        catalog.database_name = identity.database;
        catalog.identity = Identity {
            user: identity.user.clone(),
            user_oid: Oid(role.object.oid),
            superuser: role.object.superuser,
            session_user: identity.user.clone(),
            authenticated_user: Oid(role.object.oid),
            definers: 0,
            restricted: 0,
        };
        // In the order of their weight: the server's, what is fixed for the session, then what ALTER ROLE and ALTER
        // DATABASE say. The start-up packet comes later (`set_initial`), and wins.
        let mut settings = Settings::new();
        let server_settings = database.server_settings();
        let settings_generation = server_settings.generation();
        settings.begin_with(&server_settings.in_force()).map_err(fatal)?;
        settings.set_fact("session_authorization", &identity.user);
        settings.set_fact("is_superuser", if role.object.superuser { "on" } else { "off" });
        let prepared_max = database.engine().prepared_max().to_string();
        settings.set_fact("max_prepared_transactions", &prepared_max);
        if database.is_following() {
            settings.set_fact("in_hot_standby", "on");
        }
        let everybody = current.settings_of_all().map(|entry| &entry.object);
        let warnings = log_in::begin_with_own(&mut settings, everybody, &role.object, &target.object);
        catalog.search_path = settings.effective.search_path.clone();
        catalog.search_path_changed();
        // Only now: the catalog answers for an identity and a database.
        log_in::check_connect(&catalog).map_err(fatal)?;
        {
            // From here on the session counts against the limits of its role and database.
            let mut doing = identity.activity.doing();
            doing.database = Oid(target.object.oid);
            doing.user = Oid(role.object.oid);
        }
        Ok(Session {
            state: SessionState {
                pid: identity.pid,
                objects: SessionObjects::default(),
                settings,
                catalog,
                sequences: SequenceValues::default(),
                signals: identity.signals,
                memory: database.engine().session_memory(),
                activity: identity.activity,
                clock: database.clock().clone(),
                transaction_start_us: 0,
                statement_start_us: 0,
                statement_text: "".into(),
                statement_tree: None,
                utility_parameters: Default::default(),
                statement_deadline_ns: None,
                messages_deadline_ns: None,
                savepoint_depth: 0,
                trigger_depth: 0,
                deferred: None,
                instance: database.instance(),
                is_unattended: false,
                notifications: SessionNotifications::default(),
                large_objects: LargeObjectDescriptors::default(),
                in_use: InUse::default(),
            },
            holdings: Holdings::new(&ABOVE_ROUTINES),
            database: database.clone(),
            wake: identity.wake,
            transaction: None,
            block: TransactionBlock {
                state: BlockState::Idle,
                savepoints: Vec::new(),
                started: false,
                several: false,
                owed: None,
            },
            given_up: None,
            seen: Lsn::ZERO,
            known: Lsn::ZERO,
            statements: HashMap::new(),
            warnings,
            settings_generation,
        })
    }

    /// Takes over what a reload has changed for all sessions, between transactions.
    #[inline]
    fn follow_server_settings(&mut self, host: &mut dyn Host) -> SqlResult<()> {
        let generation = self.database.server_settings().generation();
        if generation == self.settings_generation {
            return Ok(());
        }
        // A block, or a transaction of several messages, goes on with what it has.
        match self.block.state == BlockState::Idle && !self.state.settings.has_undo() {
            true => self.take_server_settings(generation, host),
            false => Ok(()),
        }
    }

    #[cold]
    fn take_server_settings(&mut self, generation: u64, host: &mut dyn Host) -> SqlResult<()> {
        // Noted before the settings are read: what is reloaded in between is looked at again.
        self.settings_generation = generation;
        let in_force = self.database.server_settings().in_force();
        let reported = self.state.settings.follow(&in_force)?;
        self.settings_changed(reported, host);
        Ok(())
    }

    /// What the client should be told of its role's settings.
    pub fn take_warnings(&mut self) -> Vec<SqlError> {
        std::mem::take(&mut self.warnings)
    }

    /// A setting from the start-up packet: the session's default from here on.
    pub fn set_initial(&mut self, name: &str, value: &str) -> SqlResult<()> {
        // `role` in the options of a start-up packet: SET's own checks, for which the session must know who it is.
        if mote_catalog::settings::is_identity(name) {
            self.state.check_identity(name, value)?;
        }
        Settings::check_may_set(name, self.state.identity().superuser)?;
        self.state.settings.set_initial(name, value, Source::Client)?;
        self.state.settings_changed();
        Ok(())
    }

    /// The client is about to be told that the session waits for it, and where it stands.
    pub fn ready(&mut self) -> IdleStatus {
        let status = self.status();
        self.state.activity.ready(status, self.state.clock_us());
        status
    }

    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// Ends a series of messages that has outlasted statement_timeout.
    pub fn begin_message(&mut self) -> SqlResult<()> {
        self.state.begin_message()
    }

    /// How the client wants values written, and how it writes them.
    pub fn format(&self) -> &FormatSettings {
        &self.state.settings.effective.format
    }

    /// Names and labels of users' types, for whatever the thread reads and prints until the guard goes.
    pub fn enter_types(&self) -> Entered {
        self.state.catalog.enter_types()
    }

    /// The number by which others know the session.
    pub fn pid(&self) -> u32 {
        self.state.pid
    }

    /// The database that the session is connected to.
    pub fn database_oid(&self) -> Oid {
        self.state.catalog.database
    }

    pub fn database_name(&self) -> &str {
        &self.state.catalog.database_name
    }

    /// The schemas in which names are looked for, as the setting has them.
    pub fn search_path(&self) -> &[String] {
        &self.state.catalog.search_path
    }

    /// idle_in_transaction_session_timeout; 0: none.
    pub fn idle_in_transaction_timeout_ms(&self) -> u64 {
        self.state.settings.effective.idle_in_transaction_timeout_ms
    }

    /// idle_session_timeout; 0: none.
    pub fn idle_session_timeout_ms(&self) -> u64 {
        self.state.settings.effective.idle_session_timeout_ms
    }

    /// The session's share of memory, to which its host charges what it keeps for it.
    pub fn memory(&self) -> &Arc<SessionMemory> {
        &self.state.memory
    }

    pub fn is_superuser(&self) -> bool {
        self.state.identity().superuser
    }

    /// A setting that shows what the host was started with, and that nobody sets.
    pub fn set_fact(&mut self, name: &str, value: &str) {
        self.state.settings.set_fact(name, value);
    }

    /// The settings of which the client is told, now and when they change.
    pub fn reported_settings(&self) -> Vec<Reported> {
        self.state.settings.all_reported()
    }

    /// Outside of a transaction block, in one, in one that has failed.
    pub fn status(&self) -> IdleStatus {
        self.block.status()
    }

    /// Parse. The unnamed statement is replaced, a named one must be new.
    pub fn parse(&mut self, name: &str, text: &str, types: &[Oid], host: &mut dyn Host) -> SqlResult<()> {
        self.follow_server_settings(host)?;
        if !name.is_empty() && self.statements.contains_key(name) {
            return Err(SqlError::new(
                sqlstate::DUPLICATE_PREPARED_STATEMENT,
                format!("prepared statement \"{name}\" already exists"),
            ));
        }
        if self.statements.len() >= NAMED_OBJECTS_MAX {
            return Err(SqlError::new(
                sqlstate::CONFIGURATION_LIMIT_EXCEEDED,
                format!("too many prepared statements: the limit is {NAMED_OBJECTS_MAX}"),
            ));
        }
        let prepared = self.read(text, host, |session, text, host| {
            session.prepare(text, types, host)
        })?;
        if let Some(parsed) = &prepared.statement
            && matches!(parsed.statement, Statement::Show(_))
        {
            // A setting that there is not is missed by now, as in PostgreSQL.
            let plan = self.state.validate(&prepared, host)?;
            self.output_of(&plan.plan)?;
        }
        // The charge comes last: a statement that does not plan is not paid for.
        let named = self.named_statement(name, prepared, false)?;
        self.statements.insert(name.into(), named);
        Ok(())
    }

    pub fn statement(&self, name: &str) -> SqlResult<&Arc<Prepared>> {
        let found = self.statements.get(name).map(|named| &named.prepared);
        found.ok_or_else(|| unknown_statement(name))
    }

    /// The same for one more run of it.
    pub(super) fn statement_to_run(&mut self, name: &str) -> SqlResult<Arc<Prepared>> {
        let named = self.statements.get_mut(name);
        let named = named.ok_or_else(|| unknown_statement(name))?;
        // For pg_prepared_statements; Bind and EXECUTE count.
        named.runs += 1;
        Ok(named.prepared.clone())
    }

    /// What a Bind of a portal with a name, or of the unnamed one, names: a statement with its plan of now.
    pub fn bind_target(
        &mut self,
        statement: &str,
        portal: &str,
        host: &mut dyn Host,
    ) -> SqlResult<BindTarget> {
        let prepared = self.statement_to_run(statement)?;
        // The unnamed portal goes with the next Bind: what it holds longer than its statement is little.
        let charge = match portal {
            "" => None,
            _ => self
                .statements
                .get(statement)
                .and_then(|named| named.charge.clone()),
        };
        if let Some(statement) = &prepared.statement {
            // As in PostgreSQL's exec_bind_message a failed block refuses Bind already, unless the statement is its
            // end.
            self.check_allowed(&statement.statement)?;
        }
        let plan = self.state.validate(&prepared, host)?;
        Ok(BindTarget {
            prepared,
            plan,
            charge,
        })
    }

    /// An empty vector to gather the parameters of a Bind in.
    pub fn parameter_buffer(&mut self) -> Vec<Datum> {
        self.holdings.portals.spare_parameters()
    }

    /// Bind. `parameters` are of the types that the target names.
    pub fn bind(
        &mut self,
        name: &str,
        target: BindTarget,
        parameters: Vec<Datum>,
        result_formats: ResultFormats,
    ) -> SqlResult<()> {
        // The unnamed portal is replaced, a named one must be closed first (or go with its transaction).
        if !name.is_empty() && self.holdings.portals.contains(name) {
            return Err(SqlError::new(
                sqlstate::DUPLICATE_CURSOR,
                format!("cursor \"{name}\" already exists"),
            ));
        }
        if self.holdings.portals.len() >= NAMED_OBJECTS_MAX {
            return Err(SqlError::new(
                sqlstate::CONFIGURATION_LIMIT_EXCEEDED,
                format!("too many open portals: the limit is {NAMED_OBJECTS_MAX}"),
            ));
        }
        if let ResultFormats::Each(formats) = &result_formats {
            let columns = self
                .output_of(&target.plan.plan)?
                .map_or(0, |columns| columns.len());
            if formats.len() != columns {
                return Err(SqlError::new(
                    sqlstate::PROTOCOL_VIOLATION,
                    format!(
                        "bind message has {} result formats but query has {columns} columns",
                        formats.len()
                    ),
                ));
            }
        }
        let charge = match name {
            // There is one at a time, and its parameters came in a message of their size.
            "" => None,
            _ => Some(self.charge_portal(&parameters)?),
        };
        let depth = self.state.savepoint_depth;
        let mut made = Portal::new(target.prepared, target.plan, parameters, depth);
        made.result_formats = result_formats;
        made.made_us = self.state.statement_start_us;
        made.charge = charge;
        made.statement_charge = target.charge;
        // Only the unnamed one gives way.
        if let Some(mut old) = self.holdings.portals.put(name, made) {
            self.retire(&mut old);
        }
        Ok(())
    }

    /// What a portal with a name keeps: its parameters, and its query's operators once it runs.
    fn charge_portal(&self, parameters: &[Datum]) -> SqlResult<MemoryCharge> {
        // A guess at the operators of a small plan; what sorts and hashes gather is charged as they run.
        const OPERATORS_BYTES: usize = 4 << 10;
        let bytes = OPERATORS_BYTES + row_bytes(parameters);
        memory::charge(&self.state.memory, bytes, "a portal")
    }

    /// Lets go of the operators kept for the next run of a statement, and with them of tables that were dropped.
    pub fn forget_operators(&mut self) {
        self.holdings.forget_operators();
    }

    /// Describe of a statement: parameter types, and the columns if it yields rows.
    pub fn describe_statement(
        &mut self,
        name: &str,
        host: &mut dyn Host,
    ) -> SqlResult<(Vec<ColumnType>, Option<Arc<[OutputColumn]>>)> {
        let prepared = self.statement(name)?.clone();
        // Describe tells the columns of now: the plan may be newer than the one that Parse made.
        let plan = self.state.validate(&prepared, host)?;
        let columns = self.output_of(&plan.plan)?;
        let told = plan.plan.told_parameters().into_iter().map(ColumnType::new);
        Ok((told.collect(), columns))
    }

    /// Describe of a portal: the columns if it yields rows, and the formats it was bound with.
    pub fn describe_portal(&mut self, name: &str) -> SqlResult<(Option<Arc<[OutputColumn]>>, ResultFormats)> {
        let portal = self.portal(name)?;
        Ok((self.output_of(&portal.plan.plan)?, portal.result_formats.clone()))
    }

    /// A portal by its name; 34000 where there is none, 25P02 where the failed block has taken it.
    pub fn portal(&self, name: &str) -> SqlResult<&Portal> {
        self.holdings
            .portals
            .get(name)
            .ok_or_else(|| self.no_portal(name))
    }

    /// There is no portal of this name, or none any more since the transaction block failed.
    #[cold]
    fn no_portal(&self, name: &str) -> SqlError {
        if self.block.state == BlockState::Failed && self.holdings.portals.has_lost(name) {
            return transaction::block_failed();
        }
        SqlError::new(
            sqlstate::INVALID_CURSOR_NAME,
            format!("portal \"{name}\" does not exist"),
        )
    }

    /// Close of a statement. As the protocol wants it, one that is not there is no error.
    pub fn close_statement(&mut self, name: &str) {
        if self.statements.is_empty() {
            return;
        }
        self.statements.remove(name);
    }

    /// Close of a portal, which need not be there either.
    pub fn close_portal(&mut self, name: &str) {
        if let Some(mut portal) = self.holdings.portals.take(name) {
            self.retire(&mut portal);
        }
    }

    /// Keeps the operator state of a finished portal for the next run of the same statement, and its buffers.
    fn retire(&mut self, portal: &mut Portal) {
        self.holdings
            .portals
            .recycle(std::mem::take(&mut portal.parameters));
        if let Some(execution) = portal.execution.take() {
            self.holdings.keep(execution);
        }
    }

    /// Ends the session: an open transaction is rolled back.
    pub fn close(&mut self) {
        self.abort_transaction();
        self.unlisten_all();
        self.state.catalog.drop_temporary();
        self.database.release_session(self.state.pid, self.known);
    }
}

fn unknown_statement(name: &str) -> SqlError {
    let message = if name.is_empty() {
        "unnamed prepared statement does not exist".to_string()
    } else {
        format!("prepared statement \"{name}\" does not exist")
    };
    SqlError::new(sqlstate::INVALID_SQL_STATEMENT_NAME, message)
}

impl Drop for Session {
    // For hosts that give a session up without closing it: locks, temporary tables and channels outlive it otherwise.
    fn drop(&mut self) {
        self.close();
    }
}
