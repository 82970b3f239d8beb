//! Roles that PostgreSQL has from the beginning, under its numbers: what to be a member of one of them allows.
//!
//! They stand in every catalog and in no row: nothing about them can be changed but who belongs to them, which is kept with
//! the members, and what they belong to themselves. The one member of
//! pg_database_owner is who owns the database that a session is in (`privileges`).

use mote_common::Oid;

use super::membership::{FIRST_SUPERUSER, StoredMembership};
use super::stored::StoredRole;

pub const PG_MONITOR: Oid = Oid(3373);
pub const PG_READ_ALL_SETTINGS: Oid = Oid(3374);
pub const PG_READ_ALL_STATS: Oid = Oid(3375);
/// mote has no statistics whose reading locks a table: this one allows nothing.
pub const PG_STAT_SCAN_TABLES: Oid = Oid(3377);
pub const PG_SIGNAL_BACKEND: Oid = Oid(4200);
pub const PG_CHECKPOINT: Oid = Oid(4544);
pub const PG_READ_SERVER_FILES: Oid = Oid(4569);
pub const PG_WRITE_SERVER_FILES: Oid = Oid(4570);
/// mote runs no programs: this one allows nothing.
pub const PG_EXECUTE_SERVER_PROGRAM: Oid = Oid(4571);
pub const PG_DATABASE_OWNER: Oid = Oid(6171);
pub const PG_READ_ALL_DATA: Oid = Oid(6181);
pub const PG_WRITE_ALL_DATA: Oid = Oid(6182);

const ROLES: [(Oid, &str); 12] = [
    (PG_MONITOR, "pg_monitor"),
    (PG_READ_ALL_SETTINGS, "pg_read_all_settings"),
    (PG_READ_ALL_STATS, "pg_read_all_stats"),
    (PG_STAT_SCAN_TABLES, "pg_stat_scan_tables"),
    (PG_SIGNAL_BACKEND, "pg_signal_backend"),
    (PG_CHECKPOINT, "pg_checkpoint"),
    (PG_READ_SERVER_FILES, "pg_read_server_files"),
    (PG_WRITE_SERVER_FILES, "pg_write_server_files"),
    (PG_EXECUTE_SERVER_PROGRAM, "pg_execute_server_program"),
    (PG_DATABASE_OWNER, "pg_database_owner"),
    (PG_READ_ALL_DATA, "pg_read_all_data"),
    (PG_WRITE_ALL_DATA, "pg_write_all_data"),
];

pub fn is_predefined(role: Oid) -> bool {
    ROLES.iter().any(|(oid, _)| *oid == role)
}

/// As a new catalog has them.
pub fn all() -> impl Iterator<Item = StoredRole> {
    ROLES.iter().map(|&(oid, name)| StoredRole {
        member_of: if oid == PG_MONITOR { monitors() } else { Vec::new() },
        ..StoredRole::new(oid.0, name)
    })
}

/// What pg_monitor belongs to.
fn monitors() -> Vec<StoredMembership> {
    let roles = [PG_READ_ALL_SETTINGS, PG_READ_ALL_STATS, PG_STAT_SCAN_TABLES];
    let membership = |role: Oid| StoredMembership {
        role: role.0,
        admin: false,
        grantor: FIRST_SUPERUSER,
    };
    roles.into_iter().map(membership).collect()
}
