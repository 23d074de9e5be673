//! Simulated hours of abuse, after which tables and files must be bounded.

use std::path::PathBuf;

use axum::http::StatusCode;
use belfry::config::Config;
use belfry_store::Database;
use futures_util::future::join_all;
use rusqlite::Connection;

use crate::support::oauth_client::{CALLBACK, OAuthClient};
use crate::support::{Service, TestDatabase};

const MIB: u64 = 1024 * 1024;

fn database_path(database: &TestDatabase) -> PathBuf {
    let Database::Sqlite(path) = &database.database else { panic!("not SQLite") };
    path.clone()
}

fn row_count(connection: &Connection, table: &str) -> i64 {
    let select = format!("select count(*) from {table}");
    connection.query_row(&select, [], |row| row.get(0)).unwrap()
}

/// Size of the files and of the process memory after an hour.
#[derive(Debug, Clone, Copy)]
struct Size {
    file_bytes: u64,
    memory_bytes: u64,
}

/// Returns the resident memory of this process, in bytes.
fn resident_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Sends authorization requests, registers apps and requests a token for each of them, from many
/// addresses in each minute of these hours, within the rate limits. One more app requests
/// several tokens per minute. Returns the sizes after each hour.
async fn simulate_abuse(hours: u32, addresses: u32) -> Vec<Size> {
    let mut config = Config::default();
    config.retention.max_unauthorized_apps = 100 * addresses;
    let max_app_tokens = i64::try_from(config.oauth.max_app_tokens).unwrap();
    let database = TestDatabase::sqlite();
    let path = database_path(&database);
    let service = Service::start_on(database, config).await;
    let app = service.register_client().await;
    let state = "s".repeat(1000);
    let authorize_path = app.authorize_path(&[("state", &state)]);
    let registration = format!("client_name=A&redirect_uris={CALLBACK}");
    let connection = Connection::open(&path).unwrap();
    let mut sizes = Vec::new();
    for hour in 1..=hours {
        for _ in 0..60 {
            join_all((0..addresses).map(async |number| {
                let [_, _, high, low] = number.to_be_bytes();
                let client = service.anonymous_client().with_address([198, 51, high, low]);
                client.get(&authorize_path).await;
                let form_client =
                    client.with_header("content-type", "application/x-www-form-urlencoded");
                let app_json =
                    form_client.send("POST /api/v1/apps", registration.clone()).await.json();
                let [id, secret] = ["client_id", "client_secret"]
                    .map(|field| app_json[field].as_str().unwrap().to_owned());
                let new_app = OAuthClient { http: form_client, id, secret, ..app.clone() };
                new_app.obtain_app_token("read").await;
            }))
            .await;
            // Often enough to exceed the number of app tokens that one app can have.
            for _ in 0..4 {
                app.obtain_app_token("read").await;
            }
            service.clock.advance(60);
            service.state.flush_uses().await;
            service.state.delete_excess_rows().await;
            service.state.sweep().await;
        }
        let apps = i64::from(addresses) * 130;
        for (table, bound) in
            [("requests", apps), ("apps", apps), ("tokens", apps + max_app_tokens)]
        {
            let rows = row_count(&connection, table);
            assert!(rows > 0 && rows <= bound, "{rows} rows of {table}, at most {bound}");
        }
        let file_size = |suffix: &str| {
            let file = path.with_file_name(format!("belfry.db{suffix}"));
            file.metadata().map_or(0, |file| file.len())
        };
        assert!(file_size("-wal") < 32 * MIB, "the WAL has {} bytes", file_size("-wal"));
        let file_bytes = file_size("") + file_size("-wal");
        let memory_bytes = resident_memory_bytes();
        println!(
            "hour {hour}: {} MiB on disk, {} MiB in memory",
            file_bytes / MIB,
            memory_bytes / MIB
        );
        sizes.push(Size { file_bytes, memory_bytes });
    }
    let token = app.obtain_app_token("read").await;
    let client = service.anonymous_client().with_token(&token);
    client.get("/api/v1/apps/verify_credentials").await.expect_json(StatusCode::OK);
    sizes
}

/// Asserts that the files stay within the bound in docs/databases.md, and hardly grow in the second
/// half.
fn assert_file_sizes_bounded(sizes: &[Size], addresses: u64) {
    let bound = 64 * MIB + addresses * MIB;
    assert!(sizes.iter().all(|size| size.file_bytes < bound), "{sizes:?}, at most {bound}");
    let half_time_bytes = sizes[sizes.len() / 2].file_bytes;
    let final_bytes = sizes[sizes.len() - 1].file_bytes;
    assert!(
        final_bytes <= half_time_bytes + half_time_bytes / 4 + MIB,
        "the files still grow: {sizes:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hours_of_abuse_leave_tables_and_files_bounded() {
    assert_file_sizes_bounded(&simulate_abuse(4, 4).await, 4);
}

/// 24 simulated hours from 1,000 addresses.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: simulates a day of requests"]
async fn a_day_of_abuse_from_1000_addresses_leaves_files_and_memory_bounded() {
    let memory_before = resident_memory_bytes();
    let sizes = simulate_abuse(24, 1000).await;
    assert_file_sizes_bounded(&sizes, 1000);
    let peak_memory = sizes.iter().map(|size| size.memory_bytes).max().unwrap_or_default();
    let growth = peak_memory.saturating_sub(memory_before);
    assert!(growth < 1024 * MIB, "{growth} bytes of memory");
}
