//! Types that users made: what their OID says, and the dictionary that knows the rest, the names of objects included.
//!
//! The number of an object stands in the lower bits of its type's OID, the kind in the upper ones. Storage, keys, order and
//! arrays need no more than that, so layers without a catalog (recovery, `mote check`) handle values of such types.
//! Names and labels are asked of the [`TypeDictionary`] of the session that the thread runs for. Where there is none, an
//! enum's value is written as its key and a type is named after its OID: that is the form definitions are stored in.
//!
//! Leaves out: who makes, changes and keeps types (`catalog::catalog_store`).

use std::cell::RefCell;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};

use super::ColumnType;
use super::extension::is_extension_type;
use crate::catalog::RowType;

const ENUM: u32 = 1 << 28;
const ARRAY: u32 = 1 << 29;
const DOMAIN: u32 = 1 << 30;
const COMPOSITE: u32 = DOMAIN | ENUM;
const NUMBER: u32 = ENUM - 1;
/// Ranges, multiranges and the arrays over both share one number: these bits of it say which of the four is meant.
const RANGE: u32 = ARRAY;
const RANGE_ARRAY: u32 = 1 << 27;
const MULTIRANGE: u32 = 1 << 26;
const RANGE_NUMBER: u32 = MULTIRANGE - 1;

/// The OID of an enum whose object has this number; `None` if there are no such numbers left.
pub fn enum_oid(number: Oid) -> Option<Oid> {
    (number.0 <= NUMBER).then_some(Oid(ENUM | number.0))
}

/// The OID of a domain whose object has this number; `None` if there are no such numbers left.
pub fn domain_oid(number: Oid) -> Option<Oid> {
    (number.0 <= NUMBER).then_some(Oid(DOMAIN | number.0))
}

/// A domain. No expression, column or value has such a type: they have the domain's base type.
#[inline]
pub fn is_domain(ty: Oid) -> bool {
    ty.0 & !NUMBER == DOMAIN
}

/// The OID of the row type of the relation or composite type with this number; `None` if there are no such numbers left.
pub fn composite_oid(number: Oid) -> Option<Oid> {
    (number.0 <= NUMBER).then_some(Oid(COMPOSITE | number.0))
}

/// A composite type, or the row type of a relation.
#[inline]
pub fn is_composite(ty: Oid) -> bool {
    ty.0 & !NUMBER == COMPOSITE
}

/// A type whose values are rows: composite types and `record`.
#[inline]
pub fn is_row(ty: Oid) -> bool {
    ty == crate::oid::RECORD || is_composite(ty)
}

/// The OID of a range type whose object has this number; `None` if there are no such numbers left.
pub fn range_oid(number: Oid) -> Option<Oid> {
    (number.0 <= RANGE_NUMBER).then_some(Oid(RANGE | number.0))
}

#[inline]
pub fn is_user_range(ty: Oid) -> bool {
    ty.0 & !RANGE_NUMBER == RANGE
}

#[inline]
pub fn is_user_multirange(ty: Oid) -> bool {
    ty.0 & !RANGE_NUMBER == RANGE | MULTIRANGE
}

/// The multirange type over a user's range type.
pub fn user_multirange_of(range: Oid) -> Option<Oid> {
    is_user_range(range).then_some(Oid(range.0 | MULTIRANGE))
}

/// The range type of a user's multirange type.
pub fn user_range_of(multirange: Oid) -> Option<Oid> {
    is_user_multirange(multirange).then_some(Oid(multirange.0 & !MULTIRANGE))
}

/// A range, a multirange, or an array over one.
fn is_of_range(ty: Oid) -> bool {
    ty.0 & !(RANGE_NUMBER | RANGE_ARRAY | MULTIRANGE) == RANGE
}

/// The object's number in the OID of a user's type.
pub fn number_of(ty: Oid) -> Oid {
    match is_of_range(ty) {
        true => Oid(ty.0 & RANGE_NUMBER),
        false => Oid(ty.0 & NUMBER),
    }
}

#[inline]
pub fn is_enum(ty: Oid) -> bool {
    ty.0 & !NUMBER == ENUM
}

