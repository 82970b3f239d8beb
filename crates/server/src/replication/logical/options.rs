//! What a subscriber asks of pgoutput: parse_output_parameters of PostgreSQL 15.
//!
//! Takes untrusted text: answers errors, never panics.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

use super::syntax::{SlotOption, redundant};

/// Protocol 3 is 2 with two-phase commits, which nobody gets who does not ask for them.
const PROTOCOL_MAX: u32 = 3;
const PROTOCOL_MIN: u32 = 1;
const PROTOCOL_STREAMING: u32 = 2;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputOptions {
    pub protocol: u32,
    /// In the order they were named.
    pub publications: Vec<String>,
}

pub fn read(options: &[SlotOption]) -> SqlResult<OutputOptions> {
    let mut read = OutputOptions {
        protocol: 0,
        publications: Vec::new(),
    };
    let mut streaming = false;
    for (at, option) in options.iter().enumerate() {
        if options[..at].iter().any(|earlier| earlier.name == option.name) {
            return Err(redundant());
        }
        match &*option.name {
            "proto_version" => read.protocol = protocol(option.text()?)?,
            "publication_names" => read.publications = names(option.text()?)?,
            "binary" if option.flag()? => return Err(SqlError::unsupported("binary of pgoutput")),
            // Messages of pg_logical_emit_message, which there are none of.
            "binary" | "messages" => _ = option.flag()?,
            // Accepted: transactions are sent whole, when they commit.
            "streaming" => streaming = option.flag()?,
            "two_phase" if option.flag()? => return Err(SqlError::unsupported("two_phase of pgoutput")),
            "two_phase" => {}
            other => {
                let message = format!("unrecognized pgoutput option: {other}");
                return Err(SqlError::internal(message));
            }
        }
    }
    check_protocol(&read, streaming)?;
    Ok(read)
}

fn check_protocol(read: &OutputOptions, streaming: bool) -> SqlResult<()> {
    let asked = read.protocol;
    let unsupported = |message: String| Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    if asked > PROTOCOL_MAX {
        return unsupported(format!(
            "client sent proto_version={asked} but we only support protocol {PROTOCOL_MAX} or lower"
        ));
    }
    if asked < PROTOCOL_MIN {
        return unsupported(format!(
            "client sent proto_version={asked} but we only support protocol {PROTOCOL_MIN} or higher"
        ));
    }
    if read.publications.is_empty() {
        let message = "publication_names parameter missing";
        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    }
    if streaming && asked < PROTOCOL_STREAMING {
        let message = format!(
            "requested proto_version={asked} does not support streaming, need {PROTOCOL_STREAMING} or higher"
        );
        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    }
    Ok(())
}

fn protocol(text: &str) -> SqlResult<u32> {
    let refused = |message: String| Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    let Ok(number) = text.trim().parse::<i128>() else {
        return refused("invalid proto_version".into());
    };
    match u32::try_from(number) {
        Ok(number) => Ok(number),
        Err(_) => refused(format!("proto_version \"{text}\" out of range")),
    }
}

/// SplitIdentifierString.
fn names(text: &str) -> SqlResult<Vec<String>> {
    let invalid = || SqlError::new(state::INVALID_NAME, "invalid publication_names syntax");
    let mut names = Vec::new();
    let mut rest = text.trim();
    if rest.is_empty() {
        return Ok(names);
    }
    loop {
        let (name, behind) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_name(quoted).ok_or_else(invalid)?,
            None => {
                let end = rest
                    .find(|c: char| c == ',' || c.is_whitespace())
                    .unwrap_or(rest.len());
                (rest[..end].to_lowercase(), &rest[end..])
            }
        };
        if name.is_empty() {
            return Err(invalid());
        }
        names.push(name);
        rest = behind.trim_start();
        match rest.strip_prefix(',') {
            Some(next) => rest = next.trim_start(),
            None if rest.is_empty() => return Ok(names),
            None => return Err(invalid()),
        }
    }
}

/// Up to the closing quote, and what stands behind it.
fn quoted_name(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(next) => {
                name.push('"');
                rest = next;
            }
            None => return Some((name, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(options: &[(&str, &str)]) -> SqlResult<OutputOptions> {
        let options: Vec<_> = options
            .iter()
            .map(|(name, value)| SlotOption {
                name: (*name).into(),
                value: Some((*value).into()),
            })
            .collect();
        read(&options)
    }

    #[test]
    fn as_subscribers_of_several_releases_ask() {
        let read = ask(&[
            ("proto_version", "3"),
            ("streaming", "on"),
            ("publication_names", r#""A ""b""" , c"#),
            ("binary", "false"),
        ]);
        let expected = OutputOptions {
            protocol: 3,
            publications: vec![r#"A "b""#.into(), "c".into()],
        };
        assert_eq!(read, Ok(expected));
    }

    #[test]
    fn what_cannot_be_had_is_refused_by_its_state() {
        let p = ("publication_names", "p");
        for (options, state) in [
            (vec![("proto_version", "4"), p], state::FEATURE_NOT_SUPPORTED),
            (vec![p], state::FEATURE_NOT_SUPPORTED),
            (vec![("proto_version", "1")], state::INVALID_PARAMETER_VALUE),
            (vec![("proto_version", "x"), p], state::INVALID_PARAMETER_VALUE),
            (vec![("proto_version", "-1"), p], state::INVALID_PARAMETER_VALUE),
            (
                vec![("proto_version", "1"), ("publication_names", "a,")],
                state::INVALID_NAME,
            ),
            (
                vec![("proto_version", "1"), ("streaming", "on"), p],
                state::INVALID_PARAMETER_VALUE,
            ),
            (
                vec![("proto_version", "1"), p, ("binary", "on")],
                state::FEATURE_NOT_SUPPORTED,
            ),
            (
                vec![("proto_version", "3"), p, ("two_phase", "on")],
                state::FEATURE_NOT_SUPPORTED,
            ),
            (vec![p, p], state::SYNTAX_ERROR),
        ] {
            let refused = ask(&options).expect_err("it is refused");
            assert_eq!(refused.state(), state, "{options:?}");
        }
    }
}
