//! PostgreSQL's `hash_any` (Bob Jenkins' lookup3): `hashtext` must give the numbers that scripts have baked in.

/// lookup3's mix: three words stirred reversibly.
fn mix(state: &mut [u32; 3]) {
    let [a, b, c] = state;
    for (x, y, z, shift) in [
        (0, 2, 1, 4),
        (1, 0, 2, 6),
        (2, 1, 0, 8),
        (0, 2, 1, 16),
        (1, 0, 2, 19),
        (2, 1, 0, 4),
    ] {
        let mut values = [*a, *b, *c];
        values[x] = values[x].wrapping_sub(values[y]);
        values[x] ^= values[y].rotate_left(shift);
        values[y] = values[y].wrapping_add(values[z]);
        [*a, *b, *c] = values;
    }
}

/// lookup3's final: every bit of the three words comes to bear on the last one.
fn finish(state: &mut [u32; 3]) {
    for (x, y, shift) in [
        (2, 1, 14),
        (0, 2, 11),
        (1, 0, 25),
        (2, 1, 16),
        (0, 2, 4),
        (1, 0, 14),
        (2, 1, 24),
    ] {
        state[x] ^= state[y];
        state[x] = state[x].wrapping_sub(state[y].rotate_left(shift));
    }
}

/// The 32-bit hash. Words are read as little-endian ones, as PostgreSQL does on such machines.
pub fn hash_any(key: &[u8]) -> u32 {
    let start = 0x9e37_79b9u32
        .wrapping_add(key.len() as u32)
        .wrapping_add(3_923_095);
    let mut state = [start; 3];
    let mut chunks = key.chunks_exact(12);
    for chunk in &mut chunks {
        for (word, bytes) in state.iter_mut().zip(chunk.chunks_exact(4)) {
            *word = word.wrapping_add(u32::from_le_bytes(bytes.try_into().expect("chunks of four")));
        }
        mix(&mut state);
    }
    // The last eleven bytes; the lowest byte of the third word is kept for the length.
    for (position, &byte) in chunks.remainder().iter().enumerate() {
        let (word, shift) = if position < 8 {
            (position / 4, position % 4 * 8)
        } else {
            (2, (position - 7) * 8)
        };
        state[word] = state[word].wrapping_add((byte as u32) << shift);
    }
    finish(&mut state);
    state[2]
}
