//! Abuse limits on sign-in attempts, wrong client secrets, app registrations, authorization
//! requests and device tests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::key::{LimitKey, Network};
use super::setting::{LimitOverride, LimitSetting, LimitSettingError};
use super::{Bucket, Buckets, Limit};

/// Limits on guessing secrets, on filling the database and on sending messages to other servers.
/// The [`CONFIGURABLE`] limits can be changed, or removed with `false`.
///
/// Account names and client ids are counted together with the network, so that failed attempts from
/// one network do not lock out an account or an app in another.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "BTreeMap<String, LimitSetting>", into = "BTreeMap<String, LimitSetting>")]
pub struct AbuseLimits(Vec<Arc<Limit>>);

const SIGN_IN_ADDRESS: &str = "sign_in_address";
const SIGN_IN_NAME: &str = "sign_in_name";
const CLIENT_SECRET: &str = "client_secret";
const APP_REGISTRATION: &str = "app_registration";
const AUTHORIZATION_REQUEST: &str = "authorization_request";
const DEVICE_TEST: &str = "device_test";

const MINUTES: u64 = 60;

/// Name, requests and window in seconds of each default limit. Rows of the limit table may not have
/// these names, because counts are stored by name.
pub(super) const DEFAULTS: [(&str, u32, u64); 6] = [
    (SIGN_IN_ADDRESS, 25, 5 * MINUTES),
    (SIGN_IN_NAME, 25, 60 * MINUTES),
    (CLIENT_SECRET, 25, 5 * MINUTES),
    (APP_REGISTRATION, 30, 10 * MINUTES),
    (AUTHORIZATION_REQUEST, 60, 5 * MINUTES),
    (DEVICE_TEST, 5, MINUTES),
];

/// The names of the limits that the operator can change: those that many people behind one address
/// may exceed.
const CONFIGURABLE: [&str; 3] = [SIGN_IN_ADDRESS, SIGN_IN_NAME, APP_REGISTRATION];

impl Default for AbuseLimits {
    fn default() -> Self {
        let to_limit = |(name, requests, seconds)| {
            let limit = Limit::new(name, requests, Duration::from_secs(seconds));
            limit.expect("the names and windows above are valid").into()
        };
        Self(DEFAULTS.map(to_limit).into())
    }
}

impl TryFrom<BTreeMap<String, LimitSetting>> for AbuseLimits {
    type Error = LimitSettingError;

    fn try_from(settings: BTreeMap<String, LimitSetting>) -> Result<Self, LimitSettingError> {
        let mut limits = Self::default().0;
        for (name, setting) in settings {
            let index = limits.iter().position(|limit| limit.name() == name);
            let Some(index) = index.filter(|_| CONFIGURABLE.contains(&&*name)) else {
                let known_names = CONFIGURABLE.join(", ");
                return Err(LimitSettingError::Unknown { name, known_names });
            };
            match setting {
                LimitSetting::Off => drop(limits.remove(index)),
                LimitSetting::Override(
                    LimitOverride { per: Some(_), .. } | LimitOverride { matches: Some(_), .. },
                ) => return Err(LimitSettingError::NotConfigurable(name)),
                LimitSetting::Override(change) => {
                    limits[index] = change.apply(&limits[index])?;
                }
            }
        }
        Ok(Self(limits))
    }
}

/// The settings of the configurable limits, with `false` for removed ones.
impl From<AbuseLimits> for BTreeMap<String, LimitSetting> {
    fn from(limits: AbuseLimits) -> Self {
        let all_off = CONFIGURABLE.map(|name| (name.to_owned(), LimitSetting::Off));
        let is_configurable = |limit: &&Arc<Limit>| CONFIGURABLE.contains(&limit.name());
        let limits = limits.0.iter().filter(is_configurable).map(|limit| {
            (limit.name().to_owned(), LimitSetting::Override(LimitOverride::from_limit(limit)))
        });
        all_off.into_iter().chain(limits).collect()
    }
}

impl AbuseLimits {
    /// Returns a copy that also limits the site around a network, to `multiple` times each limit;
    /// without these limits if `multiple` is 0.
    pub fn with_site_multiple(self, multiple: u32) -> Self {
        Self(self.0.iter().map(|limit| limit.with_site_multiple(multiple).into()).collect())
    }

    /// Returns all limits that are not removed.
    pub fn limits(&self) -> impl Iterator<Item = &Arc<Limit>> {
        self.0.iter()
    }

