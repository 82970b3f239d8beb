//! Functions, operators and casts against PostgreSQL 15: each line of `golden_functions.txt` is a call and the real
//! server's answer, with the session in America/New_York.

use crate::cast::{CastContext, cast};
use crate::catalog::{ColumnType, parse_type};
use crate::compare::as_numeric;
use crate::datetime::{TimeZone, fields, from_char, to_char};
use crate::datum::{Datum, Interval};
use crate::format::{input_text, output_to_string, to_char_numeric};
use crate::numeric::Numeric;
use crate::operators::{Arithmetic, arithmetic};
use crate::settings::FormatSettings;
use mote_common::SqlResult;

const GOLDEN: &str = include_str!("golden_functions.txt");

struct Session(FormatSettings);

impl Session {
    fn read(&self, ty: &str, text: &str) -> SqlResult<Datum> {
        input_text(parse_type(ty).unwrap(), text, &self.0)
    }

    fn show(&self, datum: &Datum, ty: ColumnType) -> String {
        if datum.is_null() {
            "<NULL>".to_owned()
        } else {
            output_to_string(datum, ty, &self.0)
        }
    }

    fn show_plain(&self, datum: &Datum) -> String {
        self.show(datum, ColumnType::UNKNOWN)
    }

    fn call(&self, function: &str, args: &[&str]) -> SqlResult<String> {
        let zone = &self.0.time_zone;
        let interval = |change: fn(&Interval) -> SqlResult<Interval>| {
            let Datum::Interval(value) = self.read("interval", args[0])? else {
                unreachable!()
            };
            Ok(self.show_plain(&Datum::Interval(Box::new(change(&value)?))))
        };
        Ok(match function {
            "extract" => {
                let part = fields::extract(args[0], &self.read(args[1], args[2])?, zone)?;
                part.map_or("<NULL>".to_owned(), |part| part.to_string())
            }
            "trunc" => self.show_plain(&fields::date_trunc(args[0], &self.read(args[1], args[2])?, zone)?),
            "age" => {
                let (Datum::Timestamp(x), Datum::Timestamp(y)) =
                    (self.read(args[0], args[1])?, self.read(args[0], args[2])?)
                else {
                    unreachable!()
                };
                self.show_plain(&Datum::Interval(Box::new(fields::age(x, y)?)))
            }
            "justify_hours" => return interval(fields::justify_hours),
            "justify_days" => return interval(fields::justify_days),
            "justify_interval" => return interval(fields::justify_interval),
            "op" => {
                let op = match args[2] {
                    "+" => Arithmetic::Add,
                    "-" => Arithmetic::Subtract,
                    "*" => Arithmetic::Multiply,
                    "/" => Arithmetic::Divide,
                    _ => Arithmetic::Modulo,
                };
                let (a, b) = (self.read(args[0], args[1])?, self.read(args[3], args[4])?);
                self.show_plain(&arithmetic(op, &a, &b, &self.0)?)
            }
            "to_char" => to_char::to_char(&self.read(args[0], args[1])?, args[2], zone)?
                .unwrap_or_else(|| "<NULL>".to_owned()),
            "num_char" => to_char_numeric::to_char(
                to_char_numeric::Number::Numeric(&as_numeric(&self.read("numeric", args[0])?).unwrap()),
                args[1],
            )?,
            "to_timestamp" => self.show_plain(&Datum::TimestampTz(from_char::to_timestamp(
                args[0], args[1], zone,
            )?)),
            "numeric" => {
                let a = Numeric::parse(args[1])?;
                let b = || Numeric::parse(args[2]);
                match args[0] {
                    "sqrt" => a.sqrt()?,
                    "ln" => a.ln()?,
                    "log10" => a.log10()?,
                    "exp" => a.exp()?,
                    "log" => a.log_of(&b()?)?,
                    "power" => a.power(&b()?)?,
                    "div" => a.div(&b()?)?,
                    "mod" => a.modulo(&b()?)?,
                    _ => a.mul(&b()?)?,
                }
                .to_string()
            }
            "cast" => {
                let (from, to) = (parse_type(args[0]).unwrap(), parse_type(args[2]).unwrap());
                let datum = input_text(from, args[1], &self.0)?;
                self.show(&cast(&datum, from, to, CastContext::Explicit, &self.0)?, to)
            }
            _ => unreachable!("{function}"),
        })
    }
}

fn unescape(field: &str) -> String {
    field
        .replace("\\p", "|")
        .replace("\\n", "\n")
        .replace("\\\\", "\\")
}

#[test]
fn functions_are_postgresqls() {
    let time_zone = TimeZone::parse("America/New_York").unwrap();
    let session = Session(FormatSettings {
        time_zone,
        ..FormatSettings::default()
    });
    let mut wrong = Vec::new();
    for line in GOLDEN.lines() {
        let parts: Vec<String> = line.split('|').map(unescape).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let [function, args @ .., expect] = &parts[..] else {
            panic!("bad line {line}")
        };
        let got = match session.call(function, args) {
            Ok(text) => text,
            Err(error) => format!("ERROR {} {}", error.state(), error.message()),
        };
        if got != *expect {
            wrong.push(format!("{function} {args:?}: got {got:?}, PostgreSQL {expect:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
