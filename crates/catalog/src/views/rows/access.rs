//! Who may connect, and how connections are encrypted.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::{Datum, Numeric};

use crate::hba::{Line, Rule, Word};
use crate::views::facts::Facts;
use crate::views::row::{NULL, row, text_array, text_array_or_null};

/// The file of rules as read last, which is not in force if a line has a mistake. Superusers see it.
pub fn rules(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    if !facts.session.catalog.identity.superuser {
        let message = "permission denied for view pg_hba_file_rules";
        return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message));
    }
    Ok(facts.hba.lines().iter().map(rule_row).collect())
}

fn rule_row(line: &Line) -> Vec<Datum> {
    let mut row = row![line.number];
    match &line.rule {
        Some(rule) => row.extend(rule_cells(rule)),
        None => row.extend(std::iter::repeat_n(NULL, 7)),
    }
    row.extend(row![line.error.as_deref()]);
    row
}

fn rule_cells(rule: &Rule) -> Vec<Datum> {
    let (address, mask) = rule.address.shown();
    let words = |words: &[Word]| text_array(words.iter().map(|word| word.text.as_str()));
    row![
        rule.kind.name(),
        words(&rule.databases),
        words(&rule.users),
        address,
        mask,
        rule.method.name(),
        text_array_or_null(&rule.options()),
    ]
}

pub fn encryption(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let row = |pid: u32, activity: &crate::activity::Activity| {
        let doing = activity.doing().clone();
        let mut row = row![pid as i32];
        if !facts.sees_statistics_of(doing.user) {
            row.extend(std::iter::repeat_n(NULL, 7));
            return row;
        }
        let known = doing.encryption.as_deref();
        let serial = known.and_then(|known| known.client_serial.as_deref());
        let serial = serial.and_then(|digits| Numeric::parse(digits).ok());
        row.extend(row![
            known.is_some(),
            known.map(|known| known.version),
            known.map(|known| known.cipher),
            known.map(|known| known.bits),
            known.and_then(|known| known.client_dn.as_deref()),
            serial.map_or(NULL, Datum::Numeric),
            known.and_then(|known| known.issuer_dn.as_deref()),
        ]);
        row
    };
    Ok((facts.sessions.iter())
        .map(|(pid, activity)| row(*pid, activity))
        .collect())
}
