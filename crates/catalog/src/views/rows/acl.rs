//! Privileges as a column of a catalog.

use mote_sql::access::AclItem;
use mote_types::{Datum, oid};

use crate::views::facts::Facts;
use crate::views::row::NULL;
use crate::views::text::acl_item;

/// The ACL column of any object: NULL while nothing was granted.
pub fn acl(facts: &Facts<'_>, items: &[AclItem]) -> Datum {
    if items.is_empty() {
        return NULL;
    }
    let items = items
        .iter()
        .filter(|item| item.privileges != 0 || item.grant_options != 0)
        .map(|item| Datum::from(acl_item(facts, item)))
        .collect();
    Datum::array(oid::ACLITEM, items)
}
