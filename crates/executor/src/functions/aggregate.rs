//! Aggregates: what each keeps per group, how a row is added, what comes out.
//!
//! Result types and scales are PostgreSQL's: sums of int2 and int4 are int8, of int8 numeric; averages and variances of
//! exact types are numeric with the scale of numeric division; floats follow Youngs and Cramer.
//! Arguments that are null are skipped by all but `count(*)`, `array_agg` and the json family.

use mote_common::error::state;
use mote_common::work::{self, Bulk};
use mote_common::{SqlError, SqlResult};
use mote_functions::arithmetic::float_overflow;
use mote_functions::json::{self, JsonObjectBuilder, to_json};
use mote_functions::range;
use mote_functions::text::copied;
use mote_types::family::range::intersection;
use mote_types::family::{self, PureFunction, bits};
use mote_types::numeric::NumericSum;
use mote_types::{ColumnType, Datum, Interval, Numeric};

use super::ordered_set::OrderedSet;
use super::variance::{Spread, Squares};
use super::{bytes, float8, int8, numeric, text};
use crate::runtime::Runtime;
use crate::value::order;

/// An aggregate, resolved from its body's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aggregate {
    CountRows,
    Count,
    /// int2, int4 -> int8.
    SumInteger,
    /// int8 -> numeric.
    SumInt8,
    SumNumeric,
    SumFloat4,
    SumFloat8,
    SumInterval,
    AverageInteger,
    AverageNumeric,
    AverageFloat,
    AverageInterval,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
    BoolAnd,
    BoolOr,
    /// By a function of the type's family, which is strict.
    ByFunction(Transition),
    ArrayAgg,
    /// Of ranges or multiranges.
    RangeAgg,
    RangeIntersect,
    StringAgg,
    ByteaAgg,
    /// Of exact types.
    Variance(Spread),
    VarianceFloat(Spread),
    CovariancePopulation,
    CovarianceSample,
    Correlation,
    Regression(Regression),
    /// Ordered-set aggregates: rows come in order, with what stands in the parentheses before the value.
    Ordered(OrderedSet),
    JsonAgg {
        binary: bool,
    },
    JsonObjectAgg {
        binary: bool,
    },
}

/// What makes one value of two.
#[derive(Clone, Copy, Debug)]
pub struct Transition(PureFunction);

impl PartialEq for Transition {
    fn eq(&self, other: &Transition) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for Transition {}

/// What a least-squares fit tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Regression {
    Count,
    SquaresX,
    SquaresY,
    Products,
    AverageX,
    AverageY,
    Determination,
    Slope,
    Intercept,
}

/// The aggregate with this body.
pub fn body(name: &str) -> Option<Aggregate> {
    use Aggregate::*;
    Some(match name {
        "count_star" => CountRows,
        "count_any" => Count,
        "sum_int2" | "sum_int4" => SumInteger,
        "sum_int8" => SumInt8,
        "sum_numeric" => SumNumeric,
        "sum_float4" => SumFloat4,
        "sum_float8" => SumFloat8,
        "sum_interval" => SumInterval,
        "avg_int2" | "avg_int4" | "avg_int8" => AverageInteger,
        "avg_numeric" => AverageNumeric,
        "avg_float4" | "avg_float8" => AverageFloat,
        "avg_interval" => AverageInterval,
        "bool_and_bool" | "every_bool" => BoolAnd,
        "bool_or_bool" => BoolOr,
        "array_agg_anynonarray" | "array_agg_anyarray" => ArrayAgg,
        "range_agg_anyrange" | "range_agg_anymultirange" => RangeAgg,
        "range_intersect_agg_anyrange" | "range_intersect_agg_anymultirange" => RangeIntersect,
        "string_agg_text_text" => StringAgg,
        "string_agg_bytea_bytea" => ByteaAgg,
        "covar_pop_float8_float8" => CovariancePopulation,
        "covar_samp_float8_float8" => CovarianceSample,
        "corr_float8_float8" => Correlation,
        "regr_count_float8_float8" => Regression(self::Regression::Count),
        "regr_sxx_float8_float8" => Regression(self::Regression::SquaresX),
        "regr_syy_float8_float8" => Regression(self::Regression::SquaresY),
        "regr_sxy_float8_float8" => Regression(self::Regression::Products),
        "regr_avgx_float8_float8" => Regression(self::Regression::AverageX),
        "regr_avgy_float8_float8" => Regression(self::Regression::AverageY),
        "regr_r2_float8_float8" => Regression(self::Regression::Determination),
        "regr_slope_float8_float8" => Regression(self::Regression::Slope),
        "regr_intercept_float8_float8" => Regression(self::Regression::Intercept),
        "percentile_disc" | "percentile_disc_multi" => Ordered(OrderedSet::Discrete),
        "percentile_cont_float8"
        | "percentile_cont_interval"
        | "percentile_cont_float8_multi"
        | "percentile_cont_interval_multi" => Ordered(OrderedSet::Continuous),
        "mode" => Ordered(OrderedSet::Mode),
        "json_agg_anyelement" => JsonAgg { binary: false },
        "jsonb_agg_anyelement" => JsonAgg { binary: true },
        "json_object_agg_any_any" => JsonObjectAgg { binary: false },
        "jsonb_object_agg_any_any" => JsonObjectAgg { binary: true },
        _ if name.starts_with("min_") => Min,
        _ if name.starts_with("max_") => Max,
        _ if name.starts_with("bit_and_") => BitAnd,
        _ if name.starts_with("bit_or_") => BitOr,
        _ if name.starts_with("bit_xor_") => BitXor,
        _ => return spread_body(name).or_else(|| family::body(name).map(Transition).map(ByFunction)),
    })
}

