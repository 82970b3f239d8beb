//! What one session sees of another that waits.

use std::time::Duration;

use crate::process::await_that;
use crate::wire::RawClient;

/// A session that does not wait after so long never will.
const LONGEST: Duration = Duration::from_secs(60);

/// The number under which other sessions see this one.
pub fn pid(client: &mut RawClient) -> String {
    client.rows("select pg_backend_pid()").remove(0)
}

/// Until the session stands in the queue of a lock.
pub fn await_lock(observer: &mut RawClient, pid: &str) {
    let queued = format!("select count(*) > 0 from pg_locks where pid = {pid} and not granted");
    await_sight(observer, &queued, &format!("session {pid} stands in a queue"));
}

/// Until the session waits in the middle of a statement, for whatever it is: a lock, a disk, a file, another server.
pub fn await_suspended(observer: &mut RawClient, pid: &str) {
    let suspended = format!(
        "select count(*) > 0 from pg_stat_activity where pid = {pid} and wait_event is not null and state = 'active'"
    );
    await_sight(observer, &suspended, &format!("session {pid} waits"));
}

fn await_sight(observer: &mut RawClient, seen: &str, what: &str) {
    await_that(what, LONGEST, || observer.rows(seen) == ["t"]);
}
