//! Partitioned tables: by what a table is partitioned, which rows each partition takes, and which partition takes a row.
//!
//! A [`PartitionScheme`] is made from the key and all bounds whenever a partition comes or goes, and answers look-ups
//! by binary search over memcomparable bytes (`types::key`); hash partitions are found as PostgreSQL finds them, so
//! that the rows of a dump land in the partitions of the same bounds.
//!
//! Promises: bounds of one scheme never overlap (`conflict` is asked before one is added); a look-up allocates
//! nothing beyond the caller's scratch.
//! Leaves out: evaluating the key's expressions (`mote_executor`), which partitions a condition leaves over (`mote-planner`).

use std::sync::Arc;

use mote_common::Oid;
use mote_types::{ColumnType, Datum, KeyColumn, encode_key};

use super::IndexKeyTarget;
use super::partition_hash::{hash_key, supports_hash};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartitionStrategy {
    List,
    Range,
    Hash,
}

impl PartitionStrategy {
    pub fn name(self) -> &'static str {
        match self {
            PartitionStrategy::List => "list",
            PartitionStrategy::Range => "range",
            PartitionStrategy::Hash => "hash",
        }
    }
}

/// One column or expression of a partition key, over the row of the relation that holds the description.
#[derive(Clone, Debug)]
pub struct PartitionKey {
    pub target: IndexKeyTarget,
    pub ty: ColumnType,
}

impl PartitionKey {
    /// Whether values of this type have the order (or for hash partitions the hash) that partitions need.
    pub fn supports(ty: ColumnType, strategy: PartitionStrategy) -> bool {
        match strategy {
            PartitionStrategy::Hash => supports_hash(ty),
            PartitionStrategy::List | PartitionStrategy::Range => mote_types::key_encoding(ty).is_some(),
        }
    }
}

/// Which rows a partition takes.
#[derive(Clone, Debug)]
pub enum PartitionBound {
    /// What no other partition takes.
    Default,
    /// NULL may be among the values.
    List(Vec<Datum>),
    /// Inclusive lower bound, exclusive upper bound: one per key.
    Range {
        from: Vec<RangeDatum>,
        to: Vec<RangeDatum>,
    },
    Hash {
        modulus: u32,
        remainder: u32,
    },
}

#[derive(Clone, Debug)]
pub enum RangeDatum {
    MinValue,
    Value(Datum),
    MaxValue,
}

#[derive(Clone, Debug)]
pub struct Partition {
    pub oid: Oid,
    pub bound: PartitionBound,
}

/// How the rows of a partitioned table are spread over its partitions.
#[derive(Clone, Debug)]
pub struct PartitionScheme {
    pub strategy: PartitionStrategy,
    pub keys: Vec<PartitionKey>,
    /// In the order of their bounds (ranges by lower bound, lists by least value, hashes by modulus and remainder), the
    /// default partition last. All look-ups answer positions in this list.
    pub partitions: Vec<Partition>,
    pub default: Option<usize>,
    lookup: Lookup,
}

#[derive(Clone, Debug)]
enum Lookup {
    /// Encoded values in order, each with its partition; the partition that takes NULL.
    List {
        values: Vec<(Box<[u8]>, usize)>,
        null: Option<usize>,
    },
    /// Encoded bounds of the partitions, in the same order.
    Range(Vec<(Box<[u8]>, Box<[u8]>)>),
    /// By remainder of the greatest modulus.
    Hash(Vec<Option<usize>>),
}

/// What a partition's rows must meet at one level of its ancestry.
#[derive(Clone, Debug)]
pub struct PartitionLevel {
    /// With the keys over the *partition's* row. Of a partition that is not the default it holds that one only.
    pub scheme: Arc<PartitionScheme>,
    /// The position in the scheme at which every row must be found.
    pub position: usize,
}