/// var_samp and its kin: the measure, then the type, as in `stddev_pop_int8`.
fn spread_body(name: &str) -> Option<Aggregate> {
    let (measure, ty) = name.rsplit_once('_')?;
    let spread = match measure {
        "variance" | "var_samp" => Spread {
            sample: true,
            root: false,
        },
        "stddev" | "stddev_samp" => Spread {
            sample: true,
            root: true,
        },
        "var_pop" => Spread {
            sample: false,
            root: false,
        },
        "stddev_pop" => Spread {
            sample: false,
            root: true,
        },
        _ => return None,
    };
    match ty {
        "int2" | "int4" | "int8" | "numeric" => Some(Aggregate::Variance(spread)),
        "float4" | "float8" => Some(Aggregate::VarianceFloat(spread)),
        _ => None,
    }
}

/// What a group keeps for one aggregate.
pub enum Accumulator {
    Count(i64),
    Integer {
        sum: i128,
        count: i64,
    },
    Numeric {
        sum: NumericSum,
        count: i64,
    },
    Float {
        count: f64,
        sum: f64,
        squares: f64,
    },
    Pair {
        count: f64,
        sum_x: f64,
        squares_x: f64,
        sum_y: f64,
        squares_y: f64,
        products: f64,
    },
    Squares(Squares),
    Interval {
        sum: Interval,
        count: i64,
    },
    /// The best, last or folded value; null before the first.
    Value(Datum),
    List(Bulk<Datum>),
    Ordered {
        /// What stands in the parentheses, from the first row.
        direct: Datum,
        values: Bulk<Datum>,
    },
    Text(Option<String>),
    Bytes(Option<Vec<u8>>),
    Object(JsonObjectBuilder),
}

