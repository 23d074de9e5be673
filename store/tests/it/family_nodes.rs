//! Token families and public clients on nodes that share a PostgreSQL database.

use belfry_core::oauth::token::TokenError;
use belfry_core::oauth::token_family::TokenFamily;
use belfry_store::test::{any_events, execute_sql};
use belfry_store::{AppListFilter, Store, WriteOutcome};

use super::cases::families::{
    START, access, advance, assert_one_advanced, refresh, refresh_token, register, set_key,
    sign_in, state,
};
use super::cases::{CONCURRENT_TASKS, add_alice_and_app, hashed_secret, timestamp};
use super::nodes::open_two_nodes;

/// A node that served the new token from its cached row would not record the use.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_access_token_after_a_refresh_is_used_on_a_node_with_the_earlier_row() {
    let Some((_database, node, other_node)) = open_two_nodes().await else { return };
    add_alice_and_app(&node).await;
    sign_in(&node, "f").await;
    let key = set_key(&node);
    other_node.set_family_key(key.clone());
    for refreshed in 1..=10 {
        // Fills the cache.
        let secret = access(&key, "f", refreshed - 1);
        assert!(other_node.token(secret).await.unwrap().is_some());

        let outcome =
            refresh(&node, refresh_token(&key, "f", refreshed - 1), START + i64::from(refreshed));

        assert!(outcome.await.is_advanced());
        // The notification may arrive before or after this.
        let token = other_node.token(access(&key, "f", refreshed)).await.unwrap().unwrap();
        assert_eq!(token.check_validity(timestamp(START + 299)), Ok(()));
        other_node.flush_uses().await.unwrap();
        assert!(state(&node, &key, "f").await.is_used);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_from_a_refresh_before_a_revocation_is_rejected_by_a_node_with_the_earlier_row() {
    let Some((_database, node, other_node)) = open_two_nodes().await else { return };
    add_alice_and_app(&node).await;
    let key = set_key(&node);
    other_node.set_family_key(key.clone());
    for name in ["a", "b", "c", "d"] {
        sign_in(&node, name).await;
        // Fills the cache.
        assert!(other_node.token(access(&key, name, 0)).await.unwrap().is_some());
        assert!(refresh(&node, refresh_token(&key, name, 0), START + 1).await.is_advanced());
        let lookup_key = hashed_secret(name).lookup_key;
        node.revoke_token(&any_events(), lookup_key, timestamp(START + 2)).await.unwrap();

        // The notifications may arrive before or after this.
        let token = other_node.token(access(&key, name, 1)).await.unwrap().unwrap();
        assert_eq!(token.check_validity(timestamp(START + 2)), Err(TokenError::Revoked));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_use_on_one_node_outdates_a_refresh_that_another_one_decides() {
    let Some((_database, node, other_node)) = open_two_nodes().await else { return };
    add_alice_and_app(&node).await;
    sign_in(&node, "f").await;
    let key = set_key(&node);
    other_node.set_family_key(key.clone());
    assert!(refresh(&node, refresh_token(&key, "f", 0), START).await.is_advanced());
    let read = state(&node, &key, "f").await;

    assert!(other_node.token(access(&key, "f", 1)).await.unwrap().is_some());
    other_node.flush_uses().await.unwrap();

    // The node had decided that the last response was lost.
    let next = TokenFamily { newest: 2, ..read };
    assert_eq!(advance(&node, "f", read, next).await, WriteOutcome::NotFound);
    let outcome = refresh(&node, refresh_token(&key, "f", 0), START + 31).await;
    assert_eq!(outcome.state(), None, "the token was copied");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_one_of_several_concurrent_refreshes_on_three_nodes_is_written() {
    let Some((database, node, other_node)) = open_two_nodes().await else { return };
    let third_node = database.open().await;
    add_alice_and_app(&node).await;
    sign_in(&node, "f").await;
    let key = set_key(&node);
    other_node.set_family_key(key.clone());
    third_node.set_family_key(key.clone());
    let secret = refresh_token(&key, "f", 0);
    let nodes = [node, other_node, third_node];
    let refreshes = nodes.iter().cycle().take(usize::try_from(CONCURRENT_TASKS).unwrap());
    let tasks: tokio::task::JoinSet<_> = refreshes
        .cloned()
        .map(|node: Store| async move { refresh(&node, secret, START + 1).await })
        .collect();
    let outcomes = tasks.join_all().await;
    for node in &nodes {
        assert_one_advanced(node, &outcomes);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_registrations_of_one_client_on_two_nodes_add_it_once() {
    let Some((_database, node, other_node)) = open_two_nodes().await else { return };
    let ids = async |node: &Store| {
        register(node, 10).await;
        node.app_by_client_id("digest").await.unwrap().unwrap().app.id
    };
    let (id, same_id) = tokio::join!(ids(&node), ids(&other_node));
    assert_eq!(id, same_id);
    assert_eq!(node.apps(&AppListFilter::default(), 0, 10).await.unwrap().len(), 1);
}

/// Another node's sweep may delete an unused client shortly before it is registered again.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_was_deleted_but_is_cached_is_registered_again() {
    let Some((database, node, other_node)) = open_two_nodes().await else { return };
    register(&node, 10).await;
    assert!(other_node.app_by_client_id("digest").await.unwrap().is_some(), "fills the cache");
    // Without a notification.
    execute_sql(&database, "delete from apps").await;

    register(&other_node, 20).await;

    let apps = node.apps(&AppListFilter::default(), 0, 10).await.unwrap();
    assert_eq!(apps.len(), 1);
}
