//! MD5 authentication: the client sends `md5` and MD5(stored hash + salt), which whoever has the stored hash can do, too.
//! It is here for roles that came with such hashes from elsewhere.

use mote_catalog::password::md5_hash;

/// Whether the client's answer fits the stored hash (`md5` and 32 digits) and the salt it was sent.
pub fn is_right(answer: &[u8], stored: &str, salt: [u8; 4]) -> bool {
    let inner = stored.strip_prefix("md5").unwrap_or(stored);
    let expected = md5_hash(inner.as_bytes(), &salt);
    // All bytes are looked at, so that the time taken says nothing.
    answer.len() == expected.len()
        && (answer.iter().zip(expected.as_bytes())).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_catalog::password::verifier_for;

    #[test]
    fn an_answer_is_for_one_hash_and_one_salt() {
        let stored = md5_hash(b"secret", b"joe");
        assert_eq!(stored, "md5c59ec932d911ffdf487595b5a2adf973");
        assert_eq!(verifier_for(&stored), stored, "a hash is kept as it is");
        let answer = md5_hash(&stored.as_bytes()[3..], &[1, 2, 3, 4]);
        assert!(is_right(answer.as_bytes(), &stored, [1, 2, 3, 4]));
        assert!(!is_right(answer.as_bytes(), &stored, [1, 2, 3, 5]));
        assert!(!is_right(b"", &stored, [1, 2, 3, 4]));
    }
}