    /// Returns the buckets of a sign-in attempt, to be checked before the password is verified.
    pub fn sign_in_buckets(&self, network: Network, name: &str) -> Buckets<'_> {
        let address = (SIGN_IN_ADDRESS, LimitKey::Network(network));
        self.buckets([address, (SIGN_IN_NAME, LimitKey::for_name(network, name))])
    }

    /// Returns the buckets of a password confirmation by a signed-in user. It is also counted per
    /// account over all addresses, because a stolen session could be used to try passwords from
    /// many addresses. The owner can still sign in.
    pub fn password_confirmation_buckets(
        &self,
        network: Network,
        name: &str,
        account: i64,
    ) -> Buckets<'_> {
        let mut buckets = self.sign_in_buckets(network, name);
        buckets.extend(self.buckets([(SIGN_IN_NAME, LimitKey::Account(account))]));
        buckets
    }

    /// Returns the bucket of wrong client secrets, if the limit is not removed. Use it with
    /// [`CountMode::Peek`](super::CountMode::Peek) before a secret is verified and with
    /// [`CountMode::Charge`](super::CountMode::Charge) if it was wrong, so that requests with the
    /// correct secret are not counted.
    pub fn client_secret_buckets(&self, network: Network, client_id: &str) -> Buckets<'_> {
        self.buckets([(CLIENT_SECRET, LimitKey::for_name(network, client_id))])
    }

    /// Returns the bucket of app registrations, if the limit is not removed.
    pub fn app_registration_buckets(&self, network: Network) -> Buckets<'_> {
        self.buckets([(APP_REGISTRATION, LimitKey::Network(network))])
    }

    /// Returns the bucket of new authorization requests, if the limit is not removed.
    pub fn authorization_request_buckets(&self, network: Network) -> Buckets<'_> {
        self.buckets([(AUTHORIZATION_REQUEST, LimitKey::Network(network))])
    }

    /// Returns the bucket of tests and acknowledgements of an account's devices, if the limit is not
    /// removed.
    pub fn device_test_buckets(&self, account: i64) -> Buckets<'_> {
        self.buckets([(DEVICE_TEST, LimitKey::Account(account))])
    }

    fn buckets<const N: usize>(&self, keys: [(&str, LimitKey); N]) -> Buckets<'_> {
        let find_limit = |name| self.0.iter().find(|limit| limit.name() == name);
        keys.into_iter()
            .filter_map(|(name, key)| Some(Bucket { limit: find_limit(name)?, key }))
            .flat_map(Bucket::with_site)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(last_octet: u8) -> Network {
        Network::from_address([192, 0, 2, last_octet].into())
    }

    fn names_and_keys(buckets: &[Bucket<'_>]) -> Vec<(String, LimitKey)> {
        buckets.iter().map(|bucket| (bucket.limit.name().to_owned(), bucket.key)).collect()
    }

    #[test]
    fn attempts_count_for_their_address_and_for_the_name_from_that_address() {
        let limits = AbuseLimits::default();
        let buckets = limits.sign_in_buckets(network(1), "Alice");
        let expected = [
            ("sign_in_address".to_owned(), LimitKey::Network(network(1))),
            ("sign_in_name".to_owned(), LimitKey::for_name(network(1), "alice")),
        ];
        assert_eq!(names_and_keys(&buckets), expected);
        let expected = [("app_registration".to_owned(), LimitKey::Network(network(1)))];
        assert_eq!(names_and_keys(&limits.app_registration_buckets(network(1))), expected);
    }

    #[test]
    fn limits_also_count_per_ipv6_site() {
        let limits = AbuseLimits::default().with_site_multiple(8);
        let [first_network, second_network] = ["2001:db8:1:2::1", "2001:db8:1:3::1"]
            .map(|address| Network::from_address(address.parse().unwrap()));
        for request_keys in [
            |limits: &AbuseLimits, network| {
                names_and_keys(&limits.sign_in_buckets(network, "alice"))
            },
            |limits: &AbuseLimits, network| {
                names_and_keys(&limits.client_secret_buckets(network, "app"))
            },
            |limits: &AbuseLimits, network| {
                names_and_keys(&limits.app_registration_buckets(network))
            },
        ] {
            let first_keys = request_keys(&limits, first_network);
            let second_keys = request_keys(&limits, second_network);
            let shared_keys: Vec<_> =
                first_keys.iter().filter(|key| second_keys.contains(key)).collect();
            assert_eq!(shared_keys.len() * 2, first_keys.len(), "{first_keys:?}");
            assert!(shared_keys.iter().all(|(name, _)| name.ends_with("-48")), "{shared_keys:?}");
        }
    }

    #[test]
    fn a_password_confirmation_counts_as_a_sign_in_and_for_the_account() {
        let limits = AbuseLimits::default();
        let [address, name, account] = limits
            .password_confirmation_buckets(network(1), "alice", 7)
            .into_vec()
            .try_into()
            .unwrap();
        let sign_in = limits.sign_in_buckets(network(1), "alice");
        assert_eq!(names_and_keys(&[address, name]), names_and_keys(&sign_in));
        assert_eq!(names_and_keys(&[account]), [("sign_in_name".to_owned(), LimitKey::Account(7))]);
    }

    #[test]
    fn attempts_from_a_different_address_share_no_bucket_with_the_victim() {
        let limits = AbuseLimits::default();
        let victim_buckets = [
            limits.sign_in_buckets(network(1), "alice"),
            limits.client_secret_buckets(network(1), "app"),
        ];
        let attacker_buckets = [
            limits.sign_in_buckets(network(2), "alice"),
            limits.client_secret_buckets(network(2), "app"),
        ];
        for (victim, attacker) in victim_buckets.iter().zip(&attacker_buckets) {
            assert!(
                names_and_keys(victim).iter().all(|key| !names_and_keys(attacker).contains(key))
            );
        }
    }
}
