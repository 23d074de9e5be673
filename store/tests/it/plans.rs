//! Query plans of statements that are executed often.

use super::cases::deliveries::{NOW, ORIGIN, claim, delivered, delivery, enqueue, failed, record};
use super::cases::receivers::{add_accounts_and_token, add_receiver, pusher};
use super::cases::{add_alice_and_app, hashed_secret, timestamp, token};
use super::nodes::connect;
use belfry_core::push::lane::LaneRecord;
use belfry_store::test::{RecordedStatement, TestDatabase, any_events, execute_sql};
use belfry_store::{Database, RetentionSettings};
use rusqlite::StatementStatus;
use tokio_postgres::types::ToSql;

/// Selects the last statement of another session that matches a pattern.
const SELECT_LAST_STATEMENT: &str = "select query from pg_stat_activity \
    where datname = current_database() and pid <> pg_backend_pid() and query like $1 \
    order by query_start desc limit 1";

/// There are no statistics after an import or a restore.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_found_through_indexes_even_without_statistics() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let store = database.open().await;
    add_alice_and_app(&store).await;
    let client = connect(&database).await;
    let insert_rows = "insert into accounts (id, name, password, role, created_at) \
                select number, 'user' || number, '', 'user', 0 from generate_series(100, 2000) number; \
                insert into tokens (lookup, digest, app_id, account_id, scopes, created_at) \
                select 'token' || number, '', 1, 7, 'read', 0 from generate_series(1, 50000) number";
    client.batch_execute(insert_rows).await.unwrap();
    assert!(store.token(hashed_secret("unknown")).await.unwrap().is_none());
    let select: String =
        client.query_one(SELECT_LAST_STATEMENT, &[&"select t.digest%"]).await.unwrap().get(0);
    client
        .batch_execute(&format!(
            "set plan_cache_mode = force_generic_plan; prepare token (text) as {select}"
        ))
        .await
        .unwrap();
    let rows = client.query("explain execute token('unknown')", &[]).await.unwrap();
    let plan = rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n");
    assert!(plan.contains("tokens_by_lookup") && plan.contains("accounts_pkey"), "{plan}");
    assert!(!plan.contains("Seq Scan on accounts"), "{plan}");
}

/// PostgreSQL plans a prepared statement at least five times, then reuses one plan for all values
/// if that is not more expensive. Planning the insert takes longer than executing it.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_inserted_without_planning_each_time() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let store = database.open().await;
    add_alice_and_app(&store).await;
    let client = connect(&database).await;
    let (store, recording) = store.with_statement_recorder();
    store.add_app_token(&token("token None", None)).await.unwrap();
    store.add_token(&any_events(), &token("token Some(7)", Some(7))).await.unwrap();
    let recorded = recording.lock().unwrap().clone();
    let inserts: Vec<&str> = recorded
        .iter()
        .map(|statement| statement.numbered_sql)
        .filter(|sql| sql.starts_with("insert into tokens "))
        .collect();
    assert_eq!(inserts.len(), 2);
    for (account, insert) in [None, Some(7_i64)].into_iter().zip(inserts) {
        let name = format!("token {account:?}");
        let grant_values: &[&(dyn ToSql + Sync)] =
            if account.is_some() { &[&"read", &"", &""] } else { &[] };
        let insert = client.prepare(insert).await.unwrap();
        for number in 0..10 {
            let (lookup, none) = (format!("{name} {number}"), None::<i64>);
            let token_values: [&(dyn ToSql + Sync); 7] =
                [&lookup, &"", &1_i64, &account, &"read", &1_i64, &none];
            let row_count = client.execute(&insert, &[&token_values, grant_values].concat()).await;
            assert_eq!(row_count.unwrap(), 1, "{lookup}");
        }
        let select = "select custom_plans from pg_prepared_statements where statement like $1 \
                      order by prepare_time desc limit 1";
        let plan_count: i64 =
            client.query_one(select, &[&"insert into tokens%"]).await.unwrap().get(0);
        assert_eq!(plan_count, 5, "{account:?}");
    }
}

