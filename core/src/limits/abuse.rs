//! The limits that belong to no row of the table: sign-in attempts, wrong client secrets and app
//! registrations.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::key::{LimitKey, Network};
use super::setting::{LimitOverride, LimitSetting, LimitSettingError};
use super::{Bucket, Buckets, Limit};

/// Limits on guessing and on piling up apps. Each can be changed, or removed with `false`.
///
/// None of them counts for a name alone: whoever fails elsewhere on somebody's behalf locks out
/// neither the account nor the client.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "BTreeMap<String, LimitSetting>")]
pub struct AbuseLimits {
    sign_in_address: Option<Limit>,
    sign_in_name: Option<Limit>,
    client_secret: Option<Limit>,
    app_registration: Option<Limit>,
}

/// The names, which no row of the table may have: counts are kept under them.
pub(super) const NAMES: [&str; 4] =
    ["sign_in_address", "sign_in_name", "client_secret", "app_registration"];

const MINUTES: u64 = 60;

impl Default for AbuseLimits {
    fn default() -> Self {
        let limit = |name, requests, seconds| {
            Some(
                Limit::new(name, requests, Duration::from_secs(seconds))
                    .expect("the names and windows here are sound"),
            )
        };
        Self {
            sign_in_address: limit("sign_in_address", 25, 5 * MINUTES),
            sign_in_name: limit("sign_in_name", 25, 60 * MINUTES),
            client_secret: limit("client_secret", 25, 5 * MINUTES),
            app_registration: limit("app_registration", 30, 10 * MINUTES),
        }
    }
}

impl TryFrom<BTreeMap<String, LimitSetting>> for AbuseLimits {
    type Error = LimitSettingError;

    fn try_from(settings: BTreeMap<String, LimitSetting>) -> Result<Self, LimitSettingError> {
        let mut own = Self::default();
        for (name, setting) in settings {
            let limit = own.named(&name)?;
            match setting {
                LimitSetting::Off => *limit = None,
                LimitSetting::Override(
                    LimitOverride { per: Some(_), .. } | LimitOverride { matches: Some(_), .. },
                ) => {
                    return Err(LimitSettingError::Fixed(name));
                }
                LimitSetting::Override(change) => *limit = Some(change.limit(&name, *limit)?),
            }
        }
        Ok(own)
    }
}

impl AbuseLimits {
    fn named(&mut self, name: &str) -> Result<&mut Option<Limit>, LimitSettingError> {
        match name {
            "sign_in_address" => Ok(&mut self.sign_in_address),
            "sign_in_name" => Ok(&mut self.sign_in_name),
            "client_secret" => Ok(&mut self.client_secret),
            "app_registration" => Ok(&mut self.app_registration),
            unknown => {
                Err(LimitSettingError::Unknown { name: unknown.into(), known: NAMES.join(", ") })
            }
        }
    }

    /// The limits, for people who read what is in force.
    pub fn limits(&self) -> impl Iterator<Item = Limit> {
        [self.sign_in_address, self.sign_in_name, self.client_secret, self.app_registration]
            .into_iter()
            .flatten()
    }

    /// What an attempt to sign in draws on, right or wrong: check it before the password.
    #[must_use]
    pub fn sign_in<'a>(&self, from: Network, name: &'a str) -> Buckets<'a> {
        let address = bucket(self.sign_in_address, LimitKey::Network(from));
        address.into_iter().chain(bucket(self.sign_in_name, LimitKey::tried(from, name))).collect()
    }

    /// What a wrong client secret draws on: peek before the secret, charge when it was wrong. So a
    /// client that knows its secret is never held up by its own traffic.
    #[must_use]
    pub fn client_secret<'a>(&self, from: Network, client_id: &'a str) -> Buckets<'a> {
        bucket(self.client_secret, LimitKey::tried(from, client_id)).into_iter().collect()
    }

    /// What the registration of an app draws on.
    #[must_use]
    pub fn app_registration<'a>(&self, from: Network) -> Buckets<'a> {
        bucket(self.app_registration, LimitKey::Network(from)).into_iter().collect()
    }
}

fn bucket(limit: Option<Limit>, key: LimitKey<'_>) -> Option<Bucket<'_>> {
    limit.map(|limit| Bucket { limit, key })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(last: u8) -> Network {
        Network::of([192, 0, 2, last].into())
    }

    fn keys<'a>(buckets: &[Bucket<'a>]) -> Vec<(String, LimitKey<'a>)> {
        buckets.iter().map(|c| (c.limit.name().to_owned(), c.key.clone())).collect()
    }

    #[test]
    fn an_attempt_to_sign_in_counts_for_its_address_and_for_the_name_from_there() {
        let own = AbuseLimits::default();
        let buckets = own.sign_in(network(1), "Alice");
        let expected = [
            ("sign_in_address".to_owned(), LimitKey::Network(network(1))),
            ("sign_in_name".to_owned(), LimitKey::tried(network(1), "alice")),
        ];
        assert_eq!(keys(&buckets), expected);
    }

    #[test]
    fn a_stranger_elsewhere_draws_on_nothing_of_the_victims() {
        let own = AbuseLimits::default();
        let victim = [own.sign_in(network(1), "alice"), own.client_secret(network(1), "app")];
        let stranger = [own.sign_in(network(2), "alice"), own.client_secret(network(2), "app")];
        for (victim, stranger) in victim.iter().zip(&stranger) {
            assert!(keys(victim).iter().all(|key| !keys(stranger).contains(key)));
        }
    }

    #[test]
    fn apps_are_registered_by_address() {
        let own = AbuseLimits::default();
        let expected = [("app_registration".to_owned(), LimitKey::Network(network(1)))];
        assert_eq!(keys(&own.app_registration(network(1))), expected);
    }
}
