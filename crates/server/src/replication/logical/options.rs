//! What a subscriber asks of pgoutput: parse_output_parameters of PostgreSQL 15.
//!
//! Takes untrusted text: answers errors, never panics.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::catalog::{is_blank, split_names};

use super::syntax::{SlotOption, not_boolean, redundant};

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
            "binary" if flag(option)? => return Err(SqlError::unsupported("binary of pgoutput")),
            // Messages of pg_logical_emit_message, which there are none of.
            "binary" | "messages" => _ = flag(option)?,
            // Accepted: transactions are sent whole, when they commit.
            "streaming" => streaming = flag(option)?,
            "two_phase" if flag(option)? => return Err(SqlError::unsupported("two_phase of pgoutput")),
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

/// Options of a plugin are texts, never numbers.
fn flag(option: &SlotOption) -> SqlResult<bool> {
    match option.value.as_deref() {
        Some("0" | "1") => Err(not_boolean(&option.name)),
        _ => option.flag(),
    }
}

fn check_protocol(read: &OutputOptions, streaming: bool) -> SqlResult<()> {
    // Told as C's int.
    let (asked, shown) = (read.protocol, read.protocol.cast_signed());
    let unsupported = |message: String| Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    if asked > PROTOCOL_MAX {
        return unsupported(format!(
            "client sent proto_version={shown} but we only support protocol {PROTOCOL_MAX} or lower"
        ));
    }
    if asked < PROTOCOL_MIN {
        return unsupported(format!(
            "client sent proto_version={shown} but we only support protocol {PROTOCOL_MIN} or higher"
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

/// As C's strtoul reads it: with a sign, and modulo 2^64.
fn protocol(text: &str) -> SqlResult<u32> {
    let refused = |message: String| Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    let digits = text.trim_start_matches(is_c_space);
    let (negative, digits) = match digits.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, digits.strip_prefix('+').unwrap_or(digits)),
    };
    let digits = Some(digits).filter(|digits| digits.starts_with(|c: char| c.is_ascii_digit()));
    let Some(number) = digits.and_then(|digits| digits.parse::<u64>().ok()) else {
        return refused("invalid proto_version".into());
    };
    let number = if negative { number.wrapping_neg() } else { number };
    match u32::try_from(number) {
        Ok(number) => Ok(number),
        Err(_) => refused(format!("proto_version \"{text}\" out of range")),
    }
}

/// `isspace` of the C locale.
fn is_c_space(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}

fn names(text: &str) -> SqlResult<Vec<String>> {
    if text.trim_matches(is_blank).is_empty() {
        return Ok(Vec::new());
    }
    split_names(text, ',')
        .ok_or_else(|| SqlError::new(state::INVALID_NAME, "invalid publication_names syntax"))
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
