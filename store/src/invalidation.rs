//! The cache entries that a write makes stale, on this node and on others.

use belfry_core::secret::LookupKey;

/// The entries that a write made stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Invalidation {
    /// One token.
    Token(LookupKey),
    /// The tokens of one account, for all apps or for one.
    Access(i64, Option<i64>),
    /// The rulesets of one account.
    Rules(i64),
    /// All apps, but not their tokens.
    Apps,
    /// All entries, because an account or an app changed.
    Everything,
}

impl Invalidation {
    /// The kinds, as they are named in metrics.
    pub(crate) const NAMES: [&str; 5] = ["token", "access", "rules", "apps", "everything"];

    /// The index of the kind in [`Invalidation::NAMES`].
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Token(_) => 0,
            Self::Access(..) => 1,
            Self::Rules(_) => 2,
            Self::Apps => 3,
            Self::Everything => 4,
        }
    }

    /// The text sent to other nodes.
    pub(crate) fn to_text(self) -> String {
        match self {
            Self::Token(lookup) => format!("token {}", lookup.to_text()),
            Self::Access(account, None) => format!("access {account}"),
            Self::Access(account, Some(app)) => format!("access {account} {app}"),
            Self::Rules(account) => format!("rules {account}"),
            Self::Apps => "apps".to_owned(),
            Self::Everything => "everything".to_owned(),
        }
    }

    /// Parses the text from another node. Unknown text invalidates everything.
    pub(crate) fn from_text(text: &str) -> Self {
        let parsed = match text.split_once(' ') {
            Some(("token", lookup)) => LookupKey::from_text(lookup).map(Self::Token),
            Some(("access", ids)) => match ids.split_once(' ') {
                None => ids.parse().ok().map(|account| Self::Access(account, None)),
                Some((account, app)) => Option::zip(account.parse().ok(), app.parse().ok())
                    .map(|(account, app)| Self::Access(account, Some(app))),
            },
            Some(("rules", account)) => account.parse().ok().map(Self::Rules),
            None if text == "apps" => Some(Self::Apps),
            _ => None,
        };
        parsed.unwrap_or(Self::Everything)
    }
}

#[cfg(test)]
mod tests {
    use belfry_core::secret::SplitToken;
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn an_invalidation_is_read_back_from_its_text() {
        let lookup = SplitToken::new(Timestamp::UNIX_EPOCH, [7; 42]).hashed().lookup;
        for invalidation in [
            Invalidation::Token(lookup),
            Invalidation::Access(7, None),
            Invalidation::Access(7, Some(-1)),
            Invalidation::Rules(7),
            Invalidation::Apps,
            Invalidation::Everything,
        ] {
            assert_eq!(Invalidation::from_text(&invalidation.to_text()), invalidation);
        }
        for unknown in ["", "token x", "access", "access x", "access 7 x", "access 7 1 2", "new 7"]
        {
            assert_eq!(Invalidation::from_text(unknown), Invalidation::Everything, "{unknown}");
        }
    }
}
