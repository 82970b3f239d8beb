//! What a transaction tells subscribers beside its rows (docs/design/0061): operations that recovery, replay and restore
//! step over. `docs/formats/log.md` has the bytes.
//!
//! A RELATION stands before the first change of a published table in a transaction, and says all that a reader needs in
//! order to read the rows behind it: where the columns stand in a row, and under which names which publications tell of
//! them. So a reader needs no catalog of the past.
//!
//! Decoders take untrusted bytes and never panic. Leaves out: who is told (`mote_replication::decoder`).

use mote_common::{Oid, RowId, TableId};

use super::varint::{self, Cursor};

pub(super) const RELATION: u8 = 5;
pub(super) const OLD_ROW: u8 = 6;
pub(super) const TRUNCATE: u8 = 7;

/// Operations of a publication, as bits.
pub const INSERTS: u8 = 1;
pub const UPDATES: u8 = 2;
pub const DELETES: u8 = 4;
pub const TRUNCATES: u8 = 8;

/// Options of a TRUNCATE, as bits.
pub const CASCADE: u8 = 1;
pub const RESTART_IDENTITY: u8 = 2;

/// One operation for subscribers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Told<'a> {
    /// `content` is a [`ToldRelation`].
    Relation {
        table: TableId,
        content: &'a [u8],
    },
    /// The row before the change that follows, in the layout of the RELATION.
    OldRow {
        table: TableId,
        row: RowId,
        bytes: &'a [u8],
    },
    Truncate {
        options: u8,
        tables: Vec<TableId>,
    },
}

/// Whether an operation is for subscribers alone.
pub fn is_told(body: &[u8]) -> bool {
    matches!(body.first(), Some(&(RELATION | OLD_ROW | TRUNCATE)))
}

