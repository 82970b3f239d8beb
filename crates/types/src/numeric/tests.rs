use super::*;
use mote_common::SqlResult;
use mote_common::prng::Prng;

fn n(text: &str) -> Numeric {
    Numeric::parse(text).expect(text)
}

fn apply(op: char, a: &Numeric, b: &Numeric) -> Numeric {
    match op {
        '+' => a.add(b),
        '-' => a.sub(b),
        '*' => a.mul(b),
        '/' => a.div(b),
        _ => a.modulo(b),
    }
    .unwrap()
}

/// Results as PostgreSQL 15 prints them.
#[test]
#[rustfmt::skip]
fn arithmetic_prints_as_postgresql() {
    let cases = [
        ("1", '/', "3", "0.33333333333333333333"),
        ("2", '/', "3", "0.66666666666666666667"),
        ("10", '/', "3", "3.3333333333333333"),
        ("1", '/', "7.0", "0.14285714285714285714"),
        ("100", '/', "3", "33.3333333333333333"),
        ("1e10", '/', "3", "3333333333.33333333"),
        ("123456789012345678901234567890", '/', "7", "17636684144620811271604938270"),
        ("0.001", '/', "3", "0.00033333333333333333"),
        ("1.0", '/', "1000000", "0.000001000000000000000000"),
        ("-7", '/', "2", "-3.5000000000000000"),
        ("5", '/', "2.00", "2.5000000000000000"),
        ("1.5", '*', "1.5", "2.25"),
        ("99999999999999999999", '*', "99999999999999999999", "9999999999999999999800000000000000000001"),
        ("0.1", '+', "0.2", "0.3"),
        ("1e-20", '+', "1e20", "100000000000000000000.00000000000000000001"),
        ("123.456", '-', "123.4560000000000000000000001", "-0.0000000000000000000000001"),
        ("17", '%', "5", "2"),
        ("-17", '%', "5", "-2"),
        ("17.5", '%', "5", "2.5"),
        ("1e30", '%', "7", "1"),
        ("1.000", '/', "0.0001", "10000.0000000000000000"),
        ("9999", '/', "10000", "0.99990000000000000000"),
        ("10000", '/', "9999", "1.0001000100010001"),
        ("0", '/', "5.00", "0.00000000000000000000"),
        ("12345678901234567", '/', "98765432109876543", "0.12499999886093749127"),
        ("1e18", '*', "10", "10000000000000000000"),
        ("9223372036854775807", '+', "1", "9223372036854775808"),
        ("-9223372036854775808", '-', "1", "-9223372036854775809"),
        ("0.00000000000000000001", '*', "0.00000000000000000001", "0.0000000000000000000000000000000000000001"),
    ];
    for (a, op, b, expect) in cases {
        assert_eq!(apply(op, &n(a), &n(b)).to_string(), expect, "{a} {op} {b}");
    }
}

fn call(name: &str, args: &[&str]) -> String {
    let first = n(args[0]);
    let second = || n(args[1]);
    let digits = || args.get(1).map_or(0, |text| text.parse().unwrap());
    match name {
        "sqrt" => first.sqrt().unwrap(),
        "exp" => first.exp().unwrap(),
        "ln" => first.ln().unwrap(),
        "log" if args.len() == 1 => first.log10().unwrap(),
        "log" => first.log_of(&second()).unwrap(),
        "power" => first.power(&second()).unwrap(),
        "round" => first.round(digits()),
        "trunc" => first.trunc(digits()),
        "ceil" => first.ceil(),
        "floor" => first.floor(),
        "abs" => first.abs(),
        "sign" => first.sign(),
        "trim_scale" => first.trim_scale(),
        "gcd" => first.gcd(&second()).unwrap(),
        "div" => first.div_trunc(&second()).unwrap(),
        "mod" => first.modulo(&second()).unwrap(),
        "min_scale" => return first.min_scale().unwrap().to_string(),
        "scale" => return first.scale().unwrap().to_string(),
        _ => unreachable!("{name}"),
    }
    .to_string()
}

