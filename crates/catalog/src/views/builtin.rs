//! Facts of PostgreSQL's catalogs that only the catalogs show: functions that read and write types, operator classes,
//! collations. Numbers and names are PostgreSQL 15's; clients look some of them up (`'array_in'::regproc`).

use std::collections::HashMap;
use std::sync::LazyLock;

use mote_common::Oid;
use mote_sql::builtin::function::type_io;
use mote_sql::catalog::index_method::IndexMethod;
use mote_types::cast::relabelled;
use mote_types::catalog::range::{is_multirange, is_range};
use mote_types::catalog::user::is_enum;
use mote_types::family::{FAMILIES, TypeFamily};
use mote_types::signature::{OperatorClass, class};

pub const BOOTSTRAP_ROLE: Oid = Oid(10);
pub const DEFAULT_TABLESPACE: Oid = Oid(1663);
pub const HEAP: Oid = Oid(2);
pub const LANGUAGE_INTERNAL: Oid = Oid(12);
/// UTF8 in PostgreSQL's list of encodings.
pub const ENCODING_UTF8: i32 = 6;

/// A function that SQL can name but that no plan calls: input, output and their kin, where they have no value to give or
/// to take. The others are callable (`mote_sql::builtin::function::type_io`).
pub struct SupportFunction {
    pub oid: Oid,
    pub name: &'static str,
    pub arguments: &'static [u32],
    pub result: Oid,
    pub stable: bool,
}

const fn support(
    oid: u32,
    name: &'static str,
    arguments: &'static [u32],
    result: u32,
    stable: bool,
) -> SupportFunction {
    SupportFunction {
        oid: Oid(oid),
        name,
        arguments,
        result: Oid(result),
        stable,
    }
}

/// The support function of this name: pg_type asks for six of each type.
pub fn support_function(name: &str) -> Option<Oid> {
    static BY_NAME: LazyLock<HashMap<&'static str, Oid>> = LazyLock::new(|| {
        let callable = type_io().map(|function| (function.name, function.oid));
        let internal = SUPPORT_FUNCTIONS
            .iter()
            .map(|function| (function.name, function.oid));
        let mut by_name = HashMap::new();
        for (name, oid) in callable.chain(internal) {
            by_name.entry(name).or_insert(oid);
        }
        by_name
    });
    BY_NAME.get(name).copied()
}

/// The operator classes of a method: here those of types without a folder of their own.
pub fn operator_classes(method: IndexMethod) -> impl Iterator<Item = &'static OperatorClass> {
    let of_method = move |family: &'static &TypeFamily| match method {
        IndexMethod::Btree => family.classes,
        IndexMethod::Hash => family.hash_classes,
    };
    let classes = match method {
        IndexMethod::Btree => OPERATOR_CLASSES,
        IndexMethod::Hash => HASH_OPERATOR_CLASSES,
    };
    classes.iter().chain(FAMILIES.iter().flat_map(of_method))
}

/// A class by its number.
pub fn operator_class(oid: Oid) -> Option<&'static OperatorClass> {
    let mut classes = IndexMethod::ALL.into_iter().flat_map(operator_classes);
    classes.find(|class| class.oid == oid)
}

/// The operator class that an index of the method over a column of this type has.
pub fn default_operator_class(method: IndexMethod, ty: Oid) -> Oid {
    let default = |ty: Oid| operator_classes(method).find(|class| class.default && class.input == ty);
    let like = match ty {
        mote_types::oid::VARCHAR => mote_types::oid::TEXT,
        _ if mote_types::ColumnType::new(ty).is_array() => mote_types::oid::ANYARRAY,
        _ if is_enum(ty) => mote_types::oid::ANYENUM,
        _ if is_range(ty) => mote_types::oid::ANYRANGE,
        _ if is_multirange(ty) => mote_types::oid::ANYMULTIRANGE,
        _ if mote_types::catalog::is_oid_like(ty) => mote_types::oid::OID,
        _ => ty,
    };
    let class = default(ty)
        .or_else(|| relabelled(ty).find_map(default))
        .or_else(|| default(like));
    class.map_or(Oid::INVALID, |class| class.oid)
}

