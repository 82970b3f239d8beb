use super::*;

const INT4: ColumnType = ColumnType::new(oid::INT4);

/// Values have no `==` of their own: they compare by their types' rules.
impl PartialEq for Place {
    fn eq(&self, other: &Place) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

fn numeric(text: &str) -> Datum {
    Datum::Numeric(Numeric::parse(text).expect("a number"))
}

fn of(value: Datum, key: Oid) -> Place {
    assert!(fit(datum_type(&value), key).is_some());
    place(value, ColumnType::new(key), &TimeZone::utc())
}

fn datum_type(value: &Datum) -> Oid {
    match value {
        Datum::Int2(_) => oid::INT2,
        Datum::Int4(_) => oid::INT4,
        Datum::Int8(_) => oid::INT8,
        Datum::Float4(_) => oid::FLOAT4,
        Datum::Float8(_) => oid::FLOAT8,
        Datum::Numeric(_) => oid::NUMERIC,
        Datum::Date(_) => oid::DATE,
        Datum::Timestamp(_) => oid::TIMESTAMP,
        Datum::TimestampTz(_) => oid::TIMESTAMPTZ,
        other => panic!("no test has {other:?}"),
    }
}

#[test]
fn integers_beyond_the_key_lie_outside() {
    assert_eq!(of(Datum::Int8(7), oid::INT4), Place::At(Datum::Int4(7)));
    assert_eq!(
        of(Datum::Int8(i32::MIN.into()), oid::INT4),
        Place::At(Datum::Int4(i32::MIN))
    );
    assert_eq!(of(Datum::Int8(1 << 31), oid::INT4), Place::AboveAll);
    assert_eq!(of(Datum::Int4(-32769), oid::INT2), Place::BelowAll);
    assert_eq!(of(Datum::Int2(-1), oid::INT8), Place::At(Datum::Int8(-1)));
}

#[test]
fn fractions_lie_between_integers() {
    assert_eq!(of(numeric("1.5"), oid::INT4), Place::After(Datum::Int4(1)));
    assert_eq!(of(numeric("-1.5"), oid::INT4), Place::After(Datum::Int4(-2)));
    assert_eq!(of(numeric("2.00"), oid::INT4), Place::At(Datum::Int4(2)));
    assert_eq!(
        of(numeric("2147483647.5"), oid::INT4),
        Place::After(Datum::Int4(i32::MAX))
    );
    assert_eq!(of(numeric("2147483648"), oid::INT4), Place::AboveAll);
    assert_eq!(of(numeric("-1e30"), oid::INT8), Place::BelowAll);
    assert_eq!(of(numeric("1e30"), oid::INT8), Place::AboveAll);
    assert_eq!(of(numeric("NaN"), oid::INT2), Place::AboveAll);
    assert_eq!(of(numeric("-Infinity"), oid::INT2), Place::BelowAll);
    assert_eq!(of(Datum::Float8(-0.5), oid::INT4), Place::After(Datum::Int4(-1)));
    assert_eq!(of(Datum::Float8(f64::NAN), oid::INT4), Place::AboveAll);
    assert_eq!(of(Datum::Float8(f64::NEG_INFINITY), oid::INT4), Place::BelowAll);
    assert_eq!(of(Datum::Float8(1e300), oid::INT4), Place::AboveAll);
    // A fraction just below the least key has no key below it.
    assert_eq!(of(numeric("-2147483648.5"), oid::INT4), Place::BelowAll);
}

#[test]
fn doubles_lie_between_floats() {
    assert_eq!(of(Datum::Float8(0.5), oid::FLOAT4), Place::At(Datum::Float4(0.5)));
    let Place::After(Datum::Float4(below)) = of(Datum::Float8(0.1), oid::FLOAT4) else {
        panic!("0.1 is no float4");
    };
    assert!(f64::from(below) < 0.1 && f64::from(below.next_up()) > 0.1);
    assert_eq!(
        of(Datum::Float8(1e300), oid::FLOAT4),
        Place::After(Datum::Float4(f32::MAX))
    );
    let lowest = Place::After(Datum::Float4(f32::NEG_INFINITY));
    assert_eq!(of(Datum::Float8(-1e300), oid::FLOAT4), lowest);
}

#[test]
fn dates_and_moments() {
    let day = DAY_US;
    assert_eq!(
        of(Datum::Date(3), oid::TIMESTAMP),
        Place::At(Datum::Timestamp(3 * day))
    );
    assert_eq!(
        of(Datum::Timestamp(3 * day), oid::DATE),
        Place::At(Datum::Date(3))
    );
    assert_eq!(of(Datum::Timestamp(-1), oid::DATE), Place::After(Datum::Date(-1)));
    let infinite = Datum::Timestamp(datetime::TIMESTAMP_INFINITY);
    assert_eq!(
        of(infinite, oid::DATE),
        Place::At(Datum::Date(datetime::DATE_INFINITY))
    );
    // A date that no timestamp reaches lies below infinity alone.
    let last = Datum::Timestamp(datetime::TIMESTAMP_INFINITY - 1);
    assert_eq!(
        of(Datum::Date(datetime::DATE_MAX), oid::TIMESTAMP),
        Place::After(last)
    );
    let zone = TimeZone::parse("Europe/Berlin").expect("a zone");
    let noon = Datum::Timestamp(day / 2);
    let placed = place(noon, ColumnType::new(oid::TIMESTAMPTZ), &zone);
    assert_eq!(placed, Place::At(Datum::TimestampTz(day / 2 - datetime::HOUR_US)));
    let near = place(Datum::TimestampTz(0), ColumnType::new(oid::TIMESTAMP), &zone);
    assert!(
        matches!(near, Place::Within(Datum::Timestamp(low), Datum::Timestamp(high)) if low < 0 && high > 0)
    );
    assert!(follows_zone(oid::DATE, oid::TIMESTAMPTZ) && !follows_zone(oid::DATE, oid::TIMESTAMP));
}

#[test]
fn strangers_do_not_fit() {
    assert_eq!(fit(oid::FLOAT8, oid::INT8), None, "several int8 are one float8");
    assert_eq!(fit(oid::TEXT, oid::INT4), None);
    assert_eq!(fit(oid::TIMESTAMPTZ, oid::DATE), Some(Fit::Near));
    assert!(
        widens(oid::INT4, oid::NUMERIC) && !widens(oid::INT8, oid::INT4) && !widens(oid::INT8, oid::FLOAT8)
    );
    assert_eq!(
        place(Datum::Int4(1), INT4, &TimeZone::utc()),
        Place::At(Datum::Int4(1))
    );
}
