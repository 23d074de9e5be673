//! An app's client secrets: the current one, and the previous one for some time after a rotation.

use jiff::Timestamp;

use crate::secret::HashedSecret;

/// An app's secret, and the one before its last rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientSecrets {
    pub current: HashedSecret,
    /// The secret before the last rotation, unless the rotation invalidated it.
    pub previous: Option<PreviousSecret>,
}

/// A secret that was replaced and is accepted for some time, so that the app can be updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreviousSecret {
    pub secret: HashedSecret,
    /// Time until which it is accepted.
    pub until: Timestamp,
}

/// The secrets of an app whose secret was never replaced.
impl From<HashedSecret> for ClientSecrets {
    fn from(current: HashedSecret) -> Self {
        Self { current, previous: None }
    }
}

impl ClientSecrets {
    /// Returns whether a client that presents this secret is the app. Digests are compared in
    /// constant time.
    pub fn accepts(&self, presented_secret: HashedSecret, now: Timestamp) -> bool {
        // Both are compared, so that timing does not reveal which one was presented.
        let is_current = self.current == presented_secret;
        let is_previous = self.previous_until(now).is_some()
            & self.previous.is_some_and(|previous| previous.secret == presented_secret);
        is_current | is_previous
    }

    /// Returns the time until which the previous secret is accepted, if it still is.
    pub fn previous_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.previous.map(|previous| previous.until).filter(|until| *until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::SplitToken;

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn secret(random: u8) -> HashedSecret {
        SplitToken::new(time(0), [random; SplitToken::RANDOM_BYTES]).hashed_secret()
    }

    #[test]
    fn the_previous_secret_is_accepted_until_it_expires() {
        let old_secret = secret(1);
        let new_secret = secret(2);
        let other_secret = secret(3);
        let initial_secrets = ClientSecrets::from(new_secret);
        let previous = Some(PreviousSecret { secret: old_secret, until: time(10) });
        let rotated_secrets = ClientSecrets { previous, ..initial_secrets };
        for (secrets, presented_secret, now, is_accepted) in [
            (initial_secrets, new_secret, 0, true),
            (initial_secrets, old_secret, 0, false),
            (rotated_secrets, new_secret, 9, true),
            (rotated_secrets, new_secret, 10, true),
            (rotated_secrets, old_secret, 9, true),
            (rotated_secrets, old_secret, 10, false),
            (rotated_secrets, other_secret, 9, false),
        ] {
            assert_eq!(
                secrets.accepts(presented_secret, time(now)),
                is_accepted,
                "{secrets:?} at {now}"
            );
        }
        assert_eq!(rotated_secrets.previous_until(time(9)), Some(time(10)));
        assert_eq!(rotated_secrets.previous_until(time(10)), None);
        assert_eq!(initial_secrets.previous_until(time(0)), None);
    }

    /// A secret's lookup key is not confidential.
    #[test]
    fn a_secret_with_a_forged_lookup_key_is_rejected() {
        let current = secret(1);
        let other = secret(2);
        let forged_secret = HashedSecret { lookup_key: current.lookup_key, digest: other.digest };
        assert!(!ClientSecrets::from(current).accepts(forged_secret, time(0)));
    }
}
