//! The built-in types as rows of constants: everything `pg_type` shows about them.
//!
//! The numbers and names are PostgreSQL 15's catalog facts; clients rely on them (drivers hard-code OIDs).
//! Leaves out: what the types mean. Input and output live in `format`, conversions in `cast`.

use super::TypeInfo;
use mote_common::Oid;

#[rustfmt::skip]
#[allow(clippy::too_many_arguments, reason = "one argument per catalog column keeps the table readable")]
const fn base(
    oid: u32, name: &'static str, sql_name: &'static str, len: i16, by_value: bool, kind: u8, category: u8,
    preferred: bool, elem: u32, array: u32, align: u8, storage: u8, collation: u32, procs: [&'static str; 7],
) -> TypeInfo {
    TypeInfo {
        oid: Oid(oid), name, sql_name, len, by_value, kind, category, preferred, delim: b',',
        elem: Oid(elem), array: Oid(array), align, storage, collation: Oid(collation),
        input: procs[0], output: procs[1], receive: procs[2], send: procs[3],
        modin: procs[4], modout: procs[5], subscript: procs[6],
    }
}

#[rustfmt::skip]
#[allow(clippy::too_many_arguments, reason = "one argument per catalog column keeps the table readable")]
const fn array(
    oid: u32, name: &'static str, sql_name: &'static str, elem: u32, align: u8, collation: u32,
    modin: &'static str, modout: &'static str,
) -> TypeInfo {
    TypeInfo {
        oid: Oid(oid), name, sql_name, len: -1, by_value: false,
        // record[] is the one array that is itself a pseudo-type.
        kind: if oid == 2287 { b'p' } else { b'b' },
        category: if oid == 2287 { b'P' } else { b'A' },
        preferred: false, delim: b',', elem: Oid(elem), array: Oid(0), align, storage: b'x',
        collation: Oid(collation), input: "array_in", output: "array_out", receive: "array_recv",
        send: "array_send", modin, modout, subscript: "array_subscript_handler",
    }
}

/// What `pg_type` shows of every enum; OID, names and array are each one's own.
#[rustfmt::skip]
pub static ENUM_SHAPE: TypeInfo =
    base(0, "", "", 4, true, b'e', b'E', false, 0, 0, b'i', b'p', 0, ["enum_in", "enum_out", "enum_recv", "enum_send", "", "", ""]);

/// The same of the arrays over them.
pub static ENUM_ARRAY_SHAPE: TypeInfo = array(0, "", "", 0, b'i', 0, "", "");

/// What pg_type shows of every composite type and of the row types of relations.
#[rustfmt::skip]
pub static COMPOSITE_SHAPE: TypeInfo =
    base(0, "", "", -1, false, b'c', b'C', false, 0, 0, b'd', b'x', 0, ["record_in", "record_out", "record_recv", "record_send", "", "", ""]);

/// The same of the arrays over them.
pub static COMPOSITE_ARRAY_SHAPE: TypeInfo = array(0, "", "", 0, b'd', 0, "", "");

/// What pg_type shows of every range type of users.
#[rustfmt::skip]
pub static RANGE_SHAPE: TypeInfo =
    base(0, "", "", -1, false, b'r', b'R', false, 0, 0, b'i', b'x', 0, ["range_in", "range_out", "range_recv", "range_send", "", "", ""]);

/// The same of the multiranges over them. Arrays over both are those of enums.
#[rustfmt::skip]
pub static MULTIRANGE_SHAPE: TypeInfo =
    base(0, "", "", -1, false, b'm', b'R', false, 0, 0, b'i', b'x', 0, ["multirange_in", "multirange_out", "multirange_recv", "multirange_send", "", "", ""]);

/// Every built-in type, ordered by OID so that look-ups can search by halves.
#[rustfmt::skip]
pub static BUILTIN_TYPES: &[TypeInfo] = &[
    base(16, "bool", "boolean", 1, true, b'b', b'B', true, 0, 1000, b'c', b'p', 0, ["boolin", "boolout", "boolrecv", "boolsend", "", "", ""]),
    base(17, "bytea", "bytea", -1, false, b'b', b'U', false, 0, 1001, b'i', b'x', 0, ["byteain", "byteaout", "bytearecv", "byteasend", "", "", ""]),
    base(18, "char", "\"char\"", 1, true, b'b', b'Z', false, 0, 1002, b'c', b'p', 0, ["charin", "charout", "charrecv", "charsend", "", "", ""]),
    base(19, "name", "name", 64, false, b'b', b'S', false, 18, 1003, b'c', b'p', 950, ["namein", "nameout", "namerecv", "namesend", "", "", "raw_array_subscript_handler"]),
    base(20, "int8", "bigint", 8, true, b'b', b'N', false, 0, 1016, b'd', b'p', 0, ["int8in", "int8out", "int8recv", "int8send", "", "", ""]),
    base(21, "int2", "smallint", 2, true, b'b', b'N', false, 0, 1005, b's', b'p', 0, ["int2in", "int2out", "int2recv", "int2send", "", "", ""]),
    base(22, "int2vector", "int2vector", -1, false, b'b', b'A', false, 21, 1006, b'i', b'p', 0, ["int2vectorin", "int2vectorout", "int2vectorrecv", "int2vectorsend", "", "", "array_subscript_handler"]),
    base(23, "int4", "integer", 4, true, b'b', b'N', false, 0, 1007, b'i', b'p', 0, ["int4in", "int4out", "int4recv", "int4send", "", "", ""]),
    base(24, "regproc", "regproc", 4, true, b'b', b'N', false, 0, 1008, b'i', b'p', 0, ["regprocin", "regprocout", "regprocrecv", "regprocsend", "", "", ""]),
    base(25, "text", "text", -1, false, b'b', b'S', true, 0, 1009, b'i', b'x', 100, ["textin", "textout", "textrecv", "textsend", "", "", ""]),
    base(26, "oid", "oid", 4, true, b'b', b'N', true, 0, 1028, b'i', b'p', 0, ["oidin", "oidout", "oidrecv", "oidsend", "", "", ""]),
    base(27, "tid", "tid", 6, false, b'b', b'U', false, 0, 1010, b's', b'p', 0, ["tidin", "tidout", "tidrecv", "tidsend", "", "", ""]),
    base(28, "xid", "xid", 4, true, b'b', b'U', false, 0, 1011, b'i', b'p', 0, ["xidin", "xidout", "xidrecv", "xidsend", "", "", ""]),
    base(29, "cid", "cid", 4, true, b'b', b'U', false, 0, 1012, b'i', b'p', 0, ["cidin", "cidout", "cidrecv", "cidsend", "", "", ""]),
    base(30, "oidvector", "oidvector", -1, false, b'b', b'A', false, 26, 1013, b'i', b'p', 0, ["oidvectorin", "oidvectorout", "oidvectorrecv", "oidvectorsend", "", "", "array_subscript_handler"]),
    base(114, "json", "json", -1, false, b'b', b'U', false, 0, 199, b'i', b'x', 0, ["json_in", "json_out", "json_recv", "json_send", "", "", ""]),
    base(194, "pg_node_tree", "pg_node_tree", -1, false, b'b', b'Z', false, 0, 0, b'i', b'x', 100, ["pg_node_tree_in", "pg_node_tree_out", "pg_node_tree_recv", "pg_node_tree_send", "", "", ""]),
    array(199, "_json", "json[]", 114, b'i', 0, "", ""),
    base(269, "table_am_handler", "table_am_handler", 4, true, b'p', b'P', false, 0, 0, b'i', b'p', 0, ["table_am_handler_in", "table_am_handler_out", "", "", "", "", ""]),
    array(271, "_xid8", "xid8[]", 5069, b'd', 0, "", ""),
    base(325, "index_am_handler", "index_am_handler", 4, true, b'p', b'P', false, 0, 0, b'i', b'p', 0, ["index_am_handler_in", "index_am_handler_out", "", "", "", "", ""]),
    base(600, "point", "point", 16, false, b'b', b'G', false, 701, 1017, b'd', b'p', 0, ["point_in", "point_out", "point_recv", "point_send", "", "", "raw_array_subscript_handler"]),
    base(601, "lseg", "lseg", 32, false, b'b', b'G', false, 600, 1018, b'd', b'p', 0, ["lseg_in", "lseg_out", "lseg_recv", "lseg_send", "", "", "raw_array_subscript_handler"]),
    base(602, "path", "path", -1, false, b'b', b'G', false, 0, 1019, b'd', b'x', 0, ["path_in", "path_out", "path_recv", "path_send", "", "", ""]),
    TypeInfo { delim: b';', ..base(603, "box", "box", 32, false, b'b', b'G', false, 600, 1020, b'd', b'p', 0, ["box_in", "box_out", "box_recv", "box_send", "", "", "raw_array_subscript_handler"]) },
    base(604, "polygon", "polygon", -1, false, b'b', b'G', false, 0, 1027, b'd', b'x', 0, ["poly_in", "poly_out", "poly_recv", "poly_send", "", "", ""]),
    base(628, "line", "line", 24, false, b'b', b'G', false, 701, 629, b'd', b'p', 0, ["line_in", "line_out", "line_recv", "line_send", "", "", "raw_array_subscript_handler"]),
    array(629, "_line", "line[]", 628, b'd', 0, "", ""),
    base(650, "cidr", "cidr", -1, false, b'b', b'I', false, 0, 651, b'i', b'm', 0, ["cidr_in", "cidr_out", "cidr_recv", "cidr_send", "", "", ""]),
    array(651, "_cidr", "cidr[]", 650, b'i', 0, "", ""),
    base(700, "float4", "real", 4, true, b'b', b'N', false, 0, 1021, b'i', b'p', 0, ["float4in", "float4out", "float4recv", "float4send", "", "", ""]),
    base(701, "float8", "double precision", 8, true, b'b', b'N', true, 0, 1022, b'd', b'p', 0, ["float8in", "float8out", "float8recv", "float8send", "", "", ""]),
    base(705, "unknown", "unknown", -2, false, b'p', b'X', false, 0, 0, b'c', b'p', 0, ["unknownin", "unknownout", "unknownrecv", "unknownsend", "", "", ""]),
    base(718, "circle", "circle", 24, false, b'b', b'G', false, 0, 719, b'd', b'p', 0, ["circle_in", "circle_out", "circle_recv", "circle_send", "", "", ""]),
    array(719, "_circle", "circle[]", 718, b'd', 0, "", ""),
    base(774, "macaddr8", "macaddr8", 8, false, b'b', b'U', false, 0, 775, b'i', b'p', 0, ["macaddr8_in", "macaddr8_out", "macaddr8_recv", "macaddr8_send", "", "", ""]),
    array(775, "_macaddr8", "macaddr8[]", 774, b'i', 0, "", ""),
    base(790, "money", "money", 8, true, b'b', b'N', false, 0, 791, b'd', b'p', 0, ["cash_in", "cash_out", "cash_recv", "cash_send", "", "", ""]),
    array(791, "_money", "money[]", 790, b'd', 0, "", ""),
    base(829, "macaddr", "macaddr", 6, false, b'b', b'U', false, 0, 1040, b'i', b'p', 0, ["macaddr_in", "macaddr_out", "macaddr_recv", "macaddr_send", "", "", ""]),
    base(869, "inet", "inet", -1, false, b'b', b'I', true, 0, 1041, b'i', b'm', 0, ["inet_in", "inet_out", "inet_recv", "inet_send", "", "", ""]),
    array(1000, "_bool", "boolean[]", 16, b'i', 0, "", ""),
    array(1001, "_bytea", "bytea[]", 17, b'i', 0, "", ""),
    array(1002, "_char", "\"char\"[]", 18, b'i', 0, "", ""),
    array(1003, "_name", "name[]", 19, b'i', 950, "", ""),
    array(1005, "_int2", "smallint[]", 21, b'i', 0, "", ""),
    array(1006, "_int2vector", "int2vector[]", 22, b'i', 0, "", ""),
    array(1007, "_int4", "integer[]", 23, b'i', 0, "", ""),
    array(1008, "_regproc", "regproc[]", 24, b'i', 0, "", ""),
    array(1009, "_text", "text[]", 25, b'i', 100, "", ""),
    array(1010, "_tid", "tid[]", 27, b'i', 0, "", ""),
    array(1011, "_xid", "xid[]", 28, b'i', 0, "", ""),
    array(1012, "_cid", "cid[]", 29, b'i', 0, "", ""),
    array(1013, "_oidvector", "oidvector[]", 30, b'i', 0, "", ""),
    array(1014, "_bpchar", "character[]", 1042, b'i', 100, "bpchartypmodin", "bpchartypmodout"),
    array(1015, "_varchar", "character varying[]", 1043, b'i', 100, "varchartypmodin", "varchartypmodout"),
    array(1016, "_int8", "bigint[]", 20, b'd', 0, "", ""),
    array(1017, "_point", "point[]", 600, b'd', 0, "", ""),
    array(1018, "_lseg", "lseg[]", 601, b'd', 0, "", ""),
    array(1019, "_path", "path[]", 602, b'd', 0, "", ""),
    TypeInfo { delim: b';', ..array(1020, "_box", "box[]", 603, b'd', 0, "", "") },
    array(1021, "_float4", "real[]", 700, b'i', 0, "", ""),
    array(1022, "_float8", "double precision[]", 701, b'd', 0, "", ""),
    array(1027, "_polygon", "polygon[]", 604, b'd', 0, "", ""),
    array(1028, "_oid", "oid[]", 26, b'i', 0, "", ""),
    base(1033, "aclitem", "aclitem", 12, false, b'b', b'U', false, 0, 1034, b'i', b'p', 0, ["aclitemin", "aclitemout", "", "", "", "", ""]),
    array(1034, "_aclitem", "aclitem[]", 1033, b'i', 0, "", ""),
    array(1040, "_macaddr", "macaddr[]", 829, b'i', 0, "", ""),
    array(1041, "_inet", "inet[]", 869, b'i', 0, "", ""),
    base(1042, "bpchar", "character", -1, false, b'b', b'S', false, 0, 1014, b'i', b'x', 100, ["bpcharin", "bpcharout", "bpcharrecv", "bpcharsend", "bpchartypmodin", "bpchartypmodout", ""]),
    base(1043, "varchar", "character varying", -1, false, b'b', b'S', false, 0, 1015, b'i', b'x', 100, ["varcharin", "varcharout", "varcharrecv", "varcharsend", "varchartypmodin", "varchartypmodout", ""]),
    base(1082, "date", "date", 4, true, b'b', b'D', false, 0, 1182, b'i', b'p', 0, ["date_in", "date_out", "date_recv", "date_send", "", "", ""]),
    base(1083, "time", "time without time zone", 8, true, b'b', b'D', false, 0, 1183, b'd', b'p', 0, ["time_in", "time_out", "time_recv", "time_send", "timetypmodin", "timetypmodout", ""]),
    base(1114, "timestamp", "timestamp without time zone", 8, true, b'b', b'D', false, 0, 1115, b'd', b'p', 0, ["timestamp_in", "timestamp_out", "timestamp_recv", "timestamp_send", "timestamptypmodin", "timestamptypmodout", ""]),
    array(1115, "_timestamp", "timestamp without time zone[]", 1114, b'd', 0, "timestamptypmodin", "timestamptypmodout"),
    array(1182, "_date", "date[]", 1082, b'i', 0, "", ""),
    array(1183, "_time", "time without time zone[]", 1083, b'd', 0, "timetypmodin", "timetypmodout"),
    base(1184, "timestamptz", "timestamp with time zone", 8, true, b'b', b'D', true, 0, 1185, b'd', b'p', 0, ["timestamptz_in", "timestamptz_out", "timestamptz_recv", "timestamptz_send", "timestamptztypmodin", "timestamptztypmodout", ""]),
    array(1185, "_timestamptz", "timestamp with time zone[]", 1184, b'd', 0, "timestamptztypmodin", "timestamptztypmodout"),
    base(1186, "interval", "interval", 16, false, b'b', b'T', true, 0, 1187, b'd', b'p', 0, ["interval_in", "interval_out", "interval_recv", "interval_send", "intervaltypmodin", "intervaltypmodout", ""]),
    array(1187, "_interval", "interval[]", 1186, b'd', 0, "intervaltypmodin", "intervaltypmodout"),
    array(1231, "_numeric", "numeric[]", 1700, b'i', 0, "numerictypmodin", "numerictypmodout"),
    array(1263, "_cstring", "cstring[]", 2275, b'i', 0, "", ""),
    base(1266, "timetz", "time with time zone", 12, false, b'b', b'D', false, 0, 1270, b'd', b'p', 0, ["timetz_in", "timetz_out", "timetz_recv", "timetz_send", "timetztypmodin", "timetztypmodout", ""]),
    array(1270, "_timetz", "time with time zone[]", 1266, b'd', 0, "timetztypmodin", "timetztypmodout"),
    base(1560, "bit", "bit", -1, false, b'b', b'V', false, 0, 1561, b'i', b'x', 0, ["bit_in", "bit_out", "bit_recv", "bit_send", "bittypmodin", "bittypmodout", ""]),
    array(1561, "_bit", "bit[]", 1560, b'i', 0, "bittypmodin", "bittypmodout"),
    base(1562, "varbit", "bit varying", -1, false, b'b', b'V', true, 0, 1563, b'i', b'x', 0, ["varbit_in", "varbit_out", "varbit_recv", "varbit_send", "varbittypmodin", "varbittypmodout", ""]),
    array(1563, "_varbit", "bit varying[]", 1562, b'i', 0, "varbittypmodin", "varbittypmodout"),
    base(1700, "numeric", "numeric", -1, false, b'b', b'N', false, 0, 1231, b'i', b'm', 0, ["numeric_in", "numeric_out", "numeric_recv", "numeric_send", "numerictypmodin", "numerictypmodout", ""]),
    base(1790, "refcursor", "refcursor", -1, false, b'b', b'U', false, 0, 2201, b'i', b'x', 0, ["textin", "textout", "textrecv", "textsend", "", "", ""]),
    array(2201, "_refcursor", "refcursor[]", 1790, b'i', 0, "", ""),
    base(2202, "regprocedure", "regprocedure", 4, true, b'b', b'N', false, 0, 2207, b'i', b'p', 0, ["regprocedurein", "regprocedureout", "regprocedurerecv", "regproceduresend", "", "", ""]),
    base(2205, "regclass", "regclass", 4, true, b'b', b'N', false, 0, 2210, b'i', b'p', 0, ["regclassin", "regclassout", "regclassrecv", "regclasssend", "", "", ""]),
    base(2206, "regtype", "regtype", 4, true, b'b', b'N', false, 0, 2211, b'i', b'p', 0, ["regtypein", "regtypeout", "regtyperecv", "regtypesend", "", "", ""]),
    array(2207, "_regprocedure", "regprocedure[]", 2202, b'i', 0, "", ""),
    array(2210, "_regclass", "regclass[]", 2205, b'i', 0, "", ""),
    array(2211, "_regtype", "regtype[]", 2206, b'i', 0, "", ""),
    base(2249, "record", "record", -1, false, b'p', b'P', false, 0, 2287, b'd', b'x', 0, ["record_in", "record_out", "record_recv", "record_send", "", "", ""]),
    base(2275, "cstring", "cstring", -2, false, b'p', b'P', false, 0, 1263, b'c', b'p', 0, ["cstring_in", "cstring_out", "cstring_recv", "cstring_send", "", "", ""]),
    base(2276, "any", "\"any\"", 4, true, b'p', b'P', false, 0, 0, b'i', b'p', 0, ["any_in", "any_out", "", "", "", "", ""]),
    base(2277, "anyarray", "anyarray", -1, false, b'p', b'P', false, 0, 0, b'd', b'x', 0, ["anyarray_in", "anyarray_out", "anyarray_recv", "anyarray_send", "", "", ""]),
    base(2278, "void", "void", 4, true, b'p', b'P', false, 0, 0, b'i', b'p', 0, ["void_in", "void_out", "void_recv", "void_send", "", "", ""]),
    base(2279, "trigger", "trigger", 4, true, b'p', b'P', false, 0, 0, b'i', b'p', 0, ["trigger_in", "trigger_out", "", "", "", "", ""]),
    base(2281, "internal", "internal", 8, true, b'p', b'P', false, 0, 0, b'd', b'p', 0, ["internal_in", "internal_out", "", "", "", "", ""]),
    base(2283, "anyelement", "anyelement", 4, true, b'p', b'P', false, 0, 0, b'i', b'p', 0, ["anyelement_in", "anyelement_out", "", "", "", "", ""]),
    array(2287, "_record", "record[]", 2249, b'd', 0, "", ""),
    base(2776, "anynonarray", "anynonarray", 4, true, b'p', b'P', false, 0, 0, b'i', b'p', 0, ["anynonarray_in", "anynonarray_out", "", "", "", "", ""]),
    array(2949, "_txid_snapshot", "txid_snapshot[]", 2970, b'd', 0, "", ""),
    base(2950, "uuid", "uuid", 16, false, b'b', b'U', false, 0, 2951, b'c', b'p', 0, ["uuid_in", "uuid_out", "uuid_recv", "uuid_send", "", "", ""]),
    array(2951, "_uuid", "uuid[]", 2950, b'i', 0, "", ""),
    base(2970, "txid_snapshot", "txid_snapshot", -1, false, b'b', b'U', false, 0, 2949, b'd', b'x', 0, ["txid_snapshot_in", "txid_snapshot_out", "txid_snapshot_recv", "txid_snapshot_send", "", "", ""]),
    base(3220, "pg_lsn", "pg_lsn", 8, true, b'b', b'U', false, 0, 3221, b'd', b'p', 0, ["pg_lsn_in", "pg_lsn_out", "pg_lsn_recv", "pg_lsn_send", "", "", ""]),
    array(3221, "_pg_lsn", "pg_lsn[]", 3220, b'd', 0, "", ""),
    base(3500, "anyenum", "anyenum", 4, true, b'p', b'P', false, 0, 0, b'i', b'p', 0, ["anyenum_in", "anyenum_out", "", "", "", "", ""]),
    base(3802, "jsonb", "jsonb", -1, false, b'b', b'U', false, 0, 3807, b'i', b'x', 0, ["jsonb_in", "jsonb_out", "jsonb_recv", "jsonb_send", "", "", "jsonb_subscript_handler"]),
    array(3807, "_jsonb", "jsonb[]", 3802, b'i', 0, "", ""),
    base(3831, "anyrange", "anyrange", -1, false, b'p', b'P', false, 0, 0, b'd', b'x', 0, ["anyrange_in", "anyrange_out", "", "", "", "", ""]),
    base(3904, "int4range", "int4range", -1, false, b'r', b'R', false, 0, 3905, b'i', b'x', 0, ["range_in", "range_out", "range_recv", "range_send", "", "", ""]),
    array(3905, "_int4range", "int4range[]", 3904, b'i', 0, "", ""),
    base(3906, "numrange", "numrange", -1, false, b'r', b'R', false, 0, 3907, b'i', b'x', 0, ["range_in", "range_out", "range_recv", "range_send", "", "", ""]),
    array(3907, "_numrange", "numrange[]", 3906, b'i', 0, "", ""),
    base(3908, "tsrange", "tsrange", -1, false, b'r', b'R', false, 0, 3909, b'd', b'x', 0, ["range_in", "range_out", "range_recv", "range_send", "", "", ""]),
    array(3909, "_tsrange", "tsrange[]", 3908, b'd', 0, "", ""),
    base(3910, "tstzrange", "tstzrange", -1, false, b'r', b'R', false, 0, 3911, b'd', b'x', 0, ["range_in", "range_out", "range_recv", "range_send", "", "", ""]),
    array(3911, "_tstzrange", "tstzrange[]", 3910, b'd', 0, "", ""),
    base(3912, "daterange", "daterange", -1, false, b'r', b'R', false, 0, 3913, b'i', b'x', 0, ["range_in", "range_out", "range_recv", "range_send", "", "", ""]),
    array(3913, "_daterange", "daterange[]", 3912, b'i', 0, "", ""),
    base(3926, "int8range", "int8range", -1, false, b'r', b'R', false, 0, 3927, b'd', b'x', 0, ["range_in", "range_out", "range_recv", "range_send", "", "", ""]),
    array(3927, "_int8range", "int8range[]", 3926, b'd', 0, "", ""),
    base(4072, "jsonpath", "jsonpath", -1, false, b'b', b'U', false, 0, 4073, b'i', b'x', 0, ["jsonpath_in", "jsonpath_out", "jsonpath_recv", "jsonpath_send", "", "", ""]),
    array(4073, "_jsonpath", "jsonpath[]", 4072, b'i', 0, "", ""),
    base(4089, "regnamespace", "regnamespace", 4, true, b'b', b'N', false, 0, 4090, b'i', b'p', 0, ["regnamespacein", "regnamespaceout", "regnamespacerecv", "regnamespacesend", "", "", ""]),
    array(4090, "_regnamespace", "regnamespace[]", 4089, b'i', 0, "", ""),
    base(4096, "regrole", "regrole", 4, true, b'b', b'N', false, 0, 4097, b'i', b'p', 0, ["regrolein", "regroleout", "regrolerecv", "regrolesend", "", "", ""]),
    array(4097, "_regrole", "regrole[]", 4096, b'i', 0, "", ""),
    base(4191, "regcollation", "regcollation", 4, true, b'b', b'N', false, 0, 4192, b'i', b'p', 0, ["regcollationin", "regcollationout", "regcollationrecv", "regcollationsend", "", "", ""]),
    array(4192, "_regcollation", "regcollation[]", 4191, b'i', 0, "", ""),
    base(4451, "int4multirange", "int4multirange", -1, false, b'm', b'R', false, 0, 6150, b'i', b'x', 0, ["multirange_in", "multirange_out", "multirange_recv", "multirange_send", "", "", ""]),
    base(4532, "nummultirange", "nummultirange", -1, false, b'm', b'R', false, 0, 6151, b'i', b'x', 0, ["multirange_in", "multirange_out", "multirange_recv", "multirange_send", "", "", ""]),
    base(4533, "tsmultirange", "tsmultirange", -1, false, b'm', b'R', false, 0, 6152, b'd', b'x', 0, ["multirange_in", "multirange_out", "multirange_recv", "multirange_send", "", "", ""]),
    base(4534, "tstzmultirange", "tstzmultirange", -1, false, b'm', b'R', false, 0, 6153, b'd', b'x', 0, ["multirange_in", "multirange_out", "multirange_recv", "multirange_send", "", "", ""]),
    base(4535, "datemultirange", "datemultirange", -1, false, b'm', b'R', false, 0, 6155, b'i', b'x', 0, ["multirange_in", "multirange_out", "multirange_recv", "multirange_send", "", "", ""]),
    base(4536, "int8multirange", "int8multirange", -1, false, b'm', b'R', false, 0, 6157, b'd', b'x', 0, ["multirange_in", "multirange_out", "multirange_recv", "multirange_send", "", "", ""]),
    base(4537, "anymultirange", "anymultirange", -1, false, b'p', b'P', false, 0, 0, b'd', b'x', 0, ["anymultirange_in", "anymultirange_out", "", "", "", "", ""]),
    base(4538, "anycompatiblemultirange", "anycompatiblemultirange", -1, false, b'p', b'P', false, 0, 0, b'd', b'x', 0, ["anycompatiblemultirange_in", "anycompatiblemultirange_out", "", "", "", "", ""]),
    base(5038, "pg_snapshot", "pg_snapshot", -1, false, b'b', b'U', false, 0, 5039, b'd', b'x', 0, ["pg_snapshot_in", "pg_snapshot_out", "pg_snapshot_recv", "pg_snapshot_send", "", "", ""]),
    array(5039, "_pg_snapshot", "pg_snapshot[]", 5038, b'd', 0, "", ""),
    base(5069, "xid8", "xid8", 8, true, b'b', b'U', false, 0, 271, b'd', b'p', 0, ["xid8in", "xid8out", "xid8recv", "xid8send", "", "", ""]),
    base(5077, "anycompatible", "anycompatible", 4, true, b'p', b'P', false, 0, 0, b'i', b'p', 0, ["anycompatible_in", "anycompatible_out", "", "", "", "", ""]),
    base(5078, "anycompatiblearray", "anycompatiblearray", -1, false, b'p', b'P', false, 0, 0, b'd', b'x', 0, ["anycompatiblearray_in", "anycompatiblearray_out", "anycompatiblearray_recv", "anycompatiblearray_send", "", "", ""]),
    base(5079, "anycompatiblenonarray", "anycompatiblenonarray", 4, true, b'p', b'P', false, 0, 0, b'i', b'p', 0, ["anycompatiblenonarray_in", "anycompatiblenonarray_out", "", "", "", "", ""]),
    base(5080, "anycompatiblerange", "anycompatiblerange", -1, false, b'p', b'P', false, 0, 0, b'd', b'x', 0, ["anycompatiblerange_in", "anycompatiblerange_out", "", "", "", "", ""]),
    array(6150, "_int4multirange", "int4multirange[]", 4451, b'i', 0, "", ""),
    array(6151, "_nummultirange", "nummultirange[]", 4532, b'i', 0, "", ""),
    array(6152, "_tsmultirange", "tsmultirange[]", 4533, b'd', 0, "", ""),
    array(6153, "_tstzmultirange", "tstzmultirange[]", 4534, b'd', 0, "", ""),
    array(6155, "_datemultirange", "datemultirange[]", 4535, b'i', 0, "", ""),
    array(6157, "_int8multirange", "int8multirange[]", 4536, b'd', 0, "", ""),
    base(15200, "citext", "citext", -1, false, b'b', b'S', false, 0, 15201, b'i', b'x', 100, ["citextin", "citextout", "citextrecv", "citextsend", "", "", ""]),
    array(15201, "_citext", "citext[]", 15200, b'i', 100, "", ""),
    base(15300, "hstore", "hstore", -1, false, b'b', b'U', false, 0, 15301, b'i', b'x', 0, ["hstore_in", "hstore_out", "hstore_recv", "hstore_send", "", "", "hstore_subscript_handler"]),
    array(15301, "_hstore", "hstore[]", 15300, b'i', 0, "", ""),
];
