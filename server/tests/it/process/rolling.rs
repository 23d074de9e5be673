//! Rolling restarts: three nodes behind nginx, with the configuration of docs/operating.md, are
//! restarted one by one under load. No acknowledged write is lost.

mod load;

use std::path::Path;
use std::time::{Duration, Instant};

use belfry_store::test::execute_sql;
use tempfile::TempDir;
use test_engines::shared::engine_url;
use test_engines::{EngineError, Proxy, free_port};

use self::load::Load;
use crate::support::process::belfry_command;
use crate::support::{ServerProcess, TestDatabase, report_skipped};

const GUIDE: &str = include_str!("../../../../docs/operating.md");
const NGINX_EXAMPLE: &str = include_str!("../../../../docs/examples/nginx.conf");

/// Far longer than any step, even on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Three nodes on one PostgreSQL and Redis, behind nginx.
struct Installation {
    nodes: Vec<Node>,
    url: String,
    database: TestDatabase,
    _nginx: Proxy,
}

struct Node {
    address: String,
    arguments: Vec<String>,
    process: ServerProcess,
    dir: TempDir,
}

impl Node {
    fn launch(address: &str, arguments: &[String], dir: &Path) -> ServerProcess {
        let mut serve_arguments = vec!["serve", "--listen", address];
        serve_arguments.extend(arguments.iter().map(String::as_str));
        ServerProcess::launch(belfry_command(dir, &serve_arguments), dir)
    }

    /// Restarts the node, and waits until nginx sends requests to it again.
    async fn restart(&mut self, load: &Load) {
        self.process.signal("TERM");
        assert_eq!(tokio::task::block_in_place(|| self.process.wait()), Some(0));
        load.wait_for_requests(20).await;
        self.process = Self::launch(&self.address, &self.arguments, self.dir.path());
        let start = Instant::now();
        while !self.has_issued_tokens().await {
            assert!(start.elapsed() < TIMEOUT, "nginx does not use the node again");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn has_issued_tokens(&self) -> bool {
        let metrics = reqwest::get(format!("{}/metrics", self.process.url)).await.unwrap();
        let token_series = "belfry_http_requests_total{route=\"/oauth/token\"";
        metrics.text().await.unwrap().contains(token_series)
    }
}

impl Installation {
    /// Starts the nodes and nginx. Returns `None` if an engine or nginx is missing.
    async fn start(shutdown_delay: &str) -> Option<Self> {
        let redis = engine_url("Redis", "BELFRY_TEST_REDIS")?;
        let database = TestDatabase::postgres().await?;
        let port = free_port().unwrap();
        let url = format!("http://127.0.0.1:{port}");
        let settings = format!(
            "base_url = '{url}'\ntrusted_proxies = ['127.0.0.1']\n\
             [http]\nshutdown_delay = '{shutdown_delay}'\n[store]\nconnections = 4\n"
        );
        let postgres = database.url().unwrap();
        // Requests are counted, but none is rejected.
        let arguments = ["--limits", "shadow", "--database", postgres, "--redis", &redis];
        let arguments: Vec<String> = arguments.map(str::to_owned).into();
        let nodes = [(); 3].map(|()| {
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join("belfry.toml"), &settings).unwrap();
            let address = format!("127.0.0.1:{}", free_port().unwrap());
            let process = Node::launch(&address, &arguments, dir.path());
            Node { address, arguments: arguments.clone(), process, dir }
        });
        let nginx = match Proxy::nginx(port, &nginx_configuration(port, &nodes)) {
            Ok(nginx) => nginx,
            Err(error @ EngineError::Missing(_)) => {
                report_skipped("nginx", &error.to_string());
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        Some(Self { nodes: nodes.into(), url, database, _nginx: nginx })
    }

    fn node_urls(&self) -> Vec<String> {
        self.nodes.iter().map(|node| node.process.url.clone()).collect()
    }
}

/// Returns an nginx configuration: the upstream in the guide with these nodes, and the location in
/// the example.
fn nginx_configuration(port: u16, nodes: &[Node]) -> String {
    let (_, section) = GUIDE.split_once("\n## Rolling restarts\n").unwrap();
    let mut upstream =
        section.split("```nginx\n").nth(1).unwrap().split("```").next().unwrap().to_owned();
    for (node, address) in nodes.iter().zip(["10.0.0.11:8080", "10.0.0.12:8080", "10.0.0.13:8080"])
    {
        assert_eq!(upstream.matches(address).count(), 1, "{upstream}");
        upstream = upstream.replace(address, &node.address);
    }
    let location = &NGINX_EXAMPLE[NGINX_EXAMPLE.find("    location / {").unwrap()..];
    format!(
        "events {{}} http {{ access_log off; client_body_temp_path body; proxy_temp_path proxy;\n\
         {upstream}\nserver {{ listen 127.0.0.1:{port};\n{location}\n}}"
    )
}

/// Restarts all nodes one by one under load, and returns the requests that failed. Calls
/// `after_first_restart` once, between the first node and the second. If an engine or nginx is
/// missing, does nothing and returns no failures.
async fn restart_all_nodes(
    shutdown_delay: &str,
    after_first_restart: impl AsyncFnOnce(&TestDatabase),
) -> Vec<String> {
    let Some(mut installation) = Installation::start(shutdown_delay).await else { return vec![] };
    let mut after_first_restart = Some(after_first_restart);
    let load = Load::start(&installation.url, installation.database.url().unwrap()).await;
    for node in &mut installation.nodes {
        load.wait_for_requests(100).await;
        node.restart(&load).await;
        if let Some(after_first_restart) = after_first_restart.take() {
            after_first_restart(&installation.database).await;
        }
    }
    load.wait_for_requests(100).await;
    load.stop_and_verify(&installation.node_urls()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_fails_during_a_rolling_restart() {
    assert_eq!(restart_all_nodes("2s", async |_| {}).await, [""; 0]);
}

/// Without a delay, the node may close a keep-alive connection while a request is on its way. nginx
/// retries the request on another node, unless it is a POST.
#[tokio::test(flavor = "multi_thread")]
async fn no_idempotent_request_fails_during_a_rolling_restart_without_a_delay() {
    let failures = restart_all_nodes("0s", async |_| {}).await;
    let is_bad_gateway_for_post = |failure: &String| failure.starts_with("POST: 502");
    assert!(failures.len() <= 3 && failures.iter().all(is_bad_gateway_for_post), "{failures:?}");
}

/// A newer release migrates the database, while nodes of this release serve requests and are
/// restarted.
#[tokio::test(flavor = "multi_thread")]
async fn no_request_fails_during_a_migration_by_a_newer_release() {
    let migrate = async |database: &TestDatabase| {
        let migration = "alter table accounts add column added text not null default ''; \
                         insert into migrations select 999, 0, max(number) from migrations";
        execute_sql(database, migration).await;
    };
    assert_eq!(restart_all_nodes("2s", migrate).await, [""; 0]);
}