/// Returns the cost of reading which apps have access to alice's account: steps of SQLite's virtual
/// machine, or rows that PostgreSQL reads.
async fn measure_access_cost(database: &TestDatabase) -> u64 {
    let (store, recording) = database.open().await.with_statement_recorder();
    let now = timestamp(1_800_000_000);
    assert_eq!(store.active_grants(7, 1, now).await.unwrap().len(), 1);
    assert_eq!(store.authorized_apps(7, now).await.unwrap().len(), 1);
    assert!(!store.account_app_tokens(7, 1, now).await.unwrap().is_empty());
    let recorded = recording.lock().unwrap().clone();
    let mut cost = 0;
    for select in &recorded {
        cost += measure_cost(database, &select.sql).await;
    }
    cost
}

async fn measure_cost(database: &TestDatabase, sql: &str) -> u64 {
    if let Database::Sqlite(path) = &database.database {
        let connection = rusqlite::Connection::open(path).unwrap();
        let mut statement = connection.prepare(sql).unwrap();
        let mut rows = statement.query([]).unwrap();
        while rows.next().unwrap().is_some() {}
        drop(rows);
        return u64::try_from(statement.get_status(StatementStatus::VmStep)).unwrap();
    }
    let client = connect(database).await;
    let explain = format!("explain (analyze, costs off, timing off) {sql}");
    let plan = client.query(&explain, &[]).await.unwrap();
    let lines: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
    let number_after = |text: &str, label: &str| -> Option<u64> {
        let digits = text.split_once(label)?.1;
        let end = digits.find(|char: char| !char.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().ok()
    };
    let rows_read = lines
        .iter()
        .filter_map(|line| Some(number_after(line, "rows=")? * number_after(line, "loops=")?));
    let rows_removed =
        lines.iter().filter_map(|line| number_after(line, "Rows Removed by Filter: "));
    rows_read.chain(rows_removed).sum()
}

/// A grant has at most a hundred valid tokens, and a few more until the next sweep.
#[tokio::test(flavor = "multi_thread")]
async fn reading_access_costs_the_same_with_many_tokens() {
    for database in [Some(TestDatabase::sqlite()), TestDatabase::postgres().await] {
        let Some(database) = database else { continue };
        let store = database.open().await;
        add_alice_and_app(&store).await;
        store.add_token(&any_events(), &token("t", Some(7))).await.unwrap();
        let cost_of_one = measure_access_cost(&database).await;
        let insert_rows = "insert into tokens \
                    (lookup, digest, app_id, account_id, scopes, created_at, grant_id) \
                    with recursive numbers (number) as (select 1 union all \
                    select number + 1 from numbers where number < 100000) \
                    select '0000000000000000' || (1000000000000000 + number), '', 1, 7, 'read', 0, (select id from grants) \
                    from numbers";
        execute_sql(&database, insert_rows).await;
        execute_sql(&database, "analyze").await;
        let cost_of_many = measure_access_cost(&database).await;
        // The list shows 101 of the app's tokens, each of which costs some steps.
        assert!(
            cost_of_many < cost_of_one + 101 * 100,
            "{cost_of_one} with one token, {cost_of_many} with 100,001"
        );
    }
}

/// The tables that statements of the delivery queue must not read as a whole.
const LARGE_TABLES: [&str; 5] = ["deliveries", "receivers", "messages", "tokens", "accounts"];

/// Returns the lines of a statement's plan that read a whole large table.
async fn find_table_scans(database: &TestDatabase, statement: &RecordedStatement) -> Vec<String> {
    let sql = &statement.sql;
    let (lines, scan): (Vec<String>, &str) = if let Database::Sqlite(path) = &database.database {
        let connection = rusqlite::Connection::open(path).unwrap();
        let mut explain = connection.prepare(&format!("explain query plan {sql}")).unwrap();
        let lines = explain.query_map([], |row| row.get(3)).unwrap().map(Result::unwrap);
        (lines.collect(), "SCAN ")
    } else {
        let client = connect(database).await;
        let rows = client.query(&format!("explain {sql}"), &[]).await.unwrap();
        (rows.iter().map(|row| row.get(0)).collect(), "Seq Scan on ")
    };
    let is_scan = |line: &String| {
        let scanned_table = line.split_once(scan).map(|(_, rest)| rest);
        scanned_table.is_some_and(|table| {
            let name = table.split(' ').next().unwrap_or_default();
            LARGE_TABLES.iter().any(|large| *large == name || large.starts_with(name))
        })
    };
    lines.into_iter().filter(is_scan).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_delivery_queue_reads_no_whole_table() {
    for database in [Some(TestDatabase::sqlite()), TestDatabase::postgres().await] {
        let Some(database) = database else { continue };
        let store = database.open().await;
        add_accounts_and_token(&store).await;
        add_receiver(&store, &pusher(7, 5, "a")).await;
        // Most deliveries have finished; the others wait in 100 lanes.
        let insert_rows = "insert into accounts (id, name, password, created_at) \
            with recursive numbers (number) as (select 1000 union all \
            select number + 1 from numbers where number < 51000) \
            select number, 'user' || number, '', 0 from numbers; \
            insert into tokens (lookup, digest, app_id, account_id, scopes, created_at) \
            select 'token' || id, '', 1, id, 'read', 0 from accounts where id >= 1000; \
            insert into receivers (account_id, id, protocol, token, app_id, push_key, document, \
            secrets, origin, created_at) select id, 1, 'gateway', 'token' || id, 'app', \
            'key' || id, '', '', 'https://' || (id % 100), 0 from accounts where id >= 1000; \
            insert into deliveries (id, dedup_key, account_id, receiver_id, protocol, origin, \
            message_id, event_id, details, created_at, expires_at, finished_at, outcome) \
            select 'd' || id, 'd' || id, id, 1, 'gateway', 'https://' || (id % 100), 'm' || id, \
            '', '', 0, 2000 + 2 * id, case when id % 4 > 0 then 500 end, \
            case when id % 4 > 0 then 'delivered' end from accounts where id >= 1000; \
            update receivers set waiting = 0, due_at = null where account_id % 4 > 0; \
            insert into lanes (origin, due_at) select distinct origin, 0 from deliveries; \
            insert into messages (id, content, created_at) select message_id, '', 0 \
            from deliveries where finished_at is null";
        execute_sql(&database, insert_rows).await;
        execute_sql(&database, "analyze").await;

        let (store, recording) = store.with_statement_recorder();
        let now = timestamp(NOW);
        enqueue(&store, &[delivery(7, 5, "$e")]).await;
        assert_eq!(store.due_lanes(false, 200, now).await.unwrap().len(), 101);
        assert_eq!(store.due_lanes(true, 200, now).await.unwrap(), []);
        for result in [failed, |claimed: &_, _| delivered(claimed)] {
            let claimed = claim(&store, "c", NOW).await;
            record(&store, &claimed, NOW, |claimed| result(claimed, NOW)).await;
        }
        store.release_claim("c", now).await.unwrap();
        store.pause_lane(ORIGIN, now, 1).await.unwrap();
        store.rest_lane(ORIGIN, &LaneRecord::default(), now).await.unwrap();
        store.wake_lanes(now).await;
        store.delivery_log(7, None, 100).await.unwrap();
        store.receivers_of_accounts(&[7], now).await.unwrap();
        store.delete_receiver(&any_events(), 7, 5).await.unwrap();
        let mut recorded = recording.lock().unwrap().clone();
        let (sweeping_store, sweep_recording) = store.with_statement_recorder();
        for minute in (0..=65).step_by(5) {
            let now = timestamp(NOW + 60 * minute);
            sweeping_store.sweep(&RetentionSettings::default(), now).await.unwrap();
        }

        let swept = sweep_recording.lock().unwrap().clone();
        let expiries = swept.into_iter().filter(|statement| statement.sql.contains("'sweep'"));
        recorded.extend(expiries);
        for statement in &recorded {
            let scans = find_table_scans(&database, statement).await;
            assert_eq!(scans, [""; 0], "{}", statement.sql);
        }
    }
}
