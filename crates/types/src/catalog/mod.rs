//! SQL types by OID and type modifier: names, families, and PostgreSQL's catalog facts about them.
//!
//! Read `ColumnType` here first, then `names` (SQL spellings in and out; `name_list`: several names in one text), then `builtin` (the table itself).
//!
//! Source: PostgreSQL 15's pg_type.dat; names and modifiers as format_type.c writes them.
//!
//! Promises: a type is two integers and `Copy`; everything about it is found by OID in constant tables.
//! Types that users made are told by their OID (`user`); what else there is to know of them, a dictionary knows.

mod builtin;
pub mod extension;
mod name_list;
mod names;
pub mod range;
mod row_type;
pub mod user;

pub use builtin::BUILTIN_TYPES;
pub use name_list::{is_blank, split_names};
pub use names::{
    format_type, interval_mask, parse_type, truncate_name, type_by_catalog_name, type_by_name,
    typmod_from_args, typmod_out, unsupported_type_name, unsupported_type_named_by, unsupported_type_number,
};

pub use row_type::RowType;

use crate::oid::{self, Oid};

/// The type of a column, parameter or expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ColumnType {
    pub oid: Oid,
    /// PostgreSQL's type modifier: -1 for none; length + 4 for strings; packed precision and scale for numeric.
    pub typmod: i32,
}

/// What numeric typmods and string lengths are offset by: the size of PostgreSQL's varlena header.
pub(crate) const VARHDRSZ: i32 = 4;

impl ColumnType {
    pub const BOOL: ColumnType = ColumnType::new(oid::BOOL);
    pub const INT2: ColumnType = ColumnType::new(oid::INT2);
    pub const INT4: ColumnType = ColumnType::new(oid::INT4);
    pub const INT8: ColumnType = ColumnType::new(oid::INT8);
    pub const OID: ColumnType = ColumnType::new(oid::OID);
    pub const FLOAT4: ColumnType = ColumnType::new(oid::FLOAT4);
    pub const FLOAT8: ColumnType = ColumnType::new(oid::FLOAT8);
    pub const NUMERIC: ColumnType = ColumnType::new(oid::NUMERIC);
    pub const TEXT: ColumnType = ColumnType::new(oid::TEXT);
    pub const NAME: ColumnType = ColumnType::new(oid::NAME);
    pub const UNKNOWN: ColumnType = ColumnType::new(oid::UNKNOWN);
    pub const BYTEA: ColumnType = ColumnType::new(oid::BYTEA);
    pub const DATE: ColumnType = ColumnType::new(oid::DATE);
    pub const TIME: ColumnType = ColumnType::new(oid::TIME);
    pub const TIMESTAMP: ColumnType = ColumnType::new(oid::TIMESTAMP);
    pub const TIMESTAMPTZ: ColumnType = ColumnType::new(oid::TIMESTAMPTZ);
    pub const INTERVAL: ColumnType = ColumnType::new(oid::INTERVAL);
    pub const UUID: ColumnType = ColumnType::new(oid::UUID);
    pub const JSON: ColumnType = ColumnType::new(oid::JSON);
    pub const JSONB: ColumnType = ColumnType::new(oid::JSONB);
    pub const RECORD: ColumnType = ColumnType::new(oid::RECORD);
    pub const VOID: ColumnType = ColumnType::new(oid::VOID);

    /// The type without a modifier.
    pub const fn new(oid: Oid) -> ColumnType {
        ColumnType { oid, typmod: -1 }
    }

    pub const fn with_typmod(oid: Oid, typmod: i32) -> ColumnType {
        ColumnType { oid, typmod }
    }

    pub const fn varchar(length: i32) -> ColumnType {
        ColumnType {
            oid: oid::VARCHAR,
            typmod: length + VARHDRSZ,
        }
    }

    pub const fn bpchar(length: i32) -> ColumnType {
        ColumnType {
            oid: oid::BPCHAR,
            typmod: length + VARHDRSZ,
        }
    }

    pub const fn numeric(precision: i32, scale: i32) -> ColumnType {
        ColumnType {
            oid: oid::NUMERIC,
            typmod: numeric_typmod(precision, scale),
        }
    }

