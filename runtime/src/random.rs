//! Random values from the operating system's generator.

use belfry_core::secret::SplitToken;

/// Returns random bytes.
///
/// # Panics
///
/// If the operating system cannot provide random bytes, because no secure fallback exists.
#[expect(clippy::disallowed_methods, reason = "the only source of randomness")]
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system provides random bytes");
    bytes
}

/// Returns a random id: 32 hexadecimal digits.
pub fn hex_id() -> String {
    format!("{:032x}", u128::from_be_bytes(bytes()))
}

/// Returns a new token, code, client secret or cookie.
pub fn split_token(now: jiff::Timestamp) -> SplitToken {
    SplitToken::new(now, bytes())
}

/// Returns a new authorization code that a person can type.
pub fn short_code() -> SplitToken {
    SplitToken::short_code(bytes())
}

/// Returns a generated password: 20 unambiguous characters (100 bits) in groups of five.
pub fn password() -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let characters = bytes::<20>().map(|byte| char::from(ALPHABET[usize::from(byte % 32)]));
    characters.chunks(5).map(String::from_iter).collect::<Vec<_>>().join("-")
}

/// Returns true once in this many calls on average, and always for 0 and 1.
pub fn is_one_in(calls: usize) -> bool {
    usize::from_be_bytes(bytes()).is_multiple_of(calls.max(1))
}

const ID_CANDIDATES: usize = 32;

/// Returns candidates for the id of a new account or app, ordered by time with 16 random bits per
/// millisecond. After a collision, callers try the next candidate, which is one millisecond later,
/// because all ids of a millisecond may be taken. The number of candidates is limited so that every
/// retry loop ends.
pub fn id_candidates(now: jiff::Timestamp) -> impl Iterator<Item = i64> {
    let times = now.as_millisecond()..;
    times.take(ID_CANDIDATES).map(|time| time << 16 | i64::from(u16::from_be_bytes(bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_has_four_groups_of_five_readable_characters() {
        let password = password();
        assert_eq!(password.split('-').map(str::len).collect::<Vec<_>>(), [5; 4]);
        assert!(!password.contains(['l', 'o', '0', '1']), "{password}");
        assert_ne!(password, super::password());
    }

    /// Detects a badly seeded generator, and bytes that are not filled in.
    #[test]
    fn random_bytes_do_not_repeat_and_every_bit_varies() {
        let mut values = std::collections::HashSet::new();
        for _ in 0..10_000 {
            assert!(values.insert(bytes::<16>()));
        }
        let mut ones_per_bit = [0_u32; 256];
        for _ in 0..10_000 {
            let bytes = bytes::<32>();
            for (bit, count) in ones_per_bit.iter_mut().enumerate() {
                *count += u32::from(bytes[bit / 8] >> (bit % 8) & 1);
            }
        }
        // Ten standard deviations.
        let near_half = 4500..5500;
        assert!(ones_per_bit.iter().all(|count| near_half.contains(count)), "{ones_per_bit:?}");
    }

    #[test]
    fn id_candidates_are_limited_and_sorted_by_time() {
        let early_ids: Vec<i64> =
            id_candidates(jiff::Timestamp::from_second(1_700_000_000).unwrap()).collect();
        let late_ids: Vec<i64> =
            id_candidates(jiff::Timestamp::from_second(1_700_000_001).unwrap()).collect();
        assert_eq!((early_ids.len(), late_ids.len()), (32, 32));
        assert!(0 < early_ids[0] && [early_ids, late_ids].concat().is_sorted_by(|a, b| a < b));
    }
}
