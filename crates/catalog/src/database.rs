//! What all sessions share: the engine, the catalog store, the clock.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use mote_common::env::{Clock, Env};
use mote_common::{Lsn, Oid, SqlError};
use mote_engine::recovery::Progress;
use mote_engine::{Engine, EngineConfig, OpenError, PromotionError, RevocationListener};

use crate::backups::Backups;
use crate::catalog_store::Revision;
use crate::catalog_store::index_texts::Evaluation;
use crate::catalog_store::predefined_roles::PG_DATABASE_OWNER;
use crate::catalog_store::stored::{StoredAcl, StoredDatabase, StoredObject, StoredRole, StoredSchema};
use crate::catalog_store::{CatalogStore, prepared, rows};
use crate::cluster::Cluster;
use crate::directory::SessionDirectory;
use crate::exported_snapshots::ExportedSnapshots;
use crate::hba::RuleBook;
use crate::notifications::Notifications;
use crate::settings::ServerSettings;
use crate::shared_resets::SharedResets;
use crate::statement_statistics::StatementStatistics;
use crate::upkeep::Upkeep;
use mote_sql::access::privilege;
use mote_types::calendar::POSTGRES_EPOCH_UNIX_US;

/// Objects that every database has, under PostgreSQL's ids.
pub mod builtin {
    use mote_common::Oid;

    pub const SUPERUSER: Oid = Oid(10);
    pub const DATABASE: Oid = Oid(5);
    pub const PUBLIC_SCHEMA: Oid = Oid(2200);
    pub const TEMPLATE0: Oid = Oid(4);
    pub const TEMPLATE1: Oid = Oid(1);
    /// The schemas `public` of the templates, under numbers that PostgreSQL gives to nothing.
    pub const TEMPLATE0_SCHEMA: Oid = Oid(15_990);
    pub const TEMPLATE1_SCHEMA: Oid = Oid(15_991);
}

/// Names given to the first role and the first database.
#[derive(Clone, Debug)]
pub struct InitialNames {
    pub superuser: String,
    pub database: String,
    /// Password of the first role; None = it can only log in where no password is asked.
    pub password: Option<String>,
}

impl Default for InitialNames {
    fn default() -> Self {
        InitialNames {
            superuser: "postgres".into(),
            database: "postgres".into(),
            password: None,
        }
    }
}

/// Why a database did not open.
#[derive(Debug)]
pub enum DatabaseError {
    Engine(OpenError),
    Catalog(SqlError),
    /// The node followed another one, and did not come to lead.
    Promotion(PromotionError),
    /// The file of the server's settings cannot be used, and why.
    Settings(String),
}

impl std::fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DatabaseError::Engine(error) => error.fmt(f),
            DatabaseError::Promotion(error) => error.fmt(f),
            DatabaseError::Settings(why) => f.write_str(why),
            DatabaseError::Catalog(error) => write!(f, "the catalog could not be read: {}", error.message()),
        }
    }
}

impl std::error::Error for DatabaseError {}

pub struct Database {
    engine: Arc<Engine>,
    catalog: Arc<CatalogStore>,
    clock: Arc<dyn Clock>,
    sessions: SessionDirectory,
    backups: Backups,
    exported_snapshots: ExportedSnapshots,
    notifications: Notifications,
    cluster: Cluster,
    upkeep: Upkeep,
    hba: RuleBook,
    server_settings: Arc<ServerSettings>,
    reload: Reload,
    /// When it was opened, microseconds since 2000-01-01 UTC.
    started_us: i64,
    statement_statistics: Arc<StatementStatistics>,
    shared_resets: SharedResets,
    /// Tells databases opened by one process apart, whatever they are called.
    instance: u64,
}

/// Reading the server's files again. Neither value guards anything: Relaxed.
struct Reload {
    asked: AtomicBool,
    done_us: AtomicI64,
}

impl Database {
    /// Opens the directory, recovering what is there, or creates a database in it.
    pub fn open(
        directory: &Path,
        config: EngineConfig,
        names: &InitialNames,
        evaluation: &'static dyn Evaluation,
    ) -> Result<Arc<Database>, DatabaseError> {
        Database::open_with_progress(directory, config, names, evaluation, &mut |_| {})
    }

    /// The same, telling how far recovery is.
    pub fn open_with_progress(
        directory: &Path,
        config: EngineConfig,
        names: &InitialNames,
        evaluation: &'static dyn Evaluation,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Arc<Database>, DatabaseError> {
        let env = mote_common::env::real::env(directory);
        Database::recover(env, config, names, evaluation, progress)
    }

    /// The same in any environment: the simulator's, or a test's.
    pub fn open_in(
        env: Env,
        config: EngineConfig,
        names: &InitialNames,
        evaluation: &'static dyn Evaluation,
    ) -> Result<Arc<Database>, DatabaseError> {
        Database::recover(env, config, names, evaluation, &mut |_| {})
    }

