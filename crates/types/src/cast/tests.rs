use super::*;
use crate::catalog;

#[test]
fn a_pair_has_one_cast() {
    assert_eq!(casts().count(), BY_PAIR.len());
}

#[test]
fn contexts_are_pg_casts() {
    use CastContext::*;
    let cases = [
        (oid::INT4, oid::INT8, Some(Implicit)),
        (oid::INT8, oid::INT4, Some(Assignment)),
        (oid::INT4, oid::BOOL, Some(Explicit)),
        (oid::INT4, oid::TEXT, Some(Assignment)),
        (oid::TEXT, oid::INT4, Some(Explicit)),
        (oid::UNKNOWN, oid::UUID, Some(Implicit)),
        (oid::INT4_ARRAY, oid::INT8_ARRAY, Some(Implicit)),
        (oid::VARCHAR, oid::TEXT, Some(Implicit)),
        (oid::BOOL, oid::INT8, None),
        (oid::UUID, oid::INT4, None),
        (oid::RECORD, oid::INT4, None),
    ];
    for (from, to, expect) in cases {
        assert_eq!(can_cast(from, to), expect, "{from} to {to}");
    }
}

#[test]
fn lengths_cut_only_when_asked() {
    let settings = FormatSettings::default();
    let cast_to = |text: &str, to, context| cast(&text.into(), ColumnType::TEXT, to, context, &settings);
    let varchar = ColumnType::varchar(3);
    let text = |datum: Datum| datum.as_str().unwrap().to_owned();
    assert_eq!(
        text(cast_to("abcdef", varchar, CastContext::Explicit).unwrap()),
        "abc"
    );
    assert_eq!(
        text(cast_to("abc  ", varchar, CastContext::Assignment).unwrap()),
        "abc"
    );
    let error = cast_to("abcd", varchar, CastContext::Assignment).unwrap_err();
    assert_eq!(error.message(), "value too long for type character varying(3)");
    assert_eq!(error.state().as_str(), "22001");
    assert_eq!(
        text(cast_to("a ", ColumnType::bpchar(3), CastContext::Assignment).unwrap()),
        "a"
    );
}

#[test]
fn impossible_pairs_say_so() {
    let settings = FormatSettings::default();
    let error = cast(
        &Datum::Uuid([0; 16]),
        ColumnType::UUID,
        ColumnType::INT4,
        CastContext::Explicit,
        &settings,
    );
    assert_eq!(error.unwrap_err().message(), "cannot cast type uuid to integer");
}

/// Whatever `can_cast` allows, `cast` can try: no pair of a type's own values ends in a panic.
#[test]
fn every_allowed_pair_is_tried() {
    let settings = FormatSettings::default();
    let samples = [
        "1",
        "t",
        "a",
        "2024-01-02",
        "10:00",
        "1 day",
        "{1}",
        "\\x00",
        "0/1",
        "(0,1)",
        "integer",
        "NaN",
    ];
    for from in catalog::BUILTIN_TYPES {
        for to in catalog::BUILTIN_TYPES {
            if can_cast(from.oid, to.oid).is_none() {
                continue;
            }
            let (from, to) = (ColumnType::new(from.oid), ColumnType::new(to.oid));
            for datum in samples
                .iter()
                .filter_map(|text| input_text(from, text, &settings).ok())
            {
                if let Err(error) = cast(&datum, from, to, CastContext::Explicit, &settings) {
                    assert_ne!(
                        error.state(),
                        state::CANNOT_COERCE,
                        "{} to {}",
                        from.name(),
                        to.name()
                    );
                }
            }
        }
    }
}
