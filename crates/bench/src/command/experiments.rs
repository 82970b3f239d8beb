//! The published experiments by name, and the time that a user gives them (`seeds`).

/// The experiments by their names in the table of seeds.
pub const NAMES: [&str; 13] = [
    "X1", "X2", "X3", "X4", "X5", "X6", "X7", "X8", "X9", "X10", "X11", "X12", "X13",
];

/// The longest budget, seconds: some thirty years, which clocks can count.
const BUDGET_MAX_S: f64 = 1e9;

/// A duration as in 40m, 90s, 1h.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget(pub f64);

impl std::str::FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Budget, String> {
        let units = [("h", 3_600.0), ("m", 60.0), ("s", 1.0)];
        let seconds = units.iter().find_map(|(unit, factor)| {
            let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
            Some(number * factor).filter(|seconds| *seconds > 0.0 && *seconds <= BUDGET_MAX_S)
        });
        seconds
            .map(Budget)
            .ok_or_else(|| format!("\"{text}\" is not a duration like 40m, 90s or 1h"))
    }
}

/// The name of an experiment, in capitals.
pub fn experiment_name(text: &str) -> Result<String, String> {
    let name = text.to_ascii_uppercase();
    if NAMES.contains(&name.as_str()) {
        Ok(name)
    } else {
        Err(format!(
            "there is no experiment {text}; they are {}",
            NAMES.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_and_names_are_read() {
        assert_eq!("40m".parse(), Ok(Budget(2_400.0)));
        assert_eq!("1.5h".parse(), Ok(Budget(5_400.0)));
        assert!("40".parse::<Budget>().is_err() && "-1s".parse::<Budget>().is_err());
        assert!("infh".parse::<Budget>().is_err() && "1e300s".parse::<Budget>().is_err());
        assert_eq!(experiment_name("x10"), Ok("X10".to_string()));
        assert!(experiment_name("X14").is_err());
    }
}
