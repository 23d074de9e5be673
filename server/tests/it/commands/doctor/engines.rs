//! The checks of the database engines, their schema, and Redis.

use std::fs;
use std::net::TcpListener;

use belfry_store::test::PooledDatabase;
use test_engines::shared::engine_url;
use test_engines::shared::private_cluster;
use test_engines::{Postgres, Redis, free_port};

use super::{run_doctor, workspace_with_database};
use crate::commands::Workspace;
use crate::support::on_both_engines;
use crate::support::process::run_belfry;

async fn a_schema_from_a_different_version_is_reported(workspace: Workspace) {
    workspace.configure("listen = '127.0.0.1:1'");
    workspace.run(&["account", "add", "alice"]);
    let report = run_doctor(&workspace, &[]);
    report.assert_status("database", "ok", "can be read");
    assert_eq!(report.exit_code, Some(0));

    workspace.execute_sql("update migrations set number = 11").await;
    let report = run_doctor(&workspace, &[]);
    report.assert_failed("database", "created by a pre-release of belfry (schema version 11)");

    workspace.execute_sql("update migrations set number = 999").await;
    let report = run_doctor(&workspace, &[]);
    report.assert_status("database", "ok", "can be read");

    workspace.execute_sql("update migrations set compatible_from = 999").await;
    let report = run_doctor(&workspace, &[]);
    report.assert_failed("database", "newer belfry with schema version 999");
}

on_both_engines! {
    crate::commands::create_workspace:
    a_schema_from_a_different_version_is_reported,
}

