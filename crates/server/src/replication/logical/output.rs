//! pgoutput: what a transaction did, as messages of PostgreSQL's logical replication protocol, of those publications that
//! the subscriber asked for.
//!
//! A transaction of which nothing is left for the subscriber is not told. Relation is sent once for each content, and before
//! it the types of users that it names. Values and names are in the subscriber's `client_encoding`; one that it lacks a
//! character for ends the stream.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use mote_catalog::catalog_store::{Catalog, CatalogStore};
use mote_common::error::state;
use mote_common::{Lsn, Oid, SqlError, SqlResult, TableId};
use mote_engine::told::{DELETES, INSERTS, TRUNCATES, ToldRelation, ToldView, UPDATES};
use mote_replication::decoder::Event;
use mote_types::ColumnType;
use mote_types::calendar::POSTGRES_EPOCH_UNIX_US;
use mote_types::catalog::user::is_user_type;
use mote_types::encoding::Converter;

use super::rows::{TableRows, TextForm};

/// An XLogData message: what stands before pgoutput's own.
const DATA_HEADER_BYTES: usize = 25;

/// One table as this subscriber is told of it; `None`: it is not.
type Told = Option<Box<Subscribed>>;

struct Subscribed {
    oid: Oid,
    /// Of the publications that the subscriber asked for.
    operations: u8,
    /// It is told of under the name of a table above it.
    above: bool,
    full: bool,
    /// `None`: the log says nothing of its rows, as that of a partitioned table, which stores none.
    rows: Option<TableRows>,
    name: String,
    /// The Relation message.
    message: Vec<u8>,
    types: Vec<Oid>,
}

struct Running {
    commit: Lsn,
    end: Lsn,
    wall_us: i64,
    /// Begin was sent.
    begun: bool,
    /// The position of Begin, and of what is told now.
    first: Lsn,
    at: Lsn,
}

/// One subscriber's stream.
pub struct Output {
    store: Arc<CatalogStore>,
    database: Oid,
    names: Vec<String>,
    form: TextForm,
    /// The catalog's state that `publications` are of.
    generation: Option<u64>,
    publications: Vec<Oid>,
    /// Of the running transaction.
    tables: HashMap<TableId, Told>,
    running: Option<Running>,
    /// What the subscriber knows tables to be.
    sent: BTreeMap<Oid, Vec<u8>>,
    /// CopyData messages that are to be sent.
    pub ready: Vec<u8>,
}

impl Output {
    pub fn new(store: Arc<CatalogStore>, database: Oid, names: Vec<String>, form: TextForm) -> Output {
        Output {
            store,
            database,
            names,
            form,
            generation: None,
            publications: Vec::new(),
            tables: HashMap::new(),
            running: None,
            sent: BTreeMap::new(),
            ready: Vec::new(),
        }
    }

    /// The publications that the subscriber asked for, as they are now.
    pub fn look_up(&mut self) -> SqlResult<()> {
        let generation = self.store.generation();
        if self.generation == Some(generation) {
            return Ok(());
        }
        let catalog = self.store.committed();
        let found = self.names.iter().map(|name| {
            let publication = catalog.publication_by_name(self.database, name);
            publication
                .map(|publication| Oid(publication.oid))
                .ok_or_else(|| {
                    let message = format!("publication \"{name}\" does not exist");
                    SqlError::new(state::UNDEFINED_OBJECT, message)
                })
        });
        self.publications = found.collect::<SqlResult<_>>()?;
        self.generation = Some(generation);
        Ok(())
    }

    /// The next event, and its position.
    pub fn take(&mut self, at: Lsn, event: Event<'_>) -> SqlResult<()> {
        if let Some(running) = &mut self.running {
            running.at = at;
        }
        match event {
            Event::Begin { commit, end, wall_us } => {
                self.tables.clear();
                self.running = Some(Running {
                    commit,
                    end,
                    wall_us,
                    begun: false,
                    first: at,
                    at,
                });
                self.look_up()
            }
            Event::Relation { table, relation } => {
                let told = self.subscribed(&relation)?;
                self.tables.insert(table, told);
                Ok(())
            }
            Event::Insert { table, new } => self.row(table, INSERTS, |told, form, out| {
                put_oid(out, b'I', told.oid);
                out.push(b'N');
                told.rows()?.put(new, false, form, out)?;
                Ok(true)
            }),
            Event::Update { table, old, new } => self.row(table, UPDATES, |told, form, out| {
                put_oid(out, b'U', told.oid);
                if let Some(old) = old {
                    told.put_old(old, form, out)?;
                }
                out.push(b'N');
                told.rows()?.put(new, false, form, out)?;
                Ok(true)
            }),
            Event::Delete { table, old } => self.row(table, DELETES, |told, form, out| {
                let Some(old) = old else { return Ok(false) };
                put_oid(out, b'D', told.oid);
                told.put_old(old, form, out)?;
                Ok(true)
            }),
            Event::Truncate { options, tables } => self.truncate(options, tables),
            Event::Commit => {
                self.commit();
                Ok(())
            }
        }
    }

