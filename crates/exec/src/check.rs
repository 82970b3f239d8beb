//! Do the rows fit the catalog? SQL's part of `mote check`, for a database that nobody else has open.
//!
//! Each object's storage must be there; each row must be readable, to its last column; NOT NULL and CHECK must hold, and on
//! request foreign keys: all of it asked as queries, so that the answer is that of the executor that serves users. Rows of
//! partitions must be in the right one.
//!
//! A panic while a row is read is a fault of the row, not the end of the check. Leaves out: bytes and indexes (`mote_engine::check`).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mote_common::{IndexId, Oid, SqlError, SqlResult, TableId};
use mote_engine::{Access, BeginOptions};

use crate::embedded::LocalSession;
use mote_catalog::catalog_store::Catalog;
use mote_catalog::catalog_store::stored::{StoredConstraintKind, StoredForeignKey, StoredRelation};
use mote_catalog::database::Database;
use mote_catalog::write_error;
use mote_executor::node::modify::partition::PartitionTest;
use mote_executor::row_codec::RowCodec;
use mote_executor::runtime::{Runtime, Values};

/// Rows that are named for one fault.
const ROWS_NAMED: usize = 5;

/// Something in the catalog or a table that should not be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SqlFault {
    /// Database, schema and name.
    pub table: String,
    /// The engine's number of the table.
    pub id: TableId,
    pub what: String,
    /// ctid of some of the rows.
    pub rows: Vec<String>,
}

/// What was read, and what was wrong with it.
#[derive(Clone, Debug, Default)]
pub struct SqlReport {
    pub tables: u64,
    pub rows: u64,
    pub constraints: u64,
    pub faults: Vec<SqlFault>,
    /// Worth telling, not wrong.
    pub notes: Vec<String>,
}

/// Checks every table of every database. `pace` is told how many tables of how many are done.
pub fn check_rows(
    database: &Arc<Database>,
    foreign_keys: bool,
    pace: &mut dyn FnMut(usize, usize),
) -> SqlResult<SqlReport> {
    // Nobody else has the database open: what is committed does not change under the check.
    let catalog = database.catalog().committed();
    let superuser = catalog
        .roles
        .values()
        .find(|role| role.object.superuser && role.object.can_login)
        .ok_or_else(|| SqlError::internal("no superuser may log in: the rows cannot be read"))?
        .object
        .name
        .clone();
    let mut tables: Vec<&StoredRelation> = catalog
        .relations()
        .map(|entry| &entry.stored)
        // A materialized view WITH NO DATA has nothing to read.
        .filter(|stored| stored.kind.has_rows() && stored.populated)
        .collect();
    tables.sort_by_key(|stored| stored.oid);
    let mut report = SqlReport::default();
    for (done, stored) in tables.iter().enumerate() {
        pace(done, tables.len());
        // A table without schema or database cannot be asked about by name: told, and passed over.
        let mut check = match TableCheck::new(database, &catalog, stored, &superuser, &mut report) {
            Ok(check) => check,
            Err(what) => {
                report.faults.push(SqlFault {
                    table: stored.name.clone(),
                    id: TableId(stored.table),
                    what,
                    rows: Vec::new(),
                });
                continue;
            }
        };
        // From the outside in: what is missing makes the later questions fail, too, and is told first.
        check.storage();
        check.columns();
        check.constraints(foreign_keys);
        if let Err(error) = check.partition() {
            check.fault(
                format!("its bounds cannot be checked: {}", error.message()),
                Vec::new(),
            );
        }
    }
    pace(tables.len(), tables.len());
    Ok(report)
}

/// An identifier as SQL takes it, whatever is in it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// One table, and where its faults are told.
struct TableCheck<'a> {
    database: &'a Arc<Database>,
    catalog: &'a Catalog,
    stored: &'a StoredRelation,
    user: &'a str,
    database_name: &'a str,
    schema: &'a str,
    report: &'a mut SqlReport,
}

