//! Answers that PostgreSQL 15 itself changed from one minor release to the next.
//!
//! mote follows the newest release; the machine may have an older one. A mark says from which release on, or up to which,
//! PostgreSQL answers as mote does; what another release answers is not compared.

/// Which minor releases of PostgreSQL 15 answer as mote does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Releases {
    /// This one and later ones.
    Since(u32),
    /// Those before this one.
    Until(u32),
}

impl Releases {
    /// From `since 15.20` or `until 15.20`.
    pub fn parse(mark: &str) -> Option<Releases> {
        let (word, release) = mark.split_once(' ')?;
        let number = release.strip_prefix("15.")?.parse().ok()?;
        match word {
            "since" => Some(Releases::Since(number)),
            "until" => Some(Releases::Until(number)),
            _ => None,
        }
    }

    pub fn hold(self, minor: u32) -> bool {
        match self {
            Releases::Since(first) => minor >= first,
            Releases::Until(first) => minor < first,
        }
    }
}

#[test]
fn marks() {
    assert_eq!(Releases::parse("since 15.20"), Some(Releases::Since(20)));
    assert_eq!(Releases::parse("until 15.7"), Some(Releases::Until(7)));
    assert_eq!(Releases::parse("since the view has no rows"), None);
    assert_eq!(Releases::parse("An ordinary remark."), None);
    assert!(Releases::Since(20).hold(20) && !Releases::Since(20).hold(19));
    assert!(Releases::Until(20).hold(19) && !Releases::Until(20).hold(20));
}
