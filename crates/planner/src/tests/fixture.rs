//! A catalog in memory: the TPC-C tables as BenchmarkSQL makes them, pgbench's, and a few of pg_catalog's.

use std::sync::{Arc, OnceLock};

use mote_common::{IndexId, Oid, TableId};
use mote_types::parse_type;

use mote_sql::catalog::index_method::IndexMethod;
use mote_sql::catalog::*;

pub struct TestCatalog {
    relations: Vec<Arc<Relation>>,
}

/// `name: column type, ...; index [unique|primary] name (columns); ...; rows n`.
const TABLES: &[&str] = &[
    "bmsql_warehouse: w_id int!, w_ytd decimal(12,2), w_tax decimal(4,4), w_name varchar(10), w_street_1 varchar(20), w_street_2 varchar(20), w_city varchar(20), w_state char(2), w_zip char(9); primary bmsql_warehouse_pkey (w_id); rows 10",
    "bmsql_district: d_w_id int!, d_id int!, d_ytd decimal(12,2), d_tax decimal(4,4), d_next_o_id int, d_name varchar(10), d_street_1 varchar(20), d_street_2 varchar(20), d_city varchar(20), d_state char(2), d_zip char(9); primary bmsql_district_pkey (d_w_id,d_id); rows 100",
    "bmsql_customer: c_w_id int!, c_d_id int!, c_id int!, c_discount decimal(4,4), c_credit char(2), c_last varchar(16), c_first varchar(16), c_credit_lim decimal(12,2), c_balance decimal(12,2), c_ytd_payment decimal(12,2), c_payment_cnt int, c_delivery_cnt int, c_street_1 varchar(20), c_street_2 varchar(20), c_city varchar(20), c_state char(2), c_zip char(9), c_phone char(16), c_since timestamp, c_middle char(2), c_data varchar(500); primary bmsql_customer_pkey (c_w_id,c_d_id,c_id); index bmsql_customer_idx1 (c_w_id,c_d_id,c_last,c_first); rows 300000",
    "bmsql_history: hist_id int, h_c_id int, h_c_d_id int, h_c_w_id int, h_d_id int, h_w_id int, h_date timestamp, h_amount decimal(6,2), h_data varchar(24); rows 300000",
    "bmsql_new_order: no_w_id int!, no_d_id int!, no_o_id int!; primary bmsql_new_order_pkey (no_w_id,no_d_id,no_o_id); rows 90000",
    "bmsql_oorder: o_w_id int!, o_d_id int!, o_id int!, o_c_id int, o_carrier_id int, o_ol_cnt int, o_all_local int, o_entry_d timestamp; primary bmsql_oorder_pkey (o_w_id,o_d_id,o_id); unique bmsql_oorder_idx1 (o_w_id,o_d_id,o_carrier_id,o_id); rows 300000",
    "bmsql_order_line: ol_w_id int!, ol_d_id int!, ol_o_id int!, ol_number int!, ol_i_id int!, ol_delivery_d timestamp, ol_amount decimal(6,2), ol_supply_w_id int, ol_quantity int, ol_dist_info char(24); primary bmsql_order_line_pkey (ol_w_id,ol_d_id,ol_o_id,ol_number); rows 3000000",
    "bmsql_item: i_id int!, i_name varchar(24), i_price decimal(5,2), i_data varchar(50), i_im_id int; primary bmsql_item_pkey (i_id); rows 100000",
    "bmsql_stock: s_w_id int!, s_i_id int!, s_quantity int, s_ytd int, s_order_cnt int, s_remote_cnt int, s_data varchar(50), s_dist_01 char(24), s_dist_02 char(24); primary bmsql_stock_pkey (s_w_id,s_i_id); rows 1000000",
    "pgbench_accounts: aid int!, bid int, abalance int, filler char(84); primary pgbench_accounts_pkey (aid); rows 100000",
    "pgbench_branches: bid int!, bbalance int, filler char(88); primary pgbench_branches_pkey (bid); rows 1",
    "pgbench_tellers: tid int!, bid int, tbalance int, filler char(84); primary pgbench_tellers_pkey (tid); rows 10",
    "pgbench_history: tid int, bid int, aid int, delta int, mtime timestamp, filler char(22); rows 0",
    "t: a int!, b text, c numeric(10,2), d timestamptz, e int[], f float8, g bigint, h bool; primary t_pkey (a); index t_g (g); rows 10000",
    "u: a int!, x int, y text; primary u_pkey (a); index u_x (x); rows 10000",
];

