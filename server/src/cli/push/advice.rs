//! Advice for attempts that failed.

use belfry_core::push::attempt_error::AttemptError;
use belfry_core::push::receiver::Protocol;

/// Returns advice for an attempt to send a message to a receiver; `None` if there is none.
pub(super) fn advise_on_error(error: &AttemptError, protocol: Protocol) -> Option<String> {
    use AttemptError as E;
    let is_gateway = protocol == Protocol::Gateway;
    let server = if is_gateway { "push gateway" } else { "push service" };
    let advice = match error {
        E::ForbiddenAddress | E::Url => {
            format!("if you operate the {server}, add its network to push.allowed_networks")
        }
        E::Dns => "check the DNS of this machine, and whether the name still exists".to_owned(),
        E::Refused | E::Timeout => format!(
            "check that the firewall permits connections from every node; if other {server}s \
             respond, wait until this one does"
        ),
        E::Tls | E::Protocol => format!(
            "check that no proxy intercepts the connection; if none does, the {server} is at fault"
        ),
        E::Certificate => format!(
            "check the clock of this machine and its certificate authorities; if they are right, \
             the {server} must renew its certificate"
        ),
        E::Busy => "other messages use the permitted connections and lookups: wait".to_owned(),
        E::PushKeyRejected => "the app must register its push key again".to_owned(),
        E::Status(300..=399) => {
            "redirects are not followed: the client must register the final URL".to_owned()
        }
        E::Status(401 | 403 | 404 | 410) if is_gateway => {
            "check the URL of the push gateway with its operator".to_owned()
        }
        E::Status(401 | 403) => "if it affects all receivers of this push service, check \
                                 push.contact; if not, the client must subscribe again"
            .to_owned(),
        E::Status(429) | E::StreamRefused => {
            format!("the {server} limits the number of messages: wait")
        }
        E::Status(404 | 410) | E::ReceiverKeys => "the client must subscribe again".to_owned(),
        E::SecretsSealingKey | E::VapidSealingKey => {
            "put the former sealing key back; if it is lost, the client must subscribe again"
                .to_owned()
        }
        E::Status(400..=499) => {
            format!("the {server} does not accept this message: ask its operator")
        }
        E::Status(_) => format!("the {server} has a problem: wait, or ask its operator"),
        E::VapidKeyUnknown => "the server loads new keys every ten seconds: wait".to_owned(),
        E::MessageSealingKey => {
            "the server uses a different sealing key than this command: check secret_key_file"
                .to_owned()
        }
        E::Malformed => "check that every node runs the same version".to_owned(),
        E::Disabled
        | E::ReceiverKind
        | E::TooLarge
        | E::Encryption
        | E::Replaced
        | E::ReadElsewhere
        | E::Unknown(_) => return None,
    };
    Some(advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_advice() {
        use AttemptError::{
            Dns, MessageSealingKey, PushKeyRejected, SecretsSealingKey, Status, Timeout, TooLarge,
            VapidKeyUnknown, VapidSealingKey,
        };
        use Protocol::{Gateway, Mastodon, WebPush};
        for (error, protocol, advice) in [
            (Dns, Mastodon, "check the DNS"),
            (Timeout, Gateway, "check that the fire"),
            (VapidSealingKey, Mastodon, "put the former sealing key back"),
            (SecretsSealingKey, WebPush, "put the former sealing key back"),
            (MessageSealingKey, Mastodon, "the server uses a different sealing key"),
            (VapidKeyUnknown, Mastodon, "the server loads new keys"),
            (Status(403), WebPush, "if it affects all receivers"),
            (Status(403), Gateway, "check the URL of the push gateway"),
            (Status(404), Mastodon, "the client must subscribe again"),
            (Status(404), Gateway, "check the URL of the push gateway"),
            (PushKeyRejected, Gateway, "the app must register its push key again"),
            (Status(301), Gateway, "redirects are not followed"),
            (Status(429), Mastodon, "the push service limits the number"),
            (Status(413), Gateway, "the push gateway does not accept this message"),
            (Status(500), Mastodon, "the push service has a problem"),
            (Status(500), Gateway, "the push gateway has a problem"),
        ] {
            let given = advise_on_error(&error, protocol).unwrap();
            assert!(given.starts_with(advice), "{error}: {given}");
        }
        assert_eq!(advise_on_error(&TooLarge, WebPush), None);
    }
}
