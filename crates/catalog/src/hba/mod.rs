//! Host-based authentication: the rules that say who may connect from where, and how he proves who he is.
//!
//! `token` cuts a file in the form of pg_hba.conf into lines of fields; `rule` reads a line; this file finds the rule of a
//! connection, and keeps what was read last for the view pg_hba_file_rules.
//!
//! Source: PostgreSQL's hba.c, with its tokens, its order and its messages.
//!
//! Promises: a file with any mistake is refused as a whole, so that a mistyped line never lets a later, weaker one decide.
//! Leaves out: reading files, and the proofs themselves (server).

mod rule;
mod token;

use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::RwLock;

pub use rule::{Address, ClientCertificate, Kind, Method, Rule};
pub use token::Word;

/// What stands in one line: a rule, a mistake, or a rule that cannot match and why.
#[derive(Clone, Debug)]
pub struct Line {
    pub number: i32,
    pub rule: Option<Rule>,
    pub error: Option<String>,
}

/// A file that was read.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    lines: Vec<Line>,
}

/// A connection that asks to be let in.
#[derive(Clone, Copy, Debug)]
pub struct Applicant<'a> {
    pub database: &'a str,
    pub user: &'a str,
    /// None: over a Unix socket.
    pub address: Option<IpAddr>,
    pub encrypted: bool,
    /// It asks for the log, not for a database.
    pub replicates: bool,
}

impl Rules {
    pub fn parse(text: &str) -> Rules {
        let lines = token::lines(text).into_iter().map(|line| {
            let read = match line.error {
                Some(error) => Err(error),
                None => Rule::read(&line.fields),
            };
            let (rule, error) = match read {
                Ok((rule, warning)) => (Some(rule), warning),
                Err(error) => (None, Some(error)),
            };
            Line {
                number: line.number,
                rule,
                error,
            }
        });
        Rules {
            lines: lines.collect(),
        }
    }

    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Why these rules cannot be used: the first line with a mistake, or that there is no rule at all.
    pub fn mistake(&self) -> Option<String> {
        let wrong = self.lines.iter().find(|line| line.rule.is_none());
        match wrong {
            Some(line) => Some(format!(
                "line {}: {}",
                line.number,
                line.error.as_deref().unwrap_or_default()
            )),
            None if self.lines.is_empty() => Some("the file contains no entries".into()),
            None => None,
        }
    }

    /// The first rule for such a connection. `is_member` tells whether the user belongs to a role, directly or not.
    pub fn rule_for(&self, applicant: Applicant<'_>, is_member: &dyn Fn(&str) -> bool) -> Option<&Rule> {
        let rules = self.lines.iter().filter_map(|line| line.rule.as_ref());
        rules.into_iter().find(|rule| rule.is_for(applicant, is_member))
    }
}

/// The rules in force, and the ones read last, which may have a mistake.
#[derive(Default)]
pub struct RuleBook(RwLock<Books>);

#[derive(Clone, Default)]
struct Books {
    in_force: Arc<Rules>,
    read_last: Arc<Rules>,
}

impl RuleBook {
    /// Puts rules in force unless they have a mistake, which is returned; then the former ones stay.
    pub fn replace(&self, rules: Rules) -> Result<(), String> {
        let rules = Arc::new(rules);
        let mut books = self.0.write();
        books.read_last = rules.clone();
        match rules.mistake() {
            Some(mistake) => Err(mistake),
            None => {
                books.in_force = rules;
                Ok(())
            }
        }
    }

    pub fn in_force(&self) -> Arc<Rules> {
        self.0.read().in_force.clone()
    }

    pub fn read_last(&self) -> Arc<Rules> {
        self.0.read().read_last.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applicant<'a>(user: &'a str, database: &'a str, address: Option<&str>) -> Applicant<'a> {
        Applicant {
            database,
            user,
            address: address.map(|address| address.parse().expect("an address")),
            encrypted: false,
            replicates: false,
        }
    }

    fn method(rules: &Rules, applicant: Applicant<'_>) -> Option<Method> {
        rules
            .rule_for(applicant, &|role| applicant.user == "joe" && role == "staff")
            .map(|rule| rule.method)
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rules = Rules::parse(
            "# comment\n\
             local all postgres peer\n\
             hostssl all all 0.0.0.0/0 reject\n\
             host shop,\"all\" joe,ann 10.1.0.0 255.255.0.0 scram-sha-256\n\
             host samerole +staff 10.0.0.0/8 md5\n\
             host sameuser all ::1/128 trust # end\n\
             host all all 192.168.1.7/32 \\\n password\n",
        );
        assert_eq!(rules.mistake(), None);
        let fits = |user, database, address| method(&rules, applicant(user, database, address));
        assert_eq!(fits("postgres", "x", None), Some(Method::Peer));
        assert_eq!(fits("ann", "x", None), None);
        assert_eq!(fits("ann", "shop", Some("10.1.2.3")), Some(Method::ScramSha256));
        assert_eq!(fits("ann", "all", Some("10.1.2.3")), Some(Method::ScramSha256));
        assert_eq!(
            fits("ann", "other", Some("10.1.2.3")),
            None,
            "a quoted word is a name"
        );
        assert_eq!(fits("bob", "shop", Some("10.1.2.3")), None);
        assert_eq!(fits("joe", "staff", Some("10.2.2.3")), Some(Method::Md5));
        assert_eq!(fits("joe", "joe", Some("10.2.2.3")), None, "not a member of it");
        assert_eq!(fits("bob", "bob", Some("::1")), Some(Method::Trust));
        assert_eq!(fits("bob", "x", Some("::1")), None);
        assert_eq!(fits("bob", "x", Some("192.168.1.7")), Some(Method::Password));
        let encrypted = Applicant {
            encrypted: true,
            ..applicant("ann", "shop", Some("10.1.2.3"))
        };
        assert_eq!(method(&rules, encrypted), Some(Method::Reject));
        assert_eq!(rules.lines().last().map(|line| line.number), Some(7));
    }

    #[test]
    fn rules_with_a_mistake_leave_the_former_in_force() {
        let book = RuleBook::default();
        book.replace(Rules::parse("local all all trust")).expect("right");
        let mistake = book.replace(Rules::parse("\nlocal all all trust\nhost all all"));
        assert_eq!(
            mistake,
            Err("line 3: end-of-line before IP address specification".into())
        );
        assert_eq!(book.in_force().lines().len(), 1);
        assert_eq!(book.read_last().lines().len(), 2);
        assert!(book.replace(Rules::parse("# nothing\n")).is_err());
    }
}
