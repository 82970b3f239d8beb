//! Digests that SQL offers: MD5 (RFC 1321) and the SHA-2 family (FIPS 180-4).
//!
//! For values in queries. Authentication uses the server's cryptographic library.

/// Splits padded input into blocks: 0x80, zeros, the length in bits at the end.
fn padded<const BLOCK: usize>(data: &[u8], length_bytes: usize, big_endian: bool) -> Vec<u8> {
    let mut padded = data.to_vec();
    padded.push(0x80);
    while padded.len() % BLOCK != BLOCK - length_bytes {
        padded.push(0);
    }
    let bits = (data.len() as u128) * 8;
    if big_endian {
        padded.extend_from_slice(&bits.to_be_bytes()[16 - length_bytes..]);
    } else {
        padded.extend_from_slice(&bits.to_le_bytes()[..length_bytes]);
    }
    padded
}

pub fn md5(data: &[u8]) -> [u8; 16] {
    const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
    let mut state: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in padded::<64>(data, 8, false).chunks_exact(64) {
        let word = |i: usize| {
            u32::from_le_bytes([block[4 * i], block[4 * i + 1], block[4 * i + 2], block[4 * i + 3]])
        };
        let [mut a, mut b, mut c, mut d] = state;
        for i in 0..64 {
            let (f, g) = match i / 16 {
                0 => ((b & c) | (!b & d), i),
                1 => ((d & b) | (!d & c), (5 * i + 1) % 16),
                2 => (b ^ c ^ d, (3 * i + 5) % 16),
                _ => (c ^ (b | !d), (7 * i) % 16),
            };
            // The table of RFC 1321: the integer part of 2^32 * |sin(i + 1)|.
            let constant = (((i + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
            let sum = a.wrapping_add(f).wrapping_add(constant).wrapping_add(word(g));
            (a, d, c) = (d, c, b);
            b = b.wrapping_add(sum.rotate_left(SHIFTS[i / 16][i % 4]));
        }
        for (total, value) in state.iter_mut().zip([a, b, c, d]) {
            *total = total.wrapping_add(value);
        }
    }
    let mut out = [0; 16];
    for (chunk, word) in out.chunks_exact_mut(4).zip(state) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    out
}

/// The first `N` primes' roots give the constants: fractional bits, computed exactly in integers.
fn primes<const N: usize>() -> [u64; N] {
    let mut primes = [0; N];
    let (mut count, mut candidate) = (0, 2u64);
    while count < N {
        if primes[..count].iter().all(|prime| candidate % prime != 0) {
            primes[count] = candidate;
            count += 1;
        }
        candidate += 1;
    }
    primes
}

/// The first 64 fractional bits of the cube root: the largest r with r^3 <= p * 2^192, without its whole part.
fn cube_root_bits(prime: u64) -> u64 {
    let mut root: u128 = 0;
    for bit in (0..68).rev() {
        let candidate = root | 1 << bit;
        if cube_at_most(candidate, prime) {
            root = candidate;
        }
    }
    root as u64
}

/// candidate^3 <= prime * 2^192, in 64-bit limbs.
fn cube_at_most(candidate: u128, prime: u64) -> bool {
    let limbs = [candidate as u64, (candidate >> 64) as u64];
    let square = multiply(&limbs, &limbs);
    let cube = multiply(&square, &limbs);
    let target = [0, 0, 0, prime, 0, 0];
    cube.iter().rev().cmp(target.iter().rev()).is_le()
}

fn multiply(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut out = vec![0u64; a.len() + b.len()];
    for (i, &x) in a.iter().enumerate() {
        let mut carry = 0u128;
        for (j, &y) in b.iter().enumerate() {
            let sum = x as u128 * y as u128 + out[i + j] as u128 + carry;
            out[i + j] = sum as u64;
            carry = sum >> 64;
        }
        out[i + b.len()] = carry as u64;
    }
    out
}

fn sha2_32(data: &[u8], mut state: [u32; 8]) -> [u32; 8] {
    let constants: [u32; 64] = primes::<64>().map(|prime| (cube_root_bits(prime) >> 32) as u32);
    for block in padded::<64>(data, 8, true).chunks_exact(64) {
        let mut w = [0u32; 64];
        for (word, bytes) in w.iter_mut().zip(block.chunks_exact(4)) {
            *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        for i in 16..64 {
            let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ (w[i - 15] >> 3);
            let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ (w[i - 2] >> 10);
            w[i] = w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
        for i in 0..64 {
            let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = (e & f) ^ (!e & g);
            let t1 = h
                .wrapping_add(s1)
                .wrapping_add(choice)
                .wrapping_add(constants[i])
                .wrapping_add(w[i]);
            let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let majority = (a & b) ^ (a & c) ^ (b & c);
            (h, g, f, e) = (g, f, e, d.wrapping_add(t1));
            (d, c, b, a) = (c, b, a, t1.wrapping_add(s0.wrapping_add(majority)));
        }
        for (total, value) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *total = total.wrapping_add(value);
        }
    }
    state
}

fn sha2_64(data: &[u8], mut state: [u64; 8]) -> [u64; 8] {
    let constants: [u64; 80] = primes::<80>().map(cube_root_bits);
    for block in padded::<128>(data, 16, true).chunks_exact(128) {
        let mut w = [0u64; 80];
        for (word, bytes) in w.iter_mut().zip(block.chunks_exact(8)) {
            *word = u64::from_be_bytes(bytes.try_into().expect("chunks of eight"));
        }
        for i in 16..80 {
            let s0 = w[i - 15].rotate_right(1) ^ w[i - 15].rotate_right(8) ^ (w[i - 15] >> 7);
            let s1 = w[i - 2].rotate_right(19) ^ w[i - 2].rotate_right(61) ^ (w[i - 2] >> 6);
            w[i] = w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
        for i in 0..80 {
            let s1 = e.rotate_right(14) ^ e.rotate_right(18) ^ e.rotate_right(41);
            let choice = (e & f) ^ (!e & g);
            let t1 = h
                .wrapping_add(s1)
                .wrapping_add(choice)
                .wrapping_add(constants[i])
                .wrapping_add(w[i]);
            let s0 = a.rotate_right(28) ^ a.rotate_right(34) ^ a.rotate_right(39);
            let majority = (a & b) ^ (a & c) ^ (b & c);
            (h, g, f, e) = (g, f, e, d.wrapping_add(t1));
            (d, c, b, a) = (c, b, a, t1.wrapping_add(s0.wrapping_add(majority)));
        }
        for (total, value) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *total = total.wrapping_add(value);
        }
    }
    state
}

fn bytes_32(state: &[u32]) -> Vec<u8> {
    state.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn bytes_64(state: &[u64]) -> Vec<u8> {
    state.iter().flat_map(|word| word.to_be_bytes()).collect()
}

pub fn sha224(data: &[u8]) -> Vec<u8> {
    let start = [
        0xc105_9ed8,
        0x367c_d507,
        0x3070_dd17,
        0xf70e_5939,
        0xffc0_0b31,
        0x6858_1511,
        0x64f9_8fa7,
        0xbefa_4fa4,
    ];
    bytes_32(&sha2_32(data, start)[..7])
}

pub fn sha256(data: &[u8]) -> Vec<u8> {
    let start = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];
    bytes_32(&sha2_32(data, start))
}

pub fn sha384(data: &[u8]) -> Vec<u8> {
    let start = [
        0xcbbb_9d5d_c105_9ed8,
        0x629a_292a_367c_d507,
        0x9159_015a_3070_dd17,
        0x152f_ecd8_f70e_5939,
        0x6733_2667_ffc0_0b31,
        0x8eb4_4a87_6858_1511,
        0xdb0c_2e0d_64f9_8fa7,
        0x47b5_481d_befa_4fa4,
    ];
    bytes_64(&sha2_64(data, start)[..6])
}

pub fn sha512(data: &[u8]) -> Vec<u8> {
    let start = [
        0x6a09_e667_f3bc_c908,
        0xbb67_ae85_84ca_a73b,
        0x3c6e_f372_fe94_f82b,
        0xa54f_f53a_5f1d_36f1,
        0x510e_527f_ade6_82d1,
        0x9b05_688c_2b3e_6c1f,
        0x1f83_d9ab_fb41_bd6b,
        0x5be0_cd19_137e_2179,
    ];
    bytes_64(&sha2_64(data, start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::bytes::hex;

    #[test]
    fn published_vectors() {
        assert_eq!(hex(&md5(b"abc")), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(
            hex(&sha224(b"abc")),
            "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"
        );
        assert_eq!(
            hex(&sha256(b"abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(
            hex(&sha384(b"abc")),
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"
        );
        assert_eq!(
            hex(&sha512(b"")),
            "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
        );
    }
}
