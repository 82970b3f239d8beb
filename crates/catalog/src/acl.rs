//! Access control lists: how GRANT and REVOKE change them.
//!
//! An empty list stands for the defaults of the object's kind: everything for its owner and, on the schema that every
//! database begins with, USAGE for PUBLIC. The first change writes the defaults out: from then on the owner has what the
//! list says, too. Where nobody has anything, an entry of the owner without privileges keeps the list from being empty.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, SqlState};
use mote_grammar::ast::Privilege;
use mote_sql::access::privilege;

use crate::catalog_store::stored::StoredAcl;

const INVALID_GRANT_OPERATION: SqlState = SqlState::new("0LP01");

/// Kinds of objects that have privileges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AclKind {
    Table,
    Sequence,
    Schema,
    Function,
    Procedure,
    Database,
    LargeObject,
    Type,
}

impl AclKind {
    /// All privileges of the kind: what ALL means.
    pub fn all(self) -> u32 {
        use privilege::*;
        match self {
            AclKind::Table => INSERT | SELECT | UPDATE | DELETE | TRUNCATE | REFERENCES | TRIGGER,
            AclKind::Sequence => SELECT | UPDATE | USAGE,
            AclKind::Schema => USAGE | CREATE,
            AclKind::Function | AclKind::Procedure => EXECUTE,
            AclKind::Database => CREATE | TEMPORARY | CONNECT,
            AclKind::LargeObject => SELECT | UPDATE,
            AclKind::Type => USAGE,
        }
    }

    /// As messages name the kind.
    pub fn word(self) -> &'static str {
        match self {
            AclKind::Table => "table",
            AclKind::Sequence => "sequence",
            AclKind::Schema => "schema",
            AclKind::Function => "function",
            AclKind::Procedure => "procedure",
            AclKind::Database => "database",
            AclKind::LargeObject => "large object",
            AclKind::Type => "type",
        }
    }

    /// What PUBLIC has by default. The schema that databases begin with is another matter.
    pub fn everybody(self) -> u32 {
        match self {
            AclKind::Function | AclKind::Procedure => privilege::EXECUTE,
            AclKind::Database => privilege::TEMPORARY | privilege::CONNECT,
            AclKind::Type => privilege::USAGE,
            AclKind::Table | AclKind::Sequence | AclKind::Schema | AclKind::LargeObject => 0,
        }
    }

    /// The privileges written in a GRANT or REVOKE, as bits. None written is ALL.
    pub fn bits(self, written: &[Privilege]) -> SqlResult<u32> {
        self.bits_for(written, self.word())
    }

    /// The same, where messages call the kind `noun`.
    pub fn bits_for(self, written: &[Privilege], noun: &str) -> SqlResult<u32> {
        if written.is_empty() {
            return Ok(self.all());
        }
        let mut bits = 0;
        for item in written {
            if !item.columns.is_empty() {
                return Err(SqlError::unsupported("privileges on columns"));
            }
            // ALL PRIVILEGES among others.
            let Some(name) = item.name.as_deref() else {
                bits |= self.all();
                continue;
            };
            let bit = bit_of(name).ok_or_else(|| {
                SqlError::new(
                    state::SYNTAX_ERROR,
                    format!("unrecognized privilege type \"{name}\""),
                )
            })?;
            // Known, but not for objects of this kind.
            if bit & self.all() == 0 {
                return Err(SqlError::new(
                    INVALID_GRANT_OPERATION,
                    format!("invalid privilege type {} for {noun}", name.to_uppercase()),
                ));
            }
            bits |= bit;
        }
        Ok(bits)
    }
}

/// A privilege's bit by its name.
fn bit_of(name: &str) -> Option<u32> {
    Some(match name {
        "insert" => privilege::INSERT,
        "select" => privilege::SELECT,
        "update" => privilege::UPDATE,
        "delete" => privilege::DELETE,
        "truncate" => privilege::TRUNCATE,
        "references" => privilege::REFERENCES,
        "trigger" => privilege::TRIGGER,
        "execute" => privilege::EXECUTE,
        "usage" => privilege::USAGE,
        "create" => privilege::CREATE,
        "temporary" | "temp" => privilege::TEMPORARY,
        "connect" => privilege::CONNECT,
        _ => return None,
    })
}

/// The list with its defaults written out.
pub fn with_defaults(acl: &[StoredAcl], owner: u32, kind: AclKind, everybody: u32) -> Vec<StoredAcl> {
    if !acl.is_empty() {
        return acl.to_vec();
    }
    let item = |grantee, privileges| StoredAcl {
        grantee,
        grantor: owner,
        privileges,
        grant_options: 0,
    };
    // PUBLIC first: the order in which clients show it.
    let public = (everybody != 0).then(|| item(Oid::INVALID.0, everybody));
    public.into_iter().chain([item(owner, kind.all())]).collect()
}

