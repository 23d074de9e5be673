//! Users with pushers, and an application service that sends events to them.

use std::collections::BTreeMap;
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

/// The deliveries of a protocol when the server last counted them, at its start and then every ten
/// seconds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DeliveryCounts {
    pub(crate) accepted: u64,
    pub(crate) waiting: u64,
    /// By outcome: delivered, dropped, expired and removed.
    pub(crate) ended: BTreeMap<String, u64>,
}

impl DeliveryCounts {
    /// Returns whether every accepted delivery has ended or waits.
    pub(crate) fn is_complete(&self) -> bool {
        self.accepted == self.waiting + self.ended.values().sum::<u64>()
    }
}

/// Returns the counts of each protocol.
pub(crate) fn delivery_counts(address: SocketAddr) -> Result<BTreeMap<String, DeliveryCounts>> {
    let metrics = Client::new(address).send_successfully(&Request::get("/metrics"))?.body;
    parse_delivery_counts(&metrics)
}

fn parse_delivery_counts(metrics: &str) -> Result<BTreeMap<String, DeliveryCounts>> {
    let mut counts: BTreeMap<String, DeliveryCounts> = BTreeMap::new();
    for line in metrics.lines() {
        let Some((name, labels)) = line.split_once("{protocol=\"") else { continue };
        let Some((labels, number)) = labels.split_once("\"} ") else { continue };
        let (protocol, outcome) = labels.split_once("\",outcome=\"").unwrap_or((labels, ""));
        let counts = counts.entry(protocol.to_owned()).or_default();
        let number = number.parse()?;
        match name {
            "belfry_deliveries_accepted_total" => counts.accepted = number,
            "belfry_deliveries_waiting" => counts.waiting = number,
            "belfry_deliveries_ended_total" => {
                counts.ended.insert(outcome.to_owned(), number);
            }
            _ => {}
        }
    }
    if counts.is_empty() {
        return Err("no metrics of deliveries".into());
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deliveries_are_counted_by_protocol() {
        let metrics = "# TYPE belfry_deliveries_waiting gauge\n\
            belfry_deliveries_waiting{protocol=\"gateway\"} 3\n\
            belfry_deliveries_waiting{protocol=\"mastodon\"} 0\n\
            belfry_deliveries_accepted_total{protocol=\"gateway\"} 10\n\
            belfry_deliveries_ended_total{protocol=\"gateway\",outcome=\"delivered\"} 5\n\
            belfry_deliveries_ended_total{protocol=\"gateway\",outcome=\"dropped\"} 1\n";
        let mut counts = parse_delivery_counts(metrics).unwrap();
        assert_eq!(counts["mastodon"], DeliveryCounts::default());
        let gateway = counts.get_mut("gateway").unwrap();
        assert_eq!((gateway.accepted, gateway.waiting, gateway.ended["delivered"]), (10, 3, 5));
        assert!(!gateway.is_complete());
        gateway.waiting = 4;
        assert!(gateway.is_complete());
        assert!(parse_delivery_counts("").is_err());
    }
}
