//! Which type converts to which, and when without being asked: `pg_cast`, plus the rules that need no row of it.
//!
//! Ordered by source and target. Leaves out: the conversions themselves (`mote_types::cast`).

use std::sync::LazyLock;

use hashbrown::HashMap;
use mote_common::Oid;
use mote_types::catalog::{category, category_of};
use mote_types::{ColumnType, oid::*};

/// How much the statement has to ask for a conversion. Later ones allow all that earlier ones do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CastUse {
    Implicit,
    Assignment,
    Explicit,
}

use CastUse::*;

/// One row of `pg_cast`.
#[derive(Clone, Copy, Debug)]
pub struct CastRow {
    pub oid: Oid,
    pub source: Oid,
    pub target: Oid,
    pub context: CastUse,
    /// Both types have the same representation in PostgreSQL.
    pub binary: bool,
    /// `castfunc`, zero for binary and I/O conversions.
    pub function: Oid,
}

const fn cast(oid: u32, source: Oid, target: Oid, context: CastUse, binary: bool, function: u32) -> CastRow {
    CastRow {
        oid: Oid(oid),
        source,
        target,
        context,
        binary,
        function: Oid(function),
    }
}

static BY_PAIR: LazyLock<HashMap<(Oid, Oid), CastUse>> = LazyLock::new(|| {
    CASTS
        .iter()
        .map(|row| ((row.source, row.target), row.context))
        .collect()
});

/// The weakest context in which `source` converts to `target`; `None` where nothing leads there.
pub fn cast_context(source: Oid, target: Oid) -> Option<CastUse> {
    if source == target || source == UNKNOWN {
        return Some(Implicit);
    }
    if let Some(context) = BY_PAIR.get(&(source, target)) {
        return Some(*context);
    }
    // Arrays convert as their elements do.
    if let (Some(from), Some(to)) = (
        ColumnType::new(source).element(),
        ColumnType::new(target).element(),
    ) && let Some(context) = cast_context(from.oid, to.oid)
        && target != INT2VECTOR
        && target != OIDVECTOR
    {
        return Some(context);
    }
    // Whatever has a text form goes to strings by assignment, and from strings when asked.
    if category_of(target) == category::STRING && source != VOID {
        return Some(Assignment);
    }
    if target == RECORD || target == VOID || source == VOID {
        return None;
    }
    (category_of(source) == category::STRING).then_some(Explicit)
}