    /// The declared length in characters of `varchar(n)` and `char(n)`.
    pub fn max_length(self) -> Option<usize> {
        let is_string = self.oid == oid::VARCHAR || self.oid == oid::BPCHAR;
        (is_string && self.typmod >= VARHDRSZ).then(|| (self.typmod - VARHDRSZ) as usize)
    }

    /// Precision and scale of `numeric(p,s)`.
    pub fn numeric_precision_scale(self) -> Option<(i32, i32)> {
        (self.oid == oid::NUMERIC)
            .then(|| numeric_precision_scale(self.typmod))
            .flatten()
    }

    /// The element type of an array type (and of `int2vector`, `oidvector`); the modifier is the elements'.
    pub fn element(self) -> Option<ColumnType> {
        element_type(self.oid).map(|oid| ColumnType {
            oid,
            typmod: self.typmod,
        })
    }

    /// The array type over this type.
    pub fn array_of(self) -> Option<ColumnType> {
        let array = match type_info(self.oid) {
            Some(info) => info.array,
            None => user::user_array(self.oid)?,
        };
        (array != Oid::INVALID).then_some(ColumnType {
            oid: array,
            typmod: self.typmod,
        })
    }

    pub fn is_array(self) -> bool {
        element_type(self.oid).is_some()
    }

    /// The SQL name with modifier, as `format_type` shows it.
    pub fn name(self) -> String {
        format_type(self.oid, self.typmod)
    }
}

pub const fn numeric_typmod(precision: i32, scale: i32) -> i32 {
    ((precision << 16) | (scale & 0x7ff)) + VARHDRSZ
}

/// Precision and scale of a numeric modifier; the scale's 11 bits are sign-extended.
pub const fn numeric_precision_scale(typmod: i32) -> Option<(i32, i32)> {
    if typmod < VARHDRSZ {
        return None;
    }
    let packed = typmod - VARHDRSZ;
    Some(((packed >> 16) & 0xffff, ((packed & 0x7ff) ^ 1024) - 1024))
}

/// One row of `pg_type`. Names of functions are empty where `pg_type` shows `-`.
#[derive(Debug)]
pub struct TypeInfo {
    pub oid: Oid,
    /// `typname`.
    pub name: &'static str,
    /// The name `format_type` prints when there is no modifier.
    pub sql_name: &'static str,
    pub len: i16,
    pub by_value: bool,
    /// `typtype`: `b` base, `p` pseudo, `r` range, `m` multirange.
    pub kind: u8,
    pub category: u8,
    pub preferred: bool,
    pub delim: u8,
    pub elem: Oid,
    pub array: Oid,
    pub align: u8,
    pub storage: u8,
    pub collation: Oid,
    pub input: &'static str,
    pub output: &'static str,
    pub receive: &'static str,
    pub send: &'static str,
    pub modin: &'static str,
    pub modout: &'static str,
    pub subscript: &'static str,
}

/// The families `pg_type.typcategory` sorts types into.
pub mod category {
    pub const ARRAY: u8 = b'A';
    pub const BOOLEAN: u8 = b'B';
    pub const COMPOSITE: u8 = b'C';
    pub const DATETIME: u8 = b'D';
    pub const ENUM: u8 = b'E';
    pub const NUMERIC: u8 = b'N';
    pub const PSEUDO: u8 = b'P';
    pub const RANGE: u8 = b'R';
    pub const STRING: u8 = b'S';
    pub const TIMESPAN: u8 = b'T';
    pub const USER: u8 = b'U';
    pub const UNKNOWN: u8 = b'X';
    pub const INTERNAL: u8 = b'Z';
}

pub fn type_info(oid: Oid) -> Option<&'static TypeInfo> {
    BUILTIN_TYPES
        .binary_search_by_key(&oid, |info| info.oid)
        .ok()
        .map(|slot| &BUILTIN_TYPES[slot])
}

/// As `type_info`; for types that users made, what all of a kind have in common.
pub fn type_shape(oid: Oid) -> Option<&'static TypeInfo> {
    match type_info(oid) {
        None if user::is_enum(oid) => Some(&builtin::ENUM_SHAPE),
        None if user::is_domain(oid) => None,
        None if user::is_composite(oid) => Some(&builtin::COMPOSITE_SHAPE),
        None if user::is_user_range(oid) => Some(&builtin::RANGE_SHAPE),
        None if user::is_user_multirange(oid) => Some(&builtin::MULTIRANGE_SHAPE),
        None if user::user_element(oid).is_some_and(user::is_composite) => {
            Some(&builtin::COMPOSITE_ARRAY_SHAPE)
        }
        None if user::is_user_type(oid) => Some(&builtin::ENUM_ARRAY_SHAPE),
        known => known,
    }
}

