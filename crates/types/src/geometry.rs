//! The geometric types: what their texts and binary forms hold.
//!
//! A value is kept as its canonical text, whose numbers are the shortest that read back the same; [`Shape`] is that text
//! taken apart. Leaves out: operators and functions on shapes.

use crate::float_text::{parse_float8, write_float8};
use crate::input_errors::invalid_syntax;
use crate::oid::{self, Oid};
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

/// Coordinates closer than this are the same to PostgreSQL's geometry.
pub const EPSILON: f64 = 1e-6;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    Point(Point),
    /// A line segment.
    Segment([Point; 2]),
    Path {
        closed: bool,
        points: Vec<Point>,
    },
    /// The upper right corner, then the lower left one.
    Box([Point; 2]),
    Polygon(Vec<Point>),
    /// `Ax + By + C = 0`
    Line([f64; 3]),
    Circle(Point, f64),
}

fn name_of(ty: Oid) -> &'static str {
    match ty {
        oid::POINT => "point",
        oid::LSEG => "lseg",
        oid::PATH => "path",
        oid::BOX => "box",
        oid::POLYGON => "polygon",
        oid::LINE => "line",
        _ => "circle",
    }
}

/// Reads a shape of one of the geometric types.
pub fn parse(ty: Oid, text: &str) -> SqlResult<Shape> {
    let mut reader = Reader { ty, text, rest: text };
    let shape = match ty {
        oid::POINT => Shape::Point(reader.point()?),
        oid::LSEG => {
            let (points, _) = reader.points(2, true)?;
            Shape::Segment([points[0], points[1]])
        }
        oid::BOX => {
            let (points, _) = reader.points(2, false)?;
            corners(points[0], points[1])
        }
        oid::PATH => reader.path()?,
        oid::POLYGON => {
            let count = reader.count_points()?;
            Shape::Polygon(reader.points(count, false)?.0)
        }
        oid::LINE => reader.line()?,
        _ => reader.circle()?,
    };
    match reader.rest.is_empty() {
        true => Ok(shape),
        false => reader.refused(),
    }
}

fn corners(a: Point, b: Point) -> Shape {
    let high = Point {
        x: if b.x > a.x { b.x } else { a.x },
        y: if b.y > a.y { b.y } else { a.y },
    };
    let low = Point {
        x: if b.x > a.x { a.x } else { b.x },
        y: if b.y > a.y { a.y } else { b.y },
    };
    Shape::Box([high, low])
}

/// Are the coordinates the same to PostgreSQL's geometry?
pub fn same(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= EPSILON
}

struct Reader<'a> {
    ty: Oid,
    text: &'a str,
    rest: &'a str,
}

impl<'a> Reader<'a> {
    #[cold]
    fn refused<T>(&self) -> SqlResult<T> {
        Err(invalid_syntax(name_of(self.ty), self.text))
    }

    fn skip_blanks(&mut self) {
        self.rest = self
            .rest
            .trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    }

    fn take(&mut self, sign: char) -> bool {
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, sign: char) -> SqlResult<()> {
        match self.take(sign) {
            true => Ok(()),
            false => self.refused(),
        }
    }

