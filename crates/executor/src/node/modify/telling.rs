//! What writes of a published table tell subscribers (docs/design/0061): the table's description, handed to the engine.
//!
//! A table that no publication has holds a `None` here, and its writes are the engine's plain ones.

use std::sync::Arc;

use mote_engine::told::{ToldColumn, ToldView};
use mote_engine::{OldRow, RowVersion, Table, Told, Transaction, WriteError};
use mote_sql::catalog::Relation;
use mote_sql::catalog::published::{
    DELETES, INSERTS, Published, PublishedAs, ReplicaIdentity, TRUNCATES, UPDATES,
};

pub struct Telling(Option<Box<Described>>);

struct Described {
    operations: u8,
    told: Arc<Told>,
}

impl Telling {
    pub fn of(relation: &Relation) -> Telling {
        let described = |published: &Arc<Published>| {
            Box::new(Described {
                operations: published.operations,
                told: Arc::new(told(published)),
            })
        };
        Telling(relation.published.as_ref().map(described))
    }

    /// Before rows are inserted.
    #[inline]
    pub fn inserts(&self, transaction: &Transaction, table: &Table) {
        if let Some(told) = self.when(INSERTS) {
            transaction.tell(table, told);
        }
    }

    #[inline]
    pub fn update(
        &self,
        transaction: &Transaction,
        table: &Table,
        version: &RowVersion<'_>,
        bytes: &[u8],
    ) -> Result<(), WriteError> {
        match self.when(UPDATES) {
            None => transaction.update(table, version, bytes),
            Some(told) => {
                transaction.tell(table, told);
                transaction.update_told(table, version, bytes, told)
            }
        }
    }

    /// `moved`: the row is written to another table.
    #[inline]
    pub fn delete(
        &self,
        transaction: &Transaction,
        table: &Table,
        version: &RowVersion<'_>,
        moved: bool,
    ) -> Result<(), WriteError> {
        match self.when(DELETES) {
            None if moved => transaction.delete_moved(table, version),
            None => transaction.delete(table, version),
            Some(told) => {
                transaction.tell(table, told);
                transaction.delete_told(table, version, told, moved)
            }
        }
    }

    /// The description of a table that is truncated, if anybody is told so.
    pub fn truncates(&self) -> Option<&Arc<Told>> {
        self.when(TRUNCATES)
    }

    #[inline]
    fn when(&self, operation: u8) -> Option<&Arc<Told>> {
        let described = self.0.as_deref()?;
        (described.operations & operation != 0).then_some(&described.told)
    }
}

fn told(published: &Published) -> Told {
    Told {
        views: published.views.iter().map(view).collect(),
        old: match published.identity {
            ReplicaIdentity::Nothing => OldRow::Nothing,
            ReplicaIdentity::Full => OldRow::Whole,
            ReplicaIdentity::Key(index) => OldRow::Key(index),
        },
    }
}

fn view(view: &PublishedAs) -> ToldView {
    let columns = view.columns.iter().map(|column| ToldColumn {
        key: column.key,
        old: column.told_of_old,
        position: column.position.into(),
        ty: column.ty,
        typmod: column.typmod,
        name: column.name.clone(),
    });
    ToldView {
        oid: view.oid,
        schema: view.schema.clone(),
        name: view.name.clone(),
        identity: view.identity,
        height: view.height,
        publications: view.publications.clone(),
        columns: columns.collect(),
    }
}