/// Why a bound cannot be added to a scheme.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BoundConflict {
    /// A second default partition.
    Default(Oid),
    Overlap {
        with: Oid,
        /// Which value of a list, or which part of a range, is taken.
        value: usize,
    },
    /// The modulus does not fit between its neighbours'; true: the neighbour is the greater one.
    Modulus { neighbour: u32, of: Oid, greater: bool },
}

// Markers in front of each datum of a range bound: a prefix of a key compares below all its extensions.
const MINIMUM: u8 = 0x00;
pub(super) const VALUE: u8 = 0x01;
pub(super) const MAXIMUM: u8 = 0x02;

impl PartitionScheme {
    /// `partitions` in any order.
    pub fn new(
        strategy: PartitionStrategy,
        keys: Vec<PartitionKey>,
        partitions: Vec<Partition>,
    ) -> PartitionScheme {
        let (defaults, mut partitions): (Vec<_>, Vec<_>) = partitions
            .into_iter()
            .partition(|partition| matches!(partition.bound, PartitionBound::Default));
        partitions.sort_by_cached_key(|partition| (sort_key(&partition.bound, &keys), partition.oid));
        let lookup = Lookup::new(strategy, &keys, &partitions);
        let default = (!defaults.is_empty()).then_some(partitions.len());
        partitions.extend(defaults);
        PartitionScheme {
            strategy,
            keys,
            partitions,
            default,
            lookup,
        }
    }

    /// The partition that takes a row with this key, the default one if no other does.
    pub fn find(&self, key: &[Datum], scratch: &mut Vec<u8>) -> Option<usize> {
        self.find_exactly(key, scratch).or(self.default)
    }

    /// The partition whose bound has this key, the default one left aside.
    pub fn find_exactly(&self, key: &[Datum], scratch: &mut Vec<u8>) -> Option<usize> {
        scratch.clear();
        match &self.lookup {
            Lookup::List { values, null } => {
                if key[0].is_null() {
                    return *null;
                }
                encode_value(&key[0], self.keys[0].ty, scratch);
                let found = values.binary_search_by(|(value, _)| (**value).cmp(scratch));
                found.ok().map(|position| values[position].1)
            }
            Lookup::Range(bounds) => {
                // NULL is in no range.
                if key.iter().any(Datum::is_null) {
                    return None;
                }
                self.encode_prefix(key, scratch);
                let after = bounds.partition_point(|(lower, _)| **lower <= **scratch);
                let position = after.checked_sub(1)?;
                (**scratch < *bounds[position].1).then_some(position)
            }
            Lookup::Hash(table) if table.is_empty() => None,
            Lookup::Hash(table) => {
                let hash = hash_key(key, self.keys.iter().map(|key| key.ty));
                table[(hash % table.len() as u64) as usize]
            }
        }
    }

    /// Bytes of the first datums of a range key: what starts with them compares at or above them and below them
    /// followed by 0xFF. None of the datums is NULL.
    pub fn encode_prefix(&self, key: &[Datum], out: &mut Vec<u8>) {
        for (datum, column) in key.iter().zip(&self.keys) {
            out.push(VALUE);
            encode_value(datum, column.ty, out);
        }
    }

    /// Encoded lower (inclusive) and upper (exclusive) bounds of the range partitions, in order, comparable with
    /// `encode_prefix`. None: not partitioned by range.
    pub fn ranges(&self) -> Option<&[(Box<[u8]>, Box<[u8]>)]> {
        match &self.lookup {
            Lookup::Range(bounds) => Some(bounds),
            _ => None,
        }
    }

    /// For lists: the encoded values in order with the positions of their partitions, and the one that takes NULL.
    pub fn list_values(&self) -> Option<(&[(Box<[u8]>, usize)], Option<usize>)> {
        match &self.lookup {
            Lookup::List { values, null } => Some((values, *null)),
            _ => None,
        }
    }

    pub fn position_of(&self, partition: Oid) -> Option<usize> {
        self.partitions.iter().position(|known| known.oid == partition)
    }

