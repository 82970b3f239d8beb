//! Clients that work on a server until it is killed, and what they were told meanwhile: the frame of the tests that kill
//! a server, start it again and look at what is left.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio_postgres::error::DbError;
use tokio_postgres::{Client, Config, Error, NoTls};

use crate::TestServer;

/// A server that commits nothing for so long is killed all the same; the test's own count then says so.
const LIFE_MAX: Duration = Duration::from_secs(60);

/// What the clients of one test saw, over all lives of the server.
#[derive(Default)]
pub struct Storm {
    stop: AtomicBool,
    committed: AtomicU64,
    surprises: Mutex<Vec<String>>,
}

impl Storm {
    /// One life: so many clients, each with a number, a thread and a connection, until the server is killed after `life`,
    /// or later: a busy machine gets the time for so many commits. What a client returns is how its connection ended, and is
    /// no news.
    #[track_caller]
    pub fn until_killed(
        &self,
        server: TestServer,
        clients: u64,
        life: Duration,
        commits: u64,
        work: impl AsyncFn(u64, Client) -> Result<(), Error> + Sync,
    ) {
        let config = server.config();
        let said = self.run(&config, clients, work, || {
            let (born, before) = (Instant::now(), self.committed());
            std::thread::sleep(life);
            while self.committed() < before + commits && born.elapsed() < LIFE_MAX {
                std::thread::sleep(Duration::from_millis(10));
            }
            let said = server.log();
            drop(server.kill());
            said
        });
        assert!(!said.contains("panicked at"), "a thread panicked:\n{said}");
    }

    /// The same while `action` runs, on a server that lives on.
    pub fn meanwhile<T>(
        &self,
        server: &TestServer,
        clients: u64,
        work: impl AsyncFn(u64, Client) -> Result<(), Error> + Sync,
        action: impl FnOnce() -> T,
    ) -> T {
        self.run(&server.config(), clients, work, action)
    }

    fn run<T>(
        &self,
        config: &Config,
        clients: u64,
        work: impl AsyncFn(u64, Client) -> Result<(), Error> + Sync,
        action: impl FnOnce() -> T,
    ) -> T {
        self.stop.store(false, Ordering::SeqCst);
        std::thread::scope(|scope| {
            for number in 0..clients {
                let work = &work;
                scope.spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .enable_all()
                        .build()
                        .expect("a runtime");
                    let _ = runtime.block_on(async {
                        let (client, connection) = config.connect(NoTls).await?;
                        tokio::spawn(connection);
                        work(number, client).await
                    });
                });
            }
            let result = action();
            self.stop.store(true, Ordering::SeqCst);
            result
        })
    }

    /// Whether the clients are to end: the server of this life is dead, or the action is over.
    pub fn is_over(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    pub fn count_commit(&self) {
        self.committed.fetch_add(1, Ordering::SeqCst);
    }

    pub fn committed(&self) -> u64 {
        self.committed.load(Ordering::SeqCst)
    }

    pub fn surprise(&self, what: String) {
        self.surprises.lock().expect("no panic while held").push(what);
    }

    /// Whether it went well; `may_fail` judges what the server answered instead. An error: the server is gone.
    pub fn note(
        &self,
        outcome: Result<(), Error>,
        may_fail: impl Fn(&DbError) -> bool,
    ) -> Result<bool, Error> {
        let Err(error) = outcome else { return Ok(true) };
        let Some(told) = error.as_db_error() else {
            return Err(error);
        };
        if !may_fail(told) {
            self.surprise(format!("{} {}", told.code().code(), told.message()));
        }
        Ok(false)
    }

    #[track_caller]
    pub fn assert_no_surprise(&self, seed: u64) {
        let surprises = self.surprises.lock().expect("no panic while held");
        assert!(surprises.is_empty(), "seed {seed}: {surprises:?}");
    }
}