impl<'a> TableCheck<'a> {
    fn new(
        database: &'a Arc<Database>,
        catalog: &'a Catalog,
        stored: &'a StoredRelation,
        user: &'a str,
        report: &'a mut SqlReport,
    ) -> Result<TableCheck<'a>, String> {
        let schema = catalog
            .schemas
            .get(&Oid(stored.schema))
            .ok_or_else(|| format!("its schema, {}, is not in the catalog", stored.schema))?;
        let home = catalog
            .databases
            .get(&Oid(schema.object.database))
            .ok_or_else(|| format!("its database, {}, is not in the catalog", schema.object.database))?;
        report.tables += 1;
        Ok(TableCheck {
            database,
            catalog,
            stored,
            user,
            database_name: &home.object.name,
            schema: &schema.object.name,
            report,
        })
    }

    /// Notes a fault of this table.
    fn fault(&mut self, what: String, rows: Vec<String>) {
        self.report.faults.push(SqlFault {
            table: format!("{}.{}.{}", self.database_name, self.schema, self.stored.name),
            id: TableId(self.stored.table),
            what,
            rows,
        });
    }

    /// The engine has what the catalog names.
    fn storage(&mut self) {
        let Some(table) = self.database.engine().table(TableId(self.stored.table)) else {
            return self.fault("the engine has no such table".into(), Vec::new());
        };
        for index in &self.stored.indexes {
            if table.index(IndexId(index.index)).is_none() {
                let what = format!("the engine has no storage for index \"{}\"", index.name);
                self.fault(what, Vec::new());
            }
        }
    }

    /// The rows of a query; `None` after a fault, which was told.
    fn ask(&mut self, what: &str, sql: &str) -> Option<Vec<Vec<Option<String>>>> {
        // A session of its own: one in which something panicked is not used again.
        let asked = catch_unwind(AssertUnwindSafe(|| {
            LocalSession::open(self.database, self.user, self.database_name)?.rows(sql)
        }));
        match asked {
            Ok(Ok(rows)) => return Some(rows),
            Ok(Err(error)) => self.fault(format!("{what}: {}", error.message()), Vec::new()),
            Err(_) => self.fault(format!("{what}: a row makes no sense (see above)"), Vec::new()),
        }
        None
    }

    /// The table for FROM, without tables that inherit from it: those are checked by themselves.
    fn from(&self) -> String {
        let (schema, name) = (quoted(self.schema), quoted(&self.stored.name));
        format!("only {schema}.{name}")
    }

    /// Every value of every row is read; NOT NULL columns are counted.
    fn columns(&mut self) {
        let columns: Vec<_> = self
            .stored
            .columns
            .iter()
            .filter(|column| !column.dropped)
            .collect();
        let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
        let required: Vec<&String> = columns
            .iter()
            .zip(&names)
            .filter(|(column, _)| column.not_null)
            .map(|(_, name)| name)
            .collect();
        // The text of a value reads all of it, and fails for bytes that are no value of the type.
        let read = names.iter().map(|name| format!("count({name}::text)"));
        let counted = required.iter().map(|name| format!("count({name})"));
        let values: Vec<String> = ["count(*)".to_string()]
            .into_iter()
            .chain(counted)
            .chain(read)
            .collect();
        let sql = format!("select {} from {}", values.join(", "), self.from());
        let Some(answer) = self.ask("its rows cannot be read", &sql) else {
            return;
        };
        let numbers: Vec<u64> = answer
            .first()
            .map(|row| {
                let texts = row.iter().flatten();
                texts.filter_map(|text| text.parse().ok()).collect()
            })
            .unwrap_or_default();
        let total = numbers.first().copied().unwrap_or_default();
        self.report.rows += total;
        for (name, &count) in required.iter().zip(numbers.iter().skip(1)) {
            self.report.constraints += 1;
            if count != total {
                let what = format!("column {name} is NOT NULL, but NULL in {} rows", total - count);
                self.fault(what, Vec::new());
            }
        }
    }

    /// CHECK, and FOREIGN KEY if asked for: whether some row violates them.
    fn constraints(&mut self, foreign_keys: bool) {
        for constraint in &self.stored.constraints {
            if !constraint.validated {
                self.report.notes.push(format!(
                    "constraint \"{}\" of {}.{} is NOT VALID: older rows need not meet it",
                    constraint.name, self.schema, self.stored.name
                ));
                continue;
            }
            // NULL is no violation: `not (..)` is NULL then, too.
            let violations = match &constraint.kind {
                StoredConstraintKind::Check { expression } => {
                    format!("select ctid::text from {} where not ({expression})", self.from())
                }
                StoredConstraintKind::ForeignKey(key) if foreign_keys => match self.orphans(key) {
                    Some(sql) => sql,
                    None => {
                        let what = format!("constraint \"{}\" names what is not there", constraint.name);
                        self.fault(what, Vec::new());
                        continue;
                    }
                },
                // Unique indexes are checked as such.
                _ => continue,
            };
            self.report.constraints += 1;
            // A few rows are enough to find the fault; all could be millions.
            let sql = format!("{violations} limit {ROWS_NAMED}");
            let what = format!("constraint \"{}\" cannot be checked", constraint.name);
            let rows = self.ask(&what, &sql).unwrap_or_default();
            if !rows.is_empty() {
                let what = format!("rows violate constraint \"{}\"", constraint.name);
                self.fault(what, rows.into_iter().flatten().flatten().collect());
            }
        }
    }

    /// Every row of a partition is one that the partition takes.
    fn partition(&mut self) -> SqlResult<()> {
        let engine = self.database.engine();
        let described = self
            .catalog
            .relation(Oid(self.stored.oid))
            .map(|entry| &entry.described);
        let (Some(relation), Some(table)) = (described, engine.table(TableId(self.stored.table))) else {
            return Ok(());
        };
        let Some(test) = PartitionTest::compile(&relation.partition_levels)? else {
            return Ok(());
        };
        self.report.constraints += 1;
        let codec = RowCodec::new(relation);
        // Through the engine: no query asks whether a row belongs into its partition.
        let transaction = engine
            .begin_with(BeginOptions::default())
            .map_err(write_error::begin_error)?;
        let snapshot = transaction.begin_statement(Access::Read);
        let mut values = Values::default();
        let mut runtime = Runtime::detached(&mut values);
        let (mut row, mut misplaced) = (Vec::new(), Vec::new());
        let mut scan = table.scan();
        while let Some(version) = scan.next(&table, &transaction, &snapshot) {
            row.clear();
            codec.read_row(&table.view(version.layout(), version.bytes()), &mut row);
            if !test.holds(&row, &mut runtime)? && misplaced.len() < ROWS_NAMED {
                let id = version.row();
                // As ctid shows it.
                misplaced.push(format!("({},{})", id.segment(), id.offset()));
            }
        }
        if !misplaced.is_empty() {
            self.fault("rows are in the wrong partition".into(), misplaced);
        }
        Ok(())
    }

    /// The query for rows whose key is not in the referenced table. A NULL in the key frees a row of the check (MATCH
    /// SIMPLE). None: a table or column of the key is missing.
    fn orphans(&self, key: &StoredForeignKey) -> Option<String> {
        let parent = &self.catalog.relation(Oid(key.referenced))?.stored;
        let schema = &self.catalog.schemas.get(&Oid(parent.schema))?.object.name;
        let name_in = |relation: &StoredRelation, column: &u16| {
            let column = relation.columns.get(*column as usize)?;
            Some(quoted(&column.name))
        };
        let own: Option<Vec<String>> = key.columns.iter().map(|c| name_in(self.stored, c)).collect();
        let theirs: Option<Vec<String>> = key
            .referenced_columns
            .iter()
            .map(|c| name_in(parent, c))
            .collect();
        let (own, theirs) = (own?, theirs?);
        let pairs = own
            .iter()
            .zip(&theirs)
            .map(|(own, theirs)| format!("p.{theirs} = c.{own}"));
        let present = own.iter().map(|own| format!("c.{own} is not null"));
        // MATCH FULL also forbids a key of which only a part is NULL.
        let mixed = key.match_full.then(|| {
            let any: Vec<String> = own.iter().map(|own| format!("c.{own} is null")).collect();
            let not_all: Vec<String> = own.iter().map(|own| format!("c.{own} is not null")).collect();
            format!(" or (({}) and ({}))", any.join(" or "), not_all.join(" or "))
        });
        Some(format!(
            "select c.ctid::text from {} c where ({} and not exists (select 1 from {}.{} p where {})){}",
            self.from(),
            present.collect::<Vec<_>>().join(" and "),
            quoted(schema),
            quoted(&parent.name),
            pairs.collect::<Vec<_>>().join(" and "),
            mixed.unwrap_or_default()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::support::database as open_database;
    use mote_engine::RowWriter;

    /// Puts a row of two integers into a table behind SQL's back.
    fn smuggle(database: &Arc<Database>, name: &str, values: [u32; 2]) {
        let catalog = database.catalog().committed();
        let found = catalog.relations().find(|entry| entry.stored.name == name);
        let id = TableId(found.expect("the table is there").stored.table);
        let table = database.engine().table(id).expect("the engine has it");
        let transaction = database
            .engine()
            .begin_with(BeginOptions::default())
            .expect("a slot is free");
        transaction.begin_statement(Access::Write);
        let mut writer = RowWriter::new(table.newest_layout());
        for (column, value) in values.into_iter().enumerate() {
            writer.set_fixed4(column, value);
        }
        let bytes = writer.finish().expect("small").to_vec();
        transaction.insert(&table, &bytes).expect("no conflict");
        transaction.commit().expect("the log takes it");
        database.engine().log().flush_step();
    }

    #[test]
    fn rows_that_break_their_constraints_are_named() {
        let database = open_database();
        let mut session = LocalSession::open(&database, "postgres", "postgres").expect("it opens");
        session
            .query(
                "create schema \"Odd name\"; create table parent (id int primary key, x int not null);
                 create table \"Odd name\".child (id int not null, parent int references parent, check (id < 100));
                 insert into parent values (1, 1); insert into \"Odd name\".child values (1, 1), (2, null)",
            )
            .expect("valid");
        let sound = check_rows(&database, true, &mut |_, _| {}).expect("it runs");
        assert!(sound.faults.is_empty(), "{:?}", sound.faults);
        assert_eq!((sound.tables, sound.rows, sound.constraints), (2, 3, 5));
        smuggle(&database, "child", [100, 7]);
        let report = check_rows(&database, false, &mut |_, _| {}).expect("it runs");
        assert_eq!(report.faults.len(), 1, "{:?}", report.faults);
        assert!(report.faults[0].what.contains("child_id_check"));
        assert_eq!(report.faults[0].table, "postgres.Odd name.child");
        assert_eq!(report.faults[0].rows.len(), 1);
        let report = check_rows(&database, true, &mut |_, _| {}).expect("it runs");
        assert!(
            report
                .faults
                .iter()
                .any(|fault| fault.what.contains("child_parent_fkey")),
            "{:?}",
            report.faults
        );
    }

    #[test]
    fn rows_in_the_wrong_partition_are_named() {
        let database = open_database();
        let mut session = LocalSession::open(&database, "postgres", "postgres").expect("it opens");
        session
            .query(
                "create table p (a int, b int) partition by range (a);
                 create table p1 partition of p for values from (0) to (10);
                 create table p2 partition of p for values from (10) to (20);
                 insert into p values (1, 1), (11, 1)",
            )
            .expect("valid");
        let sound = check_rows(&database, true, &mut |_, _| {}).expect("it runs");
        assert!(sound.faults.is_empty(), "{:?}", sound.faults);
        assert_eq!(sound.rows, 2);
        smuggle(&database, "p1", [15, 1]);
        let report = check_rows(&database, true, &mut |_, _| {}).expect("it runs");
        let faults: Vec<_> = report
            .faults
            .iter()
            .map(|fault| (fault.table.as_str(), fault.rows.len()))
            .collect();
        assert_eq!(faults, [("postgres.public.p1", 1)]);
    }
}
