//! The limit table: which limits apply to a request, and under which key it is counted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::abuse;
use super::key::{KeyKind, LimitKey, Network, TokenOwner};
use super::route::RoutePattern;
use super::setting::{LimitOverride, LimitSetting, LimitSettingError, new_limit};
use super::{Bucket, Buckets, Limit};

/// One limit and the requests it counts. Requests that match any of its patterns are counted
/// together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitRow {
    pub limit: Arc<Limit>,
    pub per: KeyKind,
    pub patterns: Vec<RoutePattern>,
}

/// Formats the row as `300 in 5m per account: *`.
/// The rows of the limit table.
///
/// Deserialised from settings that change the defaults: `media = false` removes a row,
/// `media = { requests = 60 }` changes it, and a table with a new name adds a row.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "BTreeMap<String, LimitSetting>", into = "BTreeMap<String, LimitSetting>")]
pub struct LimitTable {
    pub rows: Vec<LimitRow>,
}

const MINUTES: u64 = 60;

/// The default rows, which are Mastodon's: name, key, patterns, requests and window in seconds.
const DEFAULTS: [(&str, KeyKind, &[&str], u32, u64); 5] = [
    ("account", KeyKind::Account, &["*"], 300, 5 * MINUTES),
    ("media", KeyKind::Account, &["POST /api/v1/media"], 30, 30 * MINUTES),
    (
        "delete",
        KeyKind::Account,
        &["DELETE /api/v1/statuses/:id", "POST /api/v1/statuses/:id/unreblog"],
        30,
        30 * MINUTES,
    ),
    ("ip", KeyKind::Network, &["*"], 300, 5 * MINUTES),
    ("sign_up", KeyKind::Network, &["POST /api/v1/accounts"], 5, 30 * MINUTES),
];

impl Default for LimitTable {
    fn default() -> Self {
        let to_row = |(name, per, patterns, requests, seconds): (_, _, &[&str], _, _)| {
            let limit = Limit::new(name, requests, Duration::from_secs(seconds))
                .expect("the names and windows above are valid");
            let parse_pattern = |text: &&str| text.parse().expect("the patterns above are valid");
            let patterns = patterns.iter().map(parse_pattern).collect();
            LimitRow { limit: limit.into(), per, patterns }
        };
        Self { rows: DEFAULTS.map(to_row).into() }
    }
}

/// Returns the names of the default limits, for an error message.
fn default_names() -> String {
    DEFAULTS.map(|default| default.0).join(", ")
}

/// Applies settings to the defaults: rows are changed and removed in place, new ones are appended.
impl TryFrom<BTreeMap<String, LimitSetting>> for LimitTable {
    type Error = LimitSettingError;

    fn try_from(mut settings: BTreeMap<String, LimitSetting>) -> Result<Self, LimitSettingError> {
        let mut rows = Vec::new();
        for row in Self::default().rows {
            match settings.remove(row.limit.name()) {
                None => rows.push(row),
                Some(LimitSetting::Off) => {}
                Some(LimitSetting::Override(limit_override)) => rows.push(LimitRow {
                    limit: limit_override.apply(&row.limit)?,
                    per: limit_override.per.unwrap_or(row.per),
                    patterns: limit_override.matches.unwrap_or(row.patterns),
                }),
            }
        }
        for (name, setting) in settings {
            let LimitSetting::Override(limit_override) = setting else {
                let known_names = default_names();
                return Err(LimitSettingError::Unknown { name, known_names });
            };
            // The second condition: the limit of a site has its row's name with this suffix.
            if abuse::DEFAULTS.iter().any(|default| default.0 == name) || name.ends_with("-48") {
                return Err(LimitSettingError::Reserved(name));
            }
            let LimitOverride {
                per: Some(per),
                matches: Some(patterns),
                requests: Some(requests),
                window: Some(window),
            } = limit_override
            else {
                let known_names = default_names();
                return Err(LimitSettingError::Incomplete { name, known_names });
            };
            rows.push(LimitRow { limit: new_limit(&name, requests, window)?, per, patterns });
        }
        match rows.iter().find(|row| row.patterns.is_empty()) {
            Some(row) => Err(LimitSettingError::EmptyMatch(row.limit.name().into())),
            None => Ok(Self { rows }),
        }
    }
}

/// The settings of all rows, with `false` for removed default rows.
impl From<LimitTable> for BTreeMap<String, LimitSetting> {
    fn from(table: LimitTable) -> Self {
        let all_off = DEFAULTS.map(|default| (default.0.to_owned(), LimitSetting::Off));
        let rows = table.rows.into_iter().map(|row| {
            let limit_override = LimitOverride {
                per: Some(row.per),
                matches: Some(row.patterns),
                ..LimitOverride::from_limit(&row.limit)
            };
            (row.limit.name().to_owned(), LimitSetting::Override(limit_override))
        });
        all_off.into_iter().chain(rows).collect()
    }
}