impl Accumulator {
    /// Adds `value / 10^scale` to a sum or average of numerics; false: this is none.
    #[inline]
    pub fn add_scaled(&mut self, value: i64, scale: u8) -> SqlResult<bool> {
        match self {
            Accumulator::Numeric { sum, count } => {
                sum.add_scaled(value, scale)?;
                *count += 1;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

impl Aggregate {
    /// Whether a row with a null argument is left out before `add`.
    pub fn skips_nulls(self) -> bool {
        !matches!(
            self,
            Aggregate::CountRows
                | Aggregate::ArrayAgg
                | Aggregate::StringAgg
                | Aggregate::ByteaAgg
                | Aggregate::Ordered(_)
                | Aggregate::JsonAgg { .. }
                | Aggregate::JsonObjectAgg { .. }
        )
    }

    /// The accumulator of an empty group. What comes out of it untouched is NULL, or 0 for counts.
    pub fn start(self) -> Accumulator {
        match self {
            Aggregate::CountRows | Aggregate::Count => Accumulator::Count(0),
            Aggregate::SumInteger | Aggregate::SumInt8 | Aggregate::AverageInteger => {
                Accumulator::Integer { sum: 0, count: 0 }
            }
            Aggregate::SumNumeric | Aggregate::AverageNumeric => Accumulator::Numeric {
                sum: NumericSum::default(),
                count: 0,
            },
            Aggregate::SumFloat4
            | Aggregate::SumFloat8
            | Aggregate::AverageFloat
            | Aggregate::VarianceFloat(_) => Accumulator::Float {
                count: 0.0,
                sum: 0.0,
                squares: 0.0,
            },
            Aggregate::SumInterval | Aggregate::AverageInterval => Accumulator::Interval {
                sum: Interval::default(),
                count: 0,
            },
            Aggregate::Variance(_) => Accumulator::Squares(Squares::new()),
            Aggregate::Ordered(_) => Accumulator::Ordered {
                direct: Datum::Null,
                values: Vec::new().into(),
            },
            Aggregate::CovariancePopulation
            | Aggregate::CovarianceSample
            | Aggregate::Correlation
            | Aggregate::Regression(_) => Accumulator::Pair {
                count: 0.0,
                sum_x: 0.0,
                squares_x: 0.0,
                sum_y: 0.0,
                squares_y: 0.0,
                products: 0.0,
            },
            Aggregate::ArrayAgg | Aggregate::RangeAgg | Aggregate::JsonAgg { .. } => {
                Accumulator::List(Vec::new().into())
            }
            Aggregate::StringAgg => Accumulator::Text(None),
            Aggregate::ByteaAgg => Accumulator::Bytes(None),
            Aggregate::JsonObjectAgg { binary } => Accumulator::Object(JsonObjectBuilder::new(binary)),
            Aggregate::Min
            | Aggregate::Max
            | Aggregate::BitAnd
            | Aggregate::BitOr
            | Aggregate::BitXor
            | Aggregate::BoolAnd
            | Aggregate::BoolOr
            | Aggregate::ByFunction(_)
            | Aggregate::RangeIntersect => Accumulator::Value(Datum::Null),
        }
    }

    /// Adds a row. `types` are the arguments' types.
    pub fn add(
        self,
        accumulator: &mut Accumulator,
        arguments: &[Datum],
        types: &[ColumnType],
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<()> {
        match accumulator {
            Accumulator::Count(count) => *count += 1,
            Accumulator::Integer { sum, count } => {
                // Sixteen bytes: no count of int8 values that fits a table overflows them. The result's range is
                // checked at the end.
                *sum += arguments[0].as_i64().unwrap_or(0) as i128;
                *count += 1;
            }
            Accumulator::Numeric { sum, count } => {
                sum.add(numeric(&arguments[0]))?;
                *count += 1;
            }
            Accumulator::Float { count, sum, squares } => {
                add_float(float8(&arguments[0]), count, sum, squares)?
            }
            Accumulator::Squares(squares) => {
                let value = mote_types::compare::as_numeric(&arguments[0]).unwrap_or(Numeric::ZERO);
                squares.add(&value)?;
            }
            // The SQL standard's order is (Y, X).
            Accumulator::Pair { .. } => add_pair(accumulator, float8(&arguments[1]), float8(&arguments[0]))?,
            Accumulator::Interval { sum, count } => {
                *sum = super::datetime::add_intervals(sum, super::interval(&arguments[0]))?;
                *count += 1;
            }
            Accumulator::Value(best) => self.fold(best, &arguments[0])?,
            Accumulator::List(list) => {
                let value = match self {
                    Aggregate::JsonAgg { .. } => {
                        let json = to_json(&arguments[0], types[0], runtime.format())?;
                        match (&arguments[0], &json) {
                            // Arrays and rows begin a line each.
                            (Datum::Array(_) | Datum::Record(_), Datum::Text(json)) if !list.is_empty() => {
                                Datum::from(format!("\n {json}"))
                            }
                            _ => json,
                        }
                    }
                    Aggregate::ArrayAgg if types[0].is_array() => super::array::subarray(&arguments[0])?,
                    _ => arguments[0].try_clone()?,
                };
                // Paid for as it grows: a list's doubling can take as long as many rows.
                work::push(list, value)?;
            }
            Accumulator::Ordered { direct, values } => {
                // The direct argument is the same for every row; the first row with a value brings it.
                if let [first, .., value] | [first @ value] = arguments
                    && !value.is_null()
                {
                    if values.is_empty() {
                        *direct = first.try_clone()?;
                    }
                    work::push(values, value.try_clone()?)?;
                }
            }
            Accumulator::Text(joined) => join_text(joined, arguments)?,
            Accumulator::Bytes(joined) => join_bytes(joined, arguments)?,
            Accumulator::Object(builder) => {
                builder.add(&arguments[0], types[0], &arguments[1], types[1], runtime.format())?
            }
        }
        Ok(())
    }

    /// Whether both keep the same for a group, and differ only in what they make of it in the end.
    pub fn keeps_the_same(self, other: Aggregate) -> bool {
        use Aggregate::*;
        let kind = |aggregate| match aggregate {
            SumNumeric | AverageNumeric => 1,
            SumInteger | SumInt8 | AverageInteger => 2,
            SumFloat4 | SumFloat8 | AverageFloat | VarianceFloat(_) => 3,
            Count | CountRows => 4,
            _ => 0,
        };
        // The two counts differ in which rows they count.
        self == other || kind(self) == kind(other) && !matches!(kind(self), 0 | 4)
    }

    /// One value and the best so far, neither null, become one.
    fn fold(self, best: &mut Datum, value: &Datum) -> SqlResult<()> {
        // The first value of the group.
        if best.is_null() {
            *best = value.try_clone()?;
            return Ok(());
        }
        match (self, &mut *best, value) {
            (Aggregate::ByFunction(Transition(function)), best, value) => {
                *best = function(&[std::mem::take(best), value.try_clone()?])?
            }
            (Aggregate::Min, best, value) if order(value, best).is_lt() => *best = value.try_clone()?,
            // As citext_smaller and citext_larger have it: of two that are equal, the second.
            (Aggregate::Min, best, Datum::Folded(_)) if order(value, best).is_le() => {
                *best = value.try_clone()?
            }
            (Aggregate::Max, best, Datum::Folded(_)) if order(value, best).is_ge() => {
                *best = value.try_clone()?
            }
            (Aggregate::Max, best, value) if order(value, best).is_gt() => *best = value.try_clone()?,
            (Aggregate::RangeIntersect, best, value) => *best = intersection(best, value)?,
            (Aggregate::BoolAnd, Datum::Bool(best), Datum::Bool(value)) => *best &= value,
            (Aggregate::BoolOr, Datum::Bool(best), Datum::Bool(value)) => *best |= value,
            (_, Datum::Int2(best), Datum::Int2(value)) => {
                *best = self.fold_bits(*best as i64, *value as i64) as i16
            }
            (_, Datum::Int4(best), Datum::Int4(value)) => {
                *best = self.fold_bits(*best as i64, *value as i64) as i32
            }
            (_, Datum::Int8(best), Datum::Int8(value)) => *best = self.fold_bits(*best, *value),
            (Aggregate::BitAnd, best, value) => *best = bits::and(best, value)?,
            (Aggregate::BitOr, best, value) => *best = bits::or(best, value)?,
            (Aggregate::BitXor, best, value) => *best = bits::xor(best, value)?,
            _ => {}
        }
        Ok(())
    }

    fn fold_bits(self, best: i64, value: i64) -> i64 {
        match self {
            Aggregate::BitAnd => best & value,
            Aggregate::BitOr => best | value,
            Aggregate::BitXor => best ^ value,
            _ => best,
        }
    }

    /// The result for a group. `result` is the aggregate's result type.
    pub fn finish(self, accumulator: &Accumulator, result: ColumnType) -> SqlResult<Datum> {
        Ok(match accumulator {
            Accumulator::Count(count) => Datum::Int8(*count),
            Accumulator::Integer { count: 0, .. } => Datum::Null,
            Accumulator::Integer { sum, count } => {
                match self {
                    Aggregate::SumInteger => Datum::Int8(i64::try_from(*sum).map_err(|_| {
                        SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range")
                    })?),
                    Aggregate::SumInt8 => Datum::Numeric(Numeric::from_scaled_i128(*sum, 0)),
                    // avg of integers is numeric, with the scale that numeric division chooses.
                    _ => Datum::Numeric(Numeric::from_scaled_i128(*sum, 0).div(&Numeric::from(*count))?),
                }
            }
            Accumulator::Numeric { count: 0, .. } => Datum::Null,
            Accumulator::Numeric { sum, count } => Datum::Numeric(match self {
                Aggregate::SumNumeric => sum.total()?,
                _ => sum.total()?.div(&Numeric::from(*count))?,
            }),
            Accumulator::Float { count, sum, squares } => self.finish_float(*count, *sum, *squares),
            Accumulator::Squares(squares) => match self {
                Aggregate::Variance(spread) => squares.finish(spread)?,
                _ => Datum::Null,
            },
            Accumulator::Pair { .. } => self.finish_pair(accumulator),
            Accumulator::Interval { count: 0, .. } => Datum::Null,
            Accumulator::Interval { sum, count } => {
                let value = match self {
                    Aggregate::SumInterval => *sum,
                    _ => super::datetime::divide_interval(sum, *count as f64)?,
                };
                Datum::Interval(Box::new(value))
            }
            // A copy: as a window function the accumulator goes on growing behind the result.
            Accumulator::Value(value) => value.try_clone()?,
            // array_agg over no rows is NULL, not an empty array.
            Accumulator::List(list) if list.is_empty() => Datum::Null,
            Accumulator::List(list) => match self {
                Aggregate::JsonAgg { binary } => json::array_of(list, binary)?,
                Aggregate::RangeAgg => range::all_of(list)?,
                _ => super::array::stacked(list, result)?,
            },
            Accumulator::Ordered { direct, values } => match self {
                Aggregate::Ordered(set) => set.finish(direct, values, result)?,
                _ => Datum::Null,
            },
            Accumulator::Text(Some(joined)) => copied(joined)?,
            Accumulator::Bytes(Some(joined)) => {
                let mut copy = work::bytes_buffer(joined.len())?;
                work::grow_bytes(&mut copy, joined)?;
                Datum::bytea(copy)
            }
            Accumulator::Text(None) | Accumulator::Bytes(None) => Datum::Null,
            Accumulator::Object(builder) => builder.finish()?,
        })
    }

    /// float8_avg, float8_var_samp and their kin.
    fn finish_float(self, count: f64, sum: f64, squares: f64) -> Datum {
        if count == 0.0 {
            return Datum::Null;
        }
        match self {
            Aggregate::SumFloat4 => Datum::Float4(sum as f32),
            Aggregate::SumFloat8 => Datum::Float8(sum),
            Aggregate::AverageFloat => Datum::Float8(sum / count),
            Aggregate::VarianceFloat(spread) => {
                // The sample's spread of one value is undefined: NULL.
                if spread.sample && count <= 1.0 {
                    return Datum::Null;
                }
                let variance = squares / if spread.sample { count - 1.0 } else { count };
                Datum::Float8(if spread.root { variance.sqrt() } else { variance })
            }
            _ => Datum::Null,
        }
    }

    /// Covariance, correlation and the least-squares fit (float8_regr_accum's state).
    fn finish_pair(self, accumulator: &Accumulator) -> Datum {
        let Accumulator::Pair {
            count,
            sum_x,
            squares_x,
            sum_y,
            squares_y,
            products,
        } = accumulator
        else {
            return Datum::Null;
        };
        if let Aggregate::Regression(wanted) = self {
            let value = match wanted {
                Regression::Count => return Datum::Int8(*count as i64),
                _ if *count < 1.0 => return Datum::Null,
                Regression::SquaresX => *squares_x,
                Regression::SquaresY => *squares_y,
                Regression::Products => *products,
                Regression::AverageX => sum_x / count,
                Regression::AverageY => sum_y / count,
                // A vertical line has no slope; PostgreSQL answers NULL for these.
                _ if *squares_x == 0.0 => return Datum::Null,
                // A horizontal line is fitted perfectly.
                Regression::Determination if *squares_y == 0.0 => 1.0,
                Regression::Determination => (products * products) / (squares_x * squares_y),
                Regression::Slope => products / squares_x,
                Regression::Intercept => (sum_y - sum_x * products / squares_x) / count,
            };
            return Datum::Float8(value);
        }
        match self {
            Aggregate::CovariancePopulation if *count >= 1.0 => Datum::Float8(products / count),
            Aggregate::CovarianceSample if *count >= 2.0 => Datum::Float8(products / (count - 1.0)),
            Aggregate::Correlation if *count >= 1.0 && *squares_x != 0.0 && *squares_y != 0.0 => {
                Datum::Float8(products / (squares_x * squares_y).sqrt())
            }
            _ => Datum::Null,
        }
    }
}

/// Adds to count, sum and the sum of squared differences from the mean, without losing small differences.
fn add_float(value: f64, count: &mut f64, sum: &mut f64, squares: &mut f64) -> SqlResult<()> {
    let old_sum = *sum;
    *count += 1.0;
    *sum += value;
    if *count > 1.0 {
        // Youngs and Cramer: the difference is taken from the scaled mean, which keeps small deviations of large
        // numbers.
        let deviation = value * *count - *sum;
        *squares += deviation * deviation / (*count * (*count - 1.0));
        // An overflow of finite inputs is an error; an infinite input is none.
        if (sum.is_infinite() || squares.is_infinite()) && !old_sum.is_infinite() && !value.is_infinite() {
            return Err(float_overflow());
        }
        if sum.is_infinite() {
            *squares = f64::NAN;
        }
    } else if !value.is_finite() {
        *squares = f64::NAN;
    }
    Ok(())
}

/// The same for two columns and the products of their differences.
fn add_pair(accumulator: &mut Accumulator, x: f64, y: f64) -> SqlResult<()> {
    let Accumulator::Pair {
        count,
        sum_x,
        squares_x,
        sum_y,
        squares_y,
        products,
    } = accumulator
    else {
        return Ok(());
    };
    let (old_x, old_y) = (*sum_x, *sum_y);
    *count += 1.0;
    *sum_x += x;
    *sum_y += y;
    if *count > 1.0 {
        let (dx, dy) = (x * *count - *sum_x, y * *count - *sum_y);
        let scale = 1.0 / (*count * (*count - 1.0));
        *squares_x += dx * dx * scale;
        *squares_y += dy * dy * scale;
        *products += dx * dy * scale;
        let fresh_x = !old_x.is_infinite() && !x.is_infinite();
        let fresh_y = !old_y.is_infinite() && !y.is_infinite();
        if (sum_x.is_infinite() || squares_x.is_infinite()) && fresh_x
            || (sum_y.is_infinite() || squares_y.is_infinite()) && fresh_y
            || products.is_infinite() && fresh_x && fresh_y
        {
            return Err(float_overflow());
        }
        // Infinite inputs have no spread.
        for spread in [squares_x, squares_y, products] {
            if spread.is_infinite() {
                *spread = f64::NAN;
            }
        }
        return Ok(());
    }
    if !x.is_finite() {
        (*squares_x, *products) = (f64::NAN, f64::NAN);
    }
    if !y.is_finite() {
        (*squares_y, *products) = (f64::NAN, f64::NAN);
    }
    Ok(())
}

/// The first delimiter is not used; a null value adds nothing, a null delimiter separates by nothing.
fn join_text(joined: &mut Option<String>, arguments: &[Datum]) -> SqlResult<()> {
    if arguments[0].is_null() {
        return Ok(());
    }
    let is_first = joined.is_none();
    let joined = joined.get_or_insert_default();
    if !is_first {
        work::grow(joined, arguments[1].as_str().unwrap_or(""))?;
    }
    work::grow(joined, text(&arguments[0]))
}

/// string_agg of bytea, by the rules of `join_text`.
fn join_bytes(joined: &mut Option<Vec<u8>>, arguments: &[Datum]) -> SqlResult<()> {
    if arguments[0].is_null() {
        return Ok(());
    }
    let is_first = joined.is_none();
    let joined = joined.get_or_insert_default();
    if !is_first && !arguments[1].is_null() {
        work::grow_bytes(joined, bytes(&arguments[1]))?;
    }
    work::grow_bytes(joined, bytes(&arguments[0]))
}

/// The value of an int8 argument, for `ntile`, `nth_value` and their kin.
pub fn whole(datum: &Datum) -> i64 {
    match datum {
        Datum::Int4(value) => *value as i64,
        other => int8(other),
    }
}
