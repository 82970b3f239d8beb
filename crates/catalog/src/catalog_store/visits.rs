//! How many objects were looked at, for the tests above that say what a change may cost. In a release build it is nothing.

#[derive(Clone, Default)]
pub(super) struct Visits {
    #[cfg(debug_assertions)]
    objects: std::sync::Arc<std::sync::atomic::AtomicU64>,
}

impl Visits {
    #[inline]
    pub fn count(&self) {
        // Relaxed: a statistic, read by the thread that counts.
        #[cfg(debug_assertions)]
        self.objects.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    #[cfg(debug_assertions)]
    pub fn so_far(&self) -> u64 {
        self.objects.load(std::sync::atomic::Ordering::Relaxed)
    }
}
