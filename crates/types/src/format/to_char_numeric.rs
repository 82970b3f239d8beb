//! `to_char(number, template)`: digits by picture.
//!
//! The template is cut into nodes, the number rounded to the decimals it has room for, and the digits laid into the
//! places: `9` a digit or a blank, `0` a digit, `.`/`D` the point, `,`/`G` a group mark, `S`/`MI`/`PL`/`SG`/`PR` the
//! sign, `FM` no filling, `EEEE` scientific. `V`, `RN` and ordinals answer 0A000.

use crate::numeric::Numeric;
use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Node {
    Nine,
    Zero,
    Point,
    Group(char),
    /// S
    Sign,
    /// MI
    Minus,
    /// PL
    Plus,
    /// SG
    AlwaysSign,
    Literal(char),
}

#[derive(Default, Debug)]
struct Picture {
    nodes: Vec<Node>,
    whole: usize,
    decimals: usize,
    fill_off: bool,
    brackets: bool,
    scientific: bool,
    has_point: bool,
    /// S was met.
    has_sign: bool,
}

/// What one character of a template costs: it is tried as the beginning of every keyword.
const TEMPLATE_COST: usize = 64;

fn syntax(message: &str) -> SqlError {
    SqlError::new(state::SYNTAX_ERROR, message)
}

fn compile(template: &str) -> SqlResult<Picture> {
    let mut picture = Picture::default();
    let mut rest = template;
    let mut meter = Meter::default();
    while let Some(c) = rest.chars().next() {
        meter.tick(TEMPLATE_COST)?;
        let starts = |key: &str| {
            rest.get(..key.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(key))
        };
        let mut length = 2;
        match () {
            _ if starts("FM") => picture.fill_off = true,
            _ if starts("EEEE") => {
                picture.scientific = true;
                length = 4;
            }
            _ if starts("MI") => picture.nodes.push(Node::Minus),
            _ if starts("PL") => picture.nodes.push(Node::Plus),
            _ if starts("SG") => picture.nodes.push(Node::AlwaysSign),
            _ if starts("PR") => picture.brackets = true,
            // Known to PostgreSQL, and without effect there too.
            _ if starts("SP") => {}
            _ if starts("B") || starts("C") => length = 1,
            _ if starts("RN") || starts("TH") => {
                return Err(SqlError::unsupported(format_args!(
                    "template pattern {} for numbers",
                    &rest[..2]
                )));
            }
            _ if starts("V") => return Err(SqlError::unsupported("template pattern V for numbers")),
            _ => {
                length = c.len_utf8();
                if c == '"' {
                    length = push_quoted(rest, &mut picture);
                } else {
                    push_char(c, &mut picture)?;
                }
            }
        }
        rest = &rest[length..];
    }
    Ok(picture)
}

fn push_char(c: char, picture: &mut Picture) -> SqlResult<()> {
    let node = match c {
        '9' => Node::Nine,
        '0' => Node::Zero,
        '.' | 'D' | 'd' => {
            if picture.has_point {
                return Err(syntax("multiple decimal points"));
            }
            picture.has_point = true;
            Node::Point
        }
        ',' => Node::Group(','),
        // The C locale has no group mark and no currency sign.
        'G' | 'g' => Node::Group(','),
        'L' | 'l' => Node::Literal(' '),
        'S' | 's' => {
            if std::mem::replace(&mut picture.has_sign, true) {
                return Err(syntax("cannot use \"S\" twice"));
            }
            Node::Sign
        }
        other => Node::Literal(other),
    };
    if matches!(node, Node::Nine | Node::Zero) {
        if picture.has_point {
            picture.decimals += 1;
        } else {
            picture.whole += 1;
        }
    }
    work::push(&mut picture.nodes, node)
}

/// Literal text in quotes; gives the bytes used.
fn push_quoted(text: &str, picture: &mut Picture) -> usize {
    let inner = &text[1..];
    let length = inner.find('"').unwrap_or(inner.len());
    picture.nodes.extend(inner[..length].chars().map(Node::Literal));
    (length + 2).min(text.len())
}

/// `to_char(value, template)`
pub fn to_char(value: &Numeric, template: &str) -> SqlResult<String> {
    let picture = compile(template)?;
    // The result has a character for every node, or a few more.
    work::reserve(picture.nodes.len())?;
    if picture.scientific {
        return scientific(value, &picture);
    }
    let rounded = value.round(picture.decimals as i32);
    let negative = rounded.is_negative();
    let text = rounded.abs().to_string();
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    let whole = if whole == "0" { "" } else { whole };
    let overflow = !value.is_finite() || whole.len().max(1) > picture.whole;
    Ok(Layout {
        picture: &picture,
        negative,
        whole,
        decimals,
        overflow,
    }
    .render())
}

fn scientific(value: &Numeric, picture: &Picture) -> SqlResult<String> {
    if !value.is_finite() {
        return Ok(" ".to_owned() + &"#".repeat(picture.whole + picture.decimals + 5));
    }
    let exponent = value.with_digits(|weight, digits| {
        digits
            .first()
            .map_or(0, |&first| weight * 4 + first.ilog10() as i32)
    });
    let scale = |value: &Numeric, exponent: i32| -> SqlResult<Numeric> {
        let power = Numeric::parse(&format!("1e{}", -exponent))?;
        Ok(value.mul(&power)?.round(picture.decimals as i32))
    };
    let (mut mantissa, mut exponent) = (scale(value, exponent)?, exponent);
    if mantissa.abs() >= Numeric::from(10) {
        exponent += 1;
        mantissa = scale(value, exponent)?;
    }
    let sign = if mantissa.is_negative() {
        "-"
    } else if picture.nodes.contains(&Node::Sign) {
        "+"
    } else if picture.fill_off {
        ""
    } else {
        " "
    };
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    Ok(format!(
        "{sign}{}e{exponent_sign}{:02}",
        mantissa.abs(),
        exponent.abs()
    ))
}

