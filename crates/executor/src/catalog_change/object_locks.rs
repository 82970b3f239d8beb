//! Locks on objects that are no tables: names, schemas, types of users.

use mote_common::{Oid, SqlResult};
use mote_engine::{AdvisoryKey, AdvisoryMode, AdvisoryScope, WaitPolicy};

use crate::context::StatementContext;

/// The engine's advisory name space of catalog names: no SQL database has this number.
const NAME_SPACE: u32 = u32::MAX;

/// Keeps a type of users from being dropped, or waits for those who keep it, until the end of the transaction.
pub fn lock_type(ty: Oid, mode: AdvisoryMode, context: &mut StatementContext<'_>) -> SqlResult<()> {
    lock_name(ty, "", mode, context)
}

/// Locks a name in a schema until the end of the transaction.
pub fn lock_name(
    schema: Oid,
    name: &str,
    mode: AdvisoryMode,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    // FNV-1a; a collision merely makes two names wait for each other.
    let seed = 0xcbf2_9ce4_8422_2325u64 ^ schema.0 as u64;
    let key = name
        .bytes()
        .fold(seed, |h, b| (h ^ b as u64).wrapping_mul(0x0100_0000_01b3));
    let key = AdvisoryKey {
        database: NAME_SPACE,
        key,
        two_parts: false,
    };
    context.engine_call(|transaction| {
        transaction.lock_advisory(key, mode, AdvisoryScope::Transaction, WaitPolicy::Block)
    })
}
