use super::*;
use crate::format::{input_text, output_to_string};
use crate::settings::FormatSettings;

#[test]
fn values_come_back() {
    let settings = FormatSettings::default();
    let cases = [
        ("boolean", "t"),
        ("smallint", "-32768"),
        ("integer", "2147483647"),
        ("bigint", "-9223372036854775808"),
        ("oid", "4294967295"),
        ("regclass", "1259"),
        ("real", "1.5"),
        ("double precision", "NaN"),
        ("numeric(12,2)", "-9999999999.99"),
        ("numeric(12,2)", "NaN"),
        ("numeric(18,18)", "0.123456789012345678"),
        ("numeric(20,2)", "123456789012345678.90"),
        ("numeric", "1.2300"),
        ("numeric", "Infinity"),
        ("text", "h\u{e9}llo"),
        ("char(5)", "ab   "),
        ("bytea", "\\x00ff"),
        ("date", "2024-02-29"),
        ("time", "24:00:00"),
        ("timestamp", "infinity"),
        ("timestamptz", "2024-01-02 03:04:05.678+00"),
        ("interval", "1 year -2 days +03:04:05"),
        ("uuid", "01234567-89ab-cdef-0123-456789abcdef"),
        ("json", "{\"b\": 1,  \"a\":2}"),
        ("jsonb", "{\"a\": 2, \"b\": [1.50, null]}"),
        ("integer[]", "[0:1][1:2]={{1,NULL},{3,4}}"),
        ("text[]", "{}"),
        ("numeric[]", "{1.50,NaN}"),
        ("int2vector", "1 2"),
        ("tid", "(7,9)"),
        ("pg_lsn", "1/ABCD"),
    ];
    for (name, text) in cases {
        let ty = crate::parse_type(name).unwrap();
        let datum = input_text(ty, text, &settings).unwrap();
        let mut bytes = Vec::new();
        encode_storage(&datum, ty, &mut bytes);
        if let Some(width) = storage_class(ty).width() {
            assert_eq!(bytes.len(), width, "{name}");
        }
        assert_eq!(
            output_to_string(&decode_storage(ty, &bytes), ty, &settings),
            text,
            "{name}"
        );
    }
}

#[test]
fn classes_are_as_documented() {
    assert_eq!(storage_class(ColumnType::numeric(18, 2)), StorageClass::Fixed8);
    assert_eq!(storage_class(ColumnType::numeric(19, 2)), StorageClass::Variable);
    assert_eq!(storage_class(ColumnType::numeric(5, -2)), StorageClass::Variable);
    assert_eq!(key_encoding(ColumnType::JSONB), None);
    assert_eq!(key_encoding(ColumnType::new(oid::INT4_ARRAY)), None);
    assert_eq!(key_encoding(ColumnType::bpchar(4)), Some(KeyEncoding::Unpadded));
}
