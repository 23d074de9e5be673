//! The expression of a `room_member_count` condition: an optional operator and a number.

/// The member counts that satisfy a comparison: `2`, `==2`, `<10`, `>=3`. A number beyond `u64` is
/// clamped to its maximum.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemberCountRange {
    compare: Comparison,
    count: u64,
}

type Comparison = fn(&u64, &u64) -> bool;

/// Ordered so that no operator is a prefix of a later one.
const OPERATORS: [(&str, Comparison); 6] = [
    ("==", u64::eq),
    ("<=", u64::le),
    (">=", u64::ge),
    ("<", u64::lt),
    (">", u64::gt),
    ("", u64::eq),
];

impl MemberCountRange {
    /// Parses an expression; `None` if it is invalid.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let split_operator = |(operator, compare)| Some((compare, text.strip_prefix(operator)?));
        let (compare, digits) = OPERATORS.into_iter().find_map(split_operator)?;
        // Checked here because `u64::from_str` accepts a leading `+`.
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| Self { compare, count: digits.parse().unwrap_or(u64::MAX) })
    }

    /// Returns whether a number of members satisfies the comparison.
    pub(super) fn includes(self, members: u64) -> bool {
        (self.compare)(&members, &self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_compare_the_number_of_members_with_the_count() {
        for (text, below, equal, above) in [
            ("2", false, true, false),
            ("==2", false, true, false),
            ("<2", true, false, false),
            (">2", false, false, true),
            ("<=2", true, true, false),
            (">=2", false, true, true),
            (">=0002", false, true, true),
        ] {
            let range = MemberCountRange::parse(text).unwrap();
            assert_eq!(
                [1, 2, 3].map(|members| range.includes(members)),
                [below, equal, above],
                "{text}"
            );
        }
    }

    #[test]
    fn invalid_expressions_are_rejected() {
        for text in [
            "", "=2", "=>2", "=<2", "!=2", "<>2", "===2", "<", "==", " 2", "2 ", "< 2", "+2", "-2",
            "2.0", "two", "٢", "2<", "0x2", "==+2",
        ] {
            assert!(MemberCountRange::parse(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn a_count_beyond_u64_is_larger_than_any_room() {
        let huge = "9".repeat(1000);
        let includes = |text: String| MemberCountRange::parse(&text).unwrap().includes(1 << 40);
        assert!(includes(format!("<{huge}")));
        assert!(!includes(format!(">{huge}")));
        assert!(!includes(huge));
        assert!(includes(format!("{}{}", "0".repeat(100), 1u64 << 40)));
    }
}
