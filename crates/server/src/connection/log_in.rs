//! From the first byte to a session: requests for encryption and cancellation, the start-up packet, the session's settings.
//! Who the client is, `proof` asks.

use std::sync::Arc;

use corosensei::Yielder;
use mote_catalog::activity::Activity;
use mote_catalog::host::terminated;
use mote_catalog::settings::show_integer;
use mote_common::error::{Severity, state};
use mote_common::{SqlError, SqlResult};
use mote_engine::Awaited;
use mote_exec::session::{Session, SessionIdentity};

use super::Connection;
use crate::half_open::Pass;
use crate::pgwire::backend;
use crate::pgwire::frontend::{self, Fields, protocol_violation};
use crate::registry::too_many;
use crate::replication::synchronous;
use crate::start_up::{StartUp, switches};
use crate::suspension::{Reason, Suspend, suspend};
use crate::tls::Channel;

impl Connection {
    /// False: the connection has served its purpose (a cancel request) or the client went away.
    pub(super) fn log_in(&mut self, yielder: &Yielder<(), Suspend>) -> SqlResult<bool> {
        let fatal = |e: SqlError| e.severity(Severity::Fatal);
        let timeout = self.wire.shared.config.authentication_timeout;
        let deadline = self
            .wire
            .shared
            .now_ns()
            .saturating_add(timeout.as_nanos() as u64);
        let Some(packet) = self.read_start_up(yielder, deadline).map_err(fatal)? else {
            return Ok(false);
        };
        let start = StartUp::read(&packet).map_err(fatal)?;
        // Followers need no lease: it comes of what they answer.
        self.wire.leased = !start.replication || start.logical;
        if self.wire.shared.registry.is_full() {
            return Err(fatal(too_many()));
        }
        if start.newer_minor || !start.unknown_options.is_empty() {
            let unknown: Vec<&str> = start.unknown_options.iter().map(String::as_str).collect();
            backend::negotiate_protocol_version(&mut self.wire.output, &unknown);
        }
        self.authenticate(&start, yielder, deadline).map_err(fatal)?;
        backend::authentication_ok(&mut self.wire.output);
        self.open_session(start).map_err(fatal)?;
        self.pass = None;
        // Who stops the server may have told the sessions before this was one.
        if self.wire.shared.half_open.is_closed() {
            return Err(terminated());
        }
        Ok(true)
    }

    /// Waits for more input; an error when the deadline passes, false when the client went away.
    pub(super) fn more(&mut self, yielder: &Yielder<(), Suspend>, deadline_ns: u64) -> SqlResult<bool> {
        loop {
            if self.wire.fill() {
                return Ok(true);
            }
            if self.wire.broken {
                return Ok(false);
            }
            if self.wire.signals.terminated() {
                return Err(terminated());
            }
            if self.wire.shared.half_open.is_closed() {
                return Err(SqlError::new(
                    state::CANNOT_CONNECT_NOW,
                    "the database system is shutting down",
                ));
            }
            if self.pass.as_ref().is_some_and(Pass::is_turned_away) {
                return Err(too_many());
            }
            if self.wire.shared.now_ns() >= deadline_ns {
                return Err(SqlError::new(
                    state::QUERY_CANCELED,
                    "canceling authentication due to timeout",
                ));
            }
            self.pause(yielder, Some(deadline_ns));
        }
    }

    /// Leaves the event loop to the others: what follows takes hundreds of microseconds in one piece.
    pub(super) fn go_aside(&mut self, yielder: &Yielder<(), Suspend>) {
        let reason = Reason::Aside(self.wire.interruption.clone());
        suspend(
            yielder,
            Suspend {
                reason,
                gate: Awaited::NOTHING,
                deadline_ns: None,
            },
        );
        // Socket events of that time meant this session.
        self.wire.interruption.set_drained(false);
    }

