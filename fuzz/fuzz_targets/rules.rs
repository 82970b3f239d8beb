//! A file in the form of pg_hba.conf: what is taken can be shown as pg_hba_file_rules does, and what is shown is the same rule
//! when it is read again; and both decide alike who may connect.
#![no_main]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use libfuzzer_sys::fuzz_target;

// The catalog's own module, without the catalog: that would be a parser in C under a sanitizer.
#[allow(dead_code, unused_imports)]
#[path = "../../crates/catalog/src/hba/mod.rs"]
mod hba;

use hba::{Applicant, Kind, Rule, RuleBook, Rules, Word};

/// Names that are tried of each rule.
const NAMES_MAX: usize = 3;
/// Lines that are tried.
const LINES_MAX: usize = 8;

/// As a file would have it: without quotes at its beginning it is a keyword, or may be one.
fn word(word: &Word) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    match word.text.chars().next().filter(|_| !word.quoted) {
        None => quoted(&word.text),
        Some(first) if word.text.len() == first.len_utf8() => first.to_string(),
        Some(first) => format!("{first}{}", quoted(&word.text[first.len_utf8()..])),
    }
}

fn words(words: &[Word]) -> String {
    words.iter().map(word).collect::<Vec<_>>().join(",")
}

/// The row of pg_hba_file_rules as a line.
fn shown(rule: &Rule) -> String {
    let (address, mask) = rule.address.shown();
    let mut fields = vec![rule.kind.name().to_string(), words(&rule.databases), words(&rule.users)];
    fields.extend(address);
    fields.extend(mask);
    fields.push(rule.method.name().to_string());
    fields.extend(rule.options());
    fields.join(" ")
}

fn same(a: &Rule, b: &Rule) -> bool {
    (a.kind, &a.databases, &a.users, a.address, a.method) == (b.kind, &b.databases, &b.users, b.address, b.method)
        && a.client_certificate == b.client_certificate
}

/// Which of the rules is for the applicant, and that it may be.
fn decided(rules: &Rules, applicant: Applicant<'_>) -> Option<usize> {
    let is_member = |role: &str| role.len() % 2 == applicant.user.len() % 2;
    let rule = rules.rule_for(applicant, &is_member)?;
    assert_eq!(rule.kind == Kind::Local, applicant.address.is_none());
    assert!(rule.kind != Kind::HostGss);
    assert!(applicant.encrypted || rule.kind != Kind::HostSsl);
    assert!(!applicant.encrypted || rule.kind != Kind::HostNoSsl);
    assert!(!applicant.replicates || rule.databases.iter().any(|word| word.is_keyword("replication")));
    let rules = rules.lines().iter().filter_map(|line| line.rule.as_ref());
    rules.into_iter().position(|other| std::ptr::eq(other, rule))
}

fn names<'r>(words: &'r [Word]) -> impl Iterator<Item = &'r str> {
    words.iter().take(NAMES_MAX).map(|word| word.text.as_str())
}

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let rules = Rules::parse(text);
    let lines = rules.lines();
    assert!(lines.is_sorted_by(|a, b| a.number < b.number));
    assert!(lines.iter().all(|line| line.rule.is_some() || line.error.is_some()));
    let right: Vec<&Rule> = lines.iter().filter_map(|line| line.rule.as_ref()).collect();
    let again: Vec<String> = right.iter().map(|rule| shown(rule)).collect();
    let again = Rules::parse(&again.join("\n"));
    assert_eq!(again.lines().len(), right.len());
    for (rule, line) in right.iter().zip(again.lines()) {
        let other = line.rule.as_ref().unwrap_or_else(|| panic!("{rule:?}: {:?}", line.error));
        assert!(same(rule, other), "{rule:?} {other:?}");
    }
    let addresses = [None, Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), Some(IpAddr::V6(Ipv6Addr::LOCALHOST))];
    let own = right.iter().filter_map(|rule| rule.address.shown().0?.parse().ok());
    let addresses: Vec<Option<IpAddr>> = addresses.into_iter().chain(own.map(Some)).take(LINES_MAX).collect();
    for rule in right.iter().take(LINES_MAX) {
        for user in names(&rule.users).chain(["joe"]) {
            for database in names(&rule.databases).chain([user]) {
                for &address in &addresses {
                    for bits in 0..4 {
                        let applicant = Applicant {
                            database,
                            user,
                            address,
                            encrypted: bits & 1 != 0,
                            replicates: bits & 2 != 0,
                        };
                        assert_eq!(decided(&rules, applicant), decided(&again, applicant));
                    }
                }
            }
        }
    }
    let book = RuleBook::default();
    let is_right = rules.mistake().is_none();
    assert_eq!(book.replace(rules).is_ok(), is_right);
    assert_eq!(!book.in_force().lines().is_empty(), is_right);
});
