//! Which partitions can hold rows that meet conditions on the partition key: the other direction of routing.
//!
//! One function for the planner, which knows constants, and for the executor, which knows parameters and the outer row of
//! a nested loop. It answers a superset: a partition that is left out holds no such row; one that stays may hold none
//! either. Conditions are joined by AND; NULL meets no comparison.

use mote_types::datetime::TimeZone;
use mote_types::key::{Place, place};
use mote_types::{ColumnType, Datum};

use super::partition::{MAXIMUM, PartitionScheme, PartitionStrategy, VALUE};
use crate::builtin::operator::Comparison;

/// Combinations of list elements that are looked up one by one before the lists are taken for "anything".
const COMBINATIONS_MAX: usize = 1024;

/// What a condition says of one key, by its number. Values are of the key's type.
#[derive(Clone, Debug)]
pub enum KeyCondition {
    Compare(u16, Comparison, Datum),
    AnyOf(u16, Vec<Datum>),
    IsNull(u16),
    IsNotNull(u16),
    /// One of these holds, each a list joined by AND.
    Or(Vec<Vec<KeyCondition>>),
}

impl KeyCondition {
    /// A comparison of a key with a value whose type fits the key's exactly (`mote_types::key::fit`).
    pub fn compare(
        number: u16,
        comparison: Comparison,
        value: Datum,
        key: ColumnType,
        zone: &TimeZone,
    ) -> KeyCondition {
        if value.is_null() {
            return KeyCondition::Compare(number, comparison, value);
        }
        let nothing = KeyCondition::AnyOf(number, Vec::new());
        let everything = KeyCondition::IsNotNull(number);
        let is_lower = match comparison {
            Comparison::Greater | Comparison::GreaterOrEqual => true,
            Comparison::Less | Comparison::LessOrEqual => false,
            Comparison::Equal => {
                return match place(value, key, zone) {
                    Place::At(value) => KeyCondition::Compare(number, comparison, value),
                    _ => nothing,
                };
            }
            Comparison::NotEqual => return everything,
        };
        match place(value, key, zone) {
            Place::At(value) => KeyCondition::Compare(number, comparison, value),
            Place::After(below) if is_lower => KeyCondition::Compare(number, Comparison::Greater, below),
            Place::After(below) => KeyCondition::Compare(number, Comparison::LessOrEqual, below),
            Place::BelowAll if is_lower => everything,
            Place::AboveAll if !is_lower => everything,
            Place::BelowAll | Place::AboveAll => nothing,
            Place::Within(..) => everything,
        }
    }

    /// A comparison of a key with each of these values, as above.
    pub fn any_of(
        number: u16,
        values: impl IntoIterator<Item = Datum>,
        key: ColumnType,
        zone: &TimeZone,
    ) -> KeyCondition {
        let values = values.into_iter().filter(|value| !value.is_null());
        let placed = values.filter_map(|value| match place(value, key, zone) {
            Place::At(value) => Some(value),
            _ => None,
        });
        KeyCondition::AnyOf(number, placed.collect())
    }
}

/// Positions in a scheme, one flag each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartitionSet(Vec<bool>);

impl PartitionSet {
    fn filled(length: usize, member: bool) -> PartitionSet {
        PartitionSet(vec![member; length])
    }

    pub fn contains(&self, position: usize) -> bool {
        self.0[position]
    }

    pub fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        let flags = self.0.iter().enumerate();
        flags.filter(|(_, member)| **member).map(|(position, _)| position)
    }

    fn insert(&mut self, position: Option<usize>) {
        if let Some(position) = position {
            self.0[position] = true;
        }
    }

    fn union(&mut self, other: &PartitionSet) {
        self.0
            .iter_mut()
            .zip(&other.0)
            .for_each(|(own, other)| *own |= other);
    }

    fn intersect(&mut self, other: &PartitionSet) {
        self.0
            .iter_mut()
            .zip(&other.0)
            .for_each(|(own, other)| *own &= other);
    }
}