    /// Whether a range bound has no value: its lower end is not below its upper end.
    pub fn is_empty_range(&self, bound: &PartitionBound) -> bool {
        match bound {
            PartitionBound::Range { from, to } => {
                encode_range(from, &self.keys) >= encode_range(to, &self.keys)
            }
            _ => false,
        }
    }

    /// Why `bound` cannot be added beside the partitions there are.
    pub fn conflict(&self, bound: &PartitionBound) -> Option<BoundConflict> {
        match bound {
            PartitionBound::Default => self
                .default
                .map(|position| BoundConflict::Default(self.partitions[position].oid)),
            PartitionBound::List(values) => self.list_conflict(values),
            PartitionBound::Range { from, to } => self.range_conflict(from, to),
            PartitionBound::Hash { modulus, remainder } => self.hash_conflict(*modulus, *remainder),
        }
    }

    fn list_conflict(&self, values: &[Datum]) -> Option<BoundConflict> {
        let mut scratch = Vec::new();
        values.iter().enumerate().find_map(|(value, datum)| {
            let position = self.find_exactly(std::slice::from_ref(datum), &mut scratch)?;
            let with = self.partitions[position].oid;
            Some(BoundConflict::Overlap { with, value })
        })
    }

    fn range_conflict(&self, from: &[RangeDatum], to: &[RangeDatum]) -> Option<BoundConflict> {
        let Lookup::Range(bounds) = &self.lookup else {
            return None;
        };
        let (from, to) = (encode_range(from, &self.keys), encode_range(to, &self.keys));
        // The first partition that ends above the new lower bound.
        let position = bounds.partition_point(|(_, upper)| **upper <= *from);
        let (lower, _) = bounds.get(position)?;
        if **lower >= *to {
            return None;
        }
        // As PostgreSQL points: at the lower bound if that is taken, else at the upper one.
        Some(BoundConflict::Overlap {
            with: self.partitions[position].oid,
            value: usize::from(**lower > *from),
        })
    }

    fn hash_conflict(&self, modulus: u32, remainder: u32) -> Option<BoundConflict> {
        let Lookup::Hash(table) = &self.lookup else {
            return None;
        };
        // Every modulus is a factor of the next larger one: as they are sorted, the neighbours decide.
        let neighbour = |partition: &Partition| match partition.bound {
            PartitionBound::Hash { modulus, remainder } => Some((modulus, remainder, partition.oid)),
            _ => None,
        };
        let bounds: Vec<_> = self.partitions.iter().filter_map(neighbour).collect();
        let next = bounds.partition_point(|&(m, r, _)| (m, r) <= (modulus, remainder));
        if let Some(&(neighbour, _, of)) = next.checked_sub(1).and_then(|before| bounds.get(before))
            && !modulus.is_multiple_of(neighbour)
        {
            return Some(BoundConflict::Modulus {
                neighbour,
                of,
                greater: false,
            });
        }
        if let Some(&(neighbour, _, of)) = bounds.get(next)
            && !neighbour.is_multiple_of(modulus)
        {
            return Some(BoundConflict::Modulus {
                neighbour,
                of,
                greater: true,
            });
        }
        let greatest = (table.len() as u32).max(modulus) as usize;
        let taken = (remainder as usize..greatest).step_by(modulus as usize);
        let position = taken.into_iter().find_map(|slot| match table.len() {
            0 => None,
            length => table[slot % length],
        })?;
        Some(BoundConflict::Overlap {
            with: self.partitions[position].oid,
            value: 0,
        })
    }
}

impl Lookup {
    fn new(strategy: PartitionStrategy, keys: &[PartitionKey], partitions: &[Partition]) -> Lookup {
        match strategy {
            PartitionStrategy::List => Lookup::of_lists(keys, partitions),
            PartitionStrategy::Range => {
                let bounds = partitions.iter().filter_map(|partition| match &partition.bound {
                    PartitionBound::Range { from, to } => {
                        Some((encode_range(from, keys), encode_range(to, keys)))
                    }
                    _ => None,
                });
                Lookup::Range(bounds.collect())
            }
            PartitionStrategy::Hash => Lookup::of_hashes(partitions),
        }
    }

