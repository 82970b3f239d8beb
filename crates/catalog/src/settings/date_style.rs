//! `DateStyle`: a list of words, of which each says how dates are printed or in which order they are read.

use mote_common::{SqlError, SqlResult, error::state};
use mote_types::{DateOrder, DateStyle};

type Both = (DateStyle, DateOrder);

/// The value as it is kept and shown: `ISO, MDY`. What is not said, style or order, is that of `current`; the word
/// DEFAULT stands for `reset`, a canonical value.
pub(super) fn canonical(text: &str, current: Both, reset: &str) -> SqlResult<String> {
    let invalid = |detail: String| {
        SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            format!("invalid value for parameter \"DateStyle\": \"{text}\""),
        )
        .detail(detail)
    };
    let words = words(text).ok_or_else(|| invalid("List syntax is invalid.".into()))?;
    let mut said = Said::default();
    for word in &words {
        if !said.word(word, reset) {
            return Err(invalid(format!("Unrecognized key word: \"{word}\".")));
        }
    }
    if said.conflict {
        return Err(invalid("Conflicting \"datestyle\" specifications.".into()));
    }
    let style = said.style.or(said.implied_style).unwrap_or(current.0);
    let order = said.order.or(said.implied_order).unwrap_or(current.1);
    Ok(format!("{}, {}", style_word(style), order_word(order)))
}

/// Reads what [`canonical`] wrote.
pub(super) fn parse_canonical(text: &str) -> Both {
    let (style, order) = text.split_once(", ").unwrap_or((text, ""));
    let style = match style {
        "SQL" => DateStyle::Sql,
        "Postgres" => DateStyle::Postgres,
        "German" => DateStyle::German,
        _ => DateStyle::Iso,
    };
    let order = match order {
        "DMY" => DateOrder::Dmy,
        "YMD" => DateOrder::Ymd,
        _ => DateOrder::Mdy,
    };
    (style, order)
}

/// What the words have said so far.
#[derive(Default)]
struct Said {
    style: Option<DateStyle>,
    order: Option<DateOrder>,
    /// By DEFAULT and by GERMAN, which is DMY unless an order is named.
    implied_style: Option<DateStyle>,
    implied_order: Option<DateOrder>,
    conflict: bool,
}

impl Said {
    /// False for a word that is none of them.
    fn word(&mut self, word: &str, reset: &str) -> bool {
        match word.to_ascii_lowercase().as_str() {
            "iso" => self.style(DateStyle::Iso),
            "sql" => self.style(DateStyle::Sql),
            "german" => {
                self.style(DateStyle::German);
                self.implied_order = Some(DateOrder::Dmy);
            }
            "ymd" => self.order(DateOrder::Ymd),
            "dmy" => self.order(DateOrder::Dmy),
            "mdy" | "us" => self.order(DateOrder::Mdy),
            "default" => {
                let (style, order) = parse_canonical(reset);
                self.implied_style = Some(style);
                self.implied_order = Some(order);
            }
            word if word.starts_with("postgres") => self.style(DateStyle::Postgres),
            word if word.starts_with("euro") => self.order(DateOrder::Dmy),
            word if word.starts_with("noneuro") => self.order(DateOrder::Mdy),
            _ => return false,
        }
        true
    }

    fn style(&mut self, style: DateStyle) {
        self.conflict |= self.style.is_some_and(|said| said != style);
        self.style = Some(style);
    }

    fn order(&mut self, order: DateOrder) {
        self.conflict |= self.order.is_some_and(|said| said != order);
        self.order = Some(order);
    }
}

/// The identifiers between commas, folded unless quoted; `None` where that is not what stands there.
fn words(text: &str) -> Option<Vec<String>> {
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    let word = |part: &str| {
        let part = part.trim();
        match part.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(quoted) => Some(quoted.to_string()),
            None if part.is_empty() || part.contains(|c: char| c.is_whitespace() || c == '"') => None,
            None => Some(part.to_ascii_lowercase()),
        }
    };
    text.split(',').map(word).collect()
}

fn style_word(style: DateStyle) -> &'static str {
    match style {
        DateStyle::Iso => "ISO",
        DateStyle::Sql => "SQL",
        DateStyle::Postgres => "Postgres",
        DateStyle::German => "German",
    }
}

fn order_word(order: DateOrder) -> &'static str {
    match order {
        DateOrder::Mdy => "MDY",
        DateOrder::Dmy => "DMY",
        DateOrder::Ymd => "YMD",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str) -> String {
        let current = (DateStyle::Sql, DateOrder::Ymd);
        match canonical(text, current, "ISO, MDY") {
            Ok(value) => value,
            Err(error) => error.fields().detail.clone().unwrap_or_default(),
        }
    }

    #[test]
    fn what_is_not_said_stays() {
        assert_eq!(after(""), "SQL, YMD");
        assert_eq!(after("dmy"), "SQL, DMY");
        assert_eq!(after("Postgresql"), "Postgres, YMD");
        assert_eq!(after("german"), "German, DMY");
        assert_eq!(after("MDY, German"), "German, MDY");
        assert_eq!(after("german , us"), "German, MDY");
        assert_eq!(after("default"), "ISO, MDY");
        assert_eq!(after("default, European"), "ISO, DMY");
        assert_eq!(after("\"ISO\",noneuropean"), "ISO, MDY");
    }

    #[test]
    fn mistakes_are_told_apart() {
        assert_eq!(after("iso, sql"), "Conflicting \"datestyle\" specifications.");
        assert_eq!(after("ISO, Foo"), "Unrecognized key word: \"foo\".");
        assert_eq!(after("ISO,,MDY"), "List syntax is invalid.");
        assert_eq!(after("ISO MDY"), "List syntax is invalid.");
    }
}