#[rustfmt::skip]
pub const CASTS: &[CastRow] = &[
    cast(10035, BOOL, INT4, Explicit, false, 2558),
    cast(10191, BOOL, TEXT, Assignment, false, 2971),
    cast(10201, BOOL, BPCHAR, Assignment, false, 2971),
    cast(10196, BOOL, VARCHAR, Assignment, false, 2971),
    cast(10143, CHAR, INT4, Explicit, false, 77),
    cast(10131, CHAR, TEXT, Implicit, false, 946),
    cast(10132, CHAR, BPCHAR, Assignment, false, 860),
    cast(10133, CHAR, VARCHAR, Assignment, false, 946),
    cast(10134, NAME, TEXT, Implicit, false, 406),
    cast(10135, NAME, BPCHAR, Assignment, false, 408),
    cast(10136, NAME, VARCHAR, Assignment, false, 1401),
    cast(10000, INT8, INT2, Assignment, false, 714),
    cast(10001, INT8, INT4, Assignment, false, 480),
    cast(10044, INT8, REGPROC, Implicit, false, 1287),
    cast(10037, INT8, OID, Implicit, false, 1287),
    cast(10002, INT8, FLOAT4, Implicit, false, 652),
    cast(10003, INT8, FLOAT8, Implicit, false, 482),
    cast(10004, INT8, NUMERIC, Implicit, false, 1781),
    cast(10053, INT8, REGPROCEDURE, Implicit, false, 1287),
    cast(10076, INT8, REGCLASS, Implicit, false, 1287),
    cast(10090, INT8, REGTYPE, Implicit, false, 1287),
    cast(10120, INT8, REGNAMESPACE, Implicit, false, 1287),
    cast(10113, INT8, REGROLE, Implicit, false, 1287),
    cast(10083, INT8, REGCOLLATION, Implicit, false, 1287),
    cast(10005, INT2, INT8, Implicit, false, 754),
    cast(10006, INT2, INT4, Implicit, false, 313),
    cast(10045, INT2, REGPROC, Implicit, false, 313),
    cast(10038, INT2, OID, Implicit, false, 313),
    cast(10007, INT2, FLOAT4, Implicit, false, 236),
    cast(10008, INT2, FLOAT8, Implicit, false, 235),
    cast(10009, INT2, NUMERIC, Implicit, false, 1782),
    cast(10054, INT2, REGPROCEDURE, Implicit, false, 313),
    cast(10077, INT2, REGCLASS, Implicit, false, 313),
    cast(10091, INT2, REGTYPE, Implicit, false, 313),
    cast(10121, INT2, REGNAMESPACE, Implicit, false, 313),
    cast(10114, INT2, REGROLE, Implicit, false, 313),
    cast(10084, INT2, REGCOLLATION, Implicit, false, 313),
    cast(10034, INT4, BOOL, Explicit, false, 2557),
    cast(10144, INT4, CHAR, Explicit, false, 78),
    cast(10010, INT4, INT8, Implicit, false, 481),
    cast(10011, INT4, INT2, Assignment, false, 314),
    cast(10046, INT4, REGPROC, Implicit, true, 0),
    cast(10039, INT4, OID, Implicit, true, 0),
    cast(10012, INT4, FLOAT4, Implicit, false, 318),
    cast(10013, INT4, FLOAT8, Implicit, false, 316),
    cast(10014, INT4, NUMERIC, Implicit, false, 1740),
    cast(10055, INT4, REGPROCEDURE, Implicit, true, 0),
    cast(10078, INT4, REGCLASS, Implicit, true, 0),
    cast(10092, INT4, REGTYPE, Implicit, true, 0),
    cast(10122, INT4, REGNAMESPACE, Implicit, true, 0),
    cast(10115, INT4, REGROLE, Implicit, true, 0),
    cast(10085, INT4, REGCOLLATION, Implicit, true, 0),
    cast(10047, REGPROC, INT8, Assignment, false, 1288),
    cast(10048, REGPROC, INT4, Assignment, true, 0),
    cast(10043, REGPROC, OID, Implicit, true, 0),
    cast(10049, REGPROC, REGPROCEDURE, Implicit, true, 0),
    cast(10137, TEXT, CHAR, Assignment, false, 944),
    cast(10140, TEXT, NAME, Implicit, false, 407),
    cast(10125, TEXT, BPCHAR, Implicit, true, 0),
    cast(10126, TEXT, VARCHAR, Implicit, true, 0),
    cast(10109, TEXT, REGCLASS, Implicit, false, 1079),
    cast(10040, OID, INT8, Assignment, false, 1288),
    cast(10041, OID, INT4, Assignment, true, 0),
    cast(10042, OID, REGPROC, Implicit, true, 0),
    cast(10051, OID, REGPROCEDURE, Implicit, true, 0),
    cast(10074, OID, REGCLASS, Implicit, true, 0),
    cast(10088, OID, REGTYPE, Implicit, true, 0),
    cast(10118, OID, REGNAMESPACE, Implicit, true, 0),
    cast(10111, OID, REGROLE, Implicit, true, 0),
    cast(10081, OID, REGCOLLATION, Implicit, true, 0),
    cast(10214, JSON, JSONB, Assignment, false, 0),
    cast(10145, PG_NODE_TREE, TEXT, Implicit, true, 0),
    cast(10015, FLOAT4, INT8, Assignment, false, 653),
    cast(10016, FLOAT4, INT2, Assignment, false, 238),
    cast(10017, FLOAT4, INT4, Assignment, false, 319),
    cast(10018, FLOAT4, FLOAT8, Implicit, false, 311),
    cast(10019, FLOAT4, NUMERIC, Assignment, false, 1742),
    cast(10020, FLOAT8, INT8, Assignment, false, 483),
    cast(10021, FLOAT8, INT2, Assignment, false, 237),
    cast(10022, FLOAT8, INT4, Assignment, false, 317),
    cast(10023, FLOAT8, FLOAT4, Assignment, false, 312),
    cast(10024, FLOAT8, NUMERIC, Assignment, false, 1743),
    cast(10180, MACADDR8, MACADDR, Implicit, false, 4124),
    cast(10179, MACADDR, MACADDR8, Implicit, false, 4123),
    cast(10138, BPCHAR, CHAR, Assignment, false, 944),
    cast(10141, BPCHAR, NAME, Implicit, false, 409),
    cast(10127, BPCHAR, TEXT, Implicit, false, 401),
    cast(10204, BPCHAR, BPCHAR, Implicit, false, 668),
    cast(10128, BPCHAR, VARCHAR, Implicit, false, 401),
    cast(10139, VARCHAR, CHAR, Assignment, false, 944),
    cast(10142, VARCHAR, NAME, Implicit, false, 1400),
    cast(10129, VARCHAR, TEXT, Implicit, true, 0),
    cast(10130, VARCHAR, BPCHAR, Implicit, true, 0),
    cast(10205, VARCHAR, VARCHAR, Implicit, false, 669),
    cast(10110, VARCHAR, REGCLASS, Implicit, false, 1079),
    cast(10152, DATE, TIMESTAMP, Implicit, false, 2024),
    cast(10153, DATE, TIMESTAMPTZ, Implicit, false, 1174),
    cast(10206, TIME, TIME, Implicit, false, 1968),
    cast(10154, TIME, INTERVAL, Implicit, false, 1370),
    cast(10156, TIMESTAMP, DATE, Assignment, false, 2029),
    cast(10157, TIMESTAMP, TIME, Assignment, false, 1316),
    cast(10207, TIMESTAMP, TIMESTAMP, Implicit, false, 1961),
    cast(10158, TIMESTAMP, TIMESTAMPTZ, Implicit, false, 2028),
    cast(10159, TIMESTAMPTZ, DATE, Assignment, false, 1178),
    cast(10160, TIMESTAMPTZ, TIME, Assignment, false, 2019),
    cast(10161, TIMESTAMPTZ, TIMESTAMP, Assignment, false, 2027),
    cast(10208, TIMESTAMPTZ, TIMESTAMPTZ, Implicit, false, 1967),
    cast(10163, INTERVAL, TIME, Assignment, false, 1419),
    cast(10209, INTERVAL, INTERVAL, Implicit, false, 1200),
    cast(10025, NUMERIC, INT8, Assignment, false, 1779),
    cast(10026, NUMERIC, INT2, Assignment, false, 1783),
    cast(10027, NUMERIC, INT4, Assignment, false, 1744),
    cast(10028, NUMERIC, FLOAT4, Implicit, false, 1745),
    cast(10029, NUMERIC, FLOAT8, Implicit, false, 1746),
    cast(10213, NUMERIC, NUMERIC, Implicit, false, 1703),
    cast(10056, REGPROCEDURE, INT8, Assignment, false, 1288),
    cast(10057, REGPROCEDURE, INT4, Assignment, true, 0),
    cast(10050, REGPROCEDURE, REGPROC, Implicit, true, 0),
    cast(10052, REGPROCEDURE, OID, Implicit, true, 0),
    cast(10079, REGCLASS, INT8, Assignment, false, 1288),
    cast(10080, REGCLASS, INT4, Assignment, true, 0),
    cast(10075, REGCLASS, OID, Implicit, true, 0),
    cast(10093, REGTYPE, INT8, Assignment, false, 1288),
    cast(10094, REGTYPE, INT4, Assignment, true, 0),
    cast(10089, REGTYPE, OID, Implicit, true, 0),
    cast(10216, JSONB, BOOL, Explicit, false, 3556),
    cast(10220, JSONB, INT8, Explicit, false, 3452),
    cast(10218, JSONB, INT2, Explicit, false, 3450),
    cast(10219, JSONB, INT4, Explicit, false, 3451),
    cast(10215, JSONB, JSON, Assignment, false, 0),
    cast(10221, JSONB, FLOAT4, Explicit, false, 3453),
    cast(10222, JSONB, FLOAT8, Explicit, false, 2580),
    cast(10217, JSONB, NUMERIC, Explicit, false, 3449),
    cast(10123, REGNAMESPACE, INT8, Assignment, false, 1288),
    cast(10124, REGNAMESPACE, INT4, Assignment, true, 0),
    cast(10119, REGNAMESPACE, OID, Implicit, true, 0),
    cast(10116, REGROLE, INT8, Assignment, false, 1288),
    cast(10117, REGROLE, INT4, Assignment, true, 0),
    cast(10112, REGROLE, OID, Implicit, true, 0),
    cast(10086, REGCOLLATION, INT8, Assignment, false, 1288),
    cast(10087, REGCOLLATION, INT4, Assignment, true, 0),
    cast(10082, REGCOLLATION, OID, Implicit, true, 0),
    cast(10036, XID8, XID, Explicit, false, 5071),
];