/// Results as PostgreSQL 15 prints them.
#[test]
#[rustfmt::skip]
fn functions_print_as_postgresql() {
    let cases: &[(&str, &[&str], &str)] = &[
        ("sqrt", &["2"], "1.414213562373095"),
        ("sqrt", &["0"], "0.000000000000000"),
        ("sqrt", &["100"], "10.000000000000000"),
        ("sqrt", &["1e20"], "10000000000.00000"),
        ("sqrt", &["0.0001"], "0.01000000000000000"),
        ("sqrt", &["1e-30"], "0.0000000000000010000000000000000"),
        ("sqrt", &["12345678901234567890"], "3513641828.8201443"),
        ("sqrt", &["2.25"], "1.500000000000000"),
        ("sqrt", &["1e100"], "100000000000000000000000000000000000000000000000000"),
        ("exp", &["0"], "1.0000000000000000"),
        ("exp", &["1"], "2.7182818284590452"),
        ("exp", &["1.0"], "2.7182818284590452"),
        ("exp", &["-1"], "0.3678794411714423"),
        ("exp", &["10.5"], "36315.502674246638"),
        ("exp", &["-50"], "0.0000000000000000000001928749847963918"),
        ("exp", &["100"], "26881171418161354484126255515800135873611119"),
        ("exp", &["0.00001"], "1.0000100000500002"),
        ("ln", &["2"], "0.6931471805599453"),
        ("ln", &["10"], "2.3025850929940457"),
        ("ln", &["1"], "0.0000000000000000"),
        ("ln", &["0.5"], "-0.6931471805599453"),
        ("ln", &["1.000001"], "0.0000009999995000003333"),
        ("ln", &["1e50"], "115.12925464970228"),
        ("ln", &["1e-50"], "-115.12925464970228420089957273421821038005507443143865"),
        ("ln", &["123456.789"], "11.723646487185881"),
        ("log", &["100"], "2.0000000000000000"),
        ("log", &["2"], "0.3010299956639812"),
        ("log", &["0.001"], "-3.0000000000000000"),
        ("log", &["2", "8"], "3.0000000000000000"),
        ("log", &["3", "10"], "2.0959032742893846"),
        ("log", &["1.5", "1e10"], "56.788735872675728"),
        ("power", &["2", "10"], "1024.0000000000000000"),
        ("power", &["2", "-3"], "0.1250000000000000"),
        ("power", &["2", "0.5"], "1.4142135623730950"),
        ("power", &["1.5", "20"], "3325.2567300796508789"),
        ("power", &["0", "0"], "1.0000000000000000"),
        ("power", &["0", "5"], "0.0000000000000000"),
        ("power", &["10", "50"], "100000000000000000000000000000000000000000000000000.0000000000000000"),
        ("power", &["10", "-10"], "0.0000000001000000"),
        ("power", &["1.0001", "10000"], "2.7181459268252249"),
        ("power", &["-2", "3"], "-8.0000000000000000"),
        ("power", &["-1.5", "3"], "-3.3750000000000000"),
        ("power", &["2.5", "1.5"], "3.9528470752104742"),
        ("power", &["123.45", "0.123"], "1.8082288938586007"),
        ("power", &["0.5", "100"], "0.0000000000000000"),
        ("power", &["1e10", "2.5"], "10000000000000000000000000.0"),
        ("round", &["2.5"], "3"),
        ("round", &["-2.5"], "-3"),
        ("round", &["1234.5678", "2"], "1234.57"),
        ("round", &["1234.5678", "-2"], "1200"),
        ("round", &["0.5"], "1"),
        ("round", &["55", "-2"], "100"),
        ("round", &["49", "-2"], "0"),
        ("trunc", &["-1234.567", "1"], "-1234.5"),
        ("trunc", &["1234.567", "-2"], "1200"),
        ("ceil", &["-1.5"], "-1"),
        ("ceil", &["1.5"], "2"),
        ("floor", &["-1.5"], "-2"),
        ("floor", &["1.0"], "1"),
        ("ceil", &["0.0"], "0"),
        ("abs", &["-1.50"], "1.50"),
        ("sign", &["-3.2"], "-1"),
        ("sign", &["0.00"], "0"),
        ("trim_scale", &["1.500"], "1.5"),
        ("trim_scale", &["100.0"], "100"),
        ("gcd", &["12.0", "8"], "4.0"),
        ("div", &["17.5", "5"], "3"),
        ("div", &["-17", "5"], "-3"),
        ("mod", &["-17", "5"], "-2"),
        ("min_scale", &["1.500"], "1"),
        ("scale", &["1.500"], "3"),
    ];
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(name, args, expect)| {
            let got = call(name, args);
            (got != *expect).then(|| format!("{name}({args:?}) = {got}, PostgreSQL {expect}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reads_and_prints() {
    let cases = [
        ("0", "0"),
        (" 1.50 ", "1.50"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-0.0", "0.0"),
        ("1e3", "1000"),
        ("1.5e-3", "0.0015"),
        ("-12E+2", "-1200"),
        ("1.2300e1", "12.300"),
        ("0e-5", "0.00000"),
        ("00012.3400", "12.3400"),
        ("NaN", "NaN"),
        ("-inf", "-Infinity"),
        ("+Infinity", "Infinity"),
        (
            "123456789012345678901234567890.123456789",
            "123456789012345678901234567890.123456789",
        ),
        ("0.000000000000000000000000001", "0.000000000000000000000000001"),
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"),
    ];
    for (text, expect) in cases {
        assert_eq!(n(text).to_string(), expect, "{text}");
    }
    for text in [
        "", "abc", "1..2", "1e", "1e+", "--1", "1 2", "+NaN", ".", "0x10", "1_000",
    ] {
        let error = Numeric::parse(text).unwrap_err();
        assert_eq!(
            error.message(),
            format!("invalid input syntax for type numeric: \"{text}\"")
        );
        assert_eq!(error.state().as_str(), "22P02");
    }
    assert_eq!(
        Numeric::parse("1e200000").unwrap_err().message(),
        "value overflows numeric format"
    );
    assert_eq!(n("1e-20000").scale(), Some(DSCALE_MAX));
}

#[test]
fn declared_precision_is_checked() {
    use crate::catalog::numeric_typmod;
    let apply = |text: &str, p, s| n(text).apply_typmod(numeric_typmod(p, s));
    assert_eq!(apply("1.005", 12, 2).unwrap().to_string(), "1.01");
    assert_eq!(apply("-1.005", 12, 2).unwrap().to_string(), "-1.01");
    assert_eq!(apply("7", 12, 2).unwrap().to_string(), "7.00");
    assert_eq!(apply("12345", 2, -3).unwrap().to_string(), "12000");
    assert_eq!(apply("0.00123", 3, 5).unwrap().to_string(), "0.00123");
    assert!(apply("NaN", 3, 1).unwrap().is_nan());
    let detail = |text, p, s| apply(text, p, s).unwrap_err().fields().detail.clone().unwrap();
    assert_eq!(
        detail("999.995", 5, 2),
        "A field with precision 5, scale 2 must round to an absolute value less than 10^3."
    );
    assert_eq!(
        detail("1", 2, 2),
        "A field with precision 2, scale 2 must round to an absolute value less than 1."
    );
    assert_eq!(
        detail("Infinity", 5, 2),
        "A field with precision 5, scale 2 cannot hold an infinite value."
    );
}

#[test]
fn converts_integers_and_floats() {
    assert_eq!(n("2.5").to_i32().unwrap(), 3);
    assert_eq!(n("-2.5").to_i32().unwrap(), -3);
    assert_eq!(n("32767.4").to_i16().unwrap(), 32767);
    assert_eq!(
        n("32767.5").to_i16().unwrap_err().message(),
        "smallint out of range"
    );
    assert_eq!(n("1e30").to_i64().unwrap_err().message(), "bigint out of range");
    assert_eq!(
        n("NaN").to_i64().unwrap_err().message(),
        "cannot convert NaN to bigint"
    );
    for (value, expect) in [
        (0.1, "0.1"),
        (1e20, "100000000000000000000"),
        (1.0 / 3.0, "0.333333333333333"),
        (-2.5e-7, "-0.00000025"),
        (123456789.12345679, "123456789.123457"),
        (0.0, "0"),
    ] {
        assert_eq!(Numeric::from_f64(value).to_string(), expect);
    }
    assert_eq!(Numeric::from_f32(0.1).to_string(), "0.1");
    assert_eq!(Numeric::from_f32(1234567.0).to_string(), "1234570");
    assert_eq!(n("0.1").to_f64(), 0.1);
    assert_eq!(n("123456789012345678.9").to_f64(), 123456789012345678.9);
    assert!(n("1e400").to_f64_checked().is_err());
}

#[test]
fn special_values_follow_postgresql() {
    let cases = [
        ("Infinity", '+', "-Infinity", "NaN"),
        ("Infinity", '-', "1", "Infinity"),
        ("1", '-', "Infinity", "-Infinity"),
        ("Infinity", '*', "0", "NaN"),
        ("-Infinity", '*', "2", "-Infinity"),
        ("1", '/', "Infinity", "0"),
        ("Infinity", '/', "-2", "-Infinity"),
        ("Infinity", '/', "Infinity", "NaN"),
        ("NaN", '+', "1", "NaN"),
        ("5", '%', "Infinity", "5"),
        ("Infinity", '%', "5", "NaN"),
    ];
    for (a, op, b, expect) in cases {
        assert_eq!(apply(op, &n(a), &n(b)).to_string(), expect, "{a} {op} {b}");
    }
    assert!(n("NaN") > n("Infinity") && n("Infinity") > n("1e100") && n("-Infinity") < n("-1e100"));
    assert_eq!(n("NaN"), n("NaN"));
    for (a, b) in [("1", "0"), ("Infinity", "0.00"), ("1e40", "0")] {
        assert_eq!(n(a).div(&n(b)).unwrap_err().state().as_str(), "22012");
    }
}

/// A random number as text and as an exact rational `value / 10^scale`.
fn random(prng: &mut Prng) -> (Numeric, i128, u32) {
    let digits = prng.between(1, 17) as u32;
    let value = (prng.next_u64() % 10u64.pow(digits)) as i128 * if prng.chance(1, 2) { 1 } else { -1 };
    let scale = prng.below(10) as u32;
    let whole = value.unsigned_abs() / 10u128.pow(scale);
    let fraction = value.unsigned_abs() % 10u128.pow(scale);
    let sign = if value < 0 { "-" } else { "" };
    let point = if scale > 0 {
        format!(".{fraction:0width$}", width = scale as usize)
    } else {
        String::new()
    };
    (n(&format!("{sign}{whole}{point}")), value, scale)
}

#[test]
fn agrees_with_exact_integers() {
    let seed = 0x6d6f7465;
    let mut prng = Prng::new(seed);
    for round in 0..20_000 {
        let ((a, x, p), (b, y, q)) = (random(&mut prng), random(&mut prng));
        let scale = p.max(q);
        let (x_wide, y_wide) = (x * 10i128.pow(scale - p), y * 10i128.pow(scale - q));
        let context = format!("seed {seed} round {round}: {a} and {b}");
        assert_eq!(
            a.add(&b).unwrap(),
            Numeric::from_scaled_i128(x_wide + y_wide, scale as i32),
            "{context}"
        );
        assert_eq!(
            a.sub(&b).unwrap(),
            Numeric::from_scaled_i128(x_wide - y_wide, scale as i32),
            "{context}"
        );
        let product = a.mul(&b).unwrap();
        assert_eq!(
            product,
            Numeric::from_scaled_i128(x * y, (p + q) as i32),
            "{context}"
        );
        assert_eq!(product.scale(), Some((p + q) as i32), "{context}");
        assert_eq!(a.cmp(&b), x_wide.cmp(&y_wide), "{context}");
        if y != 0 {
            assert_eq!(
                a.modulo(&b).unwrap(),
                Numeric::from_scaled_i128(x_wide % y_wide, scale as i32),
                "{context}"
            );
            assert_eq!(
                a.div_trunc(&b).unwrap(),
                Numeric::from(x_wide / y_wide),
                "{context}"
            );
            let (fast, slow) = (a.div(&b).unwrap(), slow_quotient(&a, &b));
            assert_eq!(fast.to_string(), slow.to_string(), "{context}");
        }
    }
}

/// The quotient through digits, whatever its size.
fn slow_quotient(a: &Numeric, b: &Numeric) -> Numeric {
    let quotient = a.div(b).unwrap();
    let rscale = quotient.scale().unwrap();
    Numeric::from_decimal(
        a.to_decimal()
            .unwrap()
            .div(&b.to_decimal().unwrap(), rscale, true)
            .unwrap(),
    )
}

/// The root of a square is its base, at every length up to limbs split by Karatsuba.
#[test]
fn roots_of_long_squares_are_exact() {
    let seed = 0x7371_7274;
    let mut prng = Prng::new(seed);
    for length in [1, 7, 30, 95, 96, 97, 200, 700, 2_000] {
        let mut text: String = (0..length)
            .map(|_| (b'0' + prng.below(10) as u8) as char)
            .collect();
        text.insert(0, '9');
        let base = n(&text);
        let square = base.mul(&base).unwrap();
        assert_eq!(square.sqrt().unwrap(), base, "seed {seed} length {length}");
        let below = square.sub(&Numeric::ONE).unwrap();
        assert!(below.sqrt().unwrap() <= base, "seed {seed} length {length}");
    }
}

/// (a * b) / b = a, and (a / b) * b + a % b = a with whole quotients, on long numbers.
#[test]
fn long_division_inverts_multiplication() {
    let seed = 0x64697669;
    let mut prng = Prng::new(seed);
    for round in 0..2_000 {
        let mut long = |max: u64| {
            let length = 1 + prng.below(max) as usize;
            let mut text: String = (0..length)
                .map(|_| {
                    if prng.chance(1, 4) {
                        ['0', '9'][prng.below(2) as usize]
                    } else {
                        (b'0' + prng.below(10) as u8) as char
                    }
                })
                .collect();
            text.insert(0, '1');
            if prng.chance(1, 2) {
                let at = 1 + prng.below(text.len() as u64) as usize;
                text.insert(at, '.');
            }
            n(&text)
        };
        // Now and then long enough for limbs, and for their products by parts.
        let (a, b) = match round % 50 {
            0 => (long(2_000), long(1_500)),
            1..10 => (long(400), long(300)),
            _ => (long(90), long(60)),
        };
        let product = a.mul(&b).unwrap();
        let quotient = product
            .to_decimal()
            .unwrap()
            .div(&b.to_decimal().unwrap(), 4_000, true);
        let back = Numeric::from_decimal(quotient.unwrap());
        assert_eq!(back, a, "seed {seed} round {round}");
        let (quotient, rest) = (a.div_trunc(&b).unwrap(), a.modulo(&b).unwrap());
        assert_eq!(
            quotient.mul(&b).unwrap().add(&rest).unwrap(),
            a,
            "seed {seed} round {round}"
        );
        assert!(rest < b, "seed {seed} round {round}");
        let mut bytes = Vec::new();
        product.write_binary(&mut bytes);
        assert_eq!(
            Numeric::read_binary(&bytes).unwrap().to_string(),
            product.to_string()
        );
    }
}

#[test]
fn rounding_agrees_with_integers() {
    let seed = 0x726f756e;
    let mut prng = Prng::new(seed);
    for round in 0..10_000 {
        let (a, x, scale) = random(&mut prng);
        let to = prng.between(-4, 9) as i32;
        let expect = if to >= scale as i32 {
            a.clone()
        } else {
            let unit = 10i128.pow((scale as i32 - to) as u32);
            let rounded = (x.abs() + unit / 2) / unit * x.signum();
            match to {
                0.. => Numeric::from_scaled_i128(rounded, to),
                _ => Numeric::from(rounded * 10i128.pow(to.unsigned_abs())),
            }
        };
        assert_eq!(a.round(to), expect, "seed {seed} round {round}: round({a}, {to})");
        assert_eq!(a.round(to).scale(), Some(to.max(0)));
    }
}

#[test]
fn wire_format_is_postgresqls() {
    let mut bytes = Vec::new();
    n("-12345.678").write_binary(&mut bytes);
    let words: Vec<i16> = bytes
        .chunks(2)
        .map(|c| i16::from_be_bytes([c[0], c[1]]))
        .collect();
    assert_eq!(words, [3, 1, 0x4000, 3, 1, 2345, 6780]);
    for text in [
        "0",
        "0.00",
        "NaN",
        "Infinity",
        "-Infinity",
        "1",
        "-0.0001",
        "1e30",
        "10000",
        "99999999.99",
    ] {
        let mut bytes = Vec::new();
        n(text).write_binary(&mut bytes);
        assert_eq!(
            Numeric::read_binary(&bytes).unwrap().to_string(),
            n(text).to_string()
        );
    }
    assert!(Numeric::read_binary(&[0, 1, 0, 0, 0, 0, 0, 0]).is_err());
    assert!(Numeric::read_binary(&[0, 1, 0, 0, 0, 0, 0, 0, 0x27, 0x10]).is_err());
}

/// Numbers with many zeros behind the point, whose roots and logarithms once lost all digits.
#[test]
fn roots_and_logarithms_of_small_numbers() {
    let number = |text: &str| Numeric::parse(text).expect(text);
    let begins = |value: SqlResult<Numeric>, expected: &str| {
        let text = value.expect(expected).to_string();
        assert!(
            text.starts_with(expected),
            "{text} does not begin with {expected}"
        );
    };
    begins(number("1e-16383").ln(), "-37723.25157852145044126675400");
    begins(number("1e-400").ln(), "-921.0340371976182736071965818");
    begins(number("1e-16383").log10(), "-16383.0000000000000000");
    begins(
        number("2").log_of(&number("1e-16383")),
        "-54423.14797853965734515944321",
    );
    begins(
        number("1e-16383").log_of(&number("1e131071")),
        "-8.000427272172373802111945309",
    );
    begins(
        number("1e131071").log_of(&number("1e-16383")),
        "-0.124993324228853064369692761",
    );
    for tiny in ["1e-16383", "1e-2100", "4e-2004"] {
        let root = number(tiny).sqrt().expect(tiny);
        assert!(root.is_zero() && !root.is_negative(), "{tiny}");
    }
    begins(number("4e-1990").sqrt(), &format!("0.{}2", "0".repeat(994)));
}

/// The short ways of small numbers do what the long ones do, on edges and on random numbers.
#[test]
fn short_ways_are_the_long_ones() {
    let mut random = Prng::new(20);
    let edges = [
        0,
        1,
        -1,
        9,
        10,
        9_999,
        10_000,
        100_000_000,
        i64::MAX,
        i64::MIN,
        i64::MIN + 1,
    ];
    for round in 0..20_000 {
        let value = match edges.get(round / 19) {
            Some(&edge) => edge,
            None => (random.next_u64() as i64) >> random.below(64),
        };
        let small = Numeric::from_scaled_i64(value, (round % 19) as i32);
        let big = Numeric(Repr::Big(Box::new(small.to_decimal().expect("finite"))));
        let (mut short, mut long) = (Vec::new(), Vec::new());
        small.write_binary(&mut short);
        big.write_binary(&mut long);
        assert_eq!(short, long, "{small}");
        assert_eq!(
            small.trim_scale().to_string(),
            big.trim_scale().to_string(),
            "{small}"
        );
        let precision = 1 + random.below(24) as i32;
        let scale = random.below(precision as u64 + 1) as i32;
        let typmod = ((precision << 16) | scale) + 4;
        let text =
            |fitted: SqlResult<Numeric>| fitted.map(|number| number.to_string()).map_err(|e| e.to_string());
        assert_eq!(
            text(small.apply_typmod(typmod)),
            text(big.apply_typmod(typmod)),
            "{small} as numeric({precision},{scale})"
        );
    }
}

/// Doubles that came of short decimals, their neighbours, and any others.
#[test]
fn doubles_have_fifteen_digits() {
    let mut random = Prng::new(21);
    for round in 0..60_000u64 {
        let digits = (random.next_u64() >> random.below(64)) as i64 as f64;
        let value = match round % 4 {
            0 => digits / 100.0,
            1 => -digits / 10_000.0,
            2 => (digits / 100.0).next_up(),
            _ => f64::from_bits(random.next_u64()),
        };
        if !value.is_finite() {
            continue;
        }
        let long = Numeric::parse(&format!("{value:.14e}"))
            .expect("digits")
            .trim_scale();
        assert_eq!(
            Numeric::from_f64(value).to_string(),
            long.to_string(),
            "{value:e}"
        );
    }
}
