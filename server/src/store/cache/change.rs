//! What a write makes stale, here and on other nodes.

use belfry_core::secret::Digest;

/// What a write made stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// One token: revoked, say.
    Token(Digest),
    /// The tokens of one account, all of them or those of one app.
    Access(i64, Option<i64>),
    /// The rules of one account.
    Rules(i64),
    /// Something on which many entries may rest: an account or an app.
    Everything,
}

impl Change {
    /// The change as it is told to other nodes.
    pub(crate) fn to_text(self) -> String {
        match self {
            Self::Token(digest) => format!("token {}", digest.to_text()),
            Self::Access(account, None) => format!("access {account}"),
            Self::Access(account, Some(app)) => format!("access {account} {app}"),
            Self::Rules(account) => format!("rules {account}"),
            Self::Everything => "everything".to_owned(),
        }
    }

    /// Reads what another node told; what is not understood may concern everything.
    pub(crate) fn from_text(text: &str) -> Self {
        let understood = match text.split_once(' ') {
            Some(("token", digest)) => Digest::from_text(digest).map(Self::Token),
            Some(("access", of)) => match of.split_once(' ') {
                None => of.parse().ok().map(|account| Self::Access(account, None)),
                Some((account, app)) => Option::zip(account.parse().ok(), app.parse().ok())
                    .map(|(account, app)| Self::Access(account, Some(app))),
            },
            Some(("rules", account)) => account.parse().ok().map(Self::Rules),
            _ => None,
        };
        understood.unwrap_or(Self::Everything)
    }
}

#[cfg(test)]
mod tests {
    use belfry_core::secret::Secret;

    use super::*;

    #[test]
    fn a_change_is_heard_as_it_was_told() {
        let digest = Secret::new("t").digest();
        for change in [
            Change::Token(digest),
            Change::Access(7, None),
            Change::Access(7, Some(-1)),
            Change::Rules(7),
            Change::Everything,
        ] {
            assert_eq!(Change::from_text(&change.to_text()), change);
        }
        for unknown in ["", "token x", "access", "access x", "access 7 x", "access 7 1 2", "new 7"]
        {
            assert_eq!(Change::from_text(unknown), Change::Everything, "{unknown}");
        }
    }
}
