//! Names of months and days, as dates are written and read.

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = [
    "sunday",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
];

/// 1..=12 for a full English name or its first three letters, in lower case.
pub(super) fn month_by_name(lower: &str) -> Option<i32> {
    let found = MONTHS
        .iter()
        .position(|name| lower == *name || lower == &name[..3]);
    found
        .map(|slot| slot as i32 + 1)
        .or((lower == "sept").then_some(9))
}

pub(super) fn is_weekday(lower: &str) -> bool {
    WEEKDAYS.iter().any(|name| lower == *name || lower == &name[..3])
        || matches!(lower, "tues" | "wednes" | "weds" | "thur" | "thurs")
}

/// In lower case; months are 1..=12.
pub(super) fn month_name(month: i32) -> &'static str {
    MONTHS[(month - 1).clamp(0, 11) as usize]
}

/// In lower case; 0 is Sunday.
pub(super) fn weekday_name(day: i32) -> &'static str {
    WEEKDAYS[day.rem_euclid(7) as usize]
}
