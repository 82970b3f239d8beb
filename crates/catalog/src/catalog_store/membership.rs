//! That one role is a member of another, and on what terms.

use serde::{Deserialize, Serialize};

/// Who gave what nobody is known to have given.
pub const FIRST_SUPERUSER: u32 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct StoredMembership {
    /// What the member belongs to.
    pub role: u32,
    /// Who said so last, for whoever looks it up: nothing depends on it, and the role may be gone.
    pub grantor: u32,
    /// May the member make others members?
    pub admin: bool,
}

/// As a row may hold it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    /// By releases that knew no terms: the number of the role.
    Role(u32),
    Terms {
        role: u32,
        grantor: u32,
        admin: bool,
    },
}

impl From<Written> for StoredMembership {
    fn from(written: Written) -> StoredMembership {
        match written {
            Written::Role(role) => StoredMembership {
                role,
                grantor: FIRST_SUPERUSER,
                admin: false,
            },
            Written::Terms { role, grantor, admin } => StoredMembership { role, grantor, admin },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memberships_of_earlier_releases_are_read() {
        let read: Vec<StoredMembership> = serde_json::from_str("[7]").expect("a number is a membership");
        assert_eq!((read[0].role, read[0].admin), (7, false));
        let written = serde_json::to_string(&[StoredMembership {
            admin: true,
            ..read[0]
        }])
        .expect("JSON");
        let again: Vec<StoredMembership> = serde_json::from_str(&written).expect("what was written");
        assert!(again[0].admin);
    }
}
