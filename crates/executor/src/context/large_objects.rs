//! The large objects that a transaction has opened: a small number stands for each until it is closed.
//!
//! Leaves out: reading and writing them (`crate::large_object`).

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_engine::Snapshot;

/// An open large object.
pub struct Descriptor {
    pub object: u32,
    /// Where the next read or write begins, in bytes; may lie beyond the end.
    pub position: u64,
    /// What it reads as of; None where it writes, too, and so reads what is newest.
    pub snapshot: Option<Snapshot>,
    /// How many savepoints were open: it is closed when one of them is rolled back.
    pub depth: u32,
}

impl Descriptor {
    pub fn writes(&self) -> bool {
        self.snapshot.is_none()
    }
}

/// All of a session's, by their numbers.
#[derive(Default)]
pub struct LargeObjectDescriptors(Vec<Option<Descriptor>>);

impl LargeObjectDescriptors {
    /// Gives the lowest free number.
    pub fn open(&mut self, descriptor: Descriptor) -> i32 {
        let free = self.0.iter().position(Option::is_none);
        let number = free.unwrap_or(self.0.len());
        match free {
            Some(number) => self.0[number] = Some(descriptor),
            None => self.0.push(Some(descriptor)),
        }
        number as i32
    }

    /// An open one; 42704 for any other number.
    pub fn get(&mut self, number: i32) -> SqlResult<&mut Descriptor> {
        let place = usize::try_from(number)
            .ok()
            .and_then(|number| self.0.get_mut(number));
        place.and_then(Option::as_mut).ok_or_else(|| invalid(number))
    }

    /// Frees the number for the next one that is opened.
    pub fn close(&mut self, number: i32) -> SqlResult<()> {
        self.get(number)?;
        self.0[number as usize] = None;
        Ok(())
    }

    /// The object is gone.
    pub fn close_all_of(&mut self, object: u32) {
        self.close_where(|descriptor| descriptor.object == object);
    }

    fn close_where(&mut self, is_over: impl Fn(&Descriptor) -> bool) {
        for place in &mut self.0 {
            place.take_if(|descriptor| is_over(descriptor));
        }
    }

    /// RELEASE: what was opened since belongs to the savepoint around it, of which `depth` are open now.
    pub fn release_to(&mut self, depth: u32) {
        for descriptor in self.0.iter_mut().flatten() {
            descriptor.depth = descriptor.depth.min(depth);
        }
    }

    /// ROLLBACK TO: what was opened with `depth` or more savepoints open is closed.
    pub fn rollback_to(&mut self, depth: u32) {
        self.close_where(|descriptor| descriptor.depth >= depth);
    }

    /// The transaction is about to end, and with it what it reads as of.
    #[inline]
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cold]
fn invalid(number: i32) -> SqlError {
    let message = format!("invalid large-object descriptor: {number}");
    SqlError::new(state::UNDEFINED_OBJECT, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(object: u32, depth: u32) -> Descriptor {
        Descriptor {
            object,
            position: 0,
            snapshot: None,
            depth,
        }
    }

    #[test]
    fn numbers_are_used_again() {
        let mut open = LargeObjectDescriptors::default();
        assert_eq!(
            [1, 2, 3].map(|object| open.open(descriptor(object, 0))),
            [0, 1, 2]
        );
        open.close(1).expect("it is open");
        assert!(open.close(1).is_err() && open.get(-1).is_err() && open.get(3).is_err());
        assert_eq!(open.open(descriptor(1, 0)), 1);
        open.close_all_of(1);
        assert!(open.get(0).is_err() && open.get(1).is_err());
        assert_eq!(open.get(2).expect("another object").object, 3);
    }

    #[test]
    fn savepoints_take_theirs_along() {
        let mut open = LargeObjectDescriptors::default();
        for depth in 0..3 {
            open.open(descriptor(depth, depth));
        }
        // SAVEPOINT a; .. SAVEPOINT b; .. RELEASE b; ROLLBACK TO a.
        open.release_to(1);
        open.rollback_to(1);
        assert!(open.get(0).is_ok() && open.get(1).is_err() && open.get(2).is_err());
    }
}
