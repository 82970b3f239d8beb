//! A manifest with a right checksum: what is taken is written again as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mote_engine::checkpoint::Manifest;

fuzz_target!(|input: &[u8]| {
    // As it is: mostly stopped by the checksum.
    drop(Manifest::decode(input));
    let mut bytes = Manifest::new(7, 1 << 26).encode();
    bytes.truncate(12);
    bytes.extend_from_slice(input);
    let crc = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    match Manifest::decode(&bytes) {
        Ok(manifest) => {
            let again = Manifest::decode(&manifest.encode()).expect("what was read can be written");
            assert_eq!(again.encode(), manifest.encode());
        }
        Err(error) => drop(error.to_string()),
    }
});