/// What all conditions but lists and alternatives say of one key.
#[derive(Clone, Default)]
struct KeyBounds<'a> {
    equal: Option<&'a Datum>,
    /// (value, whether it is itself allowed).
    lower: Option<(&'a Datum, bool)>,
    upper: Option<(&'a Datum, bool)>,
    null: bool,
    not_null: bool,
}

impl PartitionScheme {
    /// The partitions that may hold rows which meet all conditions.
    pub fn matching(&self, conditions: &[KeyCondition]) -> PartitionSet {
        let mut found = self.matching_lists(conditions);
        for condition in conditions {
            if let KeyCondition::Or(alternatives) = condition {
                let mut either = PartitionSet::filled(self.partitions.len(), false);
                for alternative in alternatives {
                    either.union(&self.matching(alternative));
                }
                found.intersect(&either);
            }
        }
        found
    }

    /// Alternatives left aside; lists taken element by element.
    fn matching_lists(&self, conditions: &[KeyCondition]) -> PartitionSet {
        let mut plain: Vec<(u16, Comparison, &Datum)> = Vec::new();
        let mut lists: Vec<(u16, &[Datum])> = Vec::new();
        let mut bounds = vec![KeyBounds::default(); self.keys.len()];
        let mut combinations = 1;
        for condition in conditions {
            match condition {
                KeyCondition::Compare(_, _, value) if value.is_null() => {
                    return PartitionSet::filled(self.partitions.len(), false);
                }
                KeyCondition::Compare(key, comparison, value) => plain.push((*key, *comparison, value)),
                KeyCondition::AnyOf(key, list) => {
                    bounds[*key as usize].not_null = true;
                    if combinations * list.len().max(1) <= COMBINATIONS_MAX {
                        combinations *= list.len().max(1);
                        lists.push((*key, list));
                    }
                }
                KeyCondition::IsNull(key) => bounds[*key as usize].null = true,
                KeyCondition::IsNotNull(key) => bounds[*key as usize].not_null = true,
                KeyCondition::Or(_) => {}
            }
        }
        for (key, comparison, value) in plain {
            let bound = &mut bounds[key as usize];
            bound.not_null = true;
            match comparison {
                Comparison::Equal => bound.equal = Some(value),
                Comparison::Greater => bound.lower = Some((value, false)),
                Comparison::GreaterOrEqual => bound.lower = Some((value, true)),
                Comparison::Less => bound.upper = Some((value, false)),
                Comparison::LessOrEqual => bound.upper = Some((value, true)),
                Comparison::NotEqual => {}
            }
        }
        let mut found = PartitionSet::filled(self.partitions.len(), false);
        self.each_combination(&lists, &mut bounds, &mut found);
        found
    }

    fn each_combination<'a>(
        &self,
        lists: &[(u16, &'a [Datum])],
        bounds: &mut [KeyBounds<'a>],
        found: &mut PartitionSet,
    ) {
        let Some(((key, list), rest)) = lists.split_first() else {
            return self.add_matching(bounds, found);
        };
        let outer = bounds[*key as usize].equal;
        for value in list.iter().filter(|value| !value.is_null()) {
            bounds[*key as usize].equal = Some(value);
            self.each_combination(rest, bounds, found);
        }
        bounds[*key as usize].equal = outer;
    }

    fn add_matching(&self, bounds: &[KeyBounds<'_>], found: &mut PartitionSet) {
        if bounds.iter().any(|bound| bound.null && bound.not_null) {
            return;
        }
        match self.strategy {
            PartitionStrategy::Hash => self.add_hash(bounds, found),
            PartitionStrategy::List => self.add_list(&bounds[0], found),
            PartitionStrategy::Range => self.add_range(bounds, found),
        }
    }

    fn add_all(&self, found: &mut PartitionSet) {
        found.0.fill(true);
    }

    fn add_hash(&self, bounds: &[KeyBounds<'_>], found: &mut PartitionSet) {
        let known = bounds.iter().map(|bound| match bound.null {
            true => Some(Datum::Null),
            false => bound.equal.cloned(),
        });
        match known.collect::<Option<Vec<Datum>>>() {
            Some(key) => found.insert(self.find(&key, &mut Vec::new())),
            None => self.add_all(found),
        }
    }

    fn add_list(&self, bound: &KeyBounds<'_>, found: &mut PartitionSet) {
        let Some((values, null)) = self.list_values() else {
            return self.add_all(found);
        };
        if bound.null {
            return found.insert(null.or(self.default));
        }
        if let Some(value) = bound.equal {
            return found.insert(self.find(std::slice::from_ref(value), &mut Vec::new()));
        }
        // Bytes of a bound without the marker that only ranges need.
        let encoded = |value: &Datum| {
            let mut bytes = Vec::new();
            self.encode_prefix(std::slice::from_ref(value), &mut bytes);
            bytes.split_off(1)
        };
        let lower = bound.lower.map(|(value, inclusive)| (encoded(value), inclusive));
        let upper = bound.upper.map(|(value, inclusive)| (encoded(value), inclusive));
        for (value, position) in values {
            let value: &[u8] = value;
            let above = lower.as_ref().is_none_or(|(lower, inclusive)| {
                value > lower.as_slice() || *inclusive && value == lower.as_slice()
            });
            let below = upper.as_ref().is_none_or(|(upper, inclusive)| {
                value < upper.as_slice() || *inclusive && value == upper.as_slice()
            });
            if above && below {
                found.insert(Some(*position));
            }
        }
        // The values of the others are endless.
        found.insert(self.default);
        if !bound.not_null {
            found.insert(null);
        }
    }

    /// Keys from the first on that have one value, and the bounds of the one behind them, are a span of encoded keys.
    fn add_range(&self, bounds: &[KeyBounds<'_>], found: &mut PartitionSet) {
        const BEHIND_ALL: u8 = 0xFF;
        let Some(ranges) = self.ranges() else {
            return self.add_all(found);
        };
        if bounds.iter().any(|bound| bound.null) {
            // NULL is in no range.
            return found.insert(self.default);
        }
        let mut prefix: Vec<Datum> = bounds.iter().map_while(|bound| bound.equal.cloned()).collect();
        let next = bounds.get(prefix.len());
        let mut span = |value: Option<&Datum>, marker: Option<u8>| {
            let length = prefix.len();
            prefix.extend(value.cloned());
            let mut bytes = Vec::new();
            self.encode_prefix(&prefix, &mut bytes);
            bytes.extend(marker);
            prefix.truncate(length);
            bytes
        };
        let lower = match next.and_then(|next| next.lower) {
            Some((value, inclusive)) => span(Some(value), (!inclusive).then_some(BEHIND_ALL)),
            // Every value stands between the markers of the open ends.
            None => span(None, next.map(|_| VALUE)),
        };
        let upper = match next.and_then(|next| next.upper) {
            Some((value, inclusive)) => span(Some(value), inclusive.then_some(BEHIND_ALL)),
            None => span(None, Some(next.map_or(BEHIND_ALL, |_| MAXIMUM))),
        };
        if lower >= upper {
            return;
        }
        // Up to where partitions without gaps cover the span.
        let mut covered: Option<&[u8]> = Some(&lower);
        let first = ranges.partition_point(|(_, end)| **end <= *lower);
        for (position, (start, end)) in ranges.iter().enumerate().skip(first) {
            if **start >= *upper {
                break;
            }
            found.insert(Some(position));
            covered = covered.filter(|covered| **start <= **covered).map(|_| &**end);
        }
        let complete = covered.is_some_and(|covered| covered >= &*upper);
        if !complete || bounds.iter().any(|bound| !bound.not_null) {
            found.insert(self.default);
        }
    }
}

#[cfg(test)]
mod tests {
    use mote_common::Oid;
    use mote_common::prng::Prng;
    use mote_types::ColumnType;

    use super::*;
    use crate::catalog::IndexKeyTarget;
    use crate::catalog::partition::{Partition, PartitionBound, PartitionKey, RangeDatum};

    fn scheme(strategy: PartitionStrategy, keys: u16, bounds: Vec<PartitionBound>) -> PartitionScheme {
        let key = |number| PartitionKey {
            target: IndexKeyTarget::Column(number),
            ty: ColumnType::INT4,
        };
        let partitions = bounds.into_iter().enumerate().map(|(number, bound)| Partition {
            oid: Oid(100 + number as u32),
            bound,
        });
        PartitionScheme::new(strategy, (0..keys).map(key).collect(), partitions.collect())
    }

    /// A scheme of each kind; values from -2 to 12 meet all their partitions and gaps.
    fn schemes() -> Vec<PartitionScheme> {
        let value = |value: i32| RangeDatum::Value(Datum::Int4(value));
        let range = |from: Vec<RangeDatum>, to: Vec<RangeDatum>| PartitionBound::Range { from, to };
        let list = |values: &[Datum]| PartitionBound::List(values.to_vec());
        let hash = |modulus, remainder| PartitionBound::Hash { modulus, remainder };
        let one = vec![
            range(vec![RangeDatum::MinValue], vec![value(0)]),
            range(vec![value(0)], vec![value(4)]),
            range(vec![value(4)], vec![value(5)]),
            range(vec![value(8)], vec![RangeDatum::MaxValue]),
        ];
        let two = vec![
            range(vec![value(0), value(0)], vec![value(2), value(5)]),
            range(vec![value(2), value(5)], vec![value(2), RangeDatum::MaxValue]),
            range(vec![value(3), RangeDatum::MinValue], vec![value(7), value(1)]),
        ];
        let lists = vec![
            list(&[Datum::Int4(1), Datum::Int4(7)]),
            list(&[Datum::Int4(3), Datum::Null]),
            list(&[Datum::Int4(9)]),
        ];
        let with_default = |bounds: &[PartitionBound]| {
            let mut bounds = bounds.to_vec();
            bounds.push(PartitionBound::Default);
            bounds
        };
        vec![
            scheme(PartitionStrategy::Range, 1, with_default(&one)),
            scheme(PartitionStrategy::Range, 1, one),
            scheme(PartitionStrategy::Range, 2, with_default(&two)),
            scheme(PartitionStrategy::Range, 2, two),
            scheme(PartitionStrategy::List, 1, with_default(&lists)),
            scheme(PartitionStrategy::List, 1, lists),
            scheme(
                PartitionStrategy::Hash,
                1,
                vec![hash(3, 0), hash(3, 1), hash(3, 2)],
            ),
            scheme(
                PartitionStrategy::Hash,
                2,
                vec![hash(2, 0), hash(4, 1), hash(4, 3)],
            ),
        ]
    }

    fn holds(condition: &KeyCondition, row: &[Datum]) -> bool {
        let equal = |key: &u16, value: &Datum| {
            row[*key as usize]
                .as_i64()
                .is_some_and(|own| Some(own) == value.as_i64())
        };
        match condition {
            KeyCondition::Compare(key, comparison, value) => {
                let (Some(own), Some(value)) = (row[*key as usize].as_i64(), value.as_i64()) else {
                    return false;
                };
                match comparison {
                    Comparison::Equal => own == value,
                    Comparison::NotEqual => own != value,
                    Comparison::Less => own < value,
                    Comparison::LessOrEqual => own <= value,
                    Comparison::Greater => own > value,
                    Comparison::GreaterOrEqual => own >= value,
                }
            }
            KeyCondition::AnyOf(key, list) => list.iter().any(|value| equal(key, value)),
            KeyCondition::IsNull(key) => row[*key as usize].is_null(),
            KeyCondition::IsNotNull(key) => !row[*key as usize].is_null(),
            KeyCondition::Or(alternatives) => {
                let all = |list: &Vec<KeyCondition>| list.iter().all(|condition| holds(condition, row));
                alternatives.iter().any(all)
            }
        }
    }

    fn random_datum(random: &mut Prng) -> Datum {
        match random.below(12) {
            0 => Datum::Null,
            _ => Datum::Int4(random.below(15) as i32 - 2),
        }
    }

    fn random_condition(random: &mut Prng, keys: u16, depth: u32) -> KeyCondition {
        let key = random.below(u64::from(keys)) as u16;
        let comparisons = [
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Less,
            Comparison::LessOrEqual,
            Comparison::Greater,
            Comparison::GreaterOrEqual,
        ];
        match random.below(if depth == 0 { 8 } else { 10 }) {
            0..=4 => {
                let comparison = comparisons[random.below(6) as usize];
                KeyCondition::Compare(key, comparison, random_datum(random))
            }
            5 => KeyCondition::AnyOf(key, (0..random.below(4)).map(|_| random_datum(random)).collect()),
            6 => KeyCondition::IsNull(key),
            7 => KeyCondition::IsNotNull(key),
            _ => {
                let count = 1 + random.below(3);
                let alternatives = (0..count).map(|_| random_conditions(random, keys, depth - 1));
                KeyCondition::Or(alternatives.collect())
            }
        }
    }

    fn random_conditions(random: &mut Prng, keys: u16, depth: u32) -> Vec<KeyCondition> {
        let count = 1 + random.below(3);
        (0..count)
            .map(|_| random_condition(random, keys, depth))
            .collect()
    }

    #[test]
    fn no_partition_is_left_out_that_holds_a_row() {
        let seed = 0x0014;
        println!("seed {seed}");
        let mut random = Prng::new(seed);
        for scheme in schemes() {
            let keys = scheme.keys.len() as u16;
            for _ in 0..3000 {
                let conditions = random_conditions(&mut random, keys, 2);
                let found = scheme.matching(&conditions);
                for _ in 0..30 {
                    let row: Vec<Datum> = (0..keys).map(|_| random_datum(&mut random)).collect();
                    if conditions.iter().all(|condition| holds(condition, &row))
                        && let Some(position) = scheme.find(&row, &mut Vec::new())
                    {
                        assert!(
                            found.contains(position),
                            "{row:?} {conditions:?} {:?}",
                            scheme.partitions
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn what_cannot_match_is_left_out() {
        let left = |scheme: &PartitionScheme, conditions: &[KeyCondition]| {
            scheme.matching(conditions).positions().collect::<Vec<_>>()
        };
        let compare = |key, comparison, value| KeyCondition::Compare(key, comparison, Datum::Int4(value));
        let schemes = schemes();
        let range = &schemes[0];
        assert_eq!(left(range, &[compare(0, Comparison::Equal, 4)]), [2]);
        assert_eq!(left(range, &[compare(0, Comparison::Equal, 6)]), [4]);
        assert_eq!(left(range, &[compare(0, Comparison::Less, 4)]), [0, 1]);
        assert_eq!(left(range, &[compare(0, Comparison::LessOrEqual, 4)]), [0, 1, 2]);
        assert_eq!(left(range, &[compare(0, Comparison::Greater, 4)]), [2, 3, 4]);
        assert_eq!(left(range, &[KeyCondition::IsNull(0)]), [4]);
        assert_eq!(
            left(range, &[KeyCondition::Compare(0, Comparison::Equal, Datum::Null)]),
            []
        );
        let either = KeyCondition::Or(vec![
            vec![compare(0, Comparison::Equal, -1)],
            vec![compare(0, Comparison::Equal, 9)],
        ]);
        assert_eq!(left(range, &[either]), [0, 3]);
        let pair = &schemes[3];
        assert_eq!(left(pair, &[compare(0, Comparison::Equal, 2)]), [0, 1]);
        let both = [compare(0, Comparison::Equal, 2), compare(1, Comparison::Less, 5)];
        assert_eq!(left(pair, &both), [0]);
        assert_eq!(left(pair, &[compare(1, Comparison::Equal, 2)]), [0, 1, 2]);
        let list = &schemes[4];
        let any = KeyCondition::AnyOf(0, vec![Datum::Int4(7), Datum::Int4(9), Datum::Null]);
        assert_eq!(left(list, &[any]), [0, 2]);
        assert_eq!(left(list, &[KeyCondition::IsNull(0)]), [1]);
        assert_eq!(left(list, &[compare(0, Comparison::Greater, 7)]), [2, 3]);
        assert_eq!(left(&schemes[6], &[compare(0, Comparison::Equal, 7)]).len(), 1);
    }
}
