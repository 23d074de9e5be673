//! The cache entries that a write makes stale, on this node and on others.

use belfry_core::secret::LookupKey;

/// The entries that a write made stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Invalidation {
    Token(LookupKey),
    /// One account's rulesets.
    Rules(i64),
    Account(i64),
    App(i64),
    AppSecret(i64),
    /// All entries, because the writes are unknown.
    Everything,
}

impl Invalidation {
    /// The names of the kinds, in metrics and messages.
    pub(crate) const NAMES: [&str; 6] =
        ["token", "rules", "account", "app", "app_secret", "everything"];

    /// Returns the index of the kind in [`Invalidation::NAMES`].
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Token(_) => 0,
            Self::Rules(_) => 1,
            Self::Account(_) => 2,
            Self::App(_) => 3,
            Self::AppSecret(_) => 4,
            Self::Everything => 5,
        }
    }

    /// Returns the message to other nodes: the kind and the subject.
    pub(crate) fn to_text(self) -> String {
        let kind = Self::NAMES[self.index()];
        match self {
            Self::Token(lookup) => format!("{kind} {}", lookup.to_text()),
            Self::Rules(id) | Self::Account(id) | Self::App(id) | Self::AppSecret(id) => {
                format!("{kind} {id}")
            }
            Self::Everything => kind.to_owned(),
        }
    }

    /// Parses a message from another node. An unknown message, which a newer release may send,
    /// invalidates everything.
    pub(crate) fn from_text(text: &str) -> Self {
        let (kind, subject) = text.split_once(' ').unwrap_or((text, ""));
        let id = subject.parse();
        match (kind, id) {
            ("token", _) => LookupKey::from_text(subject).map(Self::Token),
            ("rules", Ok(account)) => Some(Self::Rules(account)),
            ("account", Ok(account)) => Some(Self::Account(account)),
            ("app", Ok(app)) => Some(Self::App(app)),
            ("app_secret", Ok(app)) => Some(Self::AppSecret(app)),
            _ => None,
        }
        .unwrap_or(Self::Everything)
    }
}

#[cfg(test)]
mod tests {
    use belfry_core::secret::SplitToken;
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn an_invalidation_is_parsed_from_its_message() {
        let lookup = SplitToken::new(Timestamp::UNIX_EPOCH, [7; 42]).hashed_secret().lookup_key;
        for invalidation in [
            Invalidation::Token(lookup),
            Invalidation::Rules(7),
            Invalidation::Account(7),
            Invalidation::App(-1),
            Invalidation::AppSecret(i64::MAX),
            Invalidation::Everything,
        ] {
            assert_eq!(Invalidation::from_text(&invalidation.to_text()), invalidation);
        }
        for unknown in
            ["", "token x", "account", "account x", "app 7 1", "apps", "access 7 1", "new 7"]
        {
            assert_eq!(Invalidation::from_text(unknown), Invalidation::Everything, "{unknown}");
        }
    }
}
