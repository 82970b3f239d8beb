use super::*;

#[test]
fn integers_are_checked() {
    assert_eq!(
        int4::add(i32::MAX, 1).unwrap_err().message(),
        "integer out of range"
    );
    assert_eq!(
        int2::mul(200, 200).unwrap_err().message(),
        "smallint out of range"
    );
    assert_eq!(int8::neg(i64::MIN).unwrap_err().message(), "bigint out of range");
    assert_eq!(int4::div(i32::MIN, -1).unwrap_err().state().as_str(), "22003");
    assert_eq!(int4::modulo(i32::MIN, -1).unwrap(), 0);
    assert_eq!(int8::div(-7, 2).unwrap(), -3);
    assert_eq!(int8::modulo(1, 0).unwrap_err().message(), "division by zero");
}

#[test]
fn nulls_stay_null() {
    let settings = FormatSettings::default();
    assert!(add(&Datum::Null, &Datum::Int4(1), &settings).unwrap().is_null());
    assert!(negate(&Datum::Null).unwrap().is_null());
    assert!(concatenate(&"a".into(), &Datum::Null).unwrap().is_null());
}

#[test]
fn bits_keep_their_width() {
    let bits = |op, a: Datum, b: Datum| bitwise(op, &a, &b).unwrap();
    assert!(matches!(
        bits(Bitwise::And, Datum::Int2(-1), Datum::Int2(6)),
        Datum::Int2(6)
    ));
    assert!(matches!(
        bits(Bitwise::Xor, Datum::Int4(5), Datum::Int4(1)),
        Datum::Int4(4)
    ));
    assert!(matches!(
        bits(Bitwise::ShiftLeft, Datum::Int4(1), Datum::Int4(33)),
        Datum::Int4(2)
    ));
    assert!(matches!(
        bits(Bitwise::ShiftLeft, Datum::Int8(1), Datum::Int4(40)),
        Datum::Int8(0x100_0000_0000)
    ));
    assert!(matches!(
        bits(Bitwise::ShiftRight, Datum::Int4(-8), Datum::Int4(1)),
        Datum::Int4(-4)
    ));
    assert!(matches!(bitwise_not(&Datum::Int2(0)).unwrap(), Datum::Int2(-1)));
}

#[test]
fn strings_and_bytes_concatenate() {
    assert_eq!(
        concatenate(&"a".into(), &"b".into()).unwrap().as_str(),
        Some("ab")
    );
    let joined = concatenate(&Datum::bytea(*b"\0"), &Datum::bytea(*b"\xff")).unwrap();
    assert!(matches!(joined, Datum::Bytea(bytes) if *bytes == *b"\0\xff"));
}