    fn of_lists(keys: &[PartitionKey], partitions: &[Partition]) -> Lookup {
        let mut values = Vec::new();
        let mut null = None;
        for (position, partition) in partitions.iter().enumerate() {
            let PartitionBound::List(list) = &partition.bound else {
                continue;
            };
            for value in list {
                if value.is_null() {
                    null = Some(position);
                    continue;
                }
                let mut bytes = Vec::new();
                encode_value(value, keys[0].ty, &mut bytes);
                values.push((bytes.into(), position));
            }
        }
        values.sort();
        Lookup::List { values, null }
    }

    fn of_hashes(partitions: &[Partition]) -> Lookup {
        let bounds = || {
            partitions
                .iter()
                .enumerate()
                .filter_map(|(position, partition)| match partition.bound {
                    PartitionBound::Hash { modulus, remainder } => Some((position, modulus, remainder)),
                    _ => None,
                })
        };
        let greatest = bounds().map(|(_, modulus, _)| modulus).max().unwrap_or(0);
        let mut table = vec![None; greatest as usize];
        for (position, modulus, remainder) in bounds() {
            for slot in (remainder..greatest).step_by(modulus as usize) {
                table[slot as usize] = Some(position);
            }
        }
        Lookup::Hash(table)
    }
}

/// Whatever the precision of the column: values of any scale compare.
fn encode_value(datum: &Datum, ty: ColumnType, out: &mut Vec<u8>) {
    encode_key(datum, &KeyColumn::new(ColumnType::new(ty.oid), false), out);
}

fn encode_range(bound: &[RangeDatum], keys: &[PartitionKey]) -> Box<[u8]> {
    let mut out = Vec::new();
    for (datum, key) in bound.iter().zip(keys) {
        match datum {
            RangeDatum::MinValue => out.push(MINIMUM),
            RangeDatum::MaxValue => out.push(MAXIMUM),
            RangeDatum::Value(value) => {
                out.push(VALUE);
                encode_value(value, key.ty, &mut out);
                continue;
            }
        }
        // What follows an unbounded datum does not matter.
        break;
    }
    out.into()
}

/// Where a bound stands among the others of its scheme.
fn sort_key(bound: &PartitionBound, keys: &[PartitionKey]) -> Vec<u8> {
    match bound {
        PartitionBound::Default => Vec::new(),
        PartitionBound::Range { from, .. } => encode_range(from, keys).into(),
        PartitionBound::Hash { modulus, remainder } => {
            [modulus.to_be_bytes(), remainder.to_be_bytes()].concat()
        }
        PartitionBound::List(values) => {
            let encoded = values.iter().filter(|value| !value.is_null()).map(|value| {
                let mut bytes = vec![VALUE];
                encode_value(value, keys[0].ty, &mut bytes);
                bytes
            });
            // NULL alone comes behind all values.
            encoded.min_by(|a, b| a.cmp(b)).unwrap_or_else(|| vec![MAXIMUM])
        }
    }
}

