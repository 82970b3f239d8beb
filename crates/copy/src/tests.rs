//! The field splitter by itself; COPY end to end is tested where sessions are.

use mote_grammar::ast::{DefinitionOption, Location, OptionValue};

use crate::fields::Fields;
use crate::options::CopyOptions;

fn options(written: &[(&str, &str)]) -> CopyOptions {
    let option = |(name, value): &(&str, &str)| DefinitionOption {
        namespace: None,
        name: (*name).into(),
        value: Some(OptionValue::String((*value).into())),
        location: Location::NONE,
    };
    let written: Vec<DefinitionOption> = written.iter().map(option).collect();
    CopyOptions::parse(&written, true, "").expect("consistent options")
}

fn split(options: &CopyOptions, line: &str) -> Vec<Option<String>> {
    let mut fields = Fields::new(options);
    fields.split(line.as_bytes()).expect("a well-formed line");
    let field = |i| (!fields.is_null(i)).then(|| fields.text(i, line).expect("UTF-8").to_string());
    (0..fields.len()).map(field).collect()
}

fn values(values: &[Option<&str>]) -> Vec<Option<String>> {
    values.iter().map(|v| v.map(str::to_string)).collect()
}

#[test]
fn text_fields() {
    let text = options(&[]);
    assert_eq!(
        split(&text, "1\tabc\t\\N"),
        values(&[Some("1"), Some("abc"), None])
    );
    assert_eq!(split(&text, ""), values(&[Some("")]));
    assert_eq!(
        split(&text, "a\\tb\t\\\\N\t\\x41\\101\\q"),
        values(&[Some("a\tb"), Some("\\N"), Some("AAq")])
    );
    assert_eq!(split(&text, "a\\\tb"), values(&[Some("a\tb")]));
}

#[test]
fn csv_fields() {
    let csv = options(&[("format", "csv")]);
    assert_eq!(
        split(&csv, "1,\"a,b\",,\"\""),
        values(&[Some("1"), Some("a,b"), None, Some("")])
    );
    assert_eq!(
        split(&csv, "a\"b,c\"d,\"say \"\"x\"\"\""),
        values(&[Some("ab,cd"), Some("say \"x\"")])
    );
    let escape = options(&[("format", "csv"), ("escape", "\\")]);
    assert_eq!(
        split(&escape, "\"a\\\"b\\\\\",x"),
        values(&[Some("a\"b\\"), Some("x")])
    );
}
