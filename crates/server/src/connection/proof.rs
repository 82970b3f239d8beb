//! Asks a client who he is, as the first rule that fits says.

use corosensei::Yielder;
use mote_catalog::hba::{Applicant, ClientCertificate, Method, Rule};
use mote_catalog::password::{Secret, Verifier};
use mote_common::env::real::fill_entropy;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

use super::Connection;
use crate::auth::scram::{Binding, Exchange, wrong_password};
use crate::auth::{md5, peer};
use crate::host::connection_lost;
use crate::pgwire::backend;
use crate::pgwire::frontend::{self, Fields, STARTUP_BYTES_MAX, protocol_violation};
use crate::start_up::StartUp;
use crate::suspension::Suspend;

/// Where and until when the proof is asked for.
struct Question<'a> {
    user: &'a str,
    yielder: &'a Yielder<(), Suspend>,
    deadline: u64,
}

impl Connection {
    pub(super) fn authenticate(
        &mut self,
        start: &StartUp,
        yielder: &Yielder<(), Suspend>,
        deadline: u64,
    ) -> SqlResult<()> {
        let database = self.wire.shared.database.clone();
        let applicant = Applicant {
            database: start.database(),
            user: &start.user,
            address: (self.wire.stream.peer_address()).map(|address| address.ip().to_canonical()),
            encrypted: self.wire.channel().is_some(),
            replicates: start.replication,
        };
        if applicant.address.is_none() && !self.wire.stream.is_unix() {
            return Err(connection_lost());
        }
        let rules = database.hba().in_force();
        let is_member = |role: &str| database.is_member_of(&start.user, role);
        let rule = match rules.rule_for(applicant, &is_member) {
            Some(rule) if rule.method != Method::Reject => rule,
            rejected => return Err(refusal(applicant, rejected)),
        };
        self.check_certificate(rule)?;
        let question = Question {
            user: &start.user,
            yielder,
            deadline,
        };
        let proved = match rule.method {
            Method::Trust | Method::Cert => true,
            Method::Reject => false,
            Method::Peer => {
                self.go_aside(yielder);
                peer::user(&self.wire.stream).as_deref() == Some(question.user)
            }
            Method::Password => self.password(&question)?,
            Method::Md5 | Method::ScramSha256 => self.challenge(rule.method, &question)?,
        };
        if proved && self.is_named_by_certificate(rule, question.user) {
            return Ok(());
        }
        Err(failure(rule.method, question.user))
    }

    /// Whether there is a certificate where the rule wants one. The handshake has verified it.
    fn check_certificate(&self, rule: &Rule) -> SqlResult<()> {
        if rule.client_certificate == ClientCertificate::NotNeeded {
            return Ok(());
        }
        let channel = self.wire.channel();
        if !channel.is_some_and(|channel| channel.context().verifies_clients) {
            return Err(SqlError::new(
                state::CONFIG_FILE_ERROR,
                "client certificates can only be checked if a root certificate store is available",
            ));
        }
        match channel.and_then(|channel| channel.client()) {
            Some(_) => Ok(()),
            None => Err(SqlError::new(
                state::INVALID_AUTHORIZATION_SPECIFICATION,
                "connection requires a valid client certificate",
            )),
        }
    }

    fn is_named_by_certificate(&self, rule: &Rule, user: &str) -> bool {
        rule.client_certificate < ClientCertificate::VerifyFull || {
            let certificate = self.wire.channel().and_then(|channel| channel.client());
            certificate
                .and_then(|certificate| certificate.common_name)
                .as_deref()
                == Some(user)
        }
    }

    /// The password in clear.
    fn password(&mut self, question: &Question<'_>) -> SqlResult<bool> {
        backend::authentication_cleartext_password(&mut self.wire.output);
        let message = self.proof_message("password", question)?;
        let password = frontend::utf8(Fields::new(&message).raw_string()?)?;
        if password.is_empty() {
            return Err(SqlError::new(
                state::INVALID_PASSWORD,
                "empty password returned by client",
            ));
        }
        self.go_aside(question.yielder);
        Ok(match self.wire.shared.secret_of(question.user) {
            Some(secret) => secret.is_of(password, question.user),
            // As long as for a user that exists.
            None => {
                Secret::Scram(self.wire.shared.mock_verifier(question.user)).is_of(password, question.user)
            }
        })
    }