#[test]
fn a_file_that_is_not_a_database_is_reported_with_a_fix() {
    let workspace = workspace_with_database();
    fs::write(workspace.path().join("data/belfry.db"), "x".repeat(4096)).unwrap();
    let report = run_doctor(&workspace, &["--listen", "127.0.0.1:1"]);
    let expected_text = "the file is not a SQLite database stop the server, move the files of the \
                         database away, and restore a backup";
    report.assert_failed("database", expected_text);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_check_fails_for_a_sound_postgres() {
    let Some(workspace) = Workspace::postgres().await else { return };
    workspace.configure("listen = '127.0.0.1:1'");
    let report = run_doctor(&workspace, &[]);
    report.assert_failed("database", "does not exist or is empty");
    workspace.run(&["account", "add", "alice"]);
    let report = run_doctor(&workspace, &[]);
    report.assert_status("database", "ok", "can be read");
    assert_eq!(report.exit_code, Some(0));
}

#[test]
fn a_postgres_that_does_not_respond_is_reported() {
    let workspace = workspace_with_database();
    let url = format!("postgres://me:hunter2@127.0.0.1:{}/belfry", free_port().unwrap());
    let report = run_doctor(&workspace, &["--database", &url]);
    report.assert_failed("database", "start PostgreSQL, or correct host and port in the URL");
    let results_text = format!("{:?}", report.results);
    assert!(
        results_text.contains("Connection refused") && !results_text.contains("hunter2"),
        "{results_text}"
    );
}

/// The recommended fix depends on the cause.
#[test]
fn a_postgres_that_rejects_the_connection_is_reported_with_a_fix() {
    let Some(server_url) = engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES") else { return };
    let server_url = url::Url::parse(&server_url).unwrap();
    let [mut wrong_database, mut wrong_user, mut tls_required, mut wrong_host] =
        [(); 4].map(|()| server_url.clone());
    wrong_database.set_path("nowhere");
    wrong_user.set_username("nobody").unwrap();
    tls_required.set_query(Some("sslmode=require"));
    wrong_host.set_host(Some("nowhere.invalid")).unwrap();
    let workspace = workspace_with_database();
    for (url, problem) in [
        (
            wrong_database,
            "database \"nowhere\" does not exist; create it (create database … owner …)",
        ),
        (wrong_user, "role \"nobody\" does not exist; create the role, or allow it to connect"),
        (
            tls_required,
            "server does not support TLS; correct the URL: postgres://USER:PASSWORD@HOST/DATABASE, with",
        ),
        (wrong_host, "; check host and port in the URL"),
    ] {
        let report = run_doctor(&workspace, &["--database", url.as_str()]);
        report.assert_status("database", "failed", problem);
        assert_eq!(report.exit_code, Some(1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_postgres_password_is_reported_with_a_fix() {
    if engine_url("PostgreSQL", "BELFRY_TEST_POSTGRES").is_none() {
        return;
    }
    let access_rules =
        "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
    let postgres = Postgres::start_with(&[("pg_hba.conf", access_rules)], &[]).unwrap();
    let (client, connection) =
        tokio_postgres::connect(&postgres.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("create role belfry superuser login password 'a/b#c'").await.unwrap();
    let workspace = workspace_with_database();
    let run_doctor_as = |user: &str| {
        run_doctor(&workspace, &["--database", &postgres.url().replace("postgres@", user)])
    };
    let advice = "correct the user and the password in the URL; percent-encode";
    run_doctor_as("belfry:wrong@").assert_failed("database", advice);
    run_doctor_as("belfry@")
        .assert_failed("database", "password missing; correct the URL: postgres://USER");
    run_doctor_as("belfry:a/b#c@").assert_failed("settings", "write %2F for /, %23 for #");
    run_doctor_as("belfry:a%2Fb%23c@").assert_failed("database", "does not exist or is empty");
}

#[test]
fn doctor_waits_only_briefly_for_a_redis_that_does_not_respond() {
    let workspace = workspace_with_database();
    // Connections are accepted by the system, and never served.
    let silent_listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let report = run_doctor(
        &workspace,
        &["--redis", &format!("redis://{}", silent_listener.local_addr().unwrap())],
    );
    report.assert_failed("redis", "no response within 5 s");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_cannot_count_is_reported() {
    if engine_url("Redis", "BELFRY_TEST_REDIS").is_none() {
        return;
    }
    let mut redis = Redis::start().unwrap();
    let workspace = workspace_with_database();
    workspace.configure("listen = '127.0.0.1:1'\nlimits.redis_timeout = '30s'");
    let report = run_doctor(&workspace, &["--redis", &redis.url()]);
    report.assert_status("redis", "ok", "counting a request takes");
    assert_eq!(report.exit_code, Some(0));
    workspace.configure("listen = '127.0.0.1:1'\nlimits.redis_timeout = '1us'");
    let report = run_doctor(&workspace, &["--redis", &redis.url()]);
    report.assert_status("redis", "warning", "or raise limits.redis_timeout");
    workspace.configure("listen = '127.0.0.1:1'\nlimits.redis_timeout = '30s'");

    let client = redis::Client::open(redis.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let acl = ["SETUSER", "limited", "on", ">hunter2", "~*", "+@all", "-@scripting"];
    redis::cmd("ACL").arg(&acl).exec_async(&mut connection).await.unwrap();
    let url = redis.url().replace("redis://", "redis://limited:hunter2@");
    let report = run_doctor(&workspace, &["--redis", &url]);
    report.assert_failed("redis", "ACL SETUSER … ~belfry:* +eval +evalsha");
    let results_text = format!("{:?}", report.results);
    assert!(!results_text.contains("hunter2"), "{results_text}");

    // The recommended permissions are enough.
    let commands = "+eval +evalsha +get +set +incr +decr +pttl +pexpire +time";
    let mut sufficient_acl = vec!["SETUSER", "limited", "reset", "on", ">hunter2", "~belfry:*"];
    sufficient_acl.extend(commands.split(' '));
    redis::cmd("ACL").arg(&sufficient_acl).exec_async(&mut connection).await.unwrap();
    run_doctor(&workspace, &["--redis", &url]).assert_status("redis", "ok", "");
    let report = run_doctor(&workspace, &["--redis", &url.replace("hunter2", "wrong")]);
    report.assert_failed("redis", "write the password into the URL");

    redis.stop().unwrap();
    let report = run_doctor(&workspace, &["--redis", &redis.url()]);
    report.assert_failed("redis", "start Redis, or correct its URL");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_shard_of_a_cluster_is_checked() {
    let Some(mut cluster) = private_cluster() else { return };
    let workspace = workspace_with_database();
    workspace.configure("listen = '127.0.0.1:1'\nlimits.redis_timeout = '30s'");
    let primaries = cluster.primaries().unwrap();
    let shards: Vec<String> =
        primaries.iter().map(|&number| format!("{}: ", cluster.node(number).address())).collect();
    let report = run_doctor(&workspace, &["--redis", &cluster.url()]);
    for shard in &shards {
        report.assert_status("redis", "ok", &format!("{shard}counting a request takes"));
    }
    assert_eq!(report.exit_code, Some(0));
    assert!(
        report.lines("redis").iter().all(|line| line.starts_with("ok")),
        "{:?}",
        report.results
    );

    // The recommended permissions are enough.
    let commands = "+eval +evalsha +get +set +incr +decr +pttl +pexpire \
                    +cluster|slots +asking +time";
    for number in 0..6 {
        let mut acl = vec!["ACL", "SETUSER", "limited", "on", ">hunter2", "~belfry:*"];
        acl.extend(commands.split(' '));
        cluster.run_command(number, &acl).unwrap();
    }
    let url = cluster.url().replace("redis://", "redis://limited:hunter2@");
    let report = run_doctor(&workspace, &["--redis", &url]);
    report.assert_status("redis", "ok", &shards[0]);

    // A single address may also be a server outside a cluster. The probe's key is on one shard, so
    // the other two cannot count it.
    for number in 0..6 {
        cluster.run_command(number, &["ACL", "SETUSER", "limited", "-cluster|slots"]).unwrap();
    }
    let rejecting_primaries = primaries.iter().filter(|&&number| {
        let url = cluster.node_url(number).replace("redis://", "redis://limited:hunter2@");
        let report = run_doctor(&workspace, &["--redis", &url]);
        report.lines("redis").iter().any(|line| line.contains("+cluster|slots"))
    });
    assert_eq!(rejecting_primaries.count(), 2);

    cluster.node(primaries[1]).kill().unwrap();
    let report = run_doctor(&workspace, &["--redis", &cluster.url()]);
    report.assert_status("redis", "ok", &shards[0]);
    report.assert_failed("redis", &shards[1]);
    report.assert_failed("redis", "; each node counts requests in its own memory");
    assert_ne!(report.exit_code, Some(0));

    let redis = Redis::start().unwrap();
    let repeated_url = format!("redis://{0},{0}", redis.address());
    let report = run_doctor(&workspace, &["--redis", &repeated_url]);
    report.assert_failed("redis", "not a cluster");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_without_sessions_is_reported_without_waiting() {
    let Some(pooled_database) = PooledDatabase::start("transaction").await else { return };
    let dir = tempfile::tempdir().unwrap();
    let output = run_belfry(dir.path(), &["doctor", "--database", &pooled_database.url]);
    let report = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{report}");
    assert!(report.contains("pool_mode = session"), "{report}");

    // The server exits immediately, whereas it would wait during an outage.
    let serve = ["serve", "--listen", "127.0.0.1:0", "--database", &pooled_database.url];
    let output = run_belfry(dir.path(), &serve);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("pool_mode = session"), "{message}");
    assert!(!message.contains("waiting for the database"), "{message}");
}