    /// The start-up packet's body, after answering requests for encryption.
    fn read_start_up(&mut self, yielder: &Yielder<(), Suspend>, deadline: u64) -> SqlResult<Option<Vec<u8>>> {
        loop {
            if self.wire.input.is_good_bye() {
                return Ok(None);
            }
            let Some(body) = self.wire.input.peek_startup()? else {
                if !self.more(yielder, deadline)? {
                    return Ok(None);
                }
                continue;
            };
            let packet = self.wire.input.unread()[body.clone()].to_vec();
            self.wire.input.consume(body.end);
            match Fields::new(&packet).i32()? as u32 {
                code @ (frontend::SSL_REQUEST | frontend::GSSENC_REQUEST)
                    if self.wire.channel().is_none() =>
                {
                    // Bytes sent along with the request would have been meant for the encrypted stream.
                    if !self.wire.input.unread().is_empty() {
                        return Err(protocol_violation("received unencrypted data after SSL request"));
                    }
                    if !self.answer_encryption(code == frontend::SSL_REQUEST, yielder, deadline)? {
                        return Ok(None);
                    }
                }
                frontend::CANCEL_REQUEST => {
                    let mut fields = Fields::new(&packet[4..]);
                    let (pid, key) = (fields.i32()? as u32, fields.i32()? as u32);
                    self.wire.shared.database.sessions().cancel_with_key(pid, key);
                    return Ok(None);
                }
                _ => return Ok(Some(packet)),
            }
        }
    }

    /// Declines, or shakes hands. False: the client went away, or broke TLS and was told by an alert.
    fn answer_encryption(
        &mut self,
        asks_for_tls: bool,
        yielder: &Yielder<(), Suspend>,
        deadline: u64,
    ) -> SqlResult<bool> {
        let context = match asks_for_tls && !self.wire.stream.is_unix() {
            true => self.wire.shared.tls(),
            false => None,
        };
        let Some(context) = context else {
            self.wire.output.push(b'N');
            self.wire.flush();
            return Ok(true);
        };
        self.wire.output.push(b'S');
        self.wire.flush();
        while self.wire.unsent_bytes() > 0 && !self.wire.broken {
            self.pause(yielder, Some(deadline));
        }
        let channel = Channel::new(context).map_err(|_| SqlError::internal("TLS could not be set up"))?;
        self.wire.encrypt(channel);
        while self.wire.is_handshaking() && !self.wire.broken {
            if !self.more(yielder, deadline)? {
                return Ok(false);
            }
            self.go_aside(yielder);
            self.wire.advance_handshake();
        }
        Ok(!self.wire.broken)
    }

    fn open_session(&mut self, start: StartUp) -> SqlResult<()> {
        let shared = self.wire.shared.clone();
        let key = mote_common::env::real::entropy_u64() as u32;
        let client = self.wire.stream.peer_address();
        let server = self.wire.stream.local_address();
        let encryption = self.wire.channel().map(Channel::facts);
        let activity = Arc::new(Activity::new(
            client,
            server,
            encryption,
            shared.database.now_us(),
        ));
        self.wire.activity = activity.clone();
        let pid = shared.database.sessions().register(
            key,
            self.wire.signals.clone(),
            self.wire.waker.clone(),
            activity.clone(),
        );
        self.pid = Some(pid);
        let database = match start.replication {
            // It is of no database; any will do for what a session has to know of one.
            true if !start.logical => shared.database.any_database_name(),
            _ => start.database().to_string(),
        };
        let identity = SessionIdentity {
            user: start.user,
            database,
            pid,
            signals: self.wire.signals.clone(),
            activity,
            wake: self.wire.waker.clone(),
        };
        let mut session = Session::new(&shared.database, identity)?;
        self.wire.charge_to(session.memory().clone());
        if start.replication && !session.may_replicate() {
            return Err(SqlError::new(
                state::INSUFFICIENT_PRIVILEGE,
                "must be superuser or replication role to start walsender",
            ));
        }
        self.replicates = start.replication;
        self.database_of_replication = start.logical;
        self.place = Some(shared.registry.enter(session.is_superuser())?);
        let timeout_s = shared.config.authentication_timeout.as_secs().max(1) as i64;
        let facts = [
            ("max_connections", shared.registry.maximum().to_string()),
            (
                "superuser_reserved_connections",
                shared.registry.reserved().to_string(),
            ),
            ("authentication_timeout", show_integer(timeout_s, "s")),
        ];
        let of_start = shared.config.facts();
        for (name, value) in facts.into_iter().chain(of_start) {
            session.set_fact(name, &value);
        }
        if let Some(names) = &shared.config.synchronous_standby_names {
            session.set_fact(synchronous::NAME, names);
        }
        for warning in session.take_warnings() {
            self.wire
                .send_or_warn(|out| backend::error_response(out, &warning));
        }
        for (name, value) in switches(&start.options)?.iter().chain(&start.settings) {
            session.set_initial(name, value)?;
        }
        for setting in session.reported_settings() {
            self.wire.note_parameter_status(setting.name, &setting.value);
        }
        self.wire.send_changed_settings();
        backend::backend_key_data(&mut self.wire.output, pid, key);
        self.session = Some(session);
        self.ready();
        Ok(())
    }
}