    /// SCRAM; or MD5, where the rule allows it and the role's password is kept in that form.
    fn challenge(&mut self, method: Method, question: &Question<'_>) -> SqlResult<bool> {
        match self.wire.shared.secret_of(question.user) {
            Some(Secret::Md5(stored)) if method == Method::Md5 => self.md5(&stored, question),
            Some(Secret::Scram(verifier)) => self.scram(verifier, question).map(|()| true),
            // The exchange takes the same course, and fails.
            Some(Secret::Md5(_)) | None => {
                let verifier = self.wire.shared.mock_verifier(question.user);
                self.scram(verifier, question).map(|()| false)
            }
        }
    }

    fn md5(&mut self, stored: &str, question: &Question<'_>) -> SqlResult<bool> {
        let mut salt = [0; 4];
        fill_entropy(&mut salt);
        backend::authentication_md5_password(&mut self.wire.output, salt);
        let message = self.proof_message("password", question)?;
        let answer = Fields::new(&message).raw_string()?;
        Ok(md5::is_right(answer, stored, salt))
    }

    fn scram(&mut self, verifier: Verifier, question: &Question<'_>) -> SqlResult<()> {
        let end_point = (self.wire.channel()).and_then(|channel| channel.context().end_point_hash.clone());
        backend::authentication_sasl(&mut self.wire.output, end_point.is_some());
        let first = self.proof_message("SASL", question)?;
        let mut fields = Fields::new(&first);
        let offered = match (fields.string()?, &end_point) {
            ("SCRAM-SHA-256", None) => Binding::None,
            ("SCRAM-SHA-256", Some(_)) => Binding::NotChosen,
            ("SCRAM-SHA-256-PLUS", Some(hash)) => Binding::EndPoint(hash),
            _ => {
                return Err(protocol_violation(
                    "client selected an invalid SASL authentication mechanism",
                ));
            }
        };
        let length = fields.i32()?;
        let client_first = frontend::utf8(fields.bytes(length.max(0) as usize)?)?;
        let (exchange, server_first) = Exchange::start(client_first, verifier, offered)?;
        backend::authentication_sasl_continue(&mut self.wire.output, server_first.as_bytes());
        let second = self.proof_message("SASL", question)?;
        self.go_aside(question.yielder);
        let server_final = exchange.finish(frontend::utf8(&second)?, question.user)?;
        backend::authentication_sasl_final(&mut self.wire.output, server_final.as_bytes());
        Ok(())
    }

    /// The body of the client's next message, which must be a proof of the kind that was asked for.
    fn proof_message(&mut self, asked: &str, question: &Question<'_>) -> SqlResult<Vec<u8>> {
        self.wire.flush();
        loop {
            if let Some((kind, body)) = self.wire.input.peek(STARTUP_BYTES_MAX)? {
                if kind != b'p' {
                    return Err(protocol_violation(format!(
                        "expected {asked} response, got message type {kind}"
                    )));
                }
                let message = self.wire.input.unread()[body.clone()].to_vec();
                self.wire.input.consume(body.end);
                return Ok(message);
            }
            if !self.more(question.yielder, question.deadline)? {
                return Err(connection_lost());
            }
        }
    }
}

/// No rule fits, or one that rejects.
fn refusal(applicant: Applicant<'_>, rejected: Option<&Rule>) -> SqlError {
    let begin = match rejected {
        Some(_) => "pg_hba.conf rejects connection",
        None => "no pg_hba.conf entry",
    };
    let host = match applicant.address {
        Some(address) => address.to_string(),
        None => "[local]".into(),
    };
    let encryption = match applicant.encrypted {
        true => "SSL encryption",
        false => "no encryption",
    };
    let message = format!(
        "{begin} for host \"{host}\", user \"{}\", database \"{}\", {encryption}",
        applicant.user, applicant.database
    );
    SqlError::new(state::INVALID_AUTHORIZATION_SPECIFICATION, message)
}

/// PostgreSQL's words; they do not tell why.
fn failure(method: Method, user: &str) -> SqlError {
    let how = match method {
        Method::Password | Method::Md5 | Method::ScramSha256 => return wrong_password(user),
        Method::Trust | Method::Reject => "\"trust\"",
        Method::Peer => "Peer",
        Method::Cert => "certificate",
    };
    SqlError::new(
        state::INVALID_AUTHORIZATION_SPECIFICATION,
        format!("{how} authentication failed for user \"{user}\""),
    )
}
