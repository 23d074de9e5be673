//! Conformance cases for token families, the devices that have them, and public clients.

use std::sync::Arc;

use belfry_core::oauth::app::App;
use belfry_core::oauth::client::{AuthMethod, ClientProperties, Registrar};
use belfry_core::oauth::grant::CodeGrant;
use belfry_core::oauth::issuer_policy::ID;
use belfry_core::oauth::scope::Scopes;
use belfry_core::oauth::token::TokenError;
use belfry_core::oauth::token_family::{
    ACCESS_LIFETIME_SECONDS, FamilyToken, IDLE_SECONDS, REPEAT_SECONDS, Refresh, TokenFamily,
};
use belfry_core::secret::{PresentedSecret, SplitToken};
use belfry_runtime::family_key::FamilyKey;
use belfry_runtime::sealing::SealingKey;
use belfry_store::test::any_events;
use belfry_store::{
    AppListFilter, ExistingAccess, PresentedFamily, RedeemError, Store, WriteOutcome,
};

use super::retention::settle;
use super::{
    account, add_alice_and_app, add_app, app, ensure_account, grant, hashed_secret, issue_code,
    run_concurrently, timestamp, token,
};

/// The time at which the cases redeem codes.
pub(crate) const START: i64 = 1_700_000_000;
const DAY: i64 = 24 * 3600;

/// Sets a new key, and returns it.
pub(crate) fn set_key(store: &Store) -> FamilyKey {
    let key = SealingKey::random().family_key();
    store.set_family_key(key.clone());
    key
}

/// Returns a grant by account 7 to app 1, whose code can be redeemed at [`START`].
fn family_grant() -> CodeGrant {
    CodeGrant { expires_at: timestamp(START + 600), ..grant() }
}

fn device_grant(app_id: i64, account_id: i64, device_id: &str) -> CodeGrant {
    let scopes = format!("urn:matrix:client:api:* urn:matrix:client:device:{device_id}");
    let scopes = Scopes::parse_with_devices(&scopes).unwrap();
    CodeGrant { app_id, account_id, scopes, ..family_grant() }
}

/// Redeems a new code for a family, whose lookup key is derived from the name.
async fn redeem_grant(store: &Store, name: &str, grant: &CodeGrant) {
    let code = format!("code of {name}");
    issue_code(store, &code, grant).await;
    redeem_code(store, &code, name, grant).await.unwrap();
}

async fn redeem_code(
    store: &Store,
    code: &str,
    name: &str,
    grant: &CodeGrant,
) -> Result<(), RedeemError> {
    let family = TokenFamily::new(timestamp(START));
    let code = hashed_secret(code).lookup_key;
    store.redeem_code_for_family(&any_events(), code, hashed_secret(name), family, grant).await
}

/// Redeems a code of account 7 and app 1 for a family.
pub(crate) async fn sign_in(store: &Store, name: &str) {
    redeem_grant(store, name, &family_grant()).await;
}

fn family_token(key: &FamilyKey, name: &str, generation: u32, seconds: Option<i64>) -> SplitToken {
    let lookup_key = hashed_secret(name).lookup_key;
    key.token(FamilyToken { lookup_key, generation, expires_at: seconds.map(timestamp) })
}

/// Returns an access token that expires 300 s after [`START`].
pub(crate) fn access(key: &FamilyKey, name: &str, generation: u32) -> PresentedSecret {
    family_token(key, name, generation, Some(START + ACCESS_LIFETIME_SECONDS)).presented()
}

pub(crate) fn refresh_token(key: &FamilyKey, name: &str, generation: u32) -> PresentedSecret {
    family_token(key, name, generation, None).presented()
}

/// Returns the stored state of a family.
pub(crate) async fn state(store: &Store, key: &FamilyKey, name: &str) -> TokenFamily {
    store.family(refresh_token(key, name, 0)).await.unwrap().unwrap().state
}

pub(crate) async fn is_revoked(store: &Store, key: &FamilyKey, name: &str) -> bool {
    let family = store.family(refresh_token(key, name, 0)).await.unwrap().unwrap();
    family.row.revoked_at.is_some()
}

async fn is_accepted(store: &Store, secret: PresentedSecret) -> bool {
    store.token(secret).await.unwrap().is_some()
}

