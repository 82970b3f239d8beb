//! Long values in parts that are paid for one by one, and buffers that ask before they grow.

use super::discard::discard_any;
use super::memory::{VALUE_BYTES_MAX, invalid_size, reserve};
use super::spend;
use crate::error::state;
use crate::{SqlError, SqlResult};

/// Below this nobody pays: asking would cost more than the work.
pub const GRAIN_BYTES: usize = 4 << 10;
/// Longer buffers are moved piece by piece when they grow: a gigabyte takes longer than a statement may that is to end.
const MOVED_AT_ONCE_BYTES: usize = 4 << 20;
/// What is handed out at a time of a long value.
const PIECE_BYTES: usize = 16 << 10;

/// The parts of a byte string, each paid for as it is handed out.
pub fn chunks(bytes: &[u8]) -> impl Iterator<Item = SqlResult<&[u8]>> {
    bytes.chunks(PIECE_BYTES).map(|chunk| {
        if chunk.len() >= GRAIN_BYTES {
            spend(chunk.len())?;
        }
        Ok(chunk)
    })
}

/// The parts of a text, whole characters each, paid for as they are handed out.
pub fn pieces(text: &str) -> impl Iterator<Item = SqlResult<&str>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        rest = behind;
        if piece.len() >= GRAIN_BYTES
            && let Err(error) = spend(piece.len())
        {
            rest = "";
            return Some(Err(error));
        }
        Some(Ok(piece))
    })
}

/// Pays for the turns of a loop, a grain at a time.
#[derive(Default)]
pub struct Meter {
    units: usize,
    bytes: usize,
}

impl Meter {
    /// A turn that costs `units`.
    #[inline]
    pub fn tick(&mut self, units: usize) -> SqlResult<()> {
        self.units += units;
        if self.units < GRAIN_BYTES {
            return Ok(());
        }
        spend(std::mem::take(&mut self.units))
    }

    /// The same where nothing can fail.
    #[inline]
    pub fn pass(&mut self, units: usize) {
        self.units += units;
        if self.units >= GRAIN_BYTES {
            super::pass(std::mem::take(&mut self.units));
        }
    }

    /// A turn that costs `units` and keeps `bytes` in small allocations.
    #[inline]
    pub fn keep(&mut self, units: usize, bytes: usize) -> SqlResult<()> {
        self.bytes += bytes;
        if self.bytes >= GRAIN_BYTES {
            reserve(std::mem::take(&mut self.bytes))?;
        }
        self.tick(units)
    }
}

/// An empty text with room for `bytes`; refused where PostgreSQL could not hold it either.
pub fn text_buffer(bytes: usize) -> SqlResult<String> {
    check_room(bytes)?;
    Ok(String::with_capacity(bytes))
}

pub fn bytes_buffer(bytes: usize) -> SqlResult<Vec<u8>> {
    check_room(bytes)?;
    Ok(Vec::with_capacity(bytes))
}

fn check_room(bytes: usize) -> SqlResult<()> {
    if bytes < GRAIN_BYTES {
        return Ok(());
    }
    // PostgreSQL's values begin with four bytes for their length.
    if bytes + 4 > VALUE_BYTES_MAX {
        return Err(invalid_size(bytes + 4));
    }
    reserve(bytes)
}

/// Refuses a value that PostgreSQL could not hold.
pub fn check_length(bytes: usize) -> SqlResult<()> {
    match bytes + 4 > VALUE_BYTES_MAX {
        true => Err(invalid_size(bytes + 4)),
        false => Ok(()),
    }
}

/// An empty list with room for `count` elements.
pub fn list<T>(count: usize) -> SqlResult<Vec<T>> {
    let bytes = count.saturating_mul(size_of::<T>());
    if bytes >= GRAIN_BYTES {
        reserve(bytes)?;
    }
    Ok(Vec::with_capacity(count))
}

/// Appends to a list whose length is not known beforehand.
#[inline]
pub fn push<T: Send + 'static>(out: &mut Vec<T>, value: T) -> SqlResult<()> {
    if out.len() == out.capacity() {
        make_room_in_list(out)?;
    }
    out.push(value);
    Ok(())
}

