use super::civil::*;
use super::*;
use mote_common::prng::Prng;

#[test]
fn days_and_dates_invert_each_other() {
    assert_eq!(days_from_civil(2000, 1, 1), 0);
    assert_eq!(days_from_civil(-4713, 11, 24), DATE_MIN as i64);
    assert_eq!(days_from_civil(5_874_897, 12, 31), DATE_MAX as i64);
    let seed = 0x64617465;
    let mut prng = Prng::new(seed);
    for round in 0..100_000 {
        let days = prng.between(DATE_MIN as i64, DATE_MAX as i64);
        let date = civil_from_days(days);
        assert_eq!(
            days_from_civil(date.year, date.month, date.day),
            days,
            "seed {seed} round {round}"
        );
        assert!(
            date.day <= days_in_month(date.year, date.month),
            "seed {seed} round {round}"
        );
    }
}

#[test]
fn weeks_follow_iso_8601() {
    for (year, month, day, expect) in [
        (2021, 1, 3, (2020, 53)),
        (2020, 12, 28, (2020, 53)),
        (2024, 12, 30, (2025, 1)),
    ] {
        assert_eq!(iso_week(days_from_civil(year, month, day)), expect);
    }
}

#[test]
fn zones_follow_their_rules() {
    let zone = TimeZone::parse("europe/berlin").unwrap();
    assert_eq!(zone.name(), "Europe/Berlin");
    let at = |month, day, hour: i64| days_from_civil(2024, month, day) * DAY_US + hour * HOUR_US;
    assert_eq!(zone.offset_at_utc_s(at(1, 1, 0)), 3_600);
    assert_eq!(zone.offset_at_utc_s(at(7, 1, 0)), 7_200);
    // 02:30 did not exist on 31 March and came twice on 27 October.
    assert_eq!(zone.offset_at_local_s(at(3, 31, 2) + HOUR_US / 2), 3_600);
    assert_eq!(zone.offset_at_local_s(at(10, 27, 2) + HOUR_US / 2), 3_600);
    assert_eq!(TimeZone::parse("+02").unwrap().name(), "<+02>-02");
    assert_eq!(TimeZone::parse("-3.5").unwrap().name(), "<-03:30>+03:30");
    assert_eq!(TimeZone::parse("utc").unwrap().name(), "UTC");
    assert_eq!(
        TimeZone::parse_for_at("EST").unwrap().offset_at_utc_s(0),
        -5 * 3_600
    );
    let error = TimeZone::parse("Mars/Base").unwrap_err();
    assert_eq!(
        error.message(),
        "invalid value for parameter \"TimeZone\": \"Mars/Base\""
    );
}

#[test]
fn now_is_the_transactions() {
    let settings = crate::settings::FormatSettings {
        now_us: days_from_civil(2024, 7, 1) * DAY_US + 23 * HOUR_US,
        time_zone: TimeZone::parse("Asia/Kolkata").unwrap(),
        ..Default::default()
    };
    assert_eq!(parse_timestamptz("now", &settings).unwrap(), settings.now_us);
    assert_eq!(
        parse_date("today", &settings).unwrap() as i64,
        days_from_civil(2024, 7, 2)
    );
    assert_eq!(
        parse_date("yesterday", &settings).unwrap() as i64,
        days_from_civil(2024, 7, 1)
    );
    let noon_tomorrow = parse_timestamp("tomorrow 12:00", &settings).unwrap();
    assert_eq!(noon_tomorrow, days_from_civil(2024, 7, 3) * DAY_US + 12 * HOUR_US);
}

#[test]
fn precision_rounds_half_away() {
    assert_eq!(round_to_precision(1_500_000, 0), 2_000_000);
    assert_eq!(round_to_precision(-1_500_000, 0), -2_000_000);
    assert_eq!(round_to_precision(1_234_549, 1), 1_200_000);
    assert_eq!(round_to_precision(1_234_549, 6), 1_234_549);
}