    fn row(
        &mut self,
        table: TableId,
        operation: u8,
        put: impl FnOnce(&Subscribed, &TextForm, &mut Vec<u8>) -> SqlResult<bool>,
    ) -> SqlResult<()> {
        let Some(Some(told)) = self.tables.remove(&table) else {
            return Ok(());
        };
        if told.operations & operation != 0 {
            self.begin();
            self.relation(&told)?;
            let start = self.open_message();
            match put(&told, &self.form, &mut self.ready)? {
                true => self.close_message(start),
                false => self.ready.truncate(start),
            }
        }
        self.tables.insert(table, Some(told));
        Ok(())
    }

    fn truncate(&mut self, options: u8, tables: &[TableId]) -> SqlResult<()> {
        let mut oids: Vec<Oid> = Vec::new();
        let mut told: Vec<Box<Subscribed>> = Vec::new();
        for table in tables {
            // A partition that is told of as a part of a table above it is emptied with that one.
            if let Some(Some(one)) = self.tables.get(table)
                && one.operations & TRUNCATES != 0
                && !one.above
                && let Some(Some(one)) = self.tables.remove(table)
            {
                oids.push(one.oid);
                told.push(one);
            }
        }
        if oids.is_empty() {
            return Ok(());
        }
        self.begin();
        for one in &told {
            self.relation(one)?;
        }
        let start = self.open_message();
        self.ready.push(b'T');
        self.ready.extend_from_slice(&(oids.len() as u32).to_be_bytes());
        self.ready.push(options);
        for oid in oids {
            self.ready.extend_from_slice(&oid.0.to_be_bytes());
        }
        self.close_message(start);
        Ok(())
    }

    /// Begin, before the first message of a transaction.
    fn begin(&mut self) {
        let Some(running) = self.running.as_mut().filter(|running| !running.begun) else {
            return;
        };
        running.begun = true;
        let (first, commit, end, wall_us) = (running.first, running.commit, running.end, running.wall_us);
        let start = self.open_message_at(first, wall_us);
        self.ready.push(b'B');
        self.ready.extend_from_slice(&commit.0.to_be_bytes());
        self.ready
            .extend_from_slice(&(wall_us - POSTGRES_EPOCH_UNIX_US).to_be_bytes());
        self.ready.extend_from_slice(&number_of(end).to_be_bytes());
        self.close_message(start);
    }

    fn commit(&mut self) {
        self.tables.clear();
        let Some(running) = self.running.take().filter(|running| running.begun) else {
            return;
        };
        let start = self.open_message_at(running.end, running.wall_us);
        self.ready.extend_from_slice(b"C\0");
        self.ready.extend_from_slice(&running.commit.0.to_be_bytes());
        self.ready.extend_from_slice(&running.end.0.to_be_bytes());
        self.ready
            .extend_from_slice(&(running.wall_us - POSTGRES_EPOCH_UNIX_US).to_be_bytes());
        self.close_message(start);
    }

    /// Relation, unless the subscriber knows it.
    fn relation(&mut self, told: &Subscribed) -> SqlResult<()> {
        if self.sent.get(&told.oid) == Some(&told.message) {
            return Ok(());
        }
        for ty in &told.types {
            let start = self.open_message();
            let (schema, name) = type_name(&self.store.committed(), *ty);
            put_oid(&mut self.ready, b'Y', *ty);
            put_text(&mut self.ready, &schema, self.form.converter)?;
            put_text(&mut self.ready, &name, self.form.converter)?;
            self.close_message(start);
        }
        let start = self.open_message();
        self.ready.extend_from_slice(&told.message);
        self.close_message(start);
        self.sent.insert(told.oid, told.message.clone());
        Ok(())
    }

    /// A message of what is told now: its position is that of the change, as PostgreSQL's is, and below the transaction's end, so
    /// that nobody who has it seems to have the transaction.
    fn open_message(&mut self) -> usize {
        let (at, wall_us) = match &self.running {
            Some(running) => (running.at, running.wall_us),
            None => (Lsn::ZERO, POSTGRES_EPOCH_UNIX_US),
        };
        self.open_message_at(at, wall_us)
    }

