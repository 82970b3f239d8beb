//! The board of this process as a page for a browser on this machine, while it goes on (`--web`).
//!
//! Read `http` (who may ask, and how much) first, then `record` (what the page is told). The page itself is `assets/live.html` with
//! `live.js`, and draws with the same script as reports do.
//!
//! Promises: it listens on the loopback alone; it answers a bounded number of clients, each within a bounded time, and none of them
//! can hold up a measurement; it reads no file and takes nothing in. Leaves out: TLS and log-in, which a loopback address
//! does not need; a `Host` that is none of this machine's names is refused, so that no other page can read it through a browser.

mod http;
mod record;

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use crate::board::{self, Board};

/// The port that `--web` has without a number.
pub const PORT: &str = "5480";
/// How long the end waits for whoever looks.
const PATIENCE: Duration = Duration::from_secs(6);

/// The board of this process, shown on a port of the loopback; 0 is a free one.
pub struct Web(&'static Board);

impl Web {
    pub fn open(title: &str, port: u16) -> Result<Web, String> {
        let failed = |error: std::io::Error| format!("--web: 127.0.0.1:{port}: {error}");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let board = board::put_up(title)?;
        // It ends with the process.
        let thread = std::thread::Builder::new().name("live-page".into());
        let serving = move || http::serve(&listener, address.port(), board);
        thread.spawn(serving).map_err(failed)?;
        eprintln!("live page: http://{address}/");
        Ok(Web(board))
    }

    /// The command has ended.
    pub fn end(self, well: bool) {
        self.0.end(well, PATIENCE);
    }
}
