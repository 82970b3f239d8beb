//! Index methods as statements and the catalog see them: names, OIDs, what an index of each can be and be asked.
//!
//! `mote_engine::IndexMethod` is the other half: what the entries of each are.

use mote_common::Oid;
use mote_types::ColumnType;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IndexMethod {
    #[default]
    Btree,
    Hash,
}

/// What an index of a method can be and be asked, as PostgreSQL's IndexAmRoutine says it.
pub struct Abilities {
    /// pg_am: name, OID, and the function that stands there as its handler.
    pub name: &'static str,
    pub oid: Oid,
    pub handler: &'static str,
    /// Has an order: ranges, ORDER BY, ASC and DESC, CLUSTER.
    pub ordered: bool,
    pub unique: bool,
    pub multicolumn: bool,
    pub included: bool,
    /// Holds rows whose key is NULL: IS NULL can be asked.
    pub nulls: bool,
    /// The type that the catalog shows of its columns, where it is not theirs.
    pub column_type: Option<ColumnType>,
}

static BTREE: Abilities = Abilities {
    name: "btree",
    oid: Oid(403),
    handler: "bthandler",
    ordered: true,
    unique: true,
    multicolumn: true,
    included: true,
    nulls: true,
    column_type: None,
};

static HASH: Abilities = Abilities {
    name: "hash",
    oid: Oid(405),
    handler: "hashhandler",
    ordered: false,
    unique: false,
    multicolumn: false,
    included: false,
    nulls: false,
    column_type: Some(ColumnType::INT4),
};

impl IndexMethod {
    pub const ALL: [IndexMethod; 2] = [IndexMethod::Btree, IndexMethod::Hash];

    pub fn abilities(self) -> &'static Abilities {
        match self {
            IndexMethod::Btree => &BTREE,
            IndexMethod::Hash => &HASH,
        }
    }

    pub fn name(self) -> &'static str {
        self.abilities().name
    }

    pub fn oid(self) -> Oid {
        self.abilities().oid
    }

    pub fn from_name(name: &str) -> Option<IndexMethod> {
        IndexMethod::ALL.into_iter().find(|method| method.name() == name)
    }
}

/// PostgreSQL's methods that mote has not.
pub const UNSUPPORTED_METHODS: [&str; 4] = ["gist", "gin", "spgist", "brin"];