    fn open_message_at(&mut self, position: Lsn, wall_us: i64) -> usize {
        let start = self.ready.len();
        self.ready.push(b'd');
        self.ready.extend_from_slice(&[0; 4]);
        self.ready.push(b'w');
        self.ready.extend_from_slice(&position.0.to_be_bytes());
        self.ready.extend_from_slice(&position.0.to_be_bytes());
        self.ready
            .extend_from_slice(&(wall_us - POSTGRES_EPOCH_UNIX_US).to_be_bytes());
        debug_assert_eq!(self.ready.len() - start - 5, DATA_HEADER_BYTES);
        start
    }

    fn close_message(&mut self, start: usize) {
        let length = (self.ready.len() - start - 1) as u32;
        self.ready[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
    }

    /// What the subscriber's publications make of a table: get_rel_sync_entry.
    fn subscribed(&self, relation: &ToldRelation) -> SqlResult<Told> {
        let asked = |view: &&ToldView| {
            view.publications
                .iter()
                .any(|(oid, _)| self.publications.contains(oid))
        };
        let views: Vec<&ToldView> = relation.views.iter().filter(asked).collect();
        let Some(height) = views.iter().map(|view| view.height).max() else {
            return Ok(None);
        };
        let publications = views.iter().flat_map(|view| &view.publications);
        let asked = publications.filter(|(oid, _)| self.publications.contains(oid));
        let operations = asked.fold(0, |all, (_, operations)| all | operations);
        let mut highest = views.into_iter().filter(|view| view.height == height);
        let Some(view) = highest.next() else {
            return Ok(None);
        };
        if highest.next().is_some() {
            let message = format!(
                "cannot use different column lists for table \"{}.{}\" in different publications",
                view.schema, view.name
            );
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        let mut types: Vec<Oid> = view.columns.iter().map(|column| column.ty).collect();
        types.retain(|ty| is_user_type(*ty));
        types.dedup();
        Ok(Some(Box::new(Subscribed {
            oid: view.oid,
            operations,
            above: height > 0,
            full: view.identity == b'f',
            rows: TableRows::new(relation, view),
            name: view.name.clone(),
            message: relation_message(view, self.form.converter)?,
            types,
        })))
    }
}

impl Subscribed {
    fn put_old(&self, old: &[u8], form: &TextForm, out: &mut Vec<u8>) -> SqlResult<()> {
        out.push(if self.full { b'O' } else { b'K' });
        self.rows()?.put(old, !self.full, form, out)
    }

    fn rows(&self) -> SqlResult<&TableRows> {
        let wrongly = || SqlError::internal(format!("the log describes table \"{}\" wrongly", self.name));
        self.rows.as_ref().ok_or_else(wrongly)
    }
}

fn relation_message(view: &ToldView, converter: Option<Converter>) -> SqlResult<Vec<u8>> {
    let mut out = Vec::new();
    put_oid(&mut out, b'R', view.oid);
    // pg_catalog is told of by an empty name; nobody publishes its tables.
    put_text(&mut out, &view.schema, converter)?;
    put_text(&mut out, &view.name, converter)?;
    out.push(view.identity);
    out.extend_from_slice(&(view.columns.len() as u16).to_be_bytes());
    for column in &view.columns {
        out.push(column.key as u8);
        put_text(&mut out, &column.name, converter)?;
        out.extend_from_slice(&column.ty.0.to_be_bytes());
        out.extend_from_slice(&column.typmod.to_be_bytes());
    }
    Ok(out)
}

/// The transaction's number, as subscribers see it.
fn number_of(end: Lsn) -> u32 {
    (end.0 / 16) as u32
}

fn type_name(catalog: &Catalog, ty: Oid) -> (String, String) {
    let element = ColumnType::new(ty).element();
    let base = element.map_or(ty, |element| element.oid);
    match catalog.user_type(base) {
        Some(entry) => {
            let (schema, name) = (&entry.described.schema, &entry.described.name);
            let name = match element {
                None => name.clone(),
                Some(_) => catalog.array_name(Oid(entry.stored.schema), name),
            };
            (schema.clone(), name)
        }
        None => (String::new(), format!("type_{}", ty.0)),
    }
}

fn put_oid(out: &mut Vec<u8>, kind: u8, oid: Oid) {
    out.push(kind);
    out.extend_from_slice(&oid.0.to_be_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str, converter: Option<Converter>) -> SqlResult<()> {
    match converter {
        None => out.extend_from_slice(text.as_bytes()),
        Some(converter) => converter.encode(text, out)?,
    }
    out.push(0);
    Ok(())
}
