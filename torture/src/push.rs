//! Users with pushers, and an application service that sends events to them.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::Result;
use crate::app::App;
use crate::client::{Client, Request, Response};

/// Settings of a node that delivers to this machine. [`notify_request`] sends `as_token`.
pub(crate) const SETTINGS: &str = "secret_key_file = \"belfry.key\"\n\
    [[application_services]]\n\
    id = \"product\"\n\
    as_token = \"token of the product\"\n\
    sender_localpart = \"product\"\n\
    namespaces.users = [{ regex = \"@.*\" }]\n\
    [push]\n\
    contact = \"mailto:ops@ring.example\"\n\
    allowed_networks = [\"127.0.0.0/8\"]\n";

/// Adds a user for each URL, `user0` and so on, with one pusher for that push gateway. The user's
/// name is also the push key.
pub(crate) fn add_users(address: SocketAddr, gateway_urls: &[String]) -> Result<()> {
    for (number, url) in gateway_urls.iter().enumerate() {
        let name = format!("user{number}");
        // One app each, because an app may have only 100 app tokens.
        let user = App::register(address)?.add_user(address, &name)?;
        let pusher = json!({
            "kind": "http", "app_id": "app", "pushkey": name, "app_display_name": "App",
            "device_display_name": "Phone", "lang": "en", "data": { "url": url },
        });
        let request = Request::post("/_matrix/client/v3/pushers/set", &pusher);
        Client::new(address).send_successfully(&request.with_bearer(&user.token))?;
    }
    Ok(())
}

pub(crate) fn notify_request(event_id: &str, users: &[usize], ttl_ms: u64) -> Request {
    let member = |user: &usize| json!({ "user_id": format!("@user{user}:127.0.0.1") });
    let event = json!({
        "event_id": event_id, "type": "m.room.message", "sender": "@bob:elsewhere.example",
        "room_id": "!room:elsewhere.example",
        "content": { "msgtype": "m.text", "body": "There is cake in the kitchen!" },
    });
    let body = json!({
        "event": event, "room": { "member_count": users.len() + 1 },
        "members": users.iter().map(member).collect::<Vec<_>>(), "ttl_ms": ttl_ms,
    });
    Request::post("/_matrix/app/v1/notify", &body).with_bearer("token of the product")
}

/// Returns the number of accepted deliveries in the response to [`notify_request`].
pub(crate) fn accepted_count(response: &Response) -> Option<u64> {
    serde_json::from_str::<Value>(&response.body).ok()?["accepted"].as_u64()
}

/// Returns the number of waiting deliveries, which the server counts every ten seconds.
pub(crate) fn waiting_count(address: SocketAddr) -> Result<u64> {
    let metrics = Client::new(address).send_successfully(&Request::get("/metrics"))?.body;
    let prefix = "belfry_deliveries_waiting ";
    let count = metrics.lines().find_map(|line| line.strip_prefix(prefix));
    Ok(count.ok_or("no metric for waiting deliveries")?.parse()?)
}