/// Replaces the state of a family, if it is the one that was read.
pub(crate) async fn advance(
    store: &Store,
    name: &str,
    read: TokenFamily,
    next: TokenFamily,
) -> WriteOutcome {
    store.advance_family(hashed_secret(name).lookup_key, read, next).await.unwrap()
}

/// The effect of a refresh token, as the token endpoint decides on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refreshed {
    Advanced(TokenFamily),
    Repeated(TokenFamily),
    Reused,
}

impl Refreshed {
    pub(crate) fn is_advanced(self) -> bool {
        matches!(self, Self::Advanced(_))
    }

    /// Returns the state whose newest tokens are the response.
    pub(crate) fn state(self) -> Option<TokenFamily> {
        match self {
            Self::Advanced(state) | Self::Repeated(state) => Some(state),
            Self::Reused => None,
        }
    }
}

/// Exchanges a refresh token. If another exchange is faster, decides again.
pub(crate) async fn refresh(store: &Store, secret: PresentedSecret, now: i64) -> Refreshed {
    loop {
        let PresentedFamily { token, state, .. } = store.family(secret).await.unwrap().unwrap();
        match state.refresh(token.generation, timestamp(now)) {
            Refresh::Repeat => return Refreshed::Repeated(state),
            Refresh::Reuse => return Refreshed::Reused,
            Refresh::Advance(next) => {
                let outcome = store.advance_family(token.lookup_key, state, next).await.unwrap();
                if outcome == WriteOutcome::Written {
                    return Refreshed::Advanced(next);
                }
            }
        }
    }
}

/// Asserts that exactly one of several concurrent refreshes with the first token was written, and
/// that all return the same tokens.
pub(crate) fn assert_one_advanced(store: &Store, outcomes: &[Refreshed]) {
    let advanced_count = outcomes.iter().filter(|outcome| outcome.is_advanced()).count();
    assert_eq!(advanced_count, 1);
    let pair = |outcome: &Refreshed| {
        let state = outcome.state().unwrap();
        assert_eq!((state.base, state.newest), (0, 1));
        let pair = store.token_pair(hashed_secret("f").lookup_key, state).unwrap();
        [pair.access, pair.refresh].map(|token| token.reveal().to_owned())
    };
    let first_pair = pair(&outcomes[0]);
    assert!(outcomes.iter().all(|outcome| pair(outcome) == first_pair));
}

pub(crate) async fn a_code_is_redeemed_for_a_family_whose_tokens_are_computed(store: Store) {
    add_alice_and_app(&store).await;
    sign_in(&store, "f").await;
    let key = SealingKey::random().family_key();
    let access_token = access(&key, "f", 0);
    let state = TokenFamily::new(timestamp(START));
    let lookup_key = hashed_secret("f").lookup_key;
    assert!(!store.has_family_key() && store.has_families().await.unwrap());
    assert!(!is_accepted(&store, access_token).await, "there is no key");
    assert!(store.family(refresh_token(&key, "f", 0)).await.unwrap().is_none());
    assert!(store.token_pair(lookup_key, state).is_none());

    store.set_family_key(key.clone());

    let pair = store.token_pair(lookup_key, state).unwrap();
    assert_eq!(pair.access.hashed_secret(), access_token.hashed);
    assert_eq!(pair.refresh.hashed_secret(), refresh_token(&key, "f", 0).hashed);
    let row_expiry = timestamp(START + IDLE_SECONDS);
    for source in ["from the database", "from the cache"] {
        let token = store.token(access_token).await.unwrap().unwrap();
        assert!(token.is_family(), "{source}");
        assert_eq!((token.app_id, token.account.as_ref().unwrap().id), (1, 7), "{source}");
        assert_eq!(token.scopes.to_string(), "read push", "{source}");
        let token_expiry = timestamp(START + 300);
        assert_eq!(token.expires_at, Some(token_expiry), "{source}");
        assert_eq!((*token).expires_at, Some(row_expiry), "{source}");
        assert_eq!(token.check_validity(timestamp(START + 299)), Ok(()), "{source}");
        assert_eq!(token.check_validity(token_expiry), Err(TokenError::Expired), "{source}");
    }
    let family = store.family(refresh_token(&key, "f", 0)).await.unwrap().unwrap();
    let token = FamilyToken { lookup_key, generation: 0, expires_at: None };
    assert_eq!((family.token, family.state), (token, state));
}