/// What is stored of a changed list: an empty one would stand for the defaults.
pub fn settled(mut acl: Vec<StoredAcl>, owner: u32) -> Vec<StoredAcl> {
    acl.retain(|item| item.privileges != 0 || item.grant_options != 0);
    if acl.is_empty() {
        acl.push(StoredAcl {
            grantee: owner,
            grantor: owner,
            privileges: 0,
            grant_options: 0,
        });
    }
    acl
}

/// Adds privileges to what this grantor has given, with the option to pass them on.
pub fn grant(acl: &mut Vec<StoredAcl>, grantee: u32, grantor: u32, privileges: u32, with_option: bool) {
    let item = StoredAcl {
        grantee,
        grantor,
        privileges,
        grant_options: if with_option { privileges } else { 0 },
    };
    merge(acl, item);
}

/// Adds what an entry says to what its grantor has given its grantee.
pub fn merge(acl: &mut Vec<StoredAcl>, added: StoredAcl) {
    match acl
        .iter_mut()
        .find(|item| item.grantee == added.grantee && item.grantor == added.grantor)
    {
        Some(item) => {
            item.privileges |= added.privileges;
            item.grant_options |= added.grant_options;
        }
        None => acl.push(added),
    }
}

/// Takes privileges (or, with `option_only`, the right to pass them on) back, and with CASCADE what was passed on.
pub fn revoke(
    acl: &mut Vec<StoredAcl>,
    grantee: u32,
    grantor: u32,
    privileges: u32,
    option_only: bool,
    cascade: bool,
    owner: u32,
) -> SqlResult<()> {
    let Some(item) = acl
        .iter_mut()
        .find(|item| item.grantee == grantee && item.grantor == grantor)
    else {
        return Ok(());
    };
    let lost_options = item.grant_options & privileges;
    item.grant_options &= !privileges;
    if !option_only {
        item.privileges &= !privileges;
    }
    acl.retain(|item| item.privileges != 0 || item.grant_options != 0);
    if lost_options == 0 || grantee == owner {
        return Ok(());
    }
    let still = acl
        .iter()
        .filter(|i| i.grantee == grantee)
        .fold(0, |options, i| options | i.grant_options);
    let gone = lost_options & !still;
    let passed_on: Vec<u32> = acl
        .iter()
        .filter(|i| i.grantor == grantee && i.privileges & gone != 0)
        .map(|i| i.grantee)
        .collect();
    if !passed_on.is_empty() && !cascade {
        return Err(
            SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, "dependent privileges exist")
                .hint("Use CASCADE to revoke them too."),
        );
    }
    for other in passed_on {
        revoke(acl, other, grantee, gone, false, true, owner)?;
    }
    Ok(())
}

/// The privileges that a set of roles may pass on.
pub fn grantable(acl: &[StoredAcl], roles: &[Oid]) -> u32 {
    let held = acl.iter().filter(|item| roles.contains(&Oid(item.grantee)));
    held.fold(0, |options, item| options | item.grant_options)
}

/// A new owner takes the old one's place as grantor and grantee.
pub fn change_owner(acl: &mut Vec<StoredAcl>, old: u32, new: u32) {
    let mut changed: Vec<StoredAcl> = Vec::with_capacity(acl.len());
    for mut item in acl.drain(..) {
        for role in [&mut item.grantee, &mut item.grantor] {
            if *role == old {
                *role = new;
            }
        }
        // Also what the new owner had been granted by the old one.
        merge(&mut changed, item);
    }
    *acl = changed;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revoking_what_was_passed_on_needs_cascade() {
        let (owner, ann, bob) = (10, 20, 30);
        let mut acl = with_defaults(&[], owner, AclKind::Table, 0);
        grant(&mut acl, ann, owner, privilege::SELECT, true);
        grant(&mut acl, bob, ann, privilege::SELECT, false);
        let refused = revoke(
            &mut acl.clone(),
            ann,
            owner,
            privilege::SELECT,
            false,
            false,
            owner,
        );
        assert_eq!(
            refused.expect_err("bob depends on ann").message(),
            "dependent privileges exist"
        );
        revoke(&mut acl, ann, owner, privilege::SELECT, false, true, owner).expect("cascade");
        assert_eq!(acl.len(), 1);
        assert_eq!(acl[0].grantee, owner);
    }

    #[test]
    fn privileges_fit_their_kind() {
        let usage = [Privilege {
            name: Some("usage".into()),
            columns: Vec::new(),
        }];
        let error = AclKind::Table.bits(&usage).expect_err("tables have no USAGE");
        assert_eq!(error.message(), "invalid privilege type USAGE for table");
        assert_eq!(
            AclKind::Schema.bits(&usage).expect("schemas have"),
            privilege::USAGE
        );
        assert_eq!(AclKind::Sequence.bits(&[]).expect("all"), AclKind::Sequence.all());
    }
}
