//! The expression of a `room_member_count` condition: an optional operator and a number.

use std::str::FromStr;

/// A comparison with the number of members: `2`, `==2`, `<10`, `>=3`. A number beyond `u64` is
/// clamped to its maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemberCount {
    operator: Operator,
    count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    AtMost,
    AtLeast,
    Less,
    More,
}

/// Ordered so that no operator is a prefix of a later one.
const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("<", Operator::Less),
    (">", Operator::More),
    ("", Operator::Equal),
];

/// The text is not a valid member count expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InvalidMemberCount;

impl MemberCount {
    /// Whether this number of members is allowed.
    pub(super) fn includes(self, members: u64) -> bool {
        match self.operator {
            Operator::Equal => members == self.count,
            Operator::AtMost => members <= self.count,
            Operator::AtLeast => members >= self.count,
            Operator::Less => members < self.count,
            Operator::More => members > self.count,
        }
    }
}

impl FromStr for MemberCount {
    type Err = InvalidMemberCount;

    fn from_str(text: &str) -> Result<Self, InvalidMemberCount> {
        let strip = |(sign, operator)| Some((operator, text.strip_prefix(sign)?));
        let (operator, digits) = OPERATORS.into_iter().find_map(strip).ok_or(InvalidMemberCount)?;
        // Checked here because `u64::from_str` accepts a leading `+`.
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(InvalidMemberCount);
        }
        Ok(Self { operator, count: digits.parse().unwrap_or(u64::MAX) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_compare_the_number_of_members_with_the_count() {
        for (text, below, at, above) in [
            ("2", false, true, false),
            ("==2", false, true, false),
            ("<2", true, false, false),
            (">2", false, false, true),
            ("<=2", true, true, false),
            (">=2", false, true, true),
            (">=0002", false, true, true),
        ] {
            let count: MemberCount = text.parse().unwrap();
            assert_eq!([1, 2, 3].map(|n| count.includes(n)), [below, at, above], "{text}");
        }
    }

    #[test]
    fn other_expressions_are_rejected() {
        for text in [
            "", "=2", "=>2", "=<2", "!=2", "<>2", "===2", "<", "==", " 2", "2 ", "< 2", "+2", "-2",
            "2.0", "two", "٢", "2<", "0x2", "==+2",
        ] {
            assert_eq!(text.parse::<MemberCount>(), Err(InvalidMemberCount), "{text:?}");
        }
    }

    #[test]
    fn a_count_beyond_u64_is_larger_than_any_room() {
        let huge = "9".repeat(1000);
        let includes = |text: String| text.parse::<MemberCount>().unwrap().includes(1 << 40);
        assert!(includes(format!("<{huge}")));
        assert!(!includes(format!(">{huge}")));
        assert!(!includes(huge));
        assert!(includes(format!("{}{}", "0".repeat(100), 1u64 << 40)));
    }
}