/// A collation: OID, name, provider, encoding (-1 = any), locale.
pub struct Collation {
    pub oid: Oid,
    pub name: &'static str,
    pub provider: char,
    pub encoding: i32,
    pub locale: Option<&'static str>,
}

pub const COLLATIONS: &[Collation] = &[
    Collation {
        oid: Oid(100),
        name: "default",
        provider: 'd',
        encoding: -1,
        locale: None,
    },
    Collation {
        oid: Oid(950),
        name: "C",
        provider: 'c',
        encoding: -1,
        locale: Some("C"),
    },
    Collation {
        oid: Oid(951),
        name: "POSIX",
        provider: 'c',
        encoding: -1,
        locale: Some("POSIX"),
    },
    Collation {
        oid: Oid(12340),
        name: "ucs_basic",
        provider: 'c',
        encoding: ENCODING_UTF8,
        locale: Some("C"),
    },
];

#[rustfmt::skip]
const OPERATOR_CLASSES: &[OperatorClass] = &[
    class(10003, "bool_ops", 424, 16, true, 0, "bool_ops"),
    class(10006, "bytea_ops", 428, 17, true, 0, "bytea_ops"),
    class(10007, "char_ops", 429, 18, true, 0, "char_ops"),
    class(10028, "name_ops", 1994, 19, true, 2275, "text_ops"),
    class(3124, "int8_ops", 1976, 20, true, 0, "integer_ops"),
    class(1979, "int2_ops", 1976, 21, true, 0, "integer_ops"),
    class(1978, "int4_ops", 1976, 23, true, 0, "integer_ops"),
    class(3126, "text_ops", 1994, 25, true, 0, "text_ops"),
    class(4217, "text_pattern_ops", 2095, 25, false, 0, "text_pattern_ops"),
    class(4218, "varchar_pattern_ops", 2095, 25, false, 0, "text_pattern_ops"),
    class(10044, "varchar_ops", 1994, 25, false, 0, "text_ops"),
    class(1981, "oid_ops", 1989, 26, true, 0, "oid_ops"),
    class(10050, "tid_ops", 2789, 27, true, 0, "tid_ops"),
    class(10032, "oidvector_ops", 1991, 30, true, 0, "oidvector_ops"),
    class(10012, "float4_ops", 1970, 700, true, 0, "float_ops"),
    class(3123, "float8_ops", 1970, 701, true, 0, "float_ops"),
    class(4219, "bpchar_pattern_ops", 2097, 1042, false, 0, "bpchar_pattern_ops"),
    class(10004, "bpchar_ops", 426, 1042, true, 0, "bpchar_ops"),
    class(3122, "date_ops", 434, 1082, true, 0, "datetime_ops"),
    class(10038, "time_ops", 1996, 1083, true, 0, "time_ops"),
    class(3128, "timestamp_ops", 434, 1114, true, 0, "datetime_ops"),
    class(3127, "timestamptz_ops", 434, 1184, true, 0, "datetime_ops"),
    class(10022, "interval_ops", 1982, 1186, true, 0, "interval_ops"),
    class(3125, "numeric_ops", 1988, 1700, true, 0, "numeric_ops"),
    class(10034, "record_ops", 2994, 2249, true, 0, "record_ops"),
    class(10036, "record_image_ops", 3194, 2249, false, 0, "record_image_ops"),
    class(10000, "array_ops", 397, 2277, true, 0, "array_ops"),
    class(10065, "uuid_ops", 2968, 2950, true, 0, "uuid_ops"),
    class(10067, "pg_lsn_ops", 3253, 3220, true, 0, "pg_lsn_ops"),
    class(10069, "enum_ops", 3522, 3500, true, 0, "enum_ops"),
    class(10088, "jsonb_ops", 4033, 3802, true, 0, "jsonb_ops"),
    class(10053, "xid8_ops", 5067, 5069, true, 0, "xid8_ops"),
];

