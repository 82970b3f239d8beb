//! Regions, nations and suppliers. A nation's key is the code of a digit or a letter: customers belong to the nation of the first
//! letter of their state, so that TPC-C's customers need no column more.

use mote_common::prng::Prng;

use super::SUPPLIERS;
use crate::tpcc::random::{put_digits, put_letters};

pub const REGIONS: [&str; 5] = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"];

/// Names in the order of their keys, with the region's number: those of digits, of capitals, of small letters. Those of
/// capitals have customers.
pub const NATIONS: [(&str, usize); 62] = [
    ("ALGERIA", 0),
    ("ANGOLA", 0),
    ("BENIN", 0),
    ("BOTSWANA", 0),
    ("BAHRAIN", 4),
    ("CROATIA", 3),
    ("ECUADOR", 1),
    ("ESTONIA", 3),
    ("FIJI", 2),
    ("GHANA", 0),
    ("ARGENTINA", 1),
    ("BRAZIL", 1),
    ("CAMBODIA", 2),
    ("DENMARK", 3),
    ("EGYPT", 4),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("HUNGARY", 3),
    ("INDIA", 2),
    ("JAPAN", 2),
    ("KENYA", 0),
    ("LEBANON", 4),
    ("MEXICO", 1),
    ("NETHERLANDS", 3),
    ("OMAN", 4),
    ("PERU", 1),
    ("QATAR", 4),
    ("ROMANIA", 3),
    ("SPAIN", 3),
    ("THAILAND", 2),
    ("UNITED STATES", 1),
    ("VIETNAM", 2),
    ("WALES", 3),
    ("MOROCCO", 0),
    ("YEMEN", 4),
    ("ZAMBIA", 0),
    ("AUSTRIA", 3),
    ("BELGIUM", 3),
    ("CANADA", 1),
    ("CHILE", 1),
    ("CHINA", 2),
    ("COLOMBIA", 1),
    ("ETHIOPIA", 0),
    ("FINLAND", 3),
    ("GREECE", 3),
    ("HONDURAS", 1),
    ("INDONESIA", 2),
    ("IRAN", 4),
    ("IRAQ", 4),
    ("IRELAND", 3),
    ("ITALY", 3),
    ("JORDAN", 4),
    ("MOZAMBIQUE", 0),
    ("NEPAL", 2),
    ("NORWAY", 3),
    ("POLAND", 3),
    ("RUSSIA", 3),
    ("SAUDI ARABIA", 4),
    ("SWEDEN", 3),
    ("TUNISIA", 0),
    ("UNITED KINGDOM", 3),
    ("URUGUAY", 1),
];

/// The key of the nation at this place.
pub fn key(place: usize) -> u8 {
    let place = place as u8;
    match place {
        0..10 => b'0' + place,
        10..36 => b'A' + (place - 10),
        _ => b'a' + (place - 36),
    }
}

/// One supplier, by its key from 0 on. Every hundredth is told to be a bad one.
pub fn put_supplier(out: &mut Vec<u8>, prng: &mut Prng, supplier: i64) {
    debug_assert!(supplier < SUPPLIERS);
    let nation = key(prng.below(NATIONS.len() as u64) as usize);
    out.extend_from_slice(format!("{supplier}\tSupplier#{supplier:09}\t").as_bytes());
    put_letters(out, prng, 10, 40);
    out.extend_from_slice(format!("\t{nation}\t").as_bytes());
    put_digits(out, prng, 15);
    let cents = prng.between(-99_999, 999_999);
    let sign = if cents < 0 { "-" } else { "" };
    let cents = cents.abs();
    out.extend_from_slice(format!("\t{sign}{}.{:02}\t", cents / 100, cents % 100).as_bytes());
    put_letters(out, prng, 30, 50);
    if prng.chance(1, 100) {
        out.extend_from_slice(b" bad ");
    }
    put_letters(out, prng, 10, 40);
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nations_have_keys_of_letters_and_digits() {
        let keys: Vec<u8> = (0..NATIONS.len()).map(key).collect();
        assert!(keys.iter().all(u8::is_ascii_alphanumeric));
        assert!(keys.is_sorted_by(|one, next| one < next));
        let mut names = NATIONS.map(|(name, _)| name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "no nation twice");
        assert!(NATIONS.iter().all(|(_, region)| *region < REGIONS.len()));
        let place = NATIONS.iter().position(|(name, _)| *name == "GERMANY");
        assert_eq!(place.map(key), Some(b'G'));
    }
}
