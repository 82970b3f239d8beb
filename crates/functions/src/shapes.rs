//! Where points, line segments and boxes lie: above and beside one another, level, parallel, across, inside.
//!
//! Coordinates that are closer than PostgreSQL's epsilon are the same. Source: PostgreSQL's geo_ops.c. Leaves out: what shapes are
//! and how they are read and shown (`mote_types::geometry`), distances, areas, and all about paths, polygons, lines and circles.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::geometry::{self, Point, Shape, same};
use mote_types::oid::{BOX, LSEG, POINT};
use mote_types::{Datum, Oid};

use crate::Body;
use crate::argument::text;
use crate::arithmetic::{float_overflow, float_underflow};

type Segment = [Point; 2];
/// `Ax + By + C = 0`
type Line = [f64; 3];

pub fn body(name: &str) -> Option<Body> {
    macro_rules! test {
        ($read:ident, $other:ident, |$a:ident, $b:ident| $result:expr) => {
            Body::Pure(|arguments| {
                let ($a, $b) = ($read(&arguments[0])?, $other(&arguments[1])?);
                let result: SqlResult<bool> = $result;
                result.map(Datum::Bool)
            })
        };
    }
    Some(match name {
        "point_left" => test!(point, point, |a, b| Ok(less(a.x, b.x))),
        "point_right" => test!(point, point, |a, b| Ok(less(b.x, a.x))),
        "point_above" => test!(point, point, |a, b| Ok(less(b.y, a.y))),
        "point_below" => test!(point, point, |a, b| Ok(less(a.y, b.y))),
        "point_eq" => test!(point, point, |a, b| Ok(equal(a, b))),
        "point_vert" => test!(point, point, |a, b| Ok(same(a.x, b.x))),
        "point_horiz" => test!(point, point, |a, b| Ok(same(a.y, b.y))),
        "lseg_vertical" => Body::Pure(|a| segment(&a[0]).map(|[p, q]| Datum::Bool(same(p.x, q.x)))),
        "lseg_horizontal" => Body::Pure(|a| segment(&a[0]).map(|[p, q]| Datum::Bool(same(p.y, q.y)))),
        "lseg_parallel" => test!(segment, segment, |a, b| Ok(same(slope(a)?, slope(b)?))),
        "lseg_perp" => test!(segment, segment, |a, b| Ok(same(slope(a)?, inverse_slope(b)?))),
        "lseg_intersect" => test!(segment, segment, |a, b| intersect(a, b)),
        "inter_sb" => test!(segment, corners, |a, b| crosses(a, b)),
        "on_pb" => test!(point, corners, |a, b| Ok(holds(b, a))),
        "on_ps" => test!(point, segment, |a, b| lies_on(b, a)),
        "on_sb" => test!(segment, corners, |a, b| Ok(holds(b, a[0]) && holds(b, a[1]))),
        _ => return None,
    })
}

fn shape(ty: Oid, value: &Datum) -> SqlResult<Shape> {
    geometry::parse(ty, text(value))
}

fn point(value: &Datum) -> SqlResult<Point> {
    match shape(POINT, value)? {
        Shape::Point(point) => Ok(point),
        other => unreachable!("a point is read as {other:?}"),
    }
}

fn segment(value: &Datum) -> SqlResult<Segment> {
    match shape(LSEG, value)? {
        Shape::Segment(ends) => Ok(ends),
        other => unreachable!("a segment is read as {other:?}"),
    }
}

/// The upper right corner, then the lower left one.
fn corners(value: &Datum) -> SqlResult<[Point; 2]> {
    match shape(BOX, value)? {
        Shape::Box(corners) => Ok(corners),
        other => unreachable!("a box is read as {other:?}"),
    }
}

fn less(a: f64, b: f64) -> bool {
    a + geometry::EPSILON < b
}

fn at_most(a: f64, b: f64) -> bool {
    a <= b + geometry::EPSILON
}

/// Points with NaN are equal where all their coordinates are.
fn equal(a: Point, b: Point) -> bool {
    let exact = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
    match [a.x, a.y, b.x, b.y].iter().any(|number| number.is_nan()) {
        true => exact(a.x, b.x) && exact(a.y, b.y),
        false => same(a.x, b.x) && same(a.y, b.y),
    }
}

/// NaN is greater than all numbers.
fn greater(a: f64, b: f64) -> f64 {
    match a.is_nan() || b.is_nan() {
        true => f64::NAN,
        false => a.max(b),
    }
}

/// A sum or difference of finite numbers must be finite.
fn finite(result: f64, a: f64, b: f64) -> SqlResult<f64> {
    match result.is_infinite() && a.is_finite() && b.is_finite() {
        true => Err(float_overflow()),
        false => Ok(result),
    }
}

fn plus(a: f64, b: f64) -> SqlResult<f64> {
    finite(a + b, a, b)
}