/// A type that a user made or that an extension brought, or the array over one.
#[inline]
pub fn is_user_type(ty: Oid) -> bool {
    matches!(ty.0 & !(NUMBER | ARRAY), ENUM | COMPOSITE)
        || is_domain(ty)
        || is_of_range(ty)
        || is_extension_type(ty)
}

/// The element type of an array over a user's type.
pub(super) fn user_element(ty: Oid) -> Option<Oid> {
    if is_of_range(ty) {
        return (ty.0 & RANGE_ARRAY != 0).then_some(Oid(ty.0 & !RANGE_ARRAY));
    }
    let element = Oid(ty.0 & !ARRAY);
    (ty.0 & ARRAY != 0 && (is_enum(element) || is_composite(element))).then_some(element)
}

/// The array type over a user's type.
pub(super) fn user_array(ty: Oid) -> Option<Oid> {
    if is_of_range(ty) {
        return (ty.0 & RANGE_ARRAY == 0).then_some(Oid(ty.0 | RANGE_ARRAY));
    }
    (is_enum(ty) || is_composite(ty)).then_some(Oid(ty.0 | ARRAY))
}

/// A user's type as its catalog describes it.
#[derive(Clone, Debug)]
pub struct UserType {
    pub oid: Oid,
    pub schema: String,
    pub name: String,
    /// In their order.
    pub labels: Vec<EnumLabel>,
    /// What a domain is made of; None for the other kinds.
    pub domain: Option<DomainType>,
    /// The attributes of a composite type, without those that were dropped; None for the other kinds.
    pub row: Option<Arc<RowType>>,
    /// The type of the bounds of a range type; None for the other kinds, multiranges as well.
    pub subtype: Option<Oid>,
    /// Grows with every change; plans compare it.
    pub version: u64,
}

/// A base type with rules for its values.
#[derive(Clone, Debug)]
pub struct DomainType {
    /// The type that the values have, below all domains.
    pub base: ColumnType,
    /// The domain that this one is made of; zero if it is made of a type.
    pub of: Oid,
    pub not_null: bool,
    pub default: Option<String>,
    pub checks: Vec<DomainCheck>,
}

/// CHECK of a domain; the expression calls the value `VALUE`.
#[derive(Clone, Debug)]
pub struct DomainCheck {
    pub name: String,
    pub expression: String,
}

/// A value of an enum.
#[derive(Clone, Debug)]
pub struct EnumLabel {
    pub oid: Oid,
    /// What rows and indexes hold: never changes, and sorts as the values do.
    pub key: i64,
    pub label: String,
    /// `pg_enum.enumsortorder`.
    pub sort_order: f32,
}

impl UserType {
    /// The label of a key.
    pub fn label(&self, key: i64) -> Option<&EnumLabel> {
        let found = self.labels.binary_search_by_key(&key, |label| label.key);
        found.ok().map(|position| &self.labels[position])
    }
}

/// What a session knows about users' types.
pub trait TypeDictionary {
    /// The type's name as SQL writes it in this session, with its schema where the search path does not find it.
    fn name(&self, ty: Oid) -> Option<String>;
    /// Calls `work` with the label of an enum's value; false if there is no such value.
    fn label(&self, ty: Oid, key: i64, work: &mut dyn FnMut(&str)) -> bool;
    /// The key of a label; `None` if the enum has no such label.
    fn key(&self, ty: Oid, label: &str) -> Option<i64>;
    /// The keys of an enum in their order, those that may not be used yet included.
    fn keys(&self, ty: Oid) -> Vec<i64>;
    /// Refuses a value that the transaction itself has added (55P04).
    fn check_usable(&self, ty: Oid, key: i64) -> SqlResult<()>;
    /// The attributes that a composite type has now.
    fn row_type(&self, ty: Oid) -> Option<Arc<RowType>>;
    /// The type of a range type's bounds.
    fn range_subtype(&self, range: Oid) -> Option<Oid>;
    /// The object that a text names as a value of a `reg*` type.
    fn object_number(&self, ty: Oid, text: &str) -> SqlResult<Oid>;
    /// An object as a value of a `reg*` type is written; `None` if there is no such object.
    fn object_name(&self, ty: Oid, object: Oid) -> Option<String>;
}

