//! 200 concurrent redemptions of one code, on three nodes.

use std::net::SocketAddr;
use std::sync::Barrier;
use std::thread;

use test_engines::Postgres;

use crate::Result;
use crate::app::App;
use crate::client::{Client, Request, Response};
use crate::node::Node;
use crate::outcome::Run;

const NODES: usize = 3;
const REDEMPTIONS: usize = 200;

pub(crate) fn redeem_once(run: &mut Run) -> Result<()> {
    let postgres = Postgres::start()?;
    let arguments = ["--limits", "off", "--database", &postgres.url()];
    // Started one after another, so that one of them creates the tables.
    let nodes: Vec<Node> =
        (0..NODES).map(|_| Node::start_new(run, &arguments, "")).collect::<Result<_>>()?;
    let addresses: Vec<SocketAddr> = nodes.iter().map(|node| node.address).collect();
    let app = App::register(addresses[0])?;
    let user = app.add_user(addresses[0], "alice")?;
    let clients: Vec<Client> =
        (0..REDEMPTIONS).map(|number| Client::new(addresses[number % NODES])).collect();
    while let Some(round) = run.next_round() {
        let client = &clients[round as usize % NODES];
        let response = app.authorize(client, &user)?;
        let code = App::extract_code(&response).ok_or_else(|| format!("no code: {response:?}"))?;
        let redemptions = redeem_concurrently(&clients, &app.redemption_request(&code))?;

        let (redeemed, rejected): (Vec<_>, Vec<_>) =
            redemptions.iter().partition(|redemption| redemption.status == 200);
        run.outcome.acknowledged += redeemed.len() as u64;
        run.outcome
            .check(redeemed.len() == 1, || format!("a code was redeemed {} times", redeemed.len()));
        for response in rejected {
            run.outcome.check(response.is_invalid_grant(), || {
                format!("a redemption was rejected with {} {}", response.status, response.body)
            });
        }
        // The other redemptions were replays, which revoke the token, immediately and on every
        // node.
        for response in redeemed {
            let token = response.json_string("access_token")?;
            let request = Request::get("/api/v1/apps/verify_credentials").with_bearer(&token);
            for client in &clients[..NODES] {
                let status = client.send_until_available(&request)?.status;
                run.outcome.check(status == 401, || format!("a revoked token got {status}"));
            }
        }
        run.end_round();
    }
    Ok(())
}

fn redeem_concurrently(clients: &[Client], request: &Request) -> Result<Vec<Response>> {
    let barrier = Barrier::new(clients.len());
    thread::scope(|scope| {
        let threads: Vec<_> = clients
            .iter()
            .map(|client| {
                let barrier = &barrier;
                scope.spawn(move || {
                    // Opens the connection, so that the redemptions arrive together.
                    let health = client.send(&Request::get("/healthz"));
                    barrier.wait();
                    health.and_then(|_| client.send(request))
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a client panicked".into())))
            .collect()
    })
}