#[rustfmt::skip]
const HASH_OPERATOR_CLASSES: &[OperatorClass] = &[
    class(10048, "bool_ops", 2222, 16, true, 0, "bool_ops"),
    class(10049, "bytea_ops", 2223, 17, true, 0, "bytea_ops"),
    class(10008, "char_ops", 431, 18, true, 0, "char_ops"),
    class(10029, "name_ops", 1995, 19, true, 0, "text_ops"),
    class(10021, "int8_ops", 1977, 20, true, 0, "integer_ops"),
    class(10019, "int2_ops", 1977, 21, true, 0, "integer_ops"),
    class(10020, "int4_ops", 1977, 23, true, 0, "integer_ops"),
    class(10037, "text_ops", 1995, 25, true, 0, "text_ops"),
    class(10045, "varchar_ops", 1995, 25, false, 0, "text_ops"),
    class(10056, "text_pattern_ops", 2229, 25, false, 0, "text_pattern_ops"),
    class(10057, "varchar_pattern_ops", 2229, 25, false, 0, "text_pattern_ops"),
    class(10031, "oid_ops", 1990, 26, true, 0, "oid_ops"),
    class(10055, "tid_ops", 2227, 27, true, 0, "tid_ops"),
    class(10033, "oidvector_ops", 1992, 30, true, 0, "oidvector_ops"),
    class(10013, "float4_ops", 1971, 700, true, 0, "float_ops"),
    class(10014, "float8_ops", 1971, 701, true, 0, "float_ops"),
    class(10005, "bpchar_ops", 427, 1042, true, 0, "bpchar_ops"),
    class(10058, "bpchar_pattern_ops", 2231, 1042, false, 0, "bpchar_pattern_ops"),
    class(10011, "date_ops", 435, 1082, true, 0, "date_ops"),
    class(10039, "time_ops", 1997, 1083, true, 0, "time_ops"),
    class(10046, "timestamp_ops", 2040, 1114, true, 0, "timestamp_ops"),
    class(10040, "timestamptz_ops", 1999, 1184, true, 0, "timestamptz_ops"),
    class(10023, "interval_ops", 1983, 1186, true, 0, "interval_ops"),
    class(10030, "numeric_ops", 1998, 1700, true, 0, "numeric_ops"),
    class(10035, "record_ops", 6194, 2249, true, 0, "record_ops"),
    class(10001, "array_ops", 627, 2277, true, 0, "array_ops"),
    class(10066, "uuid_ops", 2969, 2950, true, 0, "uuid_ops"),
    class(10068, "pg_lsn_ops", 3254, 3220, true, 0, "pg_lsn_ops"),
    class(10070, "enum_ops", 3523, 3500, true, 0, "enum_ops"),
    class(10089, "jsonb_ops", 4034, 3802, true, 0, "jsonb_ops"),
    class(10052, "xid8_ops", 5032, 5069, true, 0, "xid8_ops"),
];