pub(crate) async fn only_access_tokens_computed_with_the_key_are_accepted(store: Store) {
    add_alice_and_app(&store).await;
    sign_in(&store, "f").await;
    let key = set_key(&store);
    let other_key = SealingKey::random().family_key();
    let PresentedSecret { hashed, content } = access(&key, "f", 0);
    let later_expiry = family_token(&key, "f", 0, Some(START + 9999)).presented().content;
    for source in ["from the database", "while the row is cached"] {
        for (name, rejected) in [
            ("a refresh token", refresh_token(&key, "f", 0)),
            ("a token of a different key", access(&other_key, "f", 0)),
            ("changed content", PresentedSecret { hashed, content: later_expiry }),
            ("a MAC of different content", PresentedSecret { content, ..access(&key, "f", 1) }),
            ("the secret of the row", hashed_secret("f").into()),
            ("a token of an unknown family", access(&key, "unknown", 0)),
        ] {
            assert_eq!(store.cached_token(rejected), None, "{name} {source}");
            assert!(!is_accepted(&store, rejected).await, "{name} {source}");
        }
        assert!(is_accepted(&store, access(&key, "f", 0)).await, "{source}");
    }
    // A token that is not computed has no family, even if the MAC is correct.
    store.add_token(&any_events(), &token("plain", Some(7))).await.unwrap();
    assert!(!is_accepted(&store, access(&key, "plain", 0)).await);
    assert!(store.family(refresh_token(&key, "plain", 0)).await.unwrap().is_none());
    for foreign in [refresh_token(&other_key, "f", 0), hashed_secret("f").into()] {
        assert!(store.family(foreign).await.unwrap().is_none());
    }
}

pub(crate) async fn access_tokens_of_every_generation_are_accepted(store: Store) {
    add_alice_and_app(&store).await;
    sign_in(&store, "f").await;
    let key = set_key(&store);
    let first = state(&store, &key, "f").await;
    let next = TokenFamily { base: 2, newest: 4, ..first };
    assert!(is_accepted(&store, access(&key, "f", 0)).await, "fills the cache");
    assert_eq!(advance(&store, "f", first, next).await, WriteOutcome::Written);
    assert_eq!(state(&store, &key, "f").await, next);

    // One that is newer than the row was issued before a restore or a failover. A cached row may be
    // older than the token for other reasons.
    for generation in 0..6 {
        let access_token = access(&key, "f", generation);
        assert!(is_accepted(&store, access_token).await, "{generation}");
        assert!(generation < 5 || store.cached_token(access_token).is_none());
    }
}

pub(crate) async fn the_first_use_of_the_newest_access_token_is_stored(store: Store) {
    add_alice_and_app(&store).await;
    sign_in(&store, "f").await;
    let key = set_key(&store);
    let is_used = async || state(&store, &key, "f").await.is_used;
    store.token(refresh_token(&key, "f", 0)).await.unwrap();
    store.flush_uses().await.unwrap();
    assert!(!is_used().await, "a rejected token is not used");
    assert!(is_accepted(&store, access(&key, "f", 0)).await);
    assert!(!is_used().await);
    store.flush_uses().await.unwrap();
    assert!(is_used().await);

    let read = state(&store, &key, "f").await;
    let next = TokenFamily { base: 0, newest: 1, is_used: false, issued_at: timestamp(START + 1) };
    assert_eq!(advance(&store, "f", read, next).await, WriteOutcome::Written);
    for generation in [0, 2] {
        assert!(is_accepted(&store, access(&key, "f", generation)).await);
        store.flush_uses().await.unwrap();
        assert!(!is_used().await, "generation {generation} is not the newest");
    }
    // From the cache.
    assert!(is_accepted(&store, access(&key, "f", 1)).await);
    // The use is collected, and the family is refreshed before it is stored.
    let later = TokenFamily { base: 1, newest: 2, ..next };
    assert_eq!(advance(&store, "f", next, later).await, WriteOutcome::Written);
    store.flush_uses().await.unwrap();
    assert_eq!(state(&store, &key, "f").await, later);
}