/// The element type of a true array type or of the two vector types; `name`, though subscriptable, is neither.
pub fn element_type(oid: Oid) -> Option<Oid> {
    let Some(info) = type_info(oid) else {
        return user::user_element(oid);
    };
    (info.category == category::ARRAY || info.oid == oid::RECORD_ARRAY).then_some(info.elem)
}

pub fn category_of(oid: Oid) -> u8 {
    match type_info(oid) {
        Some(info) => info.category,
        None if user::is_enum(oid) => category::ENUM,
        None if user::is_domain(oid) => category::USER,
        None if user::is_composite(oid) => category::COMPOSITE,
        None if user::is_user_range(oid) || user::is_user_multirange(oid) => category::RANGE,
        None if user::is_user_type(oid) => category::ARRAY,
        None => category::USER,
    }
}

pub fn is_preferred(oid: Oid) -> bool {
    type_info(oid).is_some_and(|info| info.preferred)
}

/// How types that stand for others agree on one in a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Polymorphism {
    /// `anyelement` and its kin: all mean the same type.
    Exact,
    /// `anycompatible` and its kin: all convert to one.
    Common,
}

/// The family of a type that stands for others.
pub fn polymorphism(ty: Oid) -> Option<Polymorphism> {
    match ty {
        oid::ANYELEMENT
        | oid::ANYARRAY
        | oid::ANYNONARRAY
        | oid::ANYENUM
        | oid::ANYRANGE
        | oid::ANYMULTIRANGE => Some(Polymorphism::Exact),
        oid::ANYCOMPATIBLE
        | oid::ANYCOMPATIBLEARRAY
        | oid::ANYCOMPATIBLENONARRAY
        | oid::ANYCOMPATIBLERANGE
        | oid::ANYCOMPATIBLEMULTIRANGE => Some(Polymorphism::Common),
        _ => None,
    }
}

/// Types whose values are points and what is made of them.
pub fn is_geometric(ty: Oid) -> bool {
    matches!(
        ty,
        oid::POINT | oid::LSEG | oid::PATH | oid::BOX | oid::POLYGON | oid::LINE | oid::CIRCLE
    )
}

/// Types that GROUP BY and DISTINCT can take. PostgreSQL compares some of the geometric ones, which is missing here.
pub fn has_equality(oid: Oid) -> bool {
    let element = element_type(oid).unwrap_or(oid);
    let lacks = matches!(
        element,
        oid::JSON | oid::JSONPATH | oid::PG_SNAPSHOT | oid::TXID_SNAPSHOT
    );
    !lacks && !is_geometric(element)
}

/// Types whose values are `Datum::Text`.
pub fn is_text_like(oid: Oid) -> bool {
    if is_geometric(oid) {
        return true;
    }
    matches!(
        oid,
        oid::TEXT
            | oid::VARCHAR
            | oid::BPCHAR
            | oid::NAME
            | oid::CHAR
            | oid::UNKNOWN
            | oid::JSON
            | oid::JSONPATH
            | oid::CSTRING
            | oid::PG_NODE_TREE
            | oid::REFCURSOR
            | oid::ACLITEM
    )
}

/// Types that are an OID underneath: `oid` itself, the `reg*` family, and the 32-bit transaction counters.
pub fn is_oid_like(oid: Oid) -> bool {
    is_reg_type(oid) || matches!(oid, oid::OID | oid::XID | oid::CID)
}

/// The `reg*` aliases of `oid`, whose text form needs the database's catalog.
pub fn is_reg_type(oid: Oid) -> bool {
    matches!(
        oid,
        oid::REGPROC
            | oid::REGPROCEDURE
            | oid::REGCLASS
            | oid::REGTYPE
            | oid::REGNAMESPACE
            | oid::REGROLE
            | oid::REGCOLLATION
    )
}

#[cfg(test)]
mod tests;
