//! The tables as SQL: columns (clause 1.4), primary and foreign keys, and the indexes on foreign keys that clause 1.5 allows.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Table {
    Region,
    Nation,
    Supplier,
    Customer,
    Part,
    PartSupp,
    Orders,
    LineItem,
}

impl Table {
    /// Referenced ones first.
    pub const ALL: [Table; 8] = [
        Table::Region,
        Table::Nation,
        Table::Supplier,
        Table::Customer,
        Table::Part,
        Table::PartSupp,
        Table::Orders,
        Table::LineItem,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Table::Region => "region",
            Table::Nation => "nation",
            Table::Supplier => "supplier",
            Table::Customer => "customer",
            Table::Part => "part",
            Table::PartSupp => "partsupp",
            Table::Orders => "orders",
            Table::LineItem => "lineitem",
        }
    }

    /// Rows for each key that its units count: a part has four suppliers, an order one to seven lines.
    pub fn rows_per_key(self) -> u64 {
        match self {
            Table::PartSupp | Table::LineItem => 4,
            _ => 1,
        }
    }
}

/// In the order of [`Table::ALL`].
const COLUMNS: [&str; 8] = [
    "r_regionkey integer NOT NULL, r_name char(25) NOT NULL, r_comment varchar(152)",
    "n_nationkey integer NOT NULL, n_name char(25) NOT NULL, n_regionkey integer NOT NULL, n_comment varchar(152)",
    "s_suppkey integer NOT NULL, s_name char(25) NOT NULL, s_address varchar(40) NOT NULL, \
             s_nationkey integer NOT NULL, s_phone char(15) NOT NULL, s_acctbal decimal(15,2) NOT NULL, \
             s_comment varchar(101) NOT NULL",
    "c_custkey integer NOT NULL, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL, \
             c_nationkey integer NOT NULL, c_phone char(15) NOT NULL, c_acctbal decimal(15,2) NOT NULL, \
             c_mktsegment char(10) NOT NULL, c_comment varchar(117) NOT NULL",
    "p_partkey integer NOT NULL, p_name varchar(55) NOT NULL, p_mfgr char(25) NOT NULL, p_brand char(10) NOT NULL, \
             p_type varchar(25) NOT NULL, p_size integer NOT NULL, p_container char(10) NOT NULL, \
             p_retailprice decimal(15,2) NOT NULL, p_comment varchar(23) NOT NULL",
    "ps_partkey integer NOT NULL, ps_suppkey integer NOT NULL, ps_availqty integer NOT NULL, \
             ps_supplycost decimal(15,2) NOT NULL, ps_comment varchar(199) NOT NULL",
    "o_orderkey bigint NOT NULL, o_custkey integer NOT NULL, o_orderstatus char(1) NOT NULL, \
             o_totalprice decimal(15,2) NOT NULL, o_orderdate date NOT NULL, o_orderpriority char(15) NOT NULL, \
             o_clerk char(15) NOT NULL, o_shippriority integer NOT NULL, o_comment varchar(79) NOT NULL",
    "l_orderkey bigint NOT NULL, l_partkey integer NOT NULL, l_suppkey integer NOT NULL, \
             l_linenumber integer NOT NULL, l_quantity decimal(15,2) NOT NULL, l_extendedprice decimal(15,2) NOT NULL, \
             l_discount decimal(15,2) NOT NULL, l_tax decimal(15,2) NOT NULL, l_returnflag char(1) NOT NULL, \
             l_linestatus char(1) NOT NULL, l_shipdate date NOT NULL, l_commitdate date NOT NULL, \
             l_receiptdate date NOT NULL, l_shipinstruct char(25) NOT NULL, l_shipmode char(10) NOT NULL, \
             l_comment varchar(44) NOT NULL",
];

const KEYS: [(&str, &str); 8] = [
    ("region", "r_regionkey"),
    ("nation", "n_nationkey"),
    ("supplier", "s_suppkey"),
    ("customer", "c_custkey"),
    ("part", "p_partkey"),
    ("partsupp", "ps_partkey, ps_suppkey"),
    ("orders", "o_orderkey"),
    ("lineitem", "l_orderkey, l_linenumber"),
];

const FOREIGN_KEYS: [(&str, &str, &str); 8] = [
    ("nation", "n_regionkey", "region"),
    ("supplier", "s_nationkey", "nation"),
    ("customer", "c_nationkey", "nation"),
    ("partsupp", "ps_partkey", "part"),
    ("partsupp", "ps_suppkey", "supplier"),
    ("orders", "o_custkey", "customer"),
    ("lineitem", "l_orderkey", "orders"),
    ("lineitem", "l_partkey, l_suppkey", "partsupp"),
];

const INDEXES: [(&str, &str); 7] = [
    ("nation", "n_regionkey"),
    ("supplier", "s_nationkey"),
    ("customer", "c_nationkey"),
    ("partsupp", "ps_suppkey"),
    ("orders", "o_custkey"),
    ("lineitem", "l_partkey, l_suppkey"),
    ("lineitem", "l_suppkey"),
];

/// The statements that make the empty tables.
pub fn create() -> Vec<String> {
    let each = Table::ALL.iter().zip(COLUMNS);
    each.map(|(table, columns)| format!("CREATE TABLE {} ({columns})", table.name()))
        .collect()
}

/// For full tables.
pub fn primary_keys() -> Vec<String> {
    let each = KEYS.iter();
    each.map(|(table, columns)| format!("ALTER TABLE {table} ADD PRIMARY KEY ({columns})"))
        .collect()
}

pub fn indexes() -> Vec<String> {
    let each = INDEXES.iter();
    each.map(|(table, columns)| format!("CREATE INDEX ON {table} ({columns})"))
        .collect()
}

pub fn foreign_keys() -> Vec<String> {
    let each = FOREIGN_KEYS.iter();
    each.map(|(table, columns, other)| {
        format!("ALTER TABLE {table} ADD FOREIGN KEY ({columns}) REFERENCES {other}")
    })
    .collect()
}
