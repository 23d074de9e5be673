//! The expression of a `room_member_count` condition: digits, with an operator before them or not.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How many members a room must have: `2`, `==2`, `<10`, `>=3`.
///
/// A count beyond `u64` is held as the largest `u64`, which no room reaches either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MemberCount {
    operator: Operator,
    count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Operator {
    Bare,
    Equal,
    AtMost,
    AtLeast,
    Less,
    More,
}

impl Operator {
    /// Those of two characters first, so that none is taken for the beginning of another; the
    /// one without a sign is the beginning of all.
    const ALL: [Self; 6] =
        [Self::Equal, Self::AtMost, Self::AtLeast, Self::Less, Self::More, Self::Bare];

    const fn sign(self) -> &'static str {
        match self {
            Self::Bare => "",
            Self::Equal => "==",
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
            Self::Less => "<",
            Self::More => ">",
        }
    }
}

/// A text that is no count expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a member count is digits, after ==, <, >, <= or >= or nothing")]
pub struct NoMemberCount;

impl MemberCount {
    /// Whether a room with so many members is meant.
    #[must_use]
    pub fn holds(self, members: u64) -> bool {
        match self.operator {
            Operator::Bare | Operator::Equal => members == self.count,
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
        let stripped = |operator: Operator| Some((operator, text.strip_prefix(operator.sign())?));
        let (operator, digits) =
            Operator::ALL.into_iter().find_map(stripped).ok_or(NoMemberCount)?;
        // Digits are looked at one by one because `u64::from_str` takes a `+` too.
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(NoMemberCount);
        }
        Ok(Self { operator, count: digits.parse().unwrap_or(u64::MAX) })
    }
}

impl fmt::Display for MemberCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.operator.sign(), self.count)
    }
}

impl TryFrom<String> for MemberCount {
    type Error = NoMemberCount;

    fn try_from(text: String) -> Result<Self, NoMemberCount> {
        text.parse()
    }
}

impl From<MemberCount> for String {
    fn from(count: MemberCount) -> Self {
        count.to_string()
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
    fn a_count_is_read_back_from_its_text() {
        for text in ["2", "==2", "<2", ">2", "<=2", ">=18446744073709551615"] {
            assert_eq!(text.parse::<MemberCount>().unwrap().to_string(), text);
            let json = format!("{text:?}");
            let count: MemberCount = serde_json::from_str(&json).unwrap();
            assert_eq!(serde_json::to_string(&count).unwrap(), json);
        }
        assert!(serde_json::from_str::<MemberCount>("2").is_err());
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
