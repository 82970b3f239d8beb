//! Which values a pseudo-type stands for, looked at alone (`polymorphic` looks at a whole call).

use mote_common::Oid;
use mote_types::catalog::range::{is_multirange, is_range};
use mote_types::catalog::user::is_enum;
use mote_types::{ColumnType, oid};

/// Does a pseudo-type stand for values of this type? None: it is no such pseudo-type.
pub(super) fn stands_for(pseudo: Oid, ty: Oid) -> Option<bool> {
    Some(match pseudo {
        oid::ANY | oid::ANYELEMENT | oid::ANYCOMPATIBLE => true,
        oid::ANYNONARRAY | oid::ANYCOMPATIBLENONARRAY => !ColumnType::new(ty).is_array(),
        oid::ANYARRAY | oid::ANYCOMPATIBLEARRAY => ColumnType::new(ty).is_array(),
        oid::ANYENUM => is_enum(ty),
        oid::ANYRANGE | oid::ANYCOMPATIBLERANGE => is_range(ty),
        oid::ANYMULTIRANGE | oid::ANYCOMPATIBLEMULTIRANGE => is_multirange(ty),
        _ => return None,
    })
}