    fn recover(
        env: Env,
        config: EngineConfig,
        names: &InitialNames,
        evaluation: &'static dyn Evaluation,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Arc<Database>, DatabaseError> {
        let clock = env.clock.clone();
        let disk = env.disk.clone();
        let expressions = evaluation.key_provider();
        let engine =
            Engine::open_with_progress(env, config, expressions, progress).map_err(DatabaseError::Engine)?;
        // Not before the engine has taken the directory for this process.
        let server_settings = ServerSettings::open(disk).map_err(DatabaseError::Settings)?;
        let mut objects = rows::read_all(&engine).map_err(DatabaseError::Catalog)?;
        // A node that follows gets its first objects, like all others, from the log.
        if objects.is_empty() && !engine.log().is_following() {
            rows::write_first(&engine, &first_objects(names)).map_err(DatabaseError::Catalog)?;
            objects = rows::read_all(&engine).map_err(DatabaseError::Catalog)?;
        }
        let catalog = rows::build(&engine, objects, evaluation).map_err(DatabaseError::Catalog)?;
        let highest_prepared = prepared::highest_oid(&engine, evaluation).map_err(DatabaseError::Catalog)?;
        let started_us = clock.wall_us() - POSTGRES_EPOCH_UNIX_US;
        static INSTANCES: AtomicU64 = AtomicU64::new(0);
        let database = Arc::new(Database {
            engine,
            catalog: Arc::new(CatalogStore::new(catalog, highest_prepared)),
            clock,
            sessions: SessionDirectory::default(),
            backups: Backups::default(),
            exported_snapshots: ExportedSnapshots::default(),
            notifications: Notifications::default(),
            cluster: Cluster::default(),
            upkeep: Upkeep::default(),
            hba: RuleBook::default(),
            server_settings: Arc::new(server_settings),
            reload: Reload {
                asked: AtomicBool::new(false),
                done_us: AtomicI64::new(started_us),
            },
            started_us,
            shared_resets: SharedResets::default(),
            statement_statistics: Arc::new(StatementStatistics::new(started_us)),
            // Relaxed: only that it is another number matters.
            instance: INSTANCES.fetch_add(1, Ordering::Relaxed),
        });
        let revoker = Revoker(Arc::downgrade(&database));
        database.engine.on_revocation(Arc::new(revoker));
        Ok(database)
    }

    /// Another number for every database the process opens.
    #[inline]
    pub fn instance(&self) -> u64 {
        self.instance
    }

    #[inline]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    #[inline]
    pub fn catalog(&self) -> &Arc<CatalogStore> {
        &self.catalog
    }

    #[inline]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    #[inline]
    pub fn sessions(&self) -> &SessionDirectory {
        &self.sessions
    }

    pub fn upkeep(&self) -> &Upkeep {
        &self.upkeep
    }

    pub fn exported_snapshots(&self) -> &ExportedSnapshots {
        &self.exported_snapshots
    }

    pub fn backups(&self) -> &Backups {
        &self.backups
    }

    /// Other nodes, as sessions may know of them.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Is its log another node's? Then all sessions are read only.
    pub fn is_following(&self) -> bool {
        self.engine.log().is_following()
    }

    #[inline]
    pub fn notifications(&self) -> &Notifications {
        &self.notifications
    }

    /// Who may connect from where. Empty where no server listens.
    pub fn hba(&self) -> &RuleBook {
        &self.hba
    }

    /// Settings of the whole server, which sessions begin with.
    #[inline]
    pub fn server_settings(&self) -> &Arc<ServerSettings> {
        &self.server_settings
    }

    /// Since when statistics of the whole server count.
    pub fn shared_resets(&self) -> &SharedResets {
        &self.shared_resets
    }

    /// What statements have cost.
    pub fn statement_statistics(&self) -> &Arc<StatementStatistics> {
        &self.statement_statistics
    }

