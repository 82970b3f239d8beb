//! Replication slots by function: made, copied, dropped.
//!
//! Another thread does it, since slots stand on disk; the statement looks for its answer in short pauses.

use std::sync::mpsc::TryRecvError;

use mote_catalog::cluster::{SlotAnswer, SlotRequest};
use mote_common::error::state;
use mote_common::{Lsn, SqlError, SqlResult};
use mote_types::Datum;

use super::{Body, boolean, text};
use crate::runtime::Runtime;

/// Between two looks for the answer: about what a write to disk takes.
const LOOK_AGAIN_NS: u64 = 1_000_000;

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "pg_drop_replication_slot" => Body::Runtime(|runtime, _, a| {
            let request = SlotRequest::Drop {
                name: text(&a[0]).into(),
                session: runtime.session().pid,
            };
            ask(runtime, request).map(|_| Datum::from(""))
        }),
        _ => return None,
    })
}

/// The row of a slot that is made, or copied where the second argument is a name.
pub fn made(runtime: &mut Runtime<'_, '_>, arguments: &[Datum]) -> SqlResult<Vec<Vec<Datum>>> {
    let session = runtime.session().pid;
    let name = text(&arguments[0]).to_string();
    let (made, request) = match arguments.get(1) {
        // What is left out is false.
        None | Some(Datum::Bool(_)) => {
            let reserve = arguments.get(1).is_some_and(boolean);
            let temporary = arguments.get(2).is_some_and(boolean).then_some(session);
            let request = SlotRequest::Create {
                name: name.clone(),
                reserve,
                temporary,
            };
            (name, request)
        }
        Some(to) => {
            let (from, to) = (name, text(to).to_string());
            let temporary = arguments.get(2).map(boolean);
            (
                to.clone(),
                SlotRequest::Copy {
                    from,
                    to,
                    temporary,
                    session,
                },
            )
        }
    };
    // None: the slot holds no log yet.
    let position = ask(runtime, request)?;
    await_known(runtime)?;
    let position = position.map_or(Datum::Null, |Lsn(position)| Datum::Unsigned8(position));
    Ok(vec![vec![Datum::from(made), position]])
}

/// The row of a slot that is made for a subscriber: its stream begins here.
pub fn made_logical(runtime: &mut Runtime<'_, '_>, arguments: &[Datum]) -> SqlResult<Vec<Vec<Datum>>> {
    let (name, plugin) = (text(&arguments[0]).to_string(), text(&arguments[1]));
    if plugin != "pgoutput" {
        return Err(SqlError::unsupported(format!("output plugin \"{plugin}\"")));
    }
    if arguments.get(3).is_some_and(boolean) {
        return Err(SqlError::unsupported("two-phase replication slots"));
    }
    let session = runtime.session().pid;
    let request = SlotRequest::CreateLogical {
        name: name.clone(),
        database: runtime.session().catalog.database,
        session,
    };
    ask(runtime, request)?;
    // Behind what is kept, and before everything that is not decided yet.
    let confirmed = runtime.database().engine().log().stable();
    let request = SlotRequest::Settle {
        name: name.clone(),
        confirmed,
        temporary: arguments.get(2).is_some_and(boolean),
    };
    ask(runtime, request)?;
    await_known(runtime)?;
    Ok(vec![vec![Datum::from(name), Datum::Unsigned8(confirmed.0)]])
}

/// A slot that was answered is on every later primary of a cluster.
fn await_known(runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
    let context = runtime.context();
    let database = context.database;
    let end = database.cluster().await_slots(database.engine(), context.host)?;
    context.check(end)
}

/// Hands the request over and parks the session until it is answered.
fn ask(runtime: &mut Runtime<'_, '_>, request: SlotRequest) -> SlotAnswer {
    if !may_use_slots(runtime) {
        return Err(SqlError::new(
            state::INSUFFICIENT_PRIVILEGE,
            "must be superuser or replication role to use replication slots",
        ));
    }
    let answer = runtime.database().cluster().ask_slot(request)?;
    loop {
        match answer.try_recv() {
            Ok(answer) => return answer,
            // The serving thread is gone, as when the server stops.
            Err(TryRecvError::Disconnected) => {
                return Err(SqlError::internal("slots are not served any more"));
            }
            Err(TryRecvError::Empty) => {
                let context = runtime.context();
                let at = context.session.clock.monotonic_ns() + LOOK_AGAIN_NS;
                context.sleep_until(at)?;
            }
        }
    }
}

fn may_use_slots(runtime: &Runtime<'_, '_>) -> bool {
    let catalog = runtime.database().catalog().committed();
    let role = catalog.role_by_name(&runtime.session().identity().user);
    role.is_some_and(|role| role.object.superuser || role.object.replication)
}
