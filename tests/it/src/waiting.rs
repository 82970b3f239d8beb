//! What one session sees of another that waits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::TestServer;
use crate::process::await_that;
use crate::wire::{Message, RawClient, sqlstate};

/// A session that does not wait after so long never will.
const LONGEST: Duration = Duration::from_secs(60);
/// The code of a CancelRequest.
const CANCEL_REQUEST: u32 = 80_877_102;
const BETWEEN_REQUESTS: Duration = Duration::from_millis(50);

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

/// Asks for the end of the statement that the client has just sent, again and again, since a request that comes before the
/// statement is for none; what the client gets.
pub fn cancelled(server: &TestServer, client: &mut RawClient) -> Vec<Message> {
    let request = [CANCEL_REQUEST.to_be_bytes().to_vec(), client.key_data.clone()].concat();
    let is_answered = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_answered.load(Ordering::Relaxed) {
                let mut canceller = RawClient::open(server);
                canceller.untyped(&request);
                // The request is done when the server hangs up: none is left for a later statement.
                assert_eq!(canceller.receive(), None);
                std::thread::sleep(BETWEEN_REQUESTS);
            }
        });
        // Also when the answer does not come: the scope waits for its thread.
        let _answered = Raise(&is_answered);
        client.until(b'Z')
    })
}

/// Sets its flag when it goes.
struct Raise<'a>(&'a AtomicBool);

impl Drop for Raise<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Takes a session's time limit away. The limit is for this, too, and on a machine that stands still it may be over.
pub fn without_time_limit(client: &mut RawClient) {
    await_that("the time limit goes", LONGEST, || {
        let messages = client.query("set statement_timeout = 0");
        let said = sqlstate(&messages);
        assert!(matches!(said.as_deref(), None | Some("57014")), "{messages:?}");
        said.is_none()
    });
}

fn await_sight(observer: &mut RawClient, seen: &str, what: &str) {
    await_that(what, LONGEST, || observer.rows(seen) == ["t"]);
}