/// Columns of system relations that queries of clients read.
const VIRTUALS: &[&str] = &[
    "pg_class: oid oid, relname name, relnamespace oid, reltype oid, reloftype oid, relowner oid, relam oid, reltablespace oid, reltuples real, reltoastrelid oid, relhasindex bool, relisshared bool, relpersistence \"char\", relkind \"char\", relnatts smallint, relchecks smallint, relhasrules bool, relhastriggers bool, relrowsecurity bool, relforcerowsecurity bool, relispopulated bool, relreplident \"char\", relispartition bool, reloptions text[], relpartbound pg_node_tree, relacl aclitem[]",
    "pg_namespace: oid oid, nspname name, nspowner oid, nspacl aclitem[]",
    "pg_am: oid oid, amname name, amhandler regproc, amtype \"char\"",
    "pg_attribute: attrelid oid, attname name, atttypid oid, attstattarget int, attlen smallint, attnum smallint, attndims int, atttypmod int, attnotnull bool, atthasdef bool, attidentity \"char\", attgenerated \"char\", attisdropped bool, attcollation oid, attstorage \"char\", attcompression \"char\", attacl aclitem[]",
    "pg_attrdef: oid oid, adrelid oid, adnum smallint, adbin pg_node_tree",
    "pg_type: oid oid, typname name, typnamespace oid, typcollation oid, typtype \"char\", typrelid oid, typelem oid",
    "pg_collation: oid oid, collname name, collnamespace oid",
    "pg_index: indexrelid oid, indrelid oid, indisunique bool, indisprimary bool, indisclustered bool, indisvalid bool, indisreplident bool, indkey int2vector",
    "pg_constraint: oid oid, conname name, conrelid oid, conindid oid, contype \"char\", condeferrable bool, condeferred bool, confrelid oid, conparentid oid, convalidated bool",
    "pg_inherits: inhrelid oid, inhparent oid, inhseqno int, inhdetachpending bool",
    "pg_roles: oid oid, rolname name, rolsuper bool, rolinherit bool, rolcreaterole bool, rolcreatedb bool, rolcanlogin bool, rolconnlimit int, rolvaliduntil timestamptz, rolreplication bool, rolbypassrls bool",
    "pg_auth_members: roleid oid, member oid, grantor oid, admin_option bool",
    "pg_database: oid oid, datname name, datdba oid, encoding int, datlocprovider \"char\", datcollate text, datctype text, daticulocale text, datacl aclitem[]",
    "pg_policy: oid oid, polname name, polrelid oid, polcmd \"char\", polpermissive bool, polroles oid[], polqual pg_node_tree, polwithcheck pg_node_tree",
    "pg_partitioned_table: partrelid oid, partstrat \"char\", partnatts smallint",
    "pg_statistic_ext: oid oid, stxrelid oid, stxname name, stxnamespace oid, stxstattarget int, stxkind \"char\"[]",
    "pg_publication: oid oid, pubname name, puballtables bool",
    "pg_publication_namespace: oid oid, pnpubid oid, pnnspid oid",
    "pg_publication_rel: oid oid, prpubid oid, prrelid oid, prqual pg_node_tree, prattrs int2vector",
    "pg_description: objoid oid, classoid oid, objsubid int, description text",
    "pg_trigger: oid oid, tgrelid oid, tgparentid oid, tgname name, tgenabled \"char\", tgisinternal bool, tgconstraint oid, tgdeferrable bool, tginitdeferred bool",
];

impl TestCatalog {
    pub fn shared() -> &'static TestCatalog {
        static SHARED: OnceLock<TestCatalog> = OnceLock::new();
        SHARED.get_or_init(TestCatalog::new)
    }

    fn new() -> TestCatalog {
        let tables = TABLES.iter().map(|text| (*text, RelationKind::Table, "public"));
        let virtuals = VIRTUALS
            .iter()
            .map(|text| (*text, RelationKind::Virtual, "pg_catalog"));
        let mut relations: Vec<Arc<Relation>> = Vec::new();
        for (position, (text, kind, schema)) in tables.chain(virtuals).enumerate() {
            relations.push(Arc::new(relation(
                text,
                kind,
                schema,
                16_384 + 100 * position as u32,
            )));
        }
        let query = "SELECT a, b AS label FROM t WHERE h";
        let view = "v: a int, label text; rows 0";
        let mut view = relation(view, RelationKind::View, "public", 90_000);
        view.view_query = Some(query.to_owned());
        view.owner = Oid(77);
        relations.push(Arc::new(view));
        let ticket = "ticket: id int!, state text, price float8, seen date, done bool, owner int; primary ticket_pkey (id); \
                      index ticket_state (state); rows 10000";
        let mut ticket = relation(ticket, RelationKind::Table, "public", 91_000);
        ticket.statistics = Some(Arc::new(super::statistics::of_tickets(&ticket)));
        relations.push(Arc::new(ticket));
        let columns: Vec<String> = (0..1600).map(|number| format!("c{number} int")).collect();
        let wide = format!("wide: {}; index wide_c7 (c7); rows 10000", columns.join(", "));
        relations.push(Arc::new(relation(&wide, RelationKind::Table, "public", 92_000)));
        TestCatalog { relations }
    }
}

