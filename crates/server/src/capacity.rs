//! How many connections there is room for: what is asked for against the file descriptors that the process may have.
//!
//! Each connection takes a descriptor. Those of the log, checkpoints, the archive and the workers are set aside first, so
//! that no number of clients keeps a log segment from being prepared.

/// Sessions where nothing else is asked for.
const SESSIONS_DEFAULT: usize = 2000;
/// Connections that have not authenticated yet, where there are descriptors enough.
const HALF_OPEN_MAX: usize = 256;
/// Standard streams, the listener, signals, the one that is just being accepted.
const DESCRIPTORS_OF_PROCESS: u64 = 12;
/// An epoll instance, its waker, and room for files that statements open (COPY, backups).
const DESCRIPTORS_PER_WORKER: u64 = 6;
/// A server with fewer connections than this does not start.
const CONNECTIONS_MIN: u64 = 8;

/// Places for connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// Sessions at a time; one more is refused with 53300.
    pub sessions_max: usize,
    /// Connections at a time that have not authenticated yet.
    pub half_open_max: usize,
}

/// What does not fit into the descriptors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CapacityError {
    /// Not even a small server.
    TooFew { limit: u64, needed: u64 },
    /// The number that was asked for.
    TooManySessions {
        limit: u64,
        needed: u64,
        asked: usize,
        possible: usize,
    },
}

impl std::error::Error for CapacityError {}

impl std::fmt::Display for CapacityError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CapacityError::TooFew { limit, needed } => write!(
                f,
                "the process may have {limit} open files, and a server needs {needed} at least. Raise the limit (ulimit -n)."
            ),
            CapacityError::TooManySessions {
                limit,
                needed,
                asked,
                possible,
            } => write!(
                f,
                "{asked} connections need {needed} open files, and the process may have {limit}: that is enough for {possible} \
                 connections. Raise the limit (ulimit -n), or lower --max-connections."
            ),
        }
    }
}

impl Capacity {
    /// `asked` None: as many as there is room for, up to the default. `engine_descriptors` are the database's own.
    pub fn of(
        limit: u64,
        engine_descriptors: u64,
        workers: usize,
        asked: Option<usize>,
    ) -> Result<Capacity, CapacityError> {
        let own = DESCRIPTORS_OF_PROCESS + DESCRIPTORS_PER_WORKER * workers as u64 + engine_descriptors;
        if limit < own + CONNECTIONS_MIN {
            let needed = own + CONNECTIONS_MIN;
            return Err(CapacityError::TooFew { limit, needed });
        }
        let sockets = limit - own;
        let half_open = (sockets / 4).min(HALF_OPEN_MAX as u64);
        let possible = usize::try_from(sockets - half_open).unwrap_or(usize::MAX);
        match asked {
            Some(asked) if asked > possible => Err(CapacityError::TooManySessions {
                limit,
                needed: own + asked as u64 + (asked as u64).div_ceil(3).min(HALF_OPEN_MAX as u64),
                asked,
                possible,
            }),
            _ => Ok(Capacity {
                sessions_max: asked.unwrap_or(SESSIONS_DEFAULT.min(possible)),
                half_open_max: half_open as usize,
            }),
        }
    }

    /// Half-open connections of one address that may be older than a moment: a quarter of all.
    pub fn half_open_per_address_max(&self) -> usize {
        (self.half_open_max / 4).max(1)
    }

    /// Whether nobody asked for fewer sessions than usual, and there are fewer.
    pub fn is_reduced(&self) -> bool {
        self.sessions_max < SESSIONS_DEFAULT
    }
}

impl Default for Capacity {
    fn default() -> Capacity {
        Capacity {
            sessions_max: SESSIONS_DEFAULT,
            half_open_max: HALF_OPEN_MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_take_what_the_engine_leaves() {
        let usual = Capacity::of(1 << 20, 40, 2, None).expect("plenty");
        assert_eq!(usual, Capacity::default());
        let few = Capacity::of(128, 40, 2, None).expect("enough");
        assert_eq!(
            (few.sessions_max, few.half_open_max, few.is_reduced()),
            (48, 16, true)
        );
        let asked = Capacity::of(128, 40, 2, Some(10)).expect("enough");
        assert_eq!((asked.sessions_max, asked.half_open_max), (10, 16));
        let Err(CapacityError::TooManySessions { needed, possible, .. }) = Capacity::of(128, 40, 2, Some(49))
        else {
            panic!("49 do not fit");
        };
        assert_eq!(possible, 48);
        assert!(Capacity::of(needed, 40, 2, Some(49)).is_ok());
        assert!(matches!(
            Capacity::of(71, 40, 2, None),
            Err(CapacityError::TooFew { needed: 72, .. })
        ));
    }

    /// What is named as needed is enough, and one less is not.
    #[test]
    fn what_is_needed_suffices() {
        for asked in [9, 10, 49, 500, 767, 768, 769, 5000] {
            let Err(CapacityError::TooManySessions { needed, .. }) = Capacity::of(72, 40, 2, Some(asked))
            else {
                panic!("{asked} do not fit");
            };
            assert!(
                Capacity::of(needed, 40, 2, Some(asked)).is_ok(),
                "{asked} in {needed}"
            );
        }
    }
}
