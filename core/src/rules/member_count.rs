//! The expression of a `room_member_count` condition: digits, with an operator before them or not.

use std::str::FromStr;

/// How many members a room must have: `2`, `==2`, `<10`, `>=3`.
///
/// A count beyond `u64` is held as the largest `u64`, which no room reaches either.
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

/// Those of two characters first, so that none is taken for the beginning of another; no sign is
/// the beginning of all.
const SIGNS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("<", Operator::Less),
    (">", Operator::More),
    ("", Operator::Equal),
];

/// A text that is no count expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoMemberCount;

impl MemberCount {
    /// Whether a room with so many members is meant.
    pub(super) fn holds(self, members: u64) -> bool {
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
    type Err = NoMemberCount;

    fn from_str(text: &str) -> Result<Self, NoMemberCount> {
        let stripped = |(sign, operator)| Some((operator, text.strip_prefix(sign)?));
        let (operator, digits) = SIGNS.into_iter().find_map(stripped).ok_or(NoMemberCount)?;
        // Digits are looked at one by one because `u64::from_str` takes a `+` too.
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(NoMemberCount);
        }
        Ok(Self { operator, count: digits.parse().unwrap_or(u64::MAX) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_says_on_which_side_of_the_count_a_room_is() {
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
            assert_eq!([1, 2, 3].map(|n| count.holds(n)), [below, at, above], "{text}");
        }
    }

    #[test]
    fn anything_else_is_no_count() {
        for text in [
            "", "=2", "=>2", "=<2", "!=2", "<>2", "===2", "<", "==", " 2", "2 ", "< 2", "+2", "-2",
            "2.0", "two", "٢", "2<", "0x2", "==+2",
        ] {
            assert_eq!(text.parse::<MemberCount>(), Err(NoMemberCount), "{text:?}");
        }
    }

    #[test]
    fn a_count_that_no_number_holds_is_more_than_any_room_has() {
        let huge = "9".repeat(1000);
        let holds = |text: String| text.parse::<MemberCount>().unwrap().holds(1 << 40);
        assert!(holds(format!("<{huge}")));
        assert!(!holds(format!(">{huge}")));
        assert!(!holds(huge));
        assert!(holds(format!("{}{}", "0".repeat(100), 1u64 << 40)));
    }
}
