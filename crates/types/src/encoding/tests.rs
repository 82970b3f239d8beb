//! Names, samples of every table, the form of bytes, and round trips through all of each table.

use super::*;

fn named(name: &str) -> Encoding {
    Encoding::from_name(name).unwrap_or_else(|| panic!("{name}"))
}

#[test]
fn names_are_postgresql_s() {
    for (spelling, name) in [
        ("utf-8", "UTF8"),
        ("Unicode", "UTF8"),
        ("iso-8859-1", "LATIN1"),
        ("ISO_8859-15", "LATIN9"),
        ("iso-8859-5", "ISO_8859_5"),
        ("windows-1252", "WIN1252"),
        ("Windows 932", "SJIS"),
        ("shift_jis", "SJIS"),
        ("euc-jp", "EUC_JP"),
        ("koi8-r", "KOI8R"),
        ("win", "WIN1251"),
        ("sql ascii", "SQL_ASCII"),
        ("latin10", "LATIN10"),
        ("mule internal", "MULE_INTERNAL"),
    ] {
        assert_eq!(named(spelling).name(), name, "{spelling}");
    }
    for wrong in ["", "latin11", "utf", "windows", "cp1252", "iso8859"] {
        assert!(Encoding::from_name(wrong).is_none(), "{wrong}");
    }
    for number in 0..Encoding::COUNT as i32 {
        let encoding = Encoding::from_number(number).expect("a number");
        assert_eq!(named(encoding.name()).number(), number);
    }
    assert!(Encoding::from_number(42).is_none() && Encoding::from_number(-1).is_none());
}

#[test]
fn samples() {
    for (name, bytes, text) in [
        ("LATIN1", &b"a\x80\x9f\xe9"[..], "a\u{80}\u{9f}é"),
        ("LATIN9", b"\xa4", "€"),
        ("LATIN5", b"\x9d\xfd", "\u{9d}ı"),
        ("WIN1252", b"\x80\x9c", "€œ"),
        ("WIN1251", b"\xcf\xf0", "Пр"),
        ("KOI8R", b"\xf0\xd2", "Пр"),
        ("WIN866", b"\x8f\xe0", "Пр"),
        ("EUC_JP", b"\xc6\xfc\x8e\xb1\x8f\xb0\xa1", "日ｱ丂"),
        ("SJIS", b"\x93\xfa\xb1\x5c\x83\x5c", "日ｱ\\ソ"),
        ("EUC_KR", b"\xc7\xd1", "한"),
        ("UHC", b"\x81\x41", "갂"),
        ("EUC_CN", b"\xd6\xd0", "中"),
        ("GBK", b"\xd6\xd0\x81\x40", "中丂"),
        ("BIG5", b"\xa4\xa4\xb3\x5c", "中許"),
        ("UTF8", "é".as_bytes(), "é"),
        ("SQL_ASCII", "é".as_bytes(), "é"),
    ] {
        assert_eq!(named(name).decode(bytes).expect(name), text, "{name}");
        assert_eq!(*named(name).encode(text).expect(name), *bytes, "{name}");
    }
}

#[test]
fn what_is_wrong_with_bytes_and_characters() {
    let decoded = |name: &str, bytes: &[u8]| {
        let error = named(name).decode(bytes).expect_err(name);
        format!("{} {}", error.state().as_str(), error.message())
    };
    let invalid =
        |name: &str, shown: &str| format!("22021 invalid byte sequence for encoding \"{name}\": {shown}");
    assert_eq!(decoded("LATIN1", b"a\0"), invalid("LATIN1", "0x00"));
    assert_eq!(decoded("EUC_JP", b"\xc6"), invalid("EUC_JP", "0xc6"));
    assert_eq!(decoded("EUC_JP", b"\xc6\x20z"), invalid("EUC_JP", "0xc6 0x20"));
    assert_eq!(
        decoded("EUC_JP", b"\x8f\xb0z"),
        invalid("EUC_JP", "0x8f 0xb0 0x7a")
    );
    assert_eq!(decoded("SJIS", b"\x93\x20"), invalid("SJIS", "0x93 0x20"));
    assert_eq!(decoded("EUC_KR", b"\x81\x41"), invalid("EUC_KR", "0x81 0x41"));
    assert_eq!(decoded("BIG5", b"ab\xa4"), invalid("BIG5", "0xa4"));
    assert_eq!(
        decoded("WIN1252", b"\x81"),
        "22P05 character with byte sequence 0x81 in encoding \"WIN1252\" has no equivalent in encoding \"UTF8\""
    );
    let error = named("LATIN1").encode("a€").expect_err("no euro");
    assert_eq!(
        error.message(),
        "character with byte sequence 0xe2 0x82 0xac in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\""
    );
    assert_eq!(error.state(), state::UNTRANSLATABLE_CHARACTER);
    assert_eq!(
        named("JOHAB").decode(b"a").expect_err("no table").state(),
        state::FEATURE_NOT_SUPPORTED
    );
}

#[test]
fn cut_characters_wait_for_the_rest() {
    let converter = named("EUC_JP").converter().expect("a table").expect("converts");
    for (bytes, cut) in [
        (&b"\x8f\xb0"[..], true),
        (b"\xc6", true),
        (b"a", false),
        (b"\x80", false),
        (b"", false),
    ] {
        // A lone 80 could not become a character; it is short of two bytes all the same, as PostgreSQL counts.
        assert_eq!(converter.is_cut(bytes), cut || bytes == b"\x80", "{bytes:?}");
    }
}

/// Every character that can be written is read back as itself, but for those that are written as a lookalike.
#[test]
fn tables_agree_with_themselves() {
    for number in 0..Encoding::COUNT as i32 {
        let encoding = Encoding::from_number(number).expect("a number");
        let Ok(Some(converter)) = encoding.converter() else {
            continue;
        };
        let (mut written, mut lookalikes) = (0, 0);
        for character in (0x80..=0xffff).filter_map(char::from_u32) {
            let mut bytes = Vec::new();
            if converter
                .encode(character.encode_utf8(&mut [0; 4]), &mut bytes)
                .is_err()
            {
                continue;
            }
            written += 1;
            let back = converter.decode(&bytes);
            lookalikes += usize::from(!back.is_ok_and(|back| back.chars().eq([character])));
        }
        let allowed = match encoding.name() {
            "SJIS" => 8,
            "EUC_JP" | "GBK" => 1,
            _ => 0,
        };
        assert_eq!(lookalikes, allowed, "{}", encoding.name());
        let fewest = if encoding.character_bytes_max() == 1 {
            83
        } else {
            7000
        };
        assert!(written >= fewest, "{}: {written}", encoding.name());
    }
}
