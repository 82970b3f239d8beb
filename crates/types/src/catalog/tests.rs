use super::*;

#[test]
fn table_is_sorted_and_arrays_point_back() {
    assert!(BUILTIN_TYPES.is_sorted_by_key(|info| info.oid));
    for info in BUILTIN_TYPES {
        if info.array != Oid::INVALID
            && let Some(array) = type_info(info.array)
        {
            assert_eq!(array.elem, info.oid, "{}", info.name);
        }
    }
}

#[test]
fn formats_types_as_postgresql_does() {
    let cases: &[(Oid, i32, &str)] = &[
        (oid::VARCHAR, 20, "character varying(16)"),
        (oid::VARCHAR, -1, "character varying"),
        (oid::BPCHAR, -1, "bpchar"),
        (oid::BPCHAR, 5, "character(1)"),
        (oid::NUMERIC, numeric_typmod(12, 2), "numeric(12,2)"),
        (oid::NUMERIC, numeric_typmod(3, -2), "numeric(3,-2)"),
        (oid::TIMESTAMP, -1, "timestamp without time zone"),
        (oid::TIMESTAMPTZ, 3, "timestamp(3) with time zone"),
        (oid::INT4_ARRAY, -1, "integer[]"),
        (oid::VARCHAR_ARRAY, 14, "character varying(10)[]"),
        (oid::CHAR, -1, "\"char\""),
        (oid::INT2VECTOR, -1, "int2vector"),
        (Oid(0), -1, "-"),
        (Oid(999_999), -1, "???"),
    ];
    for &(oid, typmod, expect) in cases {
        assert_eq!(format_type(oid, typmod), expect);
    }
}

#[test]
fn reads_types_as_sql_writes_them() {
    let cases = [
        ("int", "integer"),
        (" Double   Precision ", "double precision"),
        ("float(10)", "real"),
        ("float(53)", "double precision"),
        ("char", "character(1)"),
        ("\"char\"", "\"char\""),
        ("varchar(16)[]", "character varying(16)[]"),
        ("decimal(12, 2)", "numeric(12,2)"),
        ("timestamp(3) with time zone", "timestamp(3) with time zone"),
        ("timestamptz", "timestamp with time zone"),
        ("pg_catalog.int8", "bigint"),
        ("_text", "text[]"),
    ];
    for (text, expect) in cases {
        assert_eq!(parse_type(text).expect(text).name(), expect);
    }
    assert_eq!(
        parse_type("nosuch").unwrap_err().message(),
        "type \"nosuch\" does not exist"
    );
    assert_eq!(parse_type("tsvector").unwrap_err().state().as_str(), "0A000");
    assert_eq!(
        parse_type("numeric(0,1)").unwrap_err().message(),
        "NUMERIC precision 0 must be between 1 and 1000"
    );
}

#[test]
fn the_four_types_of_a_range_share_one_number() {
    use super::range::{is_multirange, is_range, multirange_of, range_of};
    use super::user::{is_user_type, number_of, range_oid};
    use mote_common::Oid;
    let number = Oid(16_400);
    let range = range_oid(number).unwrap();
    let multirange = multirange_of(range).unwrap();
    let arrays = [range, multirange].map(|ty| ColumnType::new(ty).array_of().unwrap().oid);
    assert!(is_range(range) && !is_range(multirange) && is_multirange(multirange));
    assert_eq!(range_of(multirange), Some(range));
    for (element, array) in [range, multirange].into_iter().zip(arrays) {
        assert_eq!(ColumnType::new(array).element().map(|ty| ty.oid), Some(element));
        assert!(ColumnType::new(array).array_of().is_none());
        assert!(!is_range(array) && !is_multirange(array));
    }
    for ty in [range, multirange, arrays[0], arrays[1]] {
        assert!(is_user_type(ty));
        // What is allocated after a restart follows from it.
        assert_eq!(number_of(ty), number);
    }
    assert_eq!(range_oid(Oid(1 << 26)), None);
}
