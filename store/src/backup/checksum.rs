//! Table checksums that do not depend on the order of rows.

use sha2::{Digest, Sha256};

use crate::engine::Value;

/// The number of rows, and the sum of their SHA-256 digests modulo 2^256. Two engines that return
/// the same rows in a different order produce the same sum, so nothing has to be sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TableChecksum {
    pub(super) row_count: u64,
    /// The limbs of the sum, the least significant first.
    sum: [u64; 4],
}

impl TableChecksum {
    pub(super) fn add_row(&mut self, row: &[Value]) {
        self.row_count += 1;
        let digest = row_digest(row);
        let mut carry = false;
        for (limb, bytes) in self.sum.iter_mut().zip(digest.rchunks_exact(8)) {
            let summand = bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
            let (sum, has_carried) = limb.overflowing_add(summand);
            let (sum, has_carried_again) = sum.overflowing_add(u64::from(carry));
            (*limb, carry) = (sum, has_carried || has_carried_again);
        }
    }

    /// Returns the sum as 64 hexadecimal digits.
    pub(super) fn to_hex(&self) -> String {
        let [a, b, c, d] = self.sum;
        format!("{d:016x}{c:016x}{b:016x}{a:016x}")
    }
}

/// Returns the digest of a row. The types of its values and the lengths of its strings are hashed
/// too, so that different rows never have the same hash input.
fn row_digest(row: &[Value]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for value in row {
        match value {
            Value::Null => hasher.update([0]),
            Value::Integer(integer) => {
                hasher.update([1]);
                hasher.update(integer.to_be_bytes());
            }
            Value::Text(text) => {
                hasher.update([2]);
                hasher.update((text.len() as u64).to_be_bytes());
                hasher.update(text);
            }
        }
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checksum(rows: &[&[Value]]) -> TableChecksum {
        let mut checksum = TableChecksum::default();
        for row in rows {
            checksum.add_row(row);
        }
        checksum
    }

    #[test]
    fn row_order_does_not_affect_the_checksum() {
        let rows: [&[Value]; 3] = [&[1.into(), "a".into()], &[2.into(), Value::Null], &["".into()]];
        let [a, b, c] = rows;
        assert_eq!(checksum(&[a, b, c]), checksum(&[c, a, b]));
        assert_ne!(checksum(&[a, b]), checksum(&[a, b, b]));
        assert_ne!(checksum(&[a, a]), checksum(&[b, b]), "equal rows do not cancel out");
    }

    #[test]
    fn similar_rows_have_different_checksums() {
        let rows: [&[Value]; 9] = [
            &[Value::Null],
            &["".into()],
            &[0.into()],
            &["0".into()],
            &["a".into(), "bc".into()],
            &["ab".into(), "c".into()],
            &["abc".into()],
            &["a".into(), Value::Null, "bc".into()],
            &[Value::Null, Value::Null],
        ];
        for (index, row) in rows.iter().enumerate() {
            for other_row in &rows[index + 1..] {
                assert_ne!(checksum(&[row]), checksum(&[other_row]), "{row:?} {other_row:?}");
            }
        }
    }

    #[test]
    fn a_carry_propagates_through_all_limbs() {
        let mut checksum = TableChecksum { row_count: 0, sum: [u64::MAX; 4] };
        checksum.add_row(&[1.into()]);
        // The initial sum is minus one, modulo 2^256.
        let mut one_less = TableChecksum::default();
        one_less.add_row(&[1.into()]);
        one_less.sum[0] -= 1;
        assert_eq!(checksum.sum, one_less.sum);
        assert_eq!(checksum.to_hex().len(), 64);
        assert_eq!(TableChecksum::default().to_hex(), "0".repeat(64));
    }

    /// The checksum is part of the backup file format.
    #[test]
    fn the_checksum_algorithm_does_not_change() {
        let row = ["alice".into(), Value::Null, i64::MIN.into()];
        assert_eq!(
            checksum(&[&row]).to_hex(),
            "33cbd99b64193984575e30f01bcd400ba39e785f8260c969c42ada2154fe16b1"
        );
    }
}