pub(crate) async fn a_refresh_decided_on_an_outdated_row_is_not_written(store: Store) {
    add_alice_and_app(&store).await;
    sign_in(&store, "f").await;
    let key = set_key(&store);
    let first = state(&store, &key, "f").await;
    let issued_at = timestamp(START + 1);
    let next = TokenFamily { base: 0, newest: 1, is_used: false, issued_at };
    for (name, read) in [
        ("base", TokenFamily { base: 1, ..first }),
        ("newest", TokenFamily { newest: 1, ..first }),
        ("use", TokenFamily { is_used: true, ..first }),
    ] {
        assert_eq!(advance(&store, "f", read, next).await, WriteOutcome::NotFound, "{name}");
    }
    assert_eq!(advance(&store, "unknown", first, next).await, WriteOutcome::NotFound);

    let disabled_at = Some(timestamp(START));
    store.set_app_disabled_at(&any_events(), 1, disabled_at).await.unwrap();
    assert_eq!(advance(&store, "f", first, next).await, WriteOutcome::NotFound, "disabled app");
    store.set_app_disabled_at(&any_events(), 1, None).await.unwrap();
    store.set_account_disabled_at(&any_events(), 7, disabled_at).await.unwrap();
    assert_eq!(advance(&store, "f", first, next).await, WriteOutcome::NotFound, "disabled account");
    store.set_account_disabled_at(&any_events(), 7, None).await.unwrap();
    assert_eq!(state(&store, &key, "f").await, first);

    assert_eq!(advance(&store, "f", first, next).await, WriteOutcome::Written);
    assert_eq!(state(&store, &key, "f").await, next);
    let token = store.token(access(&key, "f", 1)).await.unwrap().unwrap();
    assert_eq!((*token).expires_at, Some(timestamp(START + 1 + IDLE_SECONDS)));
    assert_eq!(token.last_used_at(), Some(issued_at));

    let lookup_key = hashed_secret("f").lookup_key;
    store.revoke_token(&any_events(), lookup_key, timestamp(START + 2)).await.unwrap();
    let later = TokenFamily { base: 1, newest: 2, ..next };
    assert_eq!(advance(&store, "f", next, later).await, WriteOutcome::NotFound, "revoked");
    let token = store.token(access(&key, "f", 1)).await.unwrap().unwrap();
    assert_eq!(token.check_validity(issued_at), Err(TokenError::Revoked));
    assert_eq!(state(&store, &key, "f").await, next);
}

pub(crate) async fn only_one_of_several_concurrent_refreshes_with_one_token_is_written(
    store: Store,
) {
    add_alice_and_app(&store).await;
    sign_in(&store, "f").await;
    let secret = refresh_token(&set_key(&store), "f", 0);
    let (store, outcomes) =
        run_concurrently(
            store,
            move |store, _| async move { refresh(&store, secret, START + 1).await },
        )
        .await;
    assert_one_advanced(&store, &outcomes);
}

pub(crate) async fn a_sign_in_replaces_earlier_tokens_of_its_device(store: Store) {
    add_alice_and_app(&store).await;
    add_app(&store, &app(2, "other")).await;
    let key = set_key(&store);
    for (name, app, account, device) in [
        ("same", 1, 7, "PHONE"),
        ("different app", 2, 7, "PHONE"),
        ("different device", 1, 7, "LAPTOP"),
        ("different account", 1, 8, "PHONE"),
    ] {
        redeem_grant(&store, name, &device_grant(app, account, device)).await;
    }
    sign_in(&store, "no device").await;
    assert!(is_accepted(&store, access(&key, "same", 0)).await, "fills the cache");
    let revoked = async || {
        let mut revoked = Vec::new();
        for name in ["same", "different app", "different device", "different account", "no device"]
        {
            if is_revoked(&store, &key, name).await {
                revoked.push(name);
            }
        }
        revoked
    };
    assert_eq!(revoked().await, ["same"], "replaced by the sign-in with a different app");

    let new_grant = device_grant(1, 7, "PHONE");
    issue_code(&store, "c", &new_grant).await;
    assert_eq!(revoked().await, ["same"], "the code is not redeemed yet");
    redeem_code(&store, "c", "new", &new_grant).await.unwrap();
    assert_eq!(revoked().await, ["same", "different app"]);
    let outcome = redeem_code(&store, "c", "replayed", &new_grant).await;
    assert_eq!(outcome, Err(RedeemError::AlreadyRedeemed(hashed_secret("new").lookup_key)));
    assert!(!is_revoked(&store, &key, "new").await, "a replay does not replace the family");
    let token = store.token(access(&key, "same", 0)).await.unwrap().unwrap();
    assert_eq!(token.check_validity(timestamp(START)), Err(TokenError::Revoked));
}