/// Whether two values of a list are one.
pub fn same_value(a: &Datum, b: &Datum) -> bool {
    match (a.is_null(), b.is_null()) {
        (false, false) => mote_types::equal(a, b),
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheme(strategy: PartitionStrategy, bounds: Vec<PartitionBound>) -> PartitionScheme {
        let keys = vec![PartitionKey {
            target: IndexKeyTarget::Column(0),
            ty: ColumnType::INT4,
        }];
        let partitions = bounds.into_iter().enumerate().map(|(number, bound)| Partition {
            oid: Oid(100 + number as u32),
            bound,
        });
        PartitionScheme::new(strategy, keys, partitions.collect())
    }

    fn range(from: Option<i32>, to: Option<i32>) -> PartitionBound {
        let value = |value: Option<i32>, open| match value {
            Some(value) => RangeDatum::Value(Datum::Int4(value)),
            None => open,
        };
        PartitionBound::Range {
            from: vec![value(from, RangeDatum::MinValue)],
            to: vec![value(to, RangeDatum::MaxValue)],
        }
    }

    fn found(scheme: &PartitionScheme, key: Datum) -> Option<u32> {
        let position = scheme.find(&[key], &mut Vec::new())?;
        Some(scheme.partitions[position].oid.0)
    }

    #[test]
    fn ranges_take_their_lower_and_not_their_upper_bound() {
        let bounds = vec![
            range(Some(10), Some(20)),
            range(None, Some(0)),
            range(Some(20), None),
        ];
        let scheme = scheme(PartitionStrategy::Range, bounds);
        for (key, wanted) in [
            (i32::MIN, Some(101)),
            (-1, Some(101)),
            (0, None),
            (9, None),
            (10, Some(100)),
            (19, Some(100)),
            (20, Some(102)),
            (i32::MAX, Some(102)),
        ] {
            assert_eq!(found(&scheme, Datum::Int4(key)), wanted, "{key}");
        }
        assert_eq!(found(&scheme, Datum::Null), None);
        assert!(scheme.conflict(&range(Some(0), Some(10))).is_none());
        let overlap = |with, value| {
            Some(BoundConflict::Overlap {
                with: Oid(with),
                value,
            })
        };
        assert_eq!(scheme.conflict(&range(Some(0), Some(11))), overlap(100, 1));
        assert_eq!(scheme.conflict(&range(Some(19), Some(20))), overlap(100, 0));
        assert_eq!(scheme.conflict(&range(None, None)), overlap(101, 0));
        assert!(scheme.is_empty_range(&range(Some(5), Some(5))));
    }

    #[test]
    fn lists_take_null_where_it_is_listed_and_the_default_takes_the_rest() {
        let list = |values: &[Datum]| PartitionBound::List(values.to_vec());
        let bounds = vec![
            PartitionBound::Default,
            list(&[Datum::Int4(3), Datum::Int4(1)]),
            list(&[Datum::Null, Datum::Int4(2)]),
        ];
        let scheme = scheme(PartitionStrategy::List, bounds);
        for (key, wanted) in [
            (Datum::Int4(1), 101),
            (Datum::Int4(2), 102),
            (Datum::Int4(3), 101),
            (Datum::Null, 102),
            (Datum::Int4(4), 100),
        ] {
            assert_eq!(found(&scheme, key.clone()), Some(wanted), "{key:?}");
        }
        assert_eq!(scheme.default, Some(2));
        assert_eq!(
            scheme.conflict(&list(&[Datum::Int4(9), Datum::Null])),
            Some(BoundConflict::Overlap {
                with: Oid(102),
                value: 1
            })
        );
        assert_eq!(
            scheme.conflict(&PartitionBound::Default),
            Some(BoundConflict::Default(Oid(100)))
        );
    }

    #[test]
    fn moduli_of_hash_partitions_are_factors_of_each_other() {
        let hash = |modulus, remainder| PartitionBound::Hash { modulus, remainder };
        let scheme = scheme(PartitionStrategy::Hash, vec![hash(4, 0), hash(8, 1), hash(8, 5)]);
        assert!(scheme.conflict(&hash(4, 2)).is_none());
        assert_eq!(
            scheme.conflict(&hash(2, 0)),
            Some(BoundConflict::Overlap {
                with: Oid(100),
                value: 0
            })
        );
        assert_eq!(
            scheme.conflict(&hash(6, 2)),
            Some(BoundConflict::Modulus {
                neighbour: 4,
                of: Oid(100),
                greater: false
            })
        );
        assert_eq!(
            scheme.conflict(&hash(12, 2)),
            Some(BoundConflict::Modulus {
                neighbour: 8,
                of: Oid(102),
                greater: false
            })
        );
    }
}
