//! Memory from the system in large pieces, on huge pages where that is asked for.
//!
//! Huge pages are for what is searched at random: a look-up misses the TLB less often. They do not make a start cheaper
//! where it was measured (docs/performance.md): what is saved on faults is lost on clearing memory that the host has to
//! find first.
//!
//! Promises: what is mapped for huge pages begins and ends at their borders, so that the advice reaches all of it. Leaves
//! out: who shares a mapping (`slab`, `scratch`, the arenas of indexes), and the budget.
//!
//! Miri knows a mapping as one allocation, of which no part can be given back: under it `system` takes aligned memory from
//! the allocator, so that all users of a mapping can be watched.

use std::ptr::NonNull;

/// Size and alignment of a huge page; where they are larger, the advice is refused and nothing is lost.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// What a mapping is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pages {
    /// Resident only where touched: for what may stay nearly empty.
    Small,
    /// The mapping's size is a multiple of [`HUGE_PAGE_BYTES`]. A touched byte makes 2 MiB resident.
    Huge,
}

/// Fresh zeroed memory of `bytes`, a multiple of 4 KiB. `None`: the system has none.
pub(crate) fn map(bytes: usize, pages: Pages) -> Option<NonNull<u8>> {
    if pages == Pages::Small {
        return system::map_anywhere(bytes);
    }
    debug_assert!(bytes.is_multiple_of(HUGE_PAGE_BYTES));
    let address = map_aligned(bytes, HUGE_PAGE_BYTES)?;
    // SAFETY: the range was just mapped; on refusal the mapping works as it is.
    unsafe { system::want_huge_pages(address, bytes) };
    Some(address)
}

/// The same on small pages, at a multiple of `alignment`, which is a multiple of 4 KiB.
pub(crate) fn map_aligned(bytes: usize, alignment: usize) -> Option<NonNull<u8>> {
    system::map_aligned(bytes, alignment)
}

/// Gives the memory behind a range back; the range stays mapped. What it reads as afterwards is not promised: the system
/// may refuse.
///
/// # Safety
/// The range is page-aligned, part of a mapping of this module, and nobody uses what is in it any more.
pub(crate) unsafe fn empty(address: NonNull<u8>, bytes: usize) {
    // SAFETY: by the contract.
    unsafe { system::empty(address, bytes) };
}

/// Gives a mapping back.
///
/// # Safety
/// `map` or `map_aligned` answered `address` for `bytes`, and nobody uses the memory any more.
pub(crate) unsafe fn unmap(address: NonNull<u8>, bytes: usize) {
    // SAFETY: by the contract.
    unsafe { system::unmap(address, bytes) };
}

#[cfg(not(miri))]
mod system {
    use std::ptr::{self, NonNull};

    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

    pub(super) fn map_anywhere(bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: an anonymous private mapping at an address of the kernel's choice touches nothing that exists.
        let mapping = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        };
        NonNull::new(mapping.ok()?.cast())
    }

    pub(super) fn map_aligned(bytes: usize, alignment: usize) -> Option<NonNull<u8>> {
        // Newer kernels align large mappings themselves; here what stands out at both ends is cut off.
        let from = map_anywhere(bytes + alignment)?.as_ptr();
        let before = from.align_offset(alignment);
        // SAFETY: the mapping has `alignment` more than `bytes`, and `before` is less than those: the address is inside
        // it, and both cuts are page-aligned parts of it that nobody uses yet.
        unsafe {
            let address = from.add(before);
            if before > 0 {
                unmap_range(from, before);
            }
            unmap_range(address.add(bytes), alignment - before);
            NonNull::new(address)
        }
    }

    /// # Safety
    /// The range is part of a mapping.
    pub(super) unsafe fn want_huge_pages(address: NonNull<u8>, bytes: usize) {
        // SAFETY: by the contract. A hint: what is refused changes nothing.
        let _ = unsafe { madvise(address.as_ptr().cast(), bytes, Advice::LinuxHugepage) };
    }

    /// # Safety
    /// As for `super::empty`.
    pub(super) unsafe fn empty(address: NonNull<u8>, bytes: usize) {
        // SAFETY: by the contract. Where it is refused the memory stays, and nothing else is different.
        let _ = unsafe { madvise(address.as_ptr().cast(), bytes, Advice::LinuxDontNeed) };
    }

    /// # Safety
    /// As for `super::unmap`.
    pub(super) unsafe fn unmap(address: NonNull<u8>, bytes: usize) {
        // SAFETY: by the contract.
        unsafe { unmap_range(address.as_ptr(), bytes) };
    }

    /// # Safety
    /// The range is page-aligned, mapped by `map_anywhere`, and nobody uses it any more.
    unsafe fn unmap_range(address: *mut u8, bytes: usize) {
        // SAFETY: by the contract.
        let unmapped = unsafe { munmap(address.cast(), bytes) };
        debug_assert!(unmapped.is_ok());
    }
}

#[cfg(miri)]
mod system {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::collections::HashMap;
    use std::ptr::NonNull;
    use std::sync::{LazyLock, Mutex};

    const PAGE_BYTES: usize = 4 << 10;

    /// How each mapping was laid out: `unmap` is told its size alone.
    static LAYOUTS: LazyLock<Mutex<HashMap<usize, Layout>>> = LazyLock::new(Mutex::default);

    pub(super) fn map_anywhere(bytes: usize) -> Option<NonNull<u8>> {
        map_aligned(bytes, PAGE_BYTES)
    }

    pub(super) fn map_aligned(bytes: usize, alignment: usize) -> Option<NonNull<u8>> {
        let layout = Layout::from_size_align(bytes, alignment).ok()?;
        // SAFETY: nobody maps nothing.
        let address = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let mut layouts = LAYOUTS.lock().expect("nobody panics with it");
        layouts.insert(address.as_ptr().addr(), layout);
        Some(address)
    }

    /// # Safety
    /// None is needed: there are no pages.
    pub(super) unsafe fn want_huge_pages(_: NonNull<u8>, _: usize) {}

    /// # Safety
    /// As for `super::empty`.
    pub(super) unsafe fn empty(address: NonNull<u8>, bytes: usize) {
        // SAFETY: by the contract nobody uses the range.
        unsafe { address.write_bytes(0, bytes) };
    }

    /// # Safety
    /// As for `super::unmap`.
    pub(super) unsafe fn unmap(address: NonNull<u8>, bytes: usize) {
        let mut layouts = LAYOUTS.lock().expect("nobody panics with it");
        let layout = layouts.remove(&address.as_ptr().addr()).expect("mapped before");
        assert_eq!(layout.size(), bytes, "a mapping is given back as a whole");
        // SAFETY: allocated with this layout, and by the contract nobody uses it.
        unsafe { dealloc(address.as_ptr(), layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_zeroed_and_whole() {
        for (bytes, pages) in [
            (1 << 20, Pages::Small),
            (HUGE_PAGE_BYTES, Pages::Huge),
            (3 * HUGE_PAGE_BYTES, Pages::Huge),
        ] {
            let address = map(bytes, pages).expect("the system has memory");
            let aligned = address.as_ptr().align_offset(HUGE_PAGE_BYTES) == 0;
            assert!(aligned || pages == Pages::Small);
            // SAFETY: mapped above with `bytes` bytes, used by nobody else, given back once.
            unsafe {
                let memory = std::slice::from_raw_parts_mut(address.as_ptr(), bytes);
                assert!(memory.iter().all(|&byte| byte == 0));
                memory.fill(7);
                unmap(address, bytes);
            }
        }
    }
}