impl LimitTable {
    /// Returns a copy in which each limit per network also applies to the site around the network,
    /// with `multiple` times the requests. If `multiple` is 0, sites are not limited.
    pub fn with_site_multiple(mut self, multiple: u32) -> Self {
        for row in self.rows.iter_mut().filter(|row| row.per == KeyKind::Network) {
            row.limit = row.limit.with_site_multiple(multiple).into();
        }
        self
    }

    /// Returns the buckets of a sign-up through an endpoint other than Mastodon's, such as Matrix's
    /// `register`: those for `POST /api/v1/accounts`, except those in which the actual request, with
    /// this method and target, was already counted.
    pub fn sign_up_buckets(&self, method: &str, target: &str, network: Network) -> Buckets<'_> {
        let mut buckets = self.buckets("POST", "/api/v1/accounts", None, network);
        let already_counted = self.buckets(method, target, None, network);
        buckets
            .retain(|bucket| already_counted.iter().all(|counted| counted.limit != bucket.limit));
        buckets
    }

    /// Returns a request's buckets: one for each row that counts it, and one for the site if the
    /// row also limits that.
    ///
    /// `target` is the request path in any spelling. `owner` is the owner of a valid access token;
    /// a request with an invalid token is counted only under its address.
    pub fn buckets<'a>(
        &'a self,
        method: &str,
        target: &str,
        owner: Option<TokenOwner>,
        network: Network,
    ) -> Buckets<'a> {
        let mut route = None;
        let to_bucket = |row: &'a LimitRow| {
            let key = match row.per {
                KeyKind::Account => LimitKey::for_account(owner?),
                KeyKind::App => LimitKey::App(owner?.app_id),
                KeyKind::Network => LimitKey::Network(network),
            };
            let mut patterns = row.patterns.iter();
            let is_counted = patterns.any(|pattern| pattern.matches(method, target, &mut route));
            is_counted.then_some(Bucket { limit: &row.limit, key })
        };
        self.rows.iter().filter_map(to_bucket).flat_map(Bucket::with_site).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn network() -> Network {
        Network::from_address([192, 0, 2, 1].into())
    }

    fn bucket_names(table: &LimitTable, request: &str, account: Option<i64>) -> Vec<String> {
        let (method, target) = request.split_once(' ').unwrap();
        let owner = account.map(|id| TokenOwner { account_id: Some(id), app_id: 1 });
        let buckets = table.buckets(method, target, owner, network());
        buckets.iter().map(|bucket| bucket.limit.name().to_owned()).collect()
    }

    #[test]
    fn a_request_has_a_bucket_for_every_row_that_counts_it() {
        let table = LimitTable::default();
        for (request, with_account, without_account) in [
            ("GET /", "account ip", "ip"),
            ("POST /api/v1/media", "account media ip", "ip"),
            ("GET /api/v1/media", "account ip", "ip"),
            ("POST /api/v2/media", "account ip", "ip"),
            ("DELETE /api/v1/statuses/1", "account delete ip", "ip"),
            ("POST /api/v1/statuses/1/unreblog", "account delete ip", "ip"),
            ("POST /api/v1/statuses/1/reblog", "account ip", "ip"),
            ("POST /api/v1/accounts", "account ip sign_up", "ip sign_up"),
            ("POST //API/v1/%61ccounts.json;x/?y", "account ip sign_up", "ip sign_up"),
            ("OPTIONS *", "account ip", "ip"),
        ] {
            assert_eq!(bucket_names(&table, request, Some(1)).join(" "), with_account, "{request}");
            assert_eq!(bucket_names(&table, request, None).join(" "), without_account, "{request}");
        }
    }

    proptest! {
        #[test]
        fn a_row_counts_only_its_method_in_any_case_and_head_with_get(method in "GET|POST|DELETE|PUT|PATCH", other in "[A-Z]{0,7}|GET|HEAD|POST") {
            let limit = Arc::new(Limit::new("l", 1, Duration::from_mins(1)).unwrap());
            let patterns = ["*", &format!("{method} /a")].map(|text| text.parse::<RoutePattern>().unwrap());
            let rows = patterns.map(|pattern| LimitRow { limit: Arc::clone(&limit), per: KeyKind::Network, patterns: vec![pattern] });
            let table = LimitTable { rows: rows.to_vec() };
            let bucket_count = |method: &str| table.buckets(method, "/a", None, network()).len();
            prop_assert_eq!(bucket_count(&method), 2);
            prop_assert_eq!(bucket_count(&method.to_lowercase()), 2);
            let is_counted = method == other || method == "GET" && other == "HEAD";
            prop_assert_eq!(bucket_count(&other), 1 + usize::from(is_counted));
        }
    }

    #[test]
    fn deletes_and_unreblogs_share_a_bucket() {
        let table = LimitTable::default();
        let owner = TokenOwner { account_id: Some(1), app_id: 1 };
        let buckets = |method, target| table.buckets(method, target, Some(owner), network());
        let delete = buckets("DELETE", "/api/v1/statuses/1");
        let unreblog = buckets("POST", "/api/v1/statuses/2/unreblog");
        assert_eq!((delete[1].limit, &delete[1].key), (unreblog[1].limit, &unreblog[1].key));
    }

    #[test]
    fn a_sign_up_through_a_different_endpoint_counts_for_the_sign_up_limits_only() {
        let mut table = LimitTable::default();
        let register = "/_matrix/client/v3/register";
        let buckets = table.sign_up_buckets("POST", register, network());
        let [bucket] = buckets.into_vec().try_into().unwrap();
        assert_eq!((bucket.limit.name(), bucket.key), ("sign_up", LimitKey::Network(network())));
        let row = table.rows.iter_mut().find(|row| row.limit.name() == "sign_up").unwrap();
        row.patterns.push(format!("POST {register}").parse().unwrap());
        assert!(table.sign_up_buckets("POST", register, network()).is_empty(), "counted already");
    }

    #[test]
    fn a_bucket_is_keyed_by_the_token_owner_or_the_network() {
        let table = LimitTable::default();
        for (account_id, owner) in [(Some(7), LimitKey::Account(7)), (None, LimitKey::App(1))] {
            let buckets =
                table.buckets("GET", "/", Some(TokenOwner { account_id, app_id: 1 }), network());
            let keys: Vec<_> = buckets.into_iter().map(|bucket| bucket.key).collect();
            assert_eq!(keys, [owner, LimitKey::Network(network())]);
        }
    }

    #[test]
    fn a_row_per_app_counts_all_users_of_the_app_together() {
        let row = LimitRow { per: KeyKind::App, ..LimitTable::default().rows[0].clone() };
        let table = LimitTable { rows: vec![row] };
        for (account_id, app_id) in [(Some(7), 1), (Some(8), 1), (None, 1), (Some(7), 2)] {
            let buckets =
                table.buckets("GET", "/", Some(TokenOwner { account_id, app_id }), network());
            let keys: Vec<_> = buckets.into_iter().map(|bucket| bucket.key).collect();
            assert_eq!(keys, [LimitKey::App(app_id)]);
        }
        assert!(table.buckets("GET", "/", None, network()).is_empty());
    }

    #[test]
    fn an_ipv6_address_also_counts_for_its_site_with_a_multiple_of_the_limit() {
        let table = LimitTable::default().with_site_multiple(8);
        let describe_buckets = |address: &str, owner| {
            let network = Network::from_address(address.parse().unwrap());
            let buckets = table.buckets("POST", "/api/v1/accounts", owner, network);
            let describe =
                |b: &Bucket<'_>| format!("{} {} {}", b.limit.name(), b.limit.requests(), b.key);
            buckets.iter().map(describe).collect::<Vec<_>>()
        };
        assert_eq!(
            describe_buckets(
                "2001:db8:1:2::3",
                Some(TokenOwner { account_id: Some(7), app_id: 1 })
            ),
            [
                "account 300 account:=7",
                "ip 300 ip:2001:db8:1:2::/64",
                "ip-48 2400 ip:2001:db8:1::/48",
                "sign_up 5 ip:2001:db8:1:2::/64",
                "sign_up-48 40 ip:2001:db8:1::/48",
            ]
        );
        let ipv4_buckets = ["ip 300 ip:192.0.2.1", "sign_up 5 ip:192.0.2.1"];
        assert_eq!(describe_buckets("192.0.2.1", None), ipv4_buckets);
        let network = Network::from_address("2001:db8::1".parse().unwrap());
        let without_sites = table.with_site_multiple(0);
        assert_eq!(without_sites.buckets("GET", "/", None, network).len(), 1);
    }

    #[test]
    fn a_very_long_path_is_counted() {
        let table = LimitTable::default();
        for fragment in ["/..", "/a", "%2f", ";", "%", "//"] {
            let request = format!("POST {}", fragment.repeat(50_000));
            assert_eq!(bucket_names(&table, &request, Some(1)), ["account", "ip"]);
        }
    }
}