fn minus(a: f64, b: f64) -> SqlResult<f64> {
    finite(a - b, a, b)
}

fn times(a: f64, b: f64) -> SqlResult<f64> {
    match a * b == 0.0 && a != 0.0 && b != 0.0 {
        true => Err(float_underflow()),
        false => finite(a * b, a, b),
    }
}

fn over(a: f64, b: f64) -> SqlResult<f64> {
    if b == 0.0 && !a.is_nan() {
        return Err(SqlError::new(state::DIVISION_BY_ZERO, "division by zero"));
    }
    let result = a / b;
    if result.is_infinite() && !a.is_infinite() {
        return Err(float_overflow());
    }
    match result == 0.0 && a != 0.0 && !b.is_infinite() {
        true => Err(float_underflow()),
        false => Ok(result),
    }
}

/// The length of the hypotenuse, without the squares of large numbers.
fn hypotenuse(a: f64, b: f64) -> SqlResult<f64> {
    if a.is_infinite() || b.is_infinite() {
        return Ok(f64::INFINITY);
    }
    if a.is_nan() || b.is_nan() {
        return Ok(f64::NAN);
    }
    let (long, short) = (a.abs().max(b.abs()), a.abs().min(b.abs()));
    if short == 0.0 {
        return Ok(long);
    }
    let ratio = short / long;
    let result = long * (1.0 + ratio * ratio).sqrt();
    finite(result, long, short)
}

fn distance(a: Point, b: Point) -> SqlResult<f64> {
    hypotenuse(minus(a.x, b.x)?, minus(a.y, b.y)?)
}

fn slope([p, q]: Segment) -> SqlResult<f64> {
    if same(p.x, q.x) {
        return Ok(f64::MAX);
    }
    if same(p.y, q.y) {
        return Ok(0.0);
    }
    over(minus(p.y, q.y)?, minus(p.x, q.x)?)
}

/// The slope of what is perpendicular.
fn inverse_slope([p, q]: Segment) -> SqlResult<f64> {
    if same(p.x, q.x) {
        return Ok(0.0);
    }
    if same(p.y, q.y) {
        return Ok(f64::MAX);
    }
    over(minus(p.x, q.x)?, minus(q.y, p.y)?)
}

/// The line of a segment.
fn line([p, q]: Segment) -> SqlResult<Line> {
    let slope = slope([p, q])?;
    if slope == f64::MAX {
        return Ok([-1.0, 0.0, p.x]);
    }
    if slope == 0.0 {
        return Ok([0.0, -1.0, p.y]);
    }
    Ok([slope, -1.0, minus(p.y, times(slope, p.x)?)?])
}

/// Where two lines meet; None for parallel ones.
fn meeting(one: Line, other: Line) -> SqlResult<Option<Point>> {
    let ([a, b, c], [d, e, f]) = match (same(one[1], 0.0), same(other[1], 0.0)) {
        (false, _) => (one, other),
        (true, false) => (other, one),
        (true, true) => return Ok(None),
    };
    if same(d, times(a, over(e, b)?)?) {
        return Ok(None);
    }
    let above = minus(times(b, f)?, times(e, c)?)?;
    let x = over(above, minus(times(a, e)?, times(d, b)?)?)?;
    let y = over(-plus(times(a, x)?, c)?, b)?;
    Ok(Some(Point { x, y }))
}

/// Both distances from the ends add up to the segment.
fn lies_on([p, q]: Segment, point: Point) -> SqlResult<bool> {
    let both = plus(distance(point, p)?, distance(point, q)?)?;
    Ok(same(both, distance(p, q)?))
}

fn intersect(one: Segment, other: Segment) -> SqlResult<bool> {
    match meeting(line(one)?, line(other)?)? {
        Some(point) => Ok(lies_on(one, point)? && lies_on(other, point)?),
        None => Ok(false),
    }
}

fn holds([high, low]: [Point; 2], point: Point) -> bool {
    high.x >= point.x && low.x <= point.x && high.y >= point.y && low.y <= point.y
}

/// Does the segment touch the box?
fn crosses(segment: Segment, sides: [Point; 2]) -> SqlResult<bool> {
    let [p, q] = segment;
    let [high, low] = sides;
    let beside =
        |p: f64, q: f64, low: f64, high: f64| !(at_most(p.min(q), high) && at_most(low, greater(p, q)));
    if beside(p.x, q.x, low.x, high.x) || beside(p.y, q.y, low.y, high.y) {
        return Ok(false);
    }
    if holds(sides, p) || holds(sides, q) {
        return Ok(true);
    }
    let (left, right) = (Point { x: low.x, y: high.y }, Point { x: high.x, y: low.y });
    for side in [[low, left], [high, left], [low, right], [high, right]] {
        if intersect(side, segment)? {
            return Ok(true);
        }
    }
    Ok(false)
}