fn relation(text: &str, kind: RelationKind, schema: &str, oid: u32) -> Relation {
    let (name, rest) = text.split_once(':').expect("a name and columns");
    let mut parts = rest.split(';').map(str::trim);
    let columns = split_columns(parts.next().expect("columns"));
    let columns: Vec<Column> = columns.iter().map(|text| column(text)).collect();
    let mut indexes = Vec::new();
    let mut constraints = Vec::new();
    let mut rows = 100.0;
    for part in parts {
        if let Some(count) = part.strip_prefix("rows ") {
            rows = count.parse().expect("a number of rows");
            continue;
        }
        let (head, keys) = part.split_once('(').expect("keys in parentheses");
        let (kind, name) = head.trim().split_once(' ').expect("kind and name");
        let key = |name: &str| {
            let position = columns
                .iter()
                .position(|column| column.name == name)
                .expect("a column");
            IndexKey {
                target: IndexKeyTarget::Column(position as u16),
                name: None,
                ty: columns[position].ty,
                collation: None,
                operator_class: None,
                descending: false,
                nulls_first: false,
            }
        };
        let index = Oid(oid + 1 + indexes.len() as u32);
        indexes.push(IndexDescription {
            oid: index,
            name: name.to_owned(),
            index: IndexId(index.0),
            method: IndexMethod::Btree,
            keys: keys.trim_end_matches(')').split(',').map(key).collect(),
            include: Vec::new(),
            unique: kind != "index",
            immediate: true,
            primary: kind == "primary",
            nulls_not_distinct: false,
            predicate: None,
            valid: true,
            clustered: false,
            parent: None,
            options: Vec::new(),
        });
        if kind == "primary" {
            constraints.push(Constraint {
                oid: Oid(oid + 50),
                name: name.to_owned(),
                kind: ConstraintKind::PrimaryKey { index },
                deferrable: false,
                initially_deferred: false,
                validated: true,
                inheritance: Inheritance::LOCAL,
                no_inherit: false,
                parent: None,
            });
        }
    }
    Relation {
        oid: Oid(oid),
        published: None,
        schema_oid: Oid(2200),
        schema: schema.to_owned(),
        name: name.to_owned(),
        kind,
        owner: Oid(10),
        table: TableId(oid),
        columns,
        indexes,
        constraints,
        parents: Vec::new(),
        children: Vec::new(),
        partitioning: None,
        partition_levels: Vec::new(),
        partition_bound: None,
        referenced_by: Vec::new(),
        triggers: Vec::new(),
        foreign_key_firing: mote_sql::catalog::trigger::TriggerFiring::Origin,
        view_query: None,
        populated: true,
        rows: RowCount::new(rows),
        statistics: None,
        inherited_statistics: None,
        temporary: false,
        acl: Vec::new(),
        comment: None,
        options: Vec::new(),
        version: 1,
    }
}

/// Splits at commas outside parentheses.
fn split_columns(text: &str) -> Vec<String> {
    let mut columns = vec![String::new()];
    let mut depth = 0;
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        match letter == ',' && depth == 0 {
            true => columns.push(String::new()),
            false => columns.last_mut().expect("one column at least").push(letter),
        }
    }
    columns
}

fn column(text: &str) -> Column {
    let (name, ty) = text.trim().split_once(' ').expect("name and type");
    let not_null = ty.ends_with('!');
    Column {
        name: name.to_owned(),
        ty: parse_type(ty.trim_end_matches('!')).expect("a type"),
        domain: None,
        not_null,
        dropped: false,
        default: None,
        identity: None,
        generated: None,
        owned_sequence: None,
        comment: None,
        inheritance: Inheritance::LOCAL,
        statistics_target: None,
        storage: None,
    }
}

impl CatalogView for TestCatalog {
    fn relation_by_name(&self, schema: Option<&str>, name: &str) -> Option<Arc<Relation>> {
        let fits = |relation: &&Arc<Relation>| {
            relation.name == name && schema.is_none_or(|schema| schema == relation.schema)
        };
        self.relations.iter().find(fits).cloned()
    }

    fn relation(&self, oid: Oid) -> Option<Arc<Relation>> {
        self.relations
            .iter()
            .find(|relation| relation.oid == oid)
            .cloned()
    }

    fn relation_of_index(&self, oid: Oid) -> Option<Arc<Relation>> {
        let owns = |relation: &&Arc<Relation>| relation.indexes.iter().any(|index| index.oid == oid);
        self.relations.iter().find(owns).cloned()
    }

    fn schema_exists(&self, name: &str) -> bool {
        matches!(name, "public" | "pg_catalog" | "information_schema")
    }

    fn search_path(&self) -> Vec<String> {
        vec!["pg_catalog".to_owned(), "public".to_owned()]
    }

    fn database_name(&self) -> String {
        "test".to_owned()
    }
}
