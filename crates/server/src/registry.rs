//! Counts sessions against their bound. Sessions by number stand in `mote_catalog::directory`; connections that
//! have not authenticated yet stand in `half_open`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mote_common::SqlError;
use mote_common::error::state;

/// Places that only superusers get, so that somebody can look when all others are taken.
pub const SUPERUSER_RESERVED: usize = 3;

pub struct Registry {
    maximum: usize,
    reserved: usize,
    sessions: AtomicUsize,
}

/// A session's place; dropped, it is free again.
pub struct Place(Arc<Registry>);

impl Registry {
    pub fn new(maximum: usize) -> Registry {
        Registry {
            maximum,
            reserved: SUPERUSER_RESERVED.min(maximum.saturating_sub(1)),
            sessions: AtomicUsize::new(0),
        }
    }

    pub fn maximum(&self) -> usize {
        self.maximum
    }

    pub fn reserved(&self) -> usize {
        self.reserved
    }

    /// A hint for an early refusal; `enter` decides.
    pub fn is_full(&self) -> bool {
        self.sessions.load(Ordering::Relaxed) >= self.maximum
    }

    /// A place, if there is one for such a user.
    pub fn enter(self: &Arc<Registry>, superuser: bool) -> Result<Place, SqlError> {
        let room = if superuser {
            self.maximum
        } else {
            self.maximum - self.reserved
        };
        // Relaxed: the counter guards nothing but itself.
        let entered = self
            .sessions
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sessions| {
                (sessions < room).then_some(sessions + 1)
            });
        match entered {
            Ok(_) => Ok(Place(self.clone())),
            Err(sessions) if sessions >= self.maximum => Err(too_many()),
            Err(_) => Err(SqlError::new(
                state::TOO_MANY_CONNECTIONS,
                "remaining connection slots are reserved for non-replication superuser connections",
            )),
        }
    }
}

pub fn too_many() -> SqlError {
    SqlError::new(state::TOO_MANY_CONNECTIONS, "sorry, too many clients already")
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_places_are_for_superusers() {
        let registry = Arc::new(Registry::new(5));
        let mut places: Vec<Place> = (0..2).filter_map(|_| registry.enter(false).ok()).collect();
        let refused = |superuser| registry.enter(superuser).err().map(|e| e.message().to_string());
        let reserved = "remaining connection slots are reserved for non-replication superuser connections";
        assert_eq!((places.len(), refused(false).as_deref()), (2, Some(reserved)));
        places.extend((0..3).filter_map(|_| registry.enter(true).ok()));
        let full = Some("sorry, too many clients already".to_string());
        assert_eq!(
            (places.len(), refused(true), refused(false)),
            (5, full.clone(), full)
        );
        assert!(registry.is_full());
        places.pop();
        assert!(!registry.is_full() && registry.enter(true).is_ok());
        assert_eq!(Registry::new(1).reserved(), 0, "somebody else may connect, too");
    }
}
