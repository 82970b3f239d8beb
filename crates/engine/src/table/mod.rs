//! Tables: rows by row id, each a chain of versions, newest first.
//!
//! Read in this order:
//!  1. `layout`, `row`, `columns`: columns, row bytes, sets of columns;
//!  2. `version`, `segment`: a version's header, the slots that hold the newest ones, the row latch;
//!  3. `visibility`: which version a reader sees;
//!  4. `counts`, `store`: the table: how many rows, layouts, segments, row ids, indexes;
//!  5. `key_program`: keys of indexes from row bytes;
//!  6. `prefetch`: hints for scans that know what comes next (all rows in row-id order: `txn/scan`);
//!  7. `prune`: old versions and dead index entries, and the collector of deleted rows;
//!  8. `apply`: rows from the log and from images, for recovery; `load`: indexes of what was recovered;
//!  9. `definition`: what the catalog keeps.
//!
//! Source: version chains, newest first, stamped with a transaction until it has a timestamp, as in Hekaton (Larson et al.,
//! VLDB 2012); which versions go follows Steam (Boettcher et al., VLDB 2019): each interval between active timestamps keeps one, and
//! the writer of a chain cleans it. Other than in Hekaton indexes point to rows, not to versions, and a writer waits for
//! another one instead of failing. PostgreSQL's heap (heapam.c) keeps versions side by side and vacuums them.
//!
//! Promises: readers wait for no writer, but for one that is validating (`visibility`); a version reachable by a registered snapshot stays where it is.
//! Leaves out: who may write and when it commits (`txn`), locks (`lock`).

mod layout;
mod row;
mod columns;
mod counts;
pub(crate) mod version;
pub(crate) mod segment;
pub(crate) mod visibility;
pub(crate) mod store;
mod key_program;
mod prefetch;
pub(crate) mod prune;
mod apply;
pub(crate) mod load;
mod definition;

pub use columns::ColumnSet;
pub use counts::RowChanges;
pub(crate) use definition::ObjectKey;
pub use definition::{
    CATALOG_TABLE, Definition, DefinitionCorrupt, FIRST_USER_TABLE, IndexDefinition, SQL_CATALOG_TABLE,
    SequenceDefinition, SequenceId, TableDefinition,
};
pub use key_program::{
    KeyClass, KeyColumn, KeyExpressionProvider, KeyExpressions, KeyOutcome, KeyProgram, KeySource, KeyValue,
};
pub use layout::{COLUMNS_MAX, ColumnStorage, Layout, StorageClass};
pub use prefetch::{SLOTS_AHEAD, VERSIONS_AHEAD};
pub use row::{ROW_BYTES_MAX, RowBuffers, RowTooLarge, RowView, RowWriter};
pub use store::{IndexList, Table, TableIndex};