pub(crate) async fn one_of_several_concurrent_sign_ins_of_a_device_remains(store: Store) {
    add_alice_and_app(&store).await;
    let key = set_key(&store);
    let grant = device_grant(1, 7, "PHONE");
    for index in 0..super::CONCURRENT_TASKS {
        issue_code(&store, &format!("c{index}"), &grant).await;
    }
    let (store, names) = run_concurrently(store, move |store, index| {
        let grant = grant.clone();
        async move {
            let name = format!("f{index}");
            redeem_code(&store, &format!("c{index}"), &name, &grant).await.unwrap();
            name
        }
    })
    .await;
    let mut remaining_count = 0;
    for name in names {
        remaining_count += usize::from(!is_revoked(&store, &key, &name).await);
    }
    assert_eq!(remaining_count, 1);
}

pub(crate) async fn devices_are_listed_renamed_and_deleted(store: Store) {
    add_alice_and_app(&store).await;
    let key = set_key(&store);
    let now = timestamp(START);
    for (name, account, device) in
        [("phone", 7, "PHONE"), ("laptop", 7, "LAPTOP"), ("other account", 8, "PHONE")]
    {
        redeem_grant(&store, name, &device_grant(1, account, device)).await;
    }
    sign_in(&store, "no device").await;
    let grants = store.active_grants(7, 1, now).await.unwrap();
    let mut scopes: Vec<_> = grants.iter().map(|grant| grant.scopes.to_string()).collect();
    scopes.sort();
    let api = "urn:matrix:client:api:*";
    assert_eq!(scopes, ["push read", api, api], "a grant for each device, without its scope");
    let token = store.token(access(&key, "phone", 0)).await.unwrap().unwrap();
    assert_eq!(token.scopes.device_id(), Some("PHONE"));

    let devices = async |account, id: Option<&str>| {
        let devices = store.account_devices(account, id, now).await.unwrap();
        devices.into_iter().map(|device| (device.id, device.name)).collect::<Vec<_>>()
    };
    let device = |id: &str, name: Option<&str>| (id.to_owned(), name.map(str::to_owned));
    assert_eq!(devices(7, None).await, [device("LAPTOP", None), device("PHONE", None)]);
    assert_eq!(devices(7, Some("PHONE")).await, [device("PHONE", None)]);
    assert_eq!(devices(7, Some("TABLET")).await, []);
    let rename = async |id, name| store.rename_device(7, id, name, now).await.unwrap();
    assert_eq!(rename("TABLET", Some("x")).await, WriteOutcome::NotFound);
    assert_eq!(rename("PHONE", Some("Pixel")).await, WriteOutcome::Written);
    assert_eq!(devices(7, Some("PHONE")).await, [device("PHONE", Some("Pixel"))]);
    assert_eq!(devices(8, None).await, [device("PHONE", None)]);

    redeem_grant(&store, "phone again", &device_grant(1, 7, "PHONE")).await;
    assert_eq!(
        devices(7, Some("PHONE")).await,
        [device("PHONE", Some("Pixel"))],
        "a device keeps its name when it signs in again"
    );
    let later = timestamp(START + 9);
    let next = TokenFamily { base: 0, newest: 1, is_used: false, issued_at: later };
    let first = state(&store, &key, "phone again").await;
    assert_eq!(advance(&store, "phone again", first, next).await, WriteOutcome::Written);
    let phone = &store.account_devices(7, Some("PHONE"), now).await.unwrap()[0];
    assert_eq!(phone.seen_at, later, "a refresh is a use");

    let pending_grant = device_grant(1, 7, "PHONE");
    issue_code(&store, "pending", &pending_grant).await;
    let delete =
        async |id| store.delete_device(&any_events(), 7, id, timestamp(START)).await.unwrap();
    assert_eq!(delete("TABLET").await, WriteOutcome::NotFound);
    assert_eq!(delete("PHONE").await, WriteOutcome::Written);
    assert_eq!(delete("PHONE").await, WriteOutcome::NotFound);
    assert_eq!(devices(7, None).await, [device("LAPTOP", None)]);
    assert!(is_revoked(&store, &key, "phone again").await);
    let outcome = redeem_code(&store, "pending", "late", &pending_grant).await;
    assert_eq!(outcome, Err(RedeemError::NotRedeemable), "a pending code is deleted");
    for name in ["laptop", "other account", "no device"] {
        assert!(!is_revoked(&store, &key, name).await, "{name}");
    }
    redeem_grant(&store, "new phone", &device_grant(1, 7, "PHONE")).await;
    assert_eq!(devices(7, Some("PHONE")).await, [device("PHONE", None)], "the name is deleted");
}