/// In order of OIDs.
#[rustfmt::skip]
pub const SUPPORT_FUNCTIONS: &[SupportFunction] = &[
    support(3, "heap_tableam_handler", &[2281], 269, true),
    support(109, "unknownin", &[2275], 705, false),
    support(110, "unknownout", &[705], 2275, false),
    support(117, "point_in", &[2275], 600, false),
    support(118, "point_out", &[600], 2275, false),
    support(119, "lseg_in", &[2275], 601, false),
    support(120, "lseg_out", &[601], 2275, false),
    support(121, "path_in", &[2275], 602, false),
    support(122, "path_out", &[602], 2275, false),
    support(123, "box_in", &[2275], 603, false),
    support(124, "box_out", &[603], 2275, false),
    support(195, "pg_node_tree_in", &[2275], 194, false),
    support(196, "pg_node_tree_out", &[194], 2275, false),
    support(197, "pg_node_tree_recv", &[2281], 194, true),
    support(198, "pg_node_tree_send", &[194], 17, true),
    support(267, "table_am_handler_in", &[2275], 269, false),
    support(268, "table_am_handler_out", &[269], 2275, false),
    support(323, "json_recv", &[2281], 114, false),
    support(326, "index_am_handler_in", &[2275], 325, false),
    support(327, "index_am_handler_out", &[325], 2275, false),
    support(330, "bthandler", &[2281], 325, true),
    support(331, "hashhandler", &[2281], 325, true),
    support(347, "poly_in", &[2275], 604, false),
    support(348, "poly_out", &[604], 2275, false),
    support(750, "array_in", &[2275, 26, 23], 2277, true),
    support(1031, "aclitemin", &[2275], 1033, true),
    support(1032, "aclitemout", &[1033], 2275, true),
    support(1450, "circle_in", &[2275], 718, false),
    support(1451, "circle_out", &[718], 2275, false),
    support(1490, "line_in", &[2275], 628, false),
    support(1491, "line_out", &[628], 2275, false),
    support(2290, "record_in", &[2275, 26, 23], 2249, true),
    support(2294, "any_in", &[2275], 2276, false),
    support(2295, "any_out", &[2276], 2275, false),
    support(2296, "anyarray_in", &[2275], 2277, false),
    support(2297, "anyarray_out", &[2277], 2275, true),
    support(2298, "void_in", &[2275], 2278, false),
    support(2299, "void_out", &[2278], 2275, false),
    support(2300, "trigger_in", &[2275], 2279, false),
    support(2301, "trigger_out", &[2279], 2275, false),
    support(2304, "internal_in", &[2275], 2281, false),
    support(2305, "internal_out", &[2281], 2275, false),
    support(2312, "anyelement_in", &[2275], 2283, false),
    support(2313, "anyelement_out", &[2283], 2275, false),
    support(2400, "array_recv", &[2281, 26, 23], 2277, true),
    support(2402, "record_recv", &[2281, 26, 23], 2249, true),
    support(2404, "int2recv", &[2281], 21, false),
    support(2406, "int4recv", &[2281], 23, false),
    support(2408, "int8recv", &[2281], 20, false),
    support(2410, "int2vectorrecv", &[2281], 22, false),
    support(2412, "bytearecv", &[2281], 17, false),
    support(2414, "textrecv", &[2281], 25, true),
    support(2416, "unknownrecv", &[2281], 705, false),
    support(2417, "unknownsend", &[705], 17, false),
    support(2418, "oidrecv", &[2281], 26, false),
    support(2420, "oidvectorrecv", &[2281], 30, false),
    support(2422, "namerecv", &[2281], 19, true),
    support(2424, "float4recv", &[2281], 700, false),
    support(2426, "float8recv", &[2281], 701, false),
    support(2428, "point_recv", &[2281], 600, false),
    support(2429, "point_send", &[600], 17, false),
    support(2430, "bpcharrecv", &[2281, 26, 23], 1042, true),
    support(2432, "varcharrecv", &[2281, 26, 23], 1043, true),
    support(2434, "charrecv", &[2281], 18, false),
    support(2436, "boolrecv", &[2281], 16, false),
    support(2438, "tidrecv", &[2281], 27, false),
    support(2440, "xidrecv", &[2281], 28, false),
    support(2442, "cidrecv", &[2281], 29, false),
    support(2444, "regprocrecv", &[2281], 24, false),
    support(2446, "regprocedurerecv", &[2281], 2202, false),
    support(2452, "regclassrecv", &[2281], 2205, false),
    support(2454, "regtyperecv", &[2281], 2206, false),
    support(2460, "numeric_recv", &[2281, 26, 23], 1700, false),
    support(2468, "date_recv", &[2281], 1082, false),
    support(2470, "time_recv", &[2281, 26, 23], 1083, false),
    support(2474, "timestamp_recv", &[2281, 26, 23], 1114, false),
    support(2476, "timestamptz_recv", &[2281, 26, 23], 1184, false),
    support(2478, "interval_recv", &[2281, 26, 23], 1186, false),
    support(2480, "lseg_recv", &[2281], 601, false),
    support(2481, "lseg_send", &[601], 17, false),
    support(2482, "path_recv", &[2281], 602, false),
    support(2483, "path_send", &[602], 17, false),
    support(2484, "box_recv", &[2281], 603, false),
    support(2485, "box_send", &[603], 17, false),
    support(2486, "poly_recv", &[2281], 604, false),
    support(2487, "poly_send", &[604], 17, false),
    support(2488, "line_recv", &[2281], 628, false),
    support(2489, "line_send", &[628], 17, false),
    support(2490, "circle_recv", &[2281], 718, false),
    support(2491, "circle_send", &[718], 17, false),
    support(2500, "cstring_recv", &[2281], 2275, true),
    support(2502, "anyarray_recv", &[2281], 2277, true),
    support(2503, "anyarray_send", &[2277], 17, true),
    support(2597, "domain_in", &[2275, 26, 23], 2276, true),
    support(2598, "domain_recv", &[2281, 26, 23], 2276, true),
    support(2777, "anynonarray_in", &[2275], 2776, false),
    support(2778, "anynonarray_out", &[2776], 2275, false),
    support(2903, "intervaltypmodin", &[1263], 23, false),
    support(2904, "intervaltypmodout", &[23], 2275, false),
    support(2961, "uuid_recv", &[2281], 2950, false),
    support(3120, "void_recv", &[2281], 2278, false),
    support(3121, "void_send", &[2278], 17, false),
    support(3238, "pg_lsn_recv", &[2281], 3220, false),
    support(3504, "anyenum_in", &[2275], 3500, false),
    support(3505, "anyenum_out", &[3500], 2275, true),
    support(3506, "enum_in", &[2275, 26], 3500, true),
    support(3532, "enum_recv", &[2281, 26], 3500, true),
    support(3805, "jsonb_recv", &[2281], 3802, false),
    support(3832, "anyrange_in", &[2275, 26, 23], 3831, true),
    support(3833, "anyrange_out", &[3831], 2275, true),
    support(3834, "range_in", &[2275, 26, 23], 3831, true),
    support(3836, "range_recv", &[2281, 26, 23], 3831, true),
    support(3916, "range_typanalyze", &[2281], 16, true),
    support(4001, "jsonpath_in", &[2275], 4072, false),
    support(4002, "jsonpath_recv", &[2281], 4072, false),
    support(4003, "jsonpath_out", &[4072], 2275, false),
    support(4004, "jsonpath_send", &[4072], 17, false),
    support(4087, "regnamespacerecv", &[2281], 4089, false),
    support(4094, "regrolerecv", &[2281], 4096, false),
    support(4196, "regcollationrecv", &[2281], 4191, false),
    support(4226, "anycompatiblemultirange_in", &[2275, 26, 23], 4538, true),
    support(4227, "anycompatiblemultirange_out", &[4538], 2275, true),
    support(4229, "anymultirange_in", &[2275, 26, 23], 4537, true),
    support(4230, "anymultirange_out", &[4537], 2275, true),
    support(4231, "multirange_in", &[2275, 26, 23], 4537, true),
    support(4233, "multirange_recv", &[2281, 26, 23], 4537, true),
    support(4242, "multirange_typanalyze", &[2281], 16, true),
    support(5082, "xid8recv", &[2281], 5069, false),
    support(5086, "anycompatible_in", &[2275], 5077, false),
    support(5087, "anycompatible_out", &[5077], 2275, false),
    support(5088, "anycompatiblearray_in", &[2275], 5078, false),
    support(5089, "anycompatiblearray_out", &[5078], 2275, true),
    support(5090, "anycompatiblearray_recv", &[2281], 5078, true),
    support(5091, "anycompatiblearray_send", &[5078], 17, true),
    support(5092, "anycompatiblenonarray_in", &[2275], 5079, false),
    support(5093, "anycompatiblenonarray_out", &[5079], 2275, false),
    support(5094, "anycompatiblerange_in", &[2275, 26, 23], 5080, true),
    support(5095, "anycompatiblerange_out", &[5080], 2275, true),
    support(6098, "jsonb_subscript_handler", &[2281], 2281, false),
    support(6179, "array_subscript_handler", &[2281], 2281, false),
    support(6180, "raw_array_subscript_handler", &[2281], 2281, false),
];
