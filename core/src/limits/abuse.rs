//! Abuse limits: sign-in attempts, wrong client secrets and app registrations.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::key::{LimitKey, Network};
use super::setting::{LimitOverride, LimitSetting, LimitSettingError};
use super::{Bucket, Buckets, Limit};

/// Limits on guessing secrets and on mass registration of apps. Each can be changed, or removed with
/// `false`.
///
/// None of them is keyed by a name alone: failed attempts from one address lock out neither the
/// account nor the client at another.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "BTreeMap<String, LimitSetting>")]
pub struct AbuseLimits {
    sign_in_address: Option<Arc<Limit>>,
    sign_in_name: Option<Arc<Limit>>,
    client_secret: Option<Arc<Limit>>,
    app_registration: Option<Arc<Limit>>,
}

/// The names, which no row of the limit table may use: counts are stored under them.
pub(super) const NAMES: [&str; 4] =
    ["sign_in_address", "sign_in_name", "client_secret", "app_registration"];

const MINUTES: u64 = 60;

impl Default for AbuseLimits {
    fn default() -> Self {
        let limit = |name, requests, seconds| {
            let limit = Limit::new(name, requests, Duration::from_secs(seconds));
            Some(Arc::new(limit.expect("the names and windows here are valid")))
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
        let mut limits = Self::default();
        for (name, setting) in settings {
            let limit = limits.by_name(&name)?;
            match setting {
                LimitSetting::Off => *limit = None,
                LimitSetting::Override(
                    LimitOverride { per: Some(_), .. } | LimitOverride { matches: Some(_), .. },
                ) => {
                    return Err(LimitSettingError::Fixed(name));
                }
                LimitSetting::Override(change) => {
                    *limit = Some(change.apply(&name, limit.as_deref())?);
                }
            }
        }
        Ok(limits)
    }
}

impl AbuseLimits {
    fn by_name(&mut self, name: &str) -> Result<&mut Option<Arc<Limit>>, LimitSettingError> {
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

    /// All limits that are not removed.
    pub fn limits(&self) -> impl Iterator<Item = &Arc<Limit>> {
        [&self.sign_in_address, &self.sign_in_name, &self.client_secret, &self.app_registration]
            .into_iter()
            .flatten()
    }

    /// The buckets of a sign-in attempt: check them before the password is verified.
    #[must_use]
    pub fn sign_in<'a>(&'a self, from: Network, name: &'a str) -> Buckets<'a> {
        let address = bucket(self.sign_in_address.as_ref(), LimitKey::Network(from));
        let name = bucket(self.sign_in_name.as_ref(), LimitKey::name_from(from, name));
        address.into_iter().chain(name).collect()
    }

    /// The bucket of wrong client secrets: peek before a secret is verified, charge when it was wrong.
    /// So a client that knows its secret is never rejected for its own traffic.
    #[must_use]
    pub fn client_secret<'a>(&'a self, from: Network, client_id: &'a str) -> Buckets<'a> {
        let key = LimitKey::name_from(from, client_id);
        bucket(self.client_secret.as_ref(), key).into_iter().collect()
    }

    /// The bucket of app registrations.
    #[must_use]
    pub fn app_registration(&self, from: Network) -> Buckets<'_> {
        bucket(self.app_registration.as_ref(), LimitKey::Network(from)).into_iter().collect()
    }
}

fn bucket<'a>(limit: Option<&'a Arc<Limit>>, key: LimitKey<'a>) -> Option<Bucket<'a>> {
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
    fn a_sign_in_attempt_counts_for_its_address_and_for_the_name_from_that_address() {
        let limits = AbuseLimits::default();
        let buckets = limits.sign_in(network(1), "Alice");
        let expected = [
            ("sign_in_address".to_owned(), LimitKey::Network(network(1))),
            ("sign_in_name".to_owned(), LimitKey::name_from(network(1), "alice")),
        ];
        assert_eq!(keys(&buckets), expected);
    }

    #[test]
    fn attempts_from_another_address_share_no_bucket_with_the_victim() {
        let limits = AbuseLimits::default();
        let victim = [limits.sign_in(network(1), "alice"), limits.client_secret(network(1), "app")];
        let attacker =
            [limits.sign_in(network(2), "alice"), limits.client_secret(network(2), "app")];
        for (victim, attacker) in victim.iter().zip(&attacker) {
            assert!(keys(victim).iter().all(|key| !keys(attacker).contains(key)));
        }
    }

    #[test]
    fn app_registrations_count_by_address() {
        let limits = AbuseLimits::default();
        let expected = [("app_registration".to_owned(), LimitKey::Network(network(1)))];
        assert_eq!(keys(&limits.app_registration(network(1))), expected);
    }
}
