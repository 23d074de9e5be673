//! The hash slots of a cluster: the slot of a key, and the nodes that own the slots.

use std::ops::RangeInclusive;

use redis::Value;

const LAST_SLOT: u16 = 16_383;
/// All slots. A server that is not in a cluster owns them all.
pub(super) const ALL_SLOTS: RangeInclusive<u16> = 0..=LAST_SLOT;

/// Returns a hash tag's slot: its CRC-16 (XMODEM). The hash tag is the part of a key between
/// braces.
pub(super) fn hash_slot(tag: &str) -> u16 {
    let crc = tag.bytes().fold(0_u16, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    });
    crc & LAST_SLOT
}

pub(super) fn find_hash_tag(slots: &RangeInclusive<u16>) -> String {
    // Every slot has a tag below this number.
    let mut tags = (0..163_976).map(|number| format!("probe-{number}"));
    tags.find(|tag| slots.contains(&hash_slot(tag))).unwrap_or_default()
}

pub(super) type NodeAddress = (String, u16);

#[derive(Debug, PartialEq, Eq)]
pub(super) struct SlotRange {
    pub(super) slots: RangeInclusive<u16>,
    pub(super) primary: NodeAddress,
    pub(super) replicas: Vec<NodeAddress>,
}

/// Parses a response to `CLUSTER SLOTS`, without invalid ranges. `host` is the host of the
/// responding node, which the response may omit.
pub(super) fn parse_slots(response: &Value, host: &str) -> Vec<SlotRange> {
    let Value::Array(ranges) = response else { return Vec::new() };
    ranges.iter().filter_map(|range| parse_range(range, host)).collect()
}

fn parse_range(range: &Value, host: &str) -> Option<SlotRange> {
    let Value::Array(fields) = range else { return None };
    let [Value::Int(start), Value::Int(end), primary, replicas @ ..] = fields.as_slice() else {
        return None;
    };
    let slots = u16::try_from(*start).ok()?..=u16::try_from(*end).ok()?;
    let primary = parse_address(primary, host)?;
    let replicas = replicas.iter().filter_map(|replica| parse_address(replica, host)).collect();
    (*slots.end() <= LAST_SLOT).then_some(SlotRange { slots, primary, replicas })
}

fn parse_address(node: &Value, responding_host: &str) -> Option<NodeAddress> {
    let Value::Array(fields) = node else { return None };
    let [host, Value::Int(port), ..] = fields.as_slice() else { return None };
    let host = match host {
        Value::BulkString(host) if host == b"?" => return None,
        Value::BulkString(host) if !host.is_empty() => String::from_utf8(host.clone()).ok()?,
        _ => responding_host.to_owned(),
    };
    Some((host, u16::try_from(*port).ok()?))
}

/// Parses the address in a MOVED or ASK error. If it has no host, the responding node's host is
/// used.
pub(super) fn parse_redirect(address: &str, responding_host: &str) -> Option<NodeAddress> {
    let (host, port) = address.rsplit_once(':')?;
    let address_host = host.trim_start_matches('[').trim_end_matches(']');
    let host = if matches!(address_host, "" | "?") { responding_host } else { address_host };
    Some((host.to_owned(), port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_computed_as_in_the_cluster_specification() {
        assert_eq!(hash_slot("123456789"), 0x31c3, "this is the example in the specification");
        assert_eq!(hash_slot(""), 0);
        assert_eq!(hash_slot("foo"), 12_182);
        assert_eq!(hash_slot("bar"), 5061);
    }

    #[test]
    fn a_hash_tag_is_found_for_a_single_slot() {
        for slot in [0, 5461, 16_383] {
            assert_eq!(hash_slot(&find_hash_tag(&(slot..=slot))), slot);
        }
    }

    fn node(host: Option<&str>, port: i64) -> Value {
        let host = host.map_or(Value::Nil, |host| Value::BulkString(host.into()));
        Value::Array(vec![host, Value::Int(port), Value::BulkString("id".into())])
    }

    #[test]
    fn slot_ranges_are_parsed_with_missing_hosts_filled_in_and_invalid_ranges_skipped() {
        let range = |start, end, nodes: Vec<Value>| {
            let slots = [Value::Int(start), Value::Int(end)];
            Value::Array(slots.into_iter().chain(nodes).collect())
        };
        let response = Value::Array(vec![
            range(0, 99, vec![node(Some(""), 1)]),
            range(100, 16_383, vec![node(None, 2), node(Some("?"), 3), node(Some("b"), 4)]),
            range(5, 70_000, vec![node(Some("c"), 1)]),
            range(5, 6, vec![]),
            Value::Nil,
        ]);
        let address = |host: &str, port| (host.to_owned(), port);
        let expected = [
            SlotRange { slots: 0..=99, primary: address("a", 1), replicas: vec![] },
            SlotRange {
                slots: 100..=16_383,
                primary: address("a", 2),
                replicas: vec![address("b", 4)],
            },
        ];
        assert_eq!(parse_slots(&response, "a"), expected);
        assert_eq!(parse_slots(&Value::Nil, "a"), []);
    }

    #[test]
    fn a_redirect_is_an_address_or_a_port_on_the_same_host() {
        for (redirect, host, port) in [
            ("192.0.2.1:7001", "192.0.2.1", 7001),
            ("redis-2.example:7001", "redis-2.example", 7001),
            ("2001:db8::1:7001", "2001:db8::1", 7001),
            ("[2001:db8::1]:7001", "2001:db8::1", 7001),
            (":7001", "here", 7001),
            ("?:7001", "here", 7001),
        ] {
            assert_eq!(
                parse_redirect(redirect, "here"),
                Some((host.to_owned(), port)),
                "{redirect}"
            );
        }
        for redirect in ["", "host", "host:", "host:70000"] {
            assert_eq!(parse_redirect(redirect, "here"), None, "{redirect}");
        }
    }
}