/// Returns a public client, whose id is a digest of its metadata.
pub(crate) fn public_client() -> App {
    let properties = ClientProperties {
        auth_method: AuthMethod::None,
        ..ClientProperties::new(&ID, Registrar::Api)
    };
    App { properties, ..app(0, "digest").app }
}

pub(crate) async fn register(store: &Store, now: i64) {
    store.register_client(&any_events(), timestamp(now), public_client()).await.unwrap();
}

pub(crate) async fn the_registration_of_a_known_client_renews_it_while_it_is_unused(store: Store) {
    ensure_account(&store, 7).await;
    register(&store, 10).await;
    let client = async || {
        let mut apps = store.apps(&AppListFilter::default(), 0, 10).await.unwrap();
        assert_eq!(apps.len(), 1);
        apps.remove(0)
    };
    let first = client().await;
    assert_eq!(App { id: 0, ..first.app.clone() }, public_client());
    assert_eq!((first.created_at, first.retained_at), (timestamp(10), None));
    let cached_id = async || store.app_by_client_id("digest").await.unwrap().unwrap().app.id;
    assert_eq!(cached_id().await, first.app.id, "fills the cache");

    register(&store, 20).await;
    let renewed = client().await;
    assert_eq!((renewed.app.id, renewed.created_at), (first.app.id, timestamp(20)));
    issue_code(&store, "c", &CodeGrant { app_id: first.app.id, ..grant() }).await;
    register(&store, 30).await;
    let authorized = client().await;
    assert_eq!((authorized.app.id, authorized.created_at), (first.app.id, timestamp(20)));

    store.delete_app(&any_events(), first.app.id).await.unwrap();
    register(&store, 40).await;
    assert_eq!(client().await.created_at, timestamp(40));
    assert_eq!(cached_id().await, client().await.app.id);
}

pub(crate) async fn concurrent_registrations_of_one_client_add_it_once(store: Store) {
    let (store, _) = run_concurrently(store, |store, _| async move {
        register(&store, 10).await;
        store.app_by_client_id("digest").await.unwrap().unwrap().app.id
    })
    .await;
    let apps = store.apps(&AppListFilter::default(), 0, 10).await.unwrap();
    assert_eq!(apps.len(), 1);
}

pub(crate) async fn a_new_password_or_a_revocation_of_all_access_ends_families(store: Store) {
    add_alice_and_app(&store).await;
    store.add_account(&any_events(), &account(9, "carol")).await.unwrap();
    let key = set_key(&store);
    sign_in(&store, "f").await;
    redeem_grant(&store, "other account", &CodeGrant { account_id: 9, ..family_grant() }).await;
    let first = state(&store, &key, "f").await;
    let next = TokenFamily { base: 0, newest: 1, is_used: false, issued_at: timestamp(START + 1) };
    assert!(is_accepted(&store, access(&key, "f", 0)).await, "fills the cache");

    let access_end = ExistingAccess::RevokeAt(timestamp(START));
    store.set_password(&any_events(), 7, "new", access_end).await.unwrap();
    let token = store.token(access(&key, "f", 0)).await.unwrap().unwrap();
    assert_eq!(token.check_validity(timestamp(START)), Err(TokenError::Revoked));
    assert!(is_revoked(&store, &key, "f").await);
    assert_eq!(advance(&store, "f", first, next).await, WriteOutcome::NotFound);

    assert!(!is_revoked(&store, &key, "other account").await);
    let revoked_count = store.revoke_access(&any_events(), 9, None, timestamp(START)).await;
    assert_eq!(revoked_count, Ok(1));
    assert!(is_revoked(&store, &key, "other account").await);
    assert_eq!(advance(&store, "other account", first, next).await, WriteOutcome::NotFound);
}