struct Layout<'a> {
    picture: &'a Picture,
    negative: bool,
    /// Without leading zeros; empty for zero.
    whole: &'a str,
    decimals: &'a str,
    overflow: bool,
}

impl Layout<'_> {
    fn render(&self) -> String {
        let Picture {
            nodes,
            whole: places,
            decimals,
            fill_off,
            brackets,
            has_point,
            ..
        } = self.picture;
        let has_own_sign = nodes
            .iter()
            .any(|n| matches!(n, Node::Sign | Node::Minus | Node::AlwaysSign));
        let first_zero = nodes
            .iter()
            .take_while(|n| **n != Node::Point)
            .filter(|n| is_place(n))
            .position(|n| *n == Node::Zero);
        // Decimals that FM may drop: trailing zeros behind the last `0` of the picture.
        let last_zero = nodes
            .iter()
            .skip_while(|n| **n != Node::Point)
            .filter(|n| is_place(n))
            .enumerate()
            .filter(|(_, n)| **n == Node::Zero)
            .map(|(slot, _)| slot + 1)
            .last()
            .unwrap_or(0);
        // The place from which digits (or their zeros) are written.
        let from_value = places.saturating_sub(self.whole.len());
        let mut first = first_zero.map_or(from_value, |zero| zero.min(from_value));
        // A zero shows one digit unless decimals show it.
        let is_zero = self.whole.is_empty() && self.decimals.bytes().all(|b| b == b'0');
        if (!has_point || *fill_off && is_zero && last_zero == 0) && *places > 0 {
            first = first.min(places - 1);
        }
        if self.overflow {
            first = 0;
        }
        let shown = if *fill_off {
            self.decimals.trim_end_matches('0').len().max(last_zero)
        } else {
            *decimals
        };
        let mut out = String::new();
        let mut place = 0;
        let mut meter = Meter::default();
        let mut decimal = 0;
        let mut behind_point = false;
        // Leading S and the implicit sign stand directly before the first digit.
        let leading_sign = match nodes.iter().position(|n| *n == Node::Sign) {
            Some(at) => !nodes[..at].iter().any(is_place),
            None => !has_own_sign && !brackets,
        };
        let mut sign_done = !leading_sign && !brackets;
        let explicit = nodes.contains(&Node::Sign);
        for node in nodes {
            meter.pass(8);
            match node {
                Node::Nine | Node::Zero if !behind_point => {
                    if place >= first && !sign_done {
                        self.push_sign(explicit, &mut out);
                        sign_done = true;
                    }
                    if place >= first {
                        out.push(self.whole_digit(place));
                    } else if !fill_off {
                        out.push(' ');
                    }
                    place += 1;
                }
                Node::Nine | Node::Zero => {
                    if decimal < shown || self.overflow {
                        out.push(self.decimal_digit(decimal));
                    }
                    decimal += 1;
                }
                Node::Point => {
                    if !sign_done {
                        self.push_sign(explicit, &mut out);
                        sign_done = true;
                    }
                    behind_point = true;
                    out.push('.');
                }
                Node::Group(mark) => {
                    if place > first {
                        out.push(*mark);
                    } else if !fill_off {
                        out.push(' ');
                    }
                }
                Node::Sign if leading_sign => {}
                Node::Sign | Node::AlwaysSign => out.push(if self.negative { '-' } else { '+' }),
                Node::Minus if self.negative => out.push('-'),
                Node::Plus if !self.negative => out.push('+'),
                Node::Minus | Node::Plus => {
                    if !fill_off {
                        out.push(' ');
                    }
                }
                Node::Literal(c) => out.push(*c),
            }
        }
        if *brackets {
            match (self.negative, fill_off) {
                (true, _) => out.push('>'),
                (false, false) => out.push(' '),
                (false, true) => {}
            }
        }
        out
    }

    fn push_sign(&self, explicit: bool, out: &mut String) {
        let Picture {
            fill_off, brackets, ..
        } = self.picture;
        match (self.negative, brackets) {
            (true, true) => out.push('<'),
            (true, false) => out.push('-'),
            (false, false) if explicit => out.push('+'),
            (false, _) if !fill_off => out.push(' '),
            _ => {}
        }
    }

    fn whole_digit(&self, place: usize) -> char {
        if self.overflow {
            return '#';
        }
        let leading = self.picture.whole - self.whole.len();
        place
            .checked_sub(leading)
            .map_or('0', |slot| self.whole.as_bytes()[slot] as char)
    }

    fn decimal_digit(&self, slot: usize) -> char {
        if self.overflow {
            '#'
        } else {
            self.decimals.as_bytes().get(slot).map_or('0', |&b| b as char)
        }
    }
}

fn is_place(node: &Node) -> bool {
    matches!(node, Node::Nine | Node::Zero)
}
