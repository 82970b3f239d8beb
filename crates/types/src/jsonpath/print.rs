//! The canonical text of a path.

use std::fmt::{Display, Formatter, Result, Write};

use super::*;
use crate::json::write_quoted;

impl Display for Path {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        if !self.lax {
            out.write_str("strict ")?;
        }
        chain(&self.chain, true, out)
    }
}

/// How tightly an operator binds; operands that bind no tighter are put in parentheses.
fn priority_of(chain: &Chain) -> u8 {
    match &chain[0] {
        Item::Condition(condition) => condition_priority(condition),
        Item::Arithmetic(Arithmetic::Add | Arithmetic::Subtract, _) => 3,
        Item::Arithmetic(..) => 4,
        Item::Plus(_) | Item::Minus(_) => 5,
        _ => 6,
    }
}

fn condition_priority(condition: &Condition) -> u8 {
    match condition {
        Condition::Or(_) => 0,
        Condition::And(_) => 1,
        Condition::Compare(..) | Condition::StartsWith(..) => 2,
        _ => 6,
    }
}

/// What follows the first item sees it in parentheses, if it is an operator.
fn chain(chain: &Chain, parentheses: bool, out: &mut Formatter<'_>) -> Result {
    let (first, rest) = (&chain[0], &chain[1..]);
    match first {
        Item::Number(number) if !rest.is_empty() => write!(out, "({number})")?,
        first => item(first, parentheses, false, out)?,
    }
    rest.iter().try_for_each(|next| item(next, true, true, out))
}

fn quoted(text: &str, out: &mut Formatter<'_>) -> Result {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    write_quoted(text, &mut bytes).map_err(|_| std::fmt::Error)?;
    out.write_str(&String::from_utf8_lossy(&bytes))
}

fn in_parentheses(
    parentheses: bool,
    out: &mut Formatter<'_>,
    inner: impl FnOnce(&mut Formatter<'_>) -> Result,
) -> Result {
    if parentheses {
        out.write_char('(')?;
    }
    inner(out)?;
    if parentheses {
        out.write_char(')')?;
    }
    Ok(())
}

fn operand(of: &Chain, priority: u8, out: &mut Formatter<'_>) -> Result {
    chain(of, priority_of(of) <= priority, out)
}

fn condition_operand(of: &Condition, priority: u8, out: &mut Formatter<'_>) -> Result {
    condition(of, condition_priority(of) <= priority, out)
}

/// `follows`: it stands behind another item, as an accessor.
fn item(item: &Item, parentheses: bool, follows: bool, out: &mut Formatter<'_>) -> Result {
    match item {
        Item::Null => out.write_str("null"),
        Item::Bool(value) => write!(out, "{value}"),
        Item::Number(number) => write!(out, "{number}"),
        Item::String(text) => quoted(text, out),
        Item::Variable(name) => {
            out.write_char('$')?;
            quoted(name, out)
        }
        Item::Root => out.write_char('$'),
        Item::Current => out.write_char('@'),
        Item::Last => out.write_str("last"),
        Item::Arithmetic(operator, operands) => in_parentheses(parentheses, out, |out| {
            let priority = match operator {
                Arithmetic::Add | Arithmetic::Subtract => 3,
                _ => 4,
            };
            operand(&operands.0, priority, out)?;
            write!(out, " {} ", operator.sign())?;
            operand(&operands.1, priority, out)
        }),
        Item::Plus(of) | Item::Minus(of) => in_parentheses(parentheses, out, |out| {
            out.write_char(if matches!(item, Item::Plus(_)) { '+' } else { '-' })?;
            operand(of, 5, out)
        }),
        Item::Condition(inner) => condition(inner, parentheses, out),
        Item::Key(name) => {
            if follows {
                out.write_char('.')?;
            }
            quoted(name, out)
        }
        Item::AnyKey => out.write_str(".*"),
        Item::AnyArray => out.write_str("[*]"),
        Item::Subscripts(subscripts) => {
            out.write_char('[')?;
            for (position, (from, to)) in subscripts.iter().enumerate() {
                if position > 0 {
                    out.write_char(',')?;
                }
                chain(from, false, out)?;
                if let Some(to) = to {
                    out.write_str(" to ")?;
                    chain(to, false, out)?;
                }
            }
            out.write_char(']')
        }
        Item::AnyLevel(first, last) => levels(*first, *last, out),
        Item::Filter(inner) => {
            out.write_str("?(")?;
            condition(inner, false, out)?;
            out.write_char(')')
        }
        Item::Method(method) => write!(out, ".{}()", method.name()),
        Item::Datetime(template) => {
            out.write_str(".datetime(")?;
            if let Some(template) = template {
                quoted(template, out)?;
            }
            out.write_char(')')
        }
    }
}

fn levels(first: u32, last: u32, out: &mut Formatter<'_>) -> Result {
    match (first, last) {
        (0, LAST_LEVEL) => out.write_str(".**"),
        (LAST_LEVEL, LAST_LEVEL) => out.write_str(".**{last}"),
        (first, last) if first == last => write!(out, ".**{{{first}}}"),
        (LAST_LEVEL, last) => write!(out, ".**{{last to {last}}}"),
        (first, LAST_LEVEL) => write!(out, ".**{{{first} to last}}"),
        (first, last) => write!(out, ".**{{{first} to {last}}}"),
    }
}

fn condition(of: &Condition, parentheses: bool, out: &mut Formatter<'_>) -> Result {
    match of {
        Condition::And(both) | Condition::Or(both) => in_parentheses(parentheses, out, |out| {
            let priority = condition_priority(of);
            condition_operand(&both.0, priority, out)?;
            out.write_str(if priority == 0 { " || " } else { " && " })?;
            condition_operand(&both.1, priority, out)
        }),
        Condition::Not(inner) => {
            out.write_str("!(")?;
            condition(inner, false, out)?;
            out.write_char(')')
        }
        Condition::IsUnknown(inner) => {
            out.write_char('(')?;
            condition(inner, false, out)?;
            out.write_str(") is unknown")
        }
        Condition::Exists(value) => {
            out.write_str("exists (")?;
            chain(value, false, out)?;
            out.write_char(')')
        }
        Condition::Compare(comparison, left, right) => in_parentheses(parentheses, out, |out| {
            operand(left, 2, out)?;
            write!(out, " {} ", comparison.sign())?;
            operand(right, 2, out)
        }),
        Condition::StartsWith(whole, initial) => in_parentheses(parentheses, out, |out| {
            operand(whole, 2, out)?;
            out.write_str(" starts with ")?;
            operand(initial, 2, out)
        }),
        Condition::LikeRegex(value, pattern) => in_parentheses(parentheses, out, |out| {
            // It binds as tightly as a primary in PostgreSQL's table, so that every operand stands in parentheses.
            operand(value, 6, out)?;
            out.write_str(" like_regex ")?;
            quoted(&pattern.text, out)?;
            flags(pattern.flags, out)
        }),
    }
}

fn flags(flags: Flags, out: &mut Formatter<'_>) -> Result {
    let letters = [
        (flags.ignore_case, 'i'),
        (flags.dot_all, 's'),
        (flags.multi_line, 'm'),
        (flags.white_space, 'x'),
        (flags.quote, 'q'),
    ];
    if letters.iter().all(|(set, _)| !set) {
        return Ok(());
    }
    out.write_str(" flag \"")?;
    let set = letters.iter().filter(|(set, _)| *set);
    set.into_iter()
        .try_for_each(|(_, letter)| out.write_char(*letter))?;
    out.write_char('"')
}