    fn number(&mut self) -> SqlResult<f64> {
        self.skip_blanks();
        let end = self.rest.find([',', '(', ')', '[', ']', '<', '>', '{', '}']);
        let (number, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let value = match parse_float8(number.trim_ascii_end()) {
            Ok(value) => value,
            Err(error) if error.state() == state::NUMERIC_VALUE_OUT_OF_RANGE => return Err(error),
            Err(_) => return self.refused(),
        };
        self.rest = rest;
        Ok(value)
    }

    /// `(x,y)`, or without the parentheses.
    fn point(&mut self) -> SqlResult<Point> {
        self.skip_blanks();
        let parentheses = self.take('(');
        let x = self.number()?;
        self.expect(',')?;
        let y = self.number()?;
        if parentheses {
            self.expect(')')?;
            self.skip_blanks();
        }
        Ok(Point { x, y })
    }

    /// So many points, with one or two pairs of parentheses or none; in brackets it is open. Answers whether it is.
    fn points(&mut self, count: usize, may_be_open: bool) -> SqlResult<(Vec<Point>, bool)> {
        self.skip_blanks();
        let open = self.rest.starts_with('[');
        if open && !may_be_open {
            return self.refused();
        }
        let mut depth = 0;
        if open {
            self.take('[');
            depth = 1;
        } else if let Some(inner) = self.rest.strip_prefix('(')
            && (inner.trim_ascii_start().starts_with('(') || !inner.contains('('))
        {
            self.rest = inner;
            self.skip_blanks();
            depth = 1;
        }
        let mut points = Vec::with_capacity(count);
        for _ in 0..count {
            points.push(self.point()?);
            self.take(',');
        }
        if depth > 0 && !(open && self.take(']')) {
            // What was opened by a bracket may also end in a parenthesis.
            self.expect(')')?;
        }
        if depth > 0 {
            self.skip_blanks();
        }
        Ok((points, open))
    }

    /// Every point but the last has two commas.
    fn count_points(&self) -> SqlResult<usize> {
        let commas = self.text.matches(',').count();
        match commas % 2 {
            1 => Ok(commas.div_ceil(2)),
            _ => self.refused(),
        }
    }

    fn path(&mut self) -> SqlResult<Shape> {
        let count = self.count_points()?;
        self.skip_blanks();
        // A single parenthesis around all numbers is none of a point's.
        let single = self.rest.starts_with('(') && !self.rest[1..].contains('(');
        if single {
            self.take('(');
        }
        let (points, open) = self.points(count, true)?;
        if single {
            self.expect(')')?;
            self.skip_blanks();
        }
        Ok(Shape::Path {
            closed: !open,
            points,
        })
    }

    fn line(&mut self) -> SqlResult<Shape> {
        let invalid = |what: &str| {
            let message = format!("invalid line specification: {what}");
            Err(SqlError::new(state::INVALID_TEXT_REPRESENTATION, message))
        };
        self.skip_blanks();
        if self.take('{') {
            let a = self.number()?;
            self.expect(',')?;
            let b = self.number()?;
            self.expect(',')?;
            let c = self.number()?;
            self.expect('}')?;
            self.skip_blanks();
            if !self.rest.is_empty() {
                return self.refused();
            }
            return match same(a, 0.0) && same(b, 0.0) {
                true => invalid("A and B cannot both be zero"),
                false => Ok(Shape::Line([a, b, c])),
            };
        }
        let (points, _) = self.points(2, true)?;
        let (p, q) = (points[0], points[1]);
        if !self.rest.is_empty() {
            return self.refused();
        }
        if same(p.x, q.x) && same(p.y, q.y) {
            return invalid("must be two distinct points");
        }
        Ok(Shape::Line(if same(p.x, q.x) {
            [-1.0, 0.0, p.x]
        } else if same(p.y, q.y) {
            [0.0, -1.0, p.y]
        } else {
            let slope = (p.y - q.y) / (p.x - q.x);
            let c = p.y - slope * p.x;
            [slope, -1.0, if c == 0.0 { 0.0 } else { c }]
        }))
    }

    fn circle(&mut self) -> SqlResult<Shape> {
        self.skip_blanks();
        let angle = self.take('<');
        let mut outer = angle;
        if !angle
            && let Some(inner) = self.rest.strip_prefix('(')
            && inner.trim_ascii_start().starts_with('(')
        {
            self.rest = inner;
            self.skip_blanks();
            outer = true;
        }
        let center = self.point()?;
        self.take(',');
        let radius = self.number()?;
        if radius < 0.0 {
            return self.refused();
        }
        if outer {
            let closed = self.take(')') || (angle && self.take('>'));
            if !closed {
                return self.refused();
            }
            self.skip_blanks();
        }
        Ok(Shape::Circle(center, radius))
    }
}

/// The text of a shape.
pub fn write(shape: &Shape, extra_float_digits: i32, out: &mut Vec<u8>) {
    let number = |value: f64, out: &mut Vec<u8>| write_float8(value, extra_float_digits, out);
    let point = |point: &Point, out: &mut Vec<u8>| {
        out.push(b'(');
        number(point.x, out);
        out.push(b',');
        number(point.y, out);
        out.push(b')');
    };
    let points = |points: &[Point], around: Option<(u8, u8)>, out: &mut Vec<u8>| {
        out.extend(around.map(|(open, _)| open));
        for (position, each) in points.iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            point(each, out);
        }
        out.extend(around.map(|(_, close)| close));
    };
    match shape {
        Shape::Point(of) => point(of, out),
        Shape::Segment(ends) => points(ends, Some((b'[', b']')), out),
        Shape::Box(corners) => points(corners, None, out),
        Shape::Path {
            closed: false,
            points: of,
        } => points(of, Some((b'[', b']')), out),
        Shape::Path { points: of, .. } | Shape::Polygon(of) => points(of, Some((b'(', b')')), out),
        Shape::Line(coefficients) => {
            out.push(b'{');
            for (position, each) in coefficients.iter().enumerate() {
                if position > 0 {
                    out.push(b',');
                }
                number(*each, out);
            }
            out.push(b'}');
        }
        Shape::Circle(center, radius) => {
            out.push(b'<');
            point(center, out);
            out.push(b',');
            number(*radius, out);
            out.push(b'>');
        }
    }
}