/// Doubles the room of a list. On an error a long one is discarded.
#[cold]
fn make_room_in_list<T: Send + 'static>(out: &mut Vec<T>) -> SqlResult<()> {
    let room = out.len() + out.len().max(4);
    let bytes = room.saturating_mul(size_of::<T>());
    if bytes < GRAIN_BYTES {
        out.reserve_exact(room - out.len());
        return Ok(());
    }
    reserve(bytes)?;
    if bytes < MOVED_AT_ONCE_BYTES {
        // Growing may move what is there already.
        spend(bytes / 2)?;
        out.reserve_exact(room - out.len());
        return Ok(());
    }
    let mut larger = Vec::with_capacity(room);
    let mut rest = std::mem::take(out).into_iter();
    while rest.len() > 0 {
        if let Err(error) = spend(PIECE_BYTES) {
            discard_any((larger, rest));
            return Err(error);
        }
        larger.extend(rest.by_ref().take(PIECE_BYTES / size_of::<T>().max(1)));
    }
    *out = larger;
    Ok(())
}

/// Appends to a text whose length is not known beforehand.
#[inline]
pub fn grow(out: &mut String, more: &str) -> SqlResult<()> {
    make_room(out, more.len())?;
    if more.len() < GRAIN_BYTES {
        out.push_str(more);
        return Ok(());
    }
    pieces(more).try_for_each(|piece| {
        out.push_str(piece?);
        Ok(())
    })
}

/// Room for `more` bytes in a text whose length is not known beforehand.
#[inline]
pub fn make_room(out: &mut String, more: usize) -> SqlResult<()> {
    if more > out.capacity() - out.len() {
        let capacity = grown(out.len(), out.capacity(), more)?;
        if out.len() < MOVED_AT_ONCE_BYTES {
            out.reserve_exact(capacity - out.len());
            return Ok(());
        }
        let mut larger = String::with_capacity(capacity);
        for piece in pieces(out) {
            larger.push_str(piece?);
        }
        *out = larger;
    }
    Ok(())
}

/// The same as [`make_room`] for bytes.
#[inline]
pub fn make_room_for_bytes(out: &mut Vec<u8>, more: usize) -> SqlResult<()> {
    if more > out.capacity() - out.len() {
        let capacity = grown(out.len(), out.capacity(), more)?;
        if out.len() < MOVED_AT_ONCE_BYTES {
            out.reserve_exact(capacity - out.len());
            return Ok(());
        }
        let mut larger = Vec::with_capacity(capacity);
        for chunk in chunks(out) {
            larger.extend_from_slice(chunk?);
        }
        *out = larger;
    }
    Ok(())
}

/// The same as [`grow`] for bytes.
#[inline]
pub fn grow_bytes(out: &mut Vec<u8>, more: &[u8]) -> SqlResult<()> {
    make_room_for_bytes(out, more.len())?;
    if more.len() < GRAIN_BYTES {
        out.extend_from_slice(more);
        return Ok(());
    }
    chunks(more).try_for_each(|chunk| {
        out.extend_from_slice(chunk?);
        Ok(())
    })
}

/// The next capacity of a buffer: as PostgreSQL's string buffers it doubles up to 1 GB.
#[cold]
pub(super) fn grown(length: usize, capacity: usize, more: usize) -> SqlResult<usize> {
    let needed = length + more;
    if needed >= VALUE_BYTES_MAX {
        let error = SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "out of memory");
        return Err(error.detail(format!(
            "Cannot enlarge string buffer containing {length} bytes by {more} more bytes."
        )));
    }
    let next = needed.max(capacity * 2).clamp(64, VALUE_BYTES_MAX);
    if next >= GRAIN_BYTES {
        reserve(next)?;
        // Growing may move what is there already. Who moves more than that pays as he does.
        spend(length.min(MOVED_AT_ONCE_BYTES))?;
    }
    Ok(next)
}
