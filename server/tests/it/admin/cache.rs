//! The token and rule caches while an admin disables accounts.

use axum::http::StatusCode;

use super::{admin_client, start_unlimited};
use crate::evaluation::many::add_accounts;
use crate::support::service::metric_value;
use crate::support::{Service, TestDatabase};

/// Returns the hits and misses of a cache.
async fn cache_lookups(service: &Service, cache: &str) -> [f64; 2] {
    let metrics = service.metrics().await;
    ["hit", "miss"].map(|outcome| {
        let series =
            format!("belfry_cache_lookups_total{{cache=\"{cache}\",outcome=\"{outcome}\"}}");
        metric_value(&metrics, &series)
    })
}

// On SQLite, where the cache is never disabled.
#[tokio::test]
async fn disabling_many_accounts_leaves_the_others_in_the_cache() {
    const DISABLED_ACCOUNTS: i64 = 500;
    let service = start_unlimited(TestDatabase::sqlite()).await;
    let admin = admin_client(&service, "admin:write:accounts").await;
    add_accounts(&service, DISABLED_ACCOUNTS).await;
    let mut readers = Vec::new();
    for number in 0..10 {
        readers.push(service.user_client(&format!("reader_{number}")).await);
    }
    let read_rules = async |index: usize| {
        let response =
            readers[index % readers.len()].get("/_service/client/api/v1/pushrules/").await;
        assert_eq!(response.status, 200);
    };
    for index in 0..readers.len() {
        read_rules(index).await;
    }
    let caches = ["tokens", "rules"];
    let lookups_before =
        [cache_lookups(&service, caches[0]).await, cache_lookups(&service, caches[1]).await];

    for (index, id) in (1000..1000 + DISABLED_ACCOUNTS).enumerate() {
        let action = format!("POST /api/v1/admin/accounts/{id}/action");
        admin.send(&action, "type=disable").await.expect_json(StatusCode::OK);
        read_rules(2 * index).await;
        read_rules(2 * index + 1).await;
    }

    for (cache, [hits, misses]) in caches.into_iter().zip(lookups_before) {
        let [hits_after, misses_after] = cache_lookups(&service, cache).await;
        let hits = hits_after - hits;
        let misses = misses_after - misses;
        assert!(hits + misses >= 1000.0, "{cache}: {hits} hits and {misses} misses");
        assert!(hits / (hits + misses) > 0.95, "{cache}: {hits} hits and {misses} misses");
    }
    let metrics = service.metrics().await;
    let local_invalidations = |kind: &str| {
        let series =
            format!("belfry_cache_invalidations_total{{kind=\"{kind}\",origin=\"local\"}}");
        metric_value(&metrics, &series)
    };
    // The additional invalidation is the change of the admin's role.
    assert_eq!((local_invalidations("account"), local_invalidations("everything")), (501.0, 0.0));
}