/// The text that is kept.
pub fn canonical(shape: &Shape) -> String {
    let mut out = Vec::new();
    write(shape, 1, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// The binary form.
pub fn write_binary(shape: &Shape, out: &mut Vec<u8>) {
    let mut numbers: Vec<f64> = Vec::new();
    let mut add = |points: &[Point]| points.iter().for_each(|point| numbers.extend([point.x, point.y]));
    match shape {
        Shape::Point(point) => add(&[*point]),
        Shape::Segment(points) | Shape::Box(points) => add(points),
        Shape::Path { closed, points } => {
            out.push(u8::from(*closed));
            out.extend_from_slice(&(points.len() as i32).to_be_bytes());
            add(points);
        }
        Shape::Polygon(points) => {
            out.extend_from_slice(&(points.len() as i32).to_be_bytes());
            add(points);
        }
        Shape::Line(coefficients) => numbers.extend(coefficients),
        Shape::Circle(center, radius) => {
            add(&[*center]);
            numbers.push(*radius);
        }
    }
    numbers
        .iter()
        .for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
}

/// Reads the binary form.
pub fn read_binary(ty: Oid, bytes: &[u8]) -> SqlResult<Shape> {
    let name = name_of(ty);
    let invalid = |what: &str| {
        let message = format!("invalid {what} in external \"{name}\" value");
        Err(SqlError::new(state::INVALID_BINARY_REPRESENTATION, message))
    };
    let header = match ty {
        oid::PATH => 5,
        oid::POLYGON => 4,
        _ => 0,
    };
    let (Some(head), Some(body)) = (bytes.get(..header), bytes.get(header..)) else {
        return invalid("length");
    };
    if !body.len().is_multiple_of(8) {
        return invalid("length");
    }
    let numbers: Vec<f64> = body
        .chunks_exact(8)
        .map(|chunk| f64::from_be_bytes(chunk.try_into().expect("chunks have eight bytes")))
        .collect();
    let points: Vec<Point> = numbers
        .chunks_exact(2)
        .map(|pair| Point {
            x: pair[0],
            y: pair[1],
        })
        .collect();
    if let Some(count) = head.len().checked_sub(4).and_then(|from| head.get(from..)) {
        let count = i32::from_be_bytes(count.try_into().expect("a count has four bytes"));
        if count <= 0 || points.len() != count as usize || !numbers.len().is_multiple_of(2) {
            return invalid("number of points");
        }
    }
    Ok(match (ty, points.as_slice(), numbers.as_slice()) {
        (oid::POINT, [point], _) => Shape::Point(*point),
        (oid::LSEG, [a, b], _) => Shape::Segment([*a, *b]),
        (oid::BOX, [a, b], _) => corners(*a, *b),
        (oid::PATH, ..) => Shape::Path {
            closed: head[0] != 0,
            points,
        },
        (oid::POLYGON, ..) => Shape::Polygon(points),
        (oid::LINE, _, [a, b, c]) if !(same(*a, 0.0) && same(*b, 0.0)) => Shape::Line([*a, *b, *c]),
        (oid::CIRCLE, [_], [_, _, radius]) if *radius < 0.0 => return invalid("radius"),
        (oid::CIRCLE, [center], [_, _, radius]) => Shape::Circle(*center, *radius),
        _ => return invalid("length"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(ty: Oid, text: &str) -> String {
        let shape = match parse(ty, text) {
            Ok(shape) => shape,
            Err(error) => return error.message().to_string(),
        };
        let text = canonical(&shape);
        assert_eq!(parse(ty, &text).unwrap(), shape, "{text} reads back");
        let mut binary = Vec::new();
        write_binary(&shape, &mut binary);
        assert_eq!(read_binary(ty, &binary).unwrap(), shape, "{text} in binary");
        text
    }

    #[test]
    fn texts_of_all_types() {
        assert_eq!(round(oid::POINT, " ( 1.5 , -2 ) "), "(1.5,-2)");
        assert_eq!(round(oid::POINT, "1,2"), "(1,2)");
        assert_eq!(round(oid::LSEG, "(1,2),(3,4)"), "[(1,2),(3,4)]");
        assert_eq!(round(oid::LSEG, "1,2,3,4"), "[(1,2),(3,4)]");
        assert_eq!(
            round(oid::BOX, "(((1,4)),((3,2)))"),
            "invalid input syntax for type box: \"(((1,4)),((3,2)))\""
        );
        assert_eq!(round(oid::BOX, "((1,4),(3,2))"), "(3,4),(1,2)");
        assert_eq!(round(oid::PATH, "(1,2,3,4)"), "((1,2),(3,4))");
        assert_eq!(round(oid::PATH, "[1,2,3,4]"), "[(1,2),(3,4)]");
        assert_eq!(round(oid::POLYGON, "(0,0),(0,1),(1,0)"), "((0,0),(0,1),(1,0))");
        assert_eq!(round(oid::CIRCLE, "((1,2),3)"), "<(1,2),3>");
        assert_eq!(round(oid::CIRCLE, "1,2,3"), "<(1,2),3>");
        assert_eq!(round(oid::LINE, "[(0,0),(2,4)]"), "{2,-1,0}");
        assert_eq!(
            round(oid::LINE, "{0,0,1}"),
            "invalid line specification: A and B cannot both be zero"
        );
    }

    #[test]
    fn refused_texts() {
        for (ty, text) in [
            (oid::POINT, "1"),
            (oid::POINT, "(1,2"),
            (oid::POINT, "(1,2) x"),
            (oid::BOX, "[(1,2),(3,4)]"),
            (oid::CIRCLE, "<(1,2),-1>"),
            (oid::POLYGON, "(1,2,3)"),
            (oid::PATH, ""),
            (oid::LINE, "{1,2}"),
        ] {
            let message = format!("invalid input syntax for type {}: \"{text}\"", name_of(ty));
            assert_eq!(round(ty, text), message);
        }
    }
}