pub(crate) async fn no_refresh_concurrent_with_a_revocation_survives_it(store: Store) {
    add_alice_and_app(&store).await;
    sign_in(&store, "f").await;
    let key = set_key(&store);
    let task_key = key.clone();
    let (store, _): (Arc<Store>, Vec<()>) = run_concurrently(store, move |store, index| {
        let key = task_key.clone();
        async move {
            if index == 32 {
                store.revoke_access(&any_events(), 7, None, timestamp(START + 1)).await.unwrap();
                return;
            }
            for _ in 0..8 {
                let read = state(&store, &key, "f").await;
                let next = TokenFamily { base: read.newest, newest: read.newest + 1, ..read };
                advance(&store, "f", read, next).await;
            }
        }
    })
    .await;
    assert!(is_revoked(&store, &key, "f").await);
    let newest = state(&store, &key, "f").await.newest;
    let token = store.token(access(&key, "f", newest)).await.unwrap().unwrap();
    assert_eq!(token.check_validity(timestamp(START)), Err(TokenError::Revoked));
}

pub(crate) async fn a_family_ends_180_days_after_its_last_refresh_and_is_deleted_30_days_later(
    store: Store,
) {
    add_alice_and_app(&store).await;
    let key = set_key(&store);
    sign_in(&store, "idle").await;
    sign_in(&store, "refreshed").await;
    let secret = refresh_token(&key, "refreshed", 0);
    assert!(refresh(&store, secret, START + 100 * DAY).await.is_advanced());
    let family = async |name| store.family(refresh_token(&key, name, 1)).await.unwrap();
    for (name, end) in [("idle", START + 180 * DAY), ("refreshed", START + 280 * DAY)] {
        let row = family(name).await.unwrap().row;
        assert_eq!(row.check_validity(timestamp(end - 1)), Ok(()), "{name}");
        assert_eq!(row.check_validity(timestamp(end)), Err(TokenError::Expired), "{name}");
    }
    // Sweeps until a few minutes after the hour.
    for (time, remaining) in [
        (START + 210 * DAY - 7200, [true, true]),
        (START + 210 * DAY, [false, true]),
        (START + 310 * DAY - 7200, [false, true]),
        (START + 310 * DAY, [false, false]),
    ] {
        settle(&store, time).await;
        let found = [family("idle").await.is_some(), family("refreshed").await.is_some()];
        assert_eq!(found, remaining, "{time}");
    }
    assert!(!store.has_families().await.unwrap());
}

pub(crate) async fn a_lost_response_is_repeated_and_a_used_token_is_recognised(store: Store) {
    add_alice_and_app(&store).await;
    sign_in(&store, "f").await;
    let key = set_key(&store);
    let present = async |generation, now| {
        let outcome = refresh(&store, refresh_token(&key, "f", generation), now).await;
        (outcome.is_advanced(), outcome.state().map(|state| (state.base, state.newest)))
    };
    let later = START + REPEAT_SECONDS;
    assert_eq!(present(0, START).await, (true, Some((0, 1))));
    assert_eq!(present(0, later).await, (false, Some((0, 1))), "the response was lost");
    assert_eq!(present(0, later + 1).await, (true, Some((0, 2))), "it was lost for longer");
    assert_eq!(present(1, later + 1).await, (false, None), "nobody has received it");
    assert!(is_accepted(&store, access(&key, "f", 2)).await);
    store.flush_uses().await.unwrap();
    assert_eq!(present(0, later + 1).await, (false, Some((0, 2))), "a second process has it");
    assert_eq!(present(0, later + 1 + REPEAT_SECONDS + 1).await, (false, None), "it was copied");
    assert_eq!(present(2, later + 2).await, (true, Some((2, 3))));
}