impl<'a> Told<'a> {
    /// Decodes what stands behind the length. `None`: malformed, or none of these.
    pub fn decode(body: &'a [u8]) -> Option<Told<'a>> {
        let mut cursor = Cursor::new(body);
        Some(match cursor.byte()? {
            RELATION => Told::Relation {
                table: TableId(cursor.varint_u32()?),
                content: cursor.rest(),
            },
            OLD_ROW => Told::OldRow {
                table: TableId(cursor.varint_u32()?),
                row: RowId(cursor.varint()?),
                bytes: cursor.rest(),
            },
            TRUNCATE => {
                let options = cursor.byte()?;
                let mut tables = Vec::new();
                for _ in 0..cursor.varint()? {
                    tables.push(TableId(cursor.varint_u32()?));
                }
                cursor.is_empty().then_some(Told::Truncate { options, tables })?
            }
            _ => return None,
        })
    }
}

/// A published table, as it was when it was changed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ToldRelation {
    /// The number of the layout in which rows are told.
    pub layout: u8,
    /// Its columns, in the order of their places in the row.
    pub storage: Vec<ToldStorage>,
    /// Under which names it is told of: its own, and those of the tables it is a partition of.
    pub views: Vec<ToldView>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ToldStorage {
    /// The engine's byte for the storage class.
    pub class: u8,
    pub nullable: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ToldView {
    pub oid: Oid,
    pub schema: String,
    pub name: String,
    /// `d`, `f`, `n` or `i`.
    pub identity: u8,
    /// How far above the changed table itself the named one is: 0 is the table itself.
    pub height: u32,
    /// The publications that tell of it in this way, with the operations they tell of.
    pub publications: Vec<(Oid, u8)>,
    /// In the order of the named table.
    pub columns: Vec<ToldColumn>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToldColumn {
    /// Rows of the named table are found by it.
    pub key: bool,
    /// Told of the row as it was.
    pub old: bool,
    /// Its place in the row.
    pub position: u32,
    pub ty: Oid,
    pub typmod: i32,
    pub name: String,
}

impl ToldRelation {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![self.layout];
        varint::put(&mut out, self.storage.len() as u64);
        for column in &self.storage {
            out.push(column.class | (column.nullable as u8) << 7);
        }
        varint::put(&mut out, self.views.len() as u64);
        for view in &self.views {
            view.put(&mut out);
        }
        out
    }

    pub fn decode(content: &[u8]) -> Option<ToldRelation> {
        let mut cursor = Cursor::new(content);
        let mut relation = ToldRelation {
            layout: cursor.byte()?,
            ..ToldRelation::default()
        };
        for _ in 0..cursor.varint()? {
            let byte = cursor.byte()?;
            relation.storage.push(ToldStorage {
                class: byte & 0x7f,
                nullable: byte & 0x80 != 0,
            });
        }
        for _ in 0..cursor.varint()? {
            relation.views.push(ToldView::take(&mut cursor)?);
        }
        let within = |column: &ToldColumn| (column.position as usize) < relation.storage.len();
        let places = relation.views.iter().flat_map(|view| &view.columns).all(within);
        (cursor.is_empty() && places).then_some(relation)
    }
}

impl ToldView {
    fn put(&self, out: &mut Vec<u8>) {
        varint::put(out, self.oid.0 as u64);
        varint::put_bytes(out, self.schema.as_bytes());
        varint::put_bytes(out, self.name.as_bytes());
        out.push(self.identity);
        varint::put(out, self.height as u64);
        varint::put(out, self.publications.len() as u64);
        for (publication, operations) in &self.publications {
            varint::put(out, publication.0 as u64);
            out.push(*operations);
        }
        varint::put(out, self.columns.len() as u64);
        for column in &self.columns {
            out.push(column.key as u8 | (column.old as u8) << 1);
            varint::put(out, column.position as u64);
            varint::put(out, column.ty.0 as u64);
            varint::put(out, varint::zigzag(column.typmod as i64));
            varint::put_bytes(out, column.name.as_bytes());
        }
    }

    fn take(cursor: &mut Cursor<'_>) -> Option<ToldView> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let mut view = ToldView {
            oid: Oid(cursor.varint_u32()?),
            schema: text(cursor.bytes()?)?,
            name: text(cursor.bytes()?)?,
            identity: cursor.byte()?,
            height: cursor.varint_u32()?,
            ..ToldView::default()
        };
        for _ in 0..cursor.varint()? {
            let publication = Oid(cursor.varint_u32()?);
            view.publications.push((publication, cursor.byte()?));
        }
        for _ in 0..cursor.varint()? {
            let flags = cursor.byte()?;
            view.columns.push(ToldColumn {
                key: flags & 1 != 0,
                old: flags & 2 != 0,
                position: cursor.varint_u32()?,
                ty: Oid(cursor.varint_u32()?),
                typmod: i32::try_from(varint::unzigzag(cursor.varint()?)).ok()?,
                name: text(cursor.bytes()?)?,
            });
        }
        Some(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_common::prng::Prng;

    fn relation() -> ToldRelation {
        ToldRelation {
            layout: 3,
            storage: vec![
                ToldStorage {
                    class: 4,
                    nullable: false,
                },
                ToldStorage {
                    class: 0,
                    nullable: true,
                },
            ],
            views: vec![ToldView {
                oid: Oid(16400),
                schema: "public".into(),
                name: "süß".into(),
                identity: b'd',
                height: 1,
                publications: vec![(Oid(16410), INSERTS | DELETES)],
                columns: vec![ToldColumn {
                    key: true,
                    old: false,
                    position: 1,
                    ty: Oid(1043),
                    typmod: -1,
                    name: "a".into(),
                }],
            }],
        }
    }

    #[test]
    fn a_relation_survives_the_round_trip_and_damage_is_no_panic() {
        let bytes = relation().encode();
        assert_eq!(ToldRelation::decode(&bytes), Some(relation()));
        for length in 0..bytes.len() {
            assert_eq!(ToldRelation::decode(&bytes[..length]), None, "{length} bytes");
        }
        let seed = 41;
        let mut prng = Prng::new(seed);
        for _ in 0..2000 {
            let mut damaged = bytes.clone();
            let at = prng.below(bytes.len() as u64) as usize;
            damaged[at] = prng.below(256) as u8;
            if let Some(read) = ToldRelation::decode(&damaged) {
                let places = read.views.iter().flat_map(|view| &view.columns);
                assert!(
                    places
                        .into_iter()
                        .all(|c| (c.position as usize) < read.storage.len()),
                    "seed {seed}"
                );
            }
        }
    }
}
