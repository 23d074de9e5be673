//! New ids if the first candidates are taken.

use std::time::Duration;

use belfry_core::account::Role;
use belfry_core::oauth::app::AppDetails;
use belfry_core::oauth::client::{ClientProperties, Registrar};
use belfry_core::oauth::issuer_policy::MASTODON;
use belfry_store::test::{TestDatabase, any_events, execute_sql};
use belfry_store::{AccountListFilter, AddAccountError, StoreError};

use super::cases::account_import::import_with_rulesets;
use super::cases::timestamp;

/// Creation time encoded in all new ids, as Unix time in seconds.
const NOW: i64 = 1_800_000_000;
const IDS_PER_MILLISECOND: i64 = 65_536;
/// Maximum number of accounts per import transaction (`MAX_BATCH_ACCOUNTS` in the server).
const BATCH_ACCOUNTS: usize = 500;

/// Fills all ids of a millisecond, then imports 4,464 accounts in it.
async fn import_when_all_ids_of_the_millisecond_are_taken(database: TestDatabase) {
    let store = database.open().await;
    let first_id = NOW * 1000 * IDS_PER_MILLISECOND;
    let take_ids = format!(
        "with recursive ids (id) as (select cast({first_id} as bigint) union all select id + 1 \
         from ids where id + 1 < {first_id} + {IDS_PER_MILLISECOND}) insert into accounts \
         (id, name, password, created_at) \
         select id, 'taken' || id, '!', {NOW} from ids"
    );
    execute_sql(&database, &take_ids).await;
    let names: Vec<String> = (0..4_464).map(|number| format!("new{number}")).collect();
    for batch in names.chunks(BATCH_ACCOUNTS) {
        let imports = batch.iter().map(|name| import_with_rulesets(name, Vec::new())).collect();
        let events = any_events();
        let import = store.import_accounts(&events, timestamp(NOW), imports);
        // This would never end if an id of the same millisecond were retried.
        let outcomes = tokio::time::timeout(Duration::from_mins(5), import).await.unwrap().unwrap();
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    }
    let name_prefix = Some("new".to_owned());
    let filter = AccountListFilter { name_prefix, ..AccountListFilter::default() };
    assert_eq!(store.accounts(&filter, "", 10_000).await.unwrap().len(), names.len());
}

#[tokio::test]
async fn accounts_are_imported_when_all_ids_of_the_millisecond_are_taken_on_sqlite() {
    import_when_all_ids_of_the_millisecond_are_taken(TestDatabase::sqlite()).await;
}

#[tokio::test]
async fn accounts_are_imported_when_all_ids_of_the_millisecond_are_taken_on_postgres() {
    let Some(database) = TestDatabase::postgres().await else { return };
    import_when_all_ids_of_the_millisecond_are_taken(database).await;
}

/// No row is ever added, as if every id were taken.
#[tokio::test]
async fn when_no_id_is_free_every_insert_fails_with_no_free_id() {
    let database = TestDatabase::sqlite();
    let store = database.open().await;
    for table in ["accounts", "apps"] {
        let trigger = format!(
            "create trigger ignore_{table} before insert on {table} \
             begin select raise(ignore); end"
        );
        execute_sql(&database, &trigger).await;
    }
    let insert_with_every_method = async {
        let imports = vec![
            import_with_rulesets("alice", Vec::new()),
            import_with_rulesets("bob", Vec::new()),
        ];
        let outcomes = store.import_accounts(&any_events(), timestamp(NOW), imports).await.unwrap();
        let name = "carol".to_owned();
        let password = "!".to_owned();
        let account = store
            .create_account(&any_events(), timestamp(NOW), name, None, password, Role::User)
            .await;
        let details = AppDetails {
            name: "Tusky".to_owned(),
            website: None,
            redirect_uris: Vec::new(),
            scopes: "read".parse().unwrap(),
        };
        let properties = ClientProperties::new(&MASTODON, Registrar::Api);
        let app = store.create_app(&any_events(), timestamp(NOW), details, properties).await;
        assert_eq!(app.unwrap_err(), StoreError::NoFreeId);
        [outcomes, vec![account.map(drop)]].concat()
    };
    let outcomes =
        tokio::time::timeout(Duration::from_mins(5), insert_with_every_method).await.unwrap();
    assert_eq!(outcomes.len(), 3);
    for outcome in outcomes {
        let is_expected = matches!(outcome, Err(AddAccountError::Store(StoreError::NoFreeId)));
        assert!(is_expected, "{outcome:?}");
    }
}
