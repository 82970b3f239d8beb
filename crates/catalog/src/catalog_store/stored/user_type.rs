//! Types of users: enums, composite types, ranges, domains.

use mote_common::Oid;
use mote_types::ColumnType;
use mote_types::catalog::user::{composite_oid, is_composite, number_of};
use serde::{Deserialize, Serialize};

use super::acl::StoredAcl;
use crate::catalog_store::revision::Revision;

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct StoredType {
    pub oid: u32,
    /// The relation whose row type it is; `oid` is then that of record.
    #[serde(default)]
    pub row_of: Option<u32>,
}

impl StoredType {
    /// The OID of the type itself.
    pub fn type_oid(&self) -> Oid {
        let row = self.row_of.and_then(|relation| composite_oid(Oid(relation)));
        row.unwrap_or(Oid(self.oid))
    }

    /// The number of the relation or composite type whose rows, or arrays of rows, have the type.
    pub fn row_number(&self) -> Option<u32> {
        let base = ColumnType::new(Oid(self.oid)).element();
        let base = base.map_or(Oid(self.oid), |element| element.oid);
        let number = is_composite(base).then(|| number_of(base).0);
        self.row_of.or(number)
    }
}

/// A type that a user made: an enum, a domain, a composite type, a range type or its multirange type.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredUserType {
    pub oid: u32,
    pub schema: u32,
    pub name: String,
    pub owner: u32,
    /// In their order.
    pub labels: Vec<StoredLabel>,
    /// What a domain is made of; None for the other kinds.
    #[serde(default)]
    pub domain: Option<StoredDomain>,
    /// The attributes of a composite type in the order of their numbers, dropped ones included; None for the other kinds.
    #[serde(default)]
    pub attributes: Option<Vec<StoredAttribute>>,
    /// What a range type is made of; None for the other kinds.
    #[serde(default)]
    pub range: Option<StoredRange>,
    #[serde(default)]
    pub acl: Vec<StoredAcl>,
    #[serde(default)]
    pub comment: Option<String>,
    #[serde(skip)]
    pub revision: Revision,
}

/// An attribute of a composite type. Rows that were written before it was dropped still have its value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredAttribute {
    pub name: String,
    pub type_oid: u32,
    pub typmod: i32,
    #[serde(default)]
    pub dropped: bool,
    #[serde(default)]
    pub comment: Option<String>,
}

/// A range type. Its multirange type is an object of its own, whose OID follows from that of the range.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredRange {
    pub subtype: u32,
    /// The class by whose order bounds compare; all classes of a type that are accepted here sort alike.
    pub operator_class: u32,
    /// Zero for a subtype without collations.
    pub collation: u32,
    /// `subtype_diff`; zero for none.
    pub difference: u32,
    /// Functions that were made with the type and go with it: those that make ranges, then those that make multiranges.
    pub constructors: Vec<u32>,
    pub multirange_constructors: Vec<u32>,
    /// The row of pg_cast from the range to its multirange.
    pub cast: u32,
}

impl StoredRange {
    /// All functions that go with the type.
    pub fn all_constructors(&self) -> impl Iterator<Item = u32> {
        self.constructors
            .iter()
            .chain(&self.multirange_constructors)
            .copied()
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredDomain {
    /// The type that the values have, below all domains.
    pub type_oid: u32,
    pub typmod: i32,
    /// The domain that this one is made of; zero if it is made of a type.
    pub of: u32,
    pub not_null: bool,
    pub default: Option<String>,
    pub checks: Vec<StoredDomainCheck>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredDomainCheck {
    pub oid: u32,
    pub name: String,
    pub expression: String,
    pub validated: bool,
    #[serde(default)]
    pub comment: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredLabel {
    pub oid: u32,
    /// What rows and indexes hold; never changes, and grows along the list.
    pub key: i64,
    pub label: String,
    pub sort_order: f32,
    /// By ALTER TYPE, in the transaction that made this very object; rows of the catalog do not say.
    #[serde(skip)]
    pub added: bool,
}

impl StoredUserType {
    /// The attributes of a composite type that are there, with their numbers.
    pub fn live_attributes(&self) -> impl Iterator<Item = (i16, &StoredAttribute)> {
        let attributes = self.attributes.iter().flatten().zip(1..);
        attributes
            .filter(|(attribute, _)| !attribute.dropped)
            .map(|(attribute, number)| (number, attribute))
    }
}
