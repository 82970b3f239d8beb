//! Sizes and times as people write them on the command line.

use std::time::Duration;

/// `512MB`, `16GB`, `1073741824`: bytes.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text, "a size begins with a number, as in 16GB")?;
    let scale = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" | "k" => 1 << 10,
        "mb" | "m" => 1 << 20,
        "gb" | "g" => 1 << 30,
        "tb" | "t" => 1 << 40,
        other => return Err(format!("unknown unit {other:?}: use kB, MB, GB or TB")),
    };
    number.checked_mul(scale).ok_or_else(|| "too large".to_string())
}

/// A size that is at least `minimum` megabytes.
pub fn parse_bytes_from(text: &str, minimum_mb: u64) -> Result<u64, String> {
    parse_bytes(text).and_then(|bytes| {
        Some(bytes)
            .filter(|&n| n >= minimum_mb << 20)
            .ok_or_else(|| format!("at least {minimum_mb}MB are needed"))
    })
}

/// `30s`, `5min`, `500ms`, `1h`; PostgreSQL's units.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text, "a time begins with a number, as in 5min")?;
    let scale_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "" => return Err("say the unit, as in 30s or 5min".into()),
        other => return Err(format!("unknown unit {other:?}: use ms, s, min, h or d")),
    };
    number
        .checked_mul(scale_ms)
        .filter(|&ms| ms > 0)
        .map(Duration::from_millis)
        .ok_or_else(|| "out of range".to_string())
}

fn split<'a>(text: &'a str, advice: &str) -> Result<(u64, &'a str), String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..digits].parse().map_err(|_| advice.to_string())?;
    Ok((number, text[digits..].trim()))
}

/// Bytes for people: three digits and a unit.
pub fn show_bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "kB", "MB"] {
        if value < 1000.0 {
            return format!("{value:.0} {unit}");
        }
        value /= 1000.0;
    }
    format!("{value:.2} GB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_bytes("16GB"), Ok(16 << 30));
        assert_eq!(parse_bytes("512 mb"), Ok(512 << 20));
        assert!(parse_bytes_from("1MB", 64).is_err());
        assert_eq!(parse_bytes_from("64MB", 64), Ok(64 << 20));
        assert!(parse_bytes("lots").is_err());
        assert!(parse_bytes("99999999TB").is_err());
    }

    #[test]
    fn times() {
        assert_eq!(parse_duration("5min"), Ok(Duration::from_secs(300)));
        assert_eq!(parse_duration("250 ms"), Ok(Duration::from_millis(250)));
        for wrong in ["5", "0s", "soon", "3 weeks", "99999999999999999999s"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn figures_for_people() {
        assert_eq!(show_bytes(999), "999 B");
        assert_eq!(show_bytes(2_700_000_000), "2.70 GB");
    }
}