    /// Asks whoever serves this database to read certificates and rules again. It looks from time to time.
    pub fn ask_reload(&self) {
        self.reload.asked.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has asked since the last look.
    pub fn take_reload(&self) -> bool {
        self.reload.asked.swap(false, Ordering::Relaxed)
    }

    pub fn note_reload(&self) {
        self.reload.done_us.store(self.now_us(), Ordering::Relaxed);
    }

    /// When the server's files were read last, microseconds since 2000-01-01 UTC.
    pub fn reloaded_us(&self) -> i64 {
        self.reload.done_us.load(Ordering::Relaxed)
    }

    /// Now, microseconds since 2000-01-01 UTC.
    pub fn now_us(&self) -> i64 {
        self.clock.wall_us() - POSTGRES_EPOCH_UNIX_US
    }

    /// When the database was opened, microseconds since 2000-01-01 UTC.
    pub fn started_us(&self) -> i64 {
        self.started_us
    }

    /// The stored verifier of a role whose password is still good. Whether it may log in is said after the password was right.
    pub fn password_verifier(&self, user: &str) -> Option<String> {
        let catalog = self.catalog.committed();
        let role = &catalog.role_by_name(user)?.object;
        let valid = role.valid_until.is_none_or(|until| self.now_us() < until);
        role.password.clone().filter(|_| valid)
    }

    /// The name of one of the databases that may be connected to.
    pub fn any_database_name(&self) -> String {
        let catalog = self.catalog.committed();
        let open = catalog
            .databases
            .values()
            .filter(|entry| entry.object.allow_connections);
        let first = open.min_by_key(|entry| (entry.object.is_template, entry.object.oid));
        first.map_or_else(String::new, |database| database.object.name.clone())
    }

    /// Whether a user belongs to a role, directly or not. To be a superuser is not to be a member.
    pub fn is_member_of(&self, user: &str, role: &str) -> bool {
        let catalog = self.catalog.committed();
        let (Some(user), Some(role)) = (catalog.role_by_name(user), catalog.role_by_name(role)) else {
            return false;
        };
        let mut belongs = vec![user.object.oid];
        let mut next = 0;
        while let Some(&current) = belongs.get(next) {
            if current == role.object.oid {
                return true;
            }
            next += 1;
            let entry = catalog.roles.get(&Oid(current));
            for parent in entry.map_or(&[][..], |entry| &entry.object.member_of) {
                if !belongs.contains(&parent.role) {
                    belongs.push(parent.role);
                }
            }
        }
        false
    }

    /// A session ended: what it held beyond its transaction is given back. `known` is what it knows of commits.
    pub fn release_session(&self, session: u32, known: Lsn) {
        self.engine.release_session_locks(session, known);
        self.backups.release(session);
    }

    /// Ends all writing; the database can be opened again afterwards.
    pub fn close(&self) {
        self.engine.stop();
    }
}

fn first_objects(names: &InitialNames) -> Vec<StoredObject> {
    let owner = builtin::SUPERUSER.0;
    vec![
        StoredObject::Role(StoredRole {
            superuser: true,
            can_login: true,
            create_database: true,
            create_role: true,
            replication: true,
            bypass_row_security: true,
            password: names.password.as_deref().map(crate::password::verifier_for),
            ..StoredRole::new(owner, names.superuser.as_str())
        }),
        StoredObject::Database(StoredDatabase {
            comment: Some("default administrative connection database".into()),
            ..StoredDatabase::new(builtin::DATABASE, names.database.clone(), Oid(owner))
        }),
        StoredObject::Database(template(
            "template1",
            builtin::TEMPLATE1,
            "default template for new databases",
        )),
        StoredObject::Database(StoredDatabase {
            allow_connections: false,
            ..template("template0", builtin::TEMPLATE0, "unmodifiable empty database")
        }),
        public_schema(builtin::PUBLIC_SCHEMA, builtin::DATABASE),
        public_schema(builtin::TEMPLATE1_SCHEMA, builtin::TEMPLATE1),
        public_schema(builtin::TEMPLATE0_SCHEMA, builtin::TEMPLATE0),
    ]
}

/// A database that CREATE DATABASE begins with, to which everybody may connect who may at all.
fn template(name: &str, oid: Oid, comment: &str) -> StoredDatabase {
    let owner = builtin::SUPERUSER.0;
    let item = |grantee, privileges| StoredAcl {
        grantee,
        grantor: owner,
        privileges,
        grant_options: 0,
    };
    let owners = privilege::CREATE | privilege::TEMPORARY | privilege::CONNECT;
    StoredDatabase {
        acl: vec![item(Oid::INVALID.0, privilege::CONNECT), item(owner, owners)],
        is_template: true,
        comment: Some(comment.into()),
        ..StoredDatabase::new(oid, name.into(), builtin::SUPERUSER)
    }
}

fn public_schema(oid: Oid, database: Oid) -> StoredObject {
    StoredObject::Schema(StoredSchema {
        revision: Revision::default(),
        oid: oid.0,
        database: database.0,
        name: "public".into(),
        owner: PG_DATABASE_OWNER.0,
        acl: Vec::new(),
        comment: Some("standard public schema".into()),
    })
}

/// Finds the session by its number.
struct Revoker(Weak<Database>);

impl RevocationListener for Revoker {
    fn revoked(&self, session: u32) {
        let Some(database) = self.0.upgrade() else { return };
        // Sessions in process are not registered: they notice at their next statement, or where they yield.
        let importers = database.exported_snapshots().importers(session);
        for holder in [session].into_iter().chain(importers) {
            if database.sessions().revoke(holder) {
                eprintln!(
                    "mote: memory runs out: session {holder} has the oldest snapshot and must give it up"
                );
            }
        }
    }
}