mote_common::per_thread! {
    static CURRENT: RefCell<Option<Arc<dyn TypeDictionary>>> = const { RefCell::new(None) };
}

/// Puts the former dictionary back.
pub struct Entered(Option<Arc<dyn TypeDictionary>>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with(|current| current.replace(self.0.take()));
    }
}

/// Makes a session's dictionary the thread's until the guard is dropped.
#[must_use]
pub fn enter(dictionary: Arc<dyn TypeDictionary>) -> Entered {
    Entered(CURRENT.with(|current| current.replace(Some(dictionary))))
}

/// Runs `work` without a dictionary: what others do on this thread while a session is suspended, and texts that are
/// stored.
pub fn without<T>(work: impl FnOnce() -> T) -> T {
    let _former = Entered(CURRENT.with(RefCell::take));
    work()
}

/// Cloned out, so that the dictionary may be asked again while it answers.
fn current() -> Option<Arc<dyn TypeDictionary>> {
    CURRENT.with(|current| current.borrow().clone())
}

/// The name of a user's type, not that of an array.
pub(super) fn user_type_name(ty: Oid) -> String {
    match current() {
        Some(dictionary) => dictionary.name(ty).unwrap_or_else(|| "???".to_owned()),
        None => stored_name(ty),
    }
}

/// How definitions name a type: by its OID.
fn stored_name(ty: Oid) -> String {
    format!("\"type {}\"", ty.0)
}

/// The type that a definition names so.
pub fn type_of_stored_name(name: &str) -> Option<Oid> {
    let oid = Oid(name.strip_prefix("type ")?.parse().ok()?);
    is_user_type(oid).then_some(oid)
}

/// Reads a value of an enum.
pub(crate) fn read_label(ty: Oid, text: &str) -> SqlResult<i64> {
    let key = match current() {
        Some(dictionary) => dictionary.key(ty, text),
        None => text.parse().ok(),
    };
    let key = key.ok_or_else(|| {
        let name = ColumnType::new(ty).name();
        SqlError::new(
            state::INVALID_TEXT_REPRESENTATION,
            format!("invalid input value for enum {name}: \"{text}\""),
        )
    })?;
    check_usable(ty, key)?;
    Ok(key)
}

/// Appends the label of a value.
pub(crate) fn write_label(ty: Oid, key: i64, out: &mut Vec<u8>) {
    let known = current().is_some_and(|dictionary| {
        dictionary.label(ty, key, &mut |label| out.extend_from_slice(label.as_bytes()))
    });
    if !known {
        out.extend_from_slice(key.to_string().as_bytes());
    }
}

/// Is there a session, whose catalog knows objects by name?
pub fn knows_objects() -> bool {
    current().is_some()
}

/// Reads the name of an object. Without a session nobody knows any.
pub(crate) fn read_object(ty: Oid, text: &str) -> SqlResult<Oid> {
    match current() {
        Some(dictionary) => dictionary.object_number(ty, text),
        None => {
            let name = ColumnType::new(ty).name();
            Err(SqlError::unsupported(format_args!(
                "{name} input by name without a session"
            )))
        }
    }
}

/// The name of an object, where there is one and somebody knows it.
pub(crate) fn object_name(ty: Oid, object: Oid) -> Option<String> {
    current()?.object_name(ty, object)
}

/// The keys of an enum in their order.
pub fn enum_keys(ty: Oid) -> Vec<i64> {
    current().map_or(Vec::new(), |dictionary| dictionary.keys(ty))
}

/// Refuses a value that the transaction itself has added (55P04).
pub fn check_usable(ty: Oid, key: i64) -> SqlResult<()> {
    current().map_or(Ok(()), |dictionary| dictionary.check_usable(ty, key))
}

/// The attributes that a composite type has now; `None` where nobody knows.
pub fn row_type(ty: Oid) -> Option<Arc<RowType>> {
    current()?.row_type(ty)
}

/// The type of the bounds of a user's range type; `None` where nobody knows.
pub(super) fn user_range_subtype(range: Oid) -> Option<Oid> {
    if !is_user_range(range) {
        return None;
    }
    current()?.range_subtype(range)
}
