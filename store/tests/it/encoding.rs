//! Encodings of PostgreSQL databases.

use belfry_store::Database;
use belfry_store::Store;
use jiff::Timestamp;

use belfry_store::test::{TestDatabase, new_database, options};

#[tokio::test]
async fn an_encoding_that_cannot_store_all_text_is_rejected_with_a_hint() {
    let Some(TestDatabase { database: Database::Postgres(server_url), .. }) =
        TestDatabase::postgres().await
    else {
        return;
    };
    for (encoding, is_accepted) in [("LATIN1", false), ("SQL_ASCII", true)] {
        let url =
            new_database(server_url.reveal(), &format!("encoding '{encoding}' locale 'C'")).await;
        let database = Database::Postgres(url.parse().unwrap());
        match Store::open(&database, &options(), Timestamp::UNIX_EPOCH).await {
            Ok(_) => assert!(is_accepted, "{encoding}"),
            Err(error) => {
                let message = error.to_string();
                assert!(!is_accepted && message.contains("LATIN1"), "{message}");
                assert!(
                    message.contains("create database … encoding 'UTF8' template template0"),
                    "{message}"
                );
            }
        }
    }
}
