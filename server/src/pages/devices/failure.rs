//! Descriptions of failed attempts, for users.

use belfry_core::push::attempt_error::AttemptError;

use crate::language::Argument;
use crate::pages::Layout;

pub(super) fn describe_failure(layout: &Layout<'_>, error: Option<&AttemptError>) -> String {
    use AttemptError as E;
    let key = match error {
        Some(E::Status(401 | 403)) => "devices-error-denied",
        Some(E::Status(408) | E::Timeout) => "devices-error-timeout",
        Some(E::Status(429)) => "devices-error-busy",
        Some(E::Status(status)) => {
            let is_rejection = (400..500).contains(status);
            let key = if is_rejection { "devices-error-rejected" } else { "devices-error-status" };
            let status = status.to_string();
            return layout.language.text_with(key, "status", Argument::Trusted(&status));
        }
        // The same for a name in the operator's network and for one that does not exist, so that
        // users cannot find such names.
        Some(E::Dns | E::ForbiddenAddress | E::Refused | E::Tls | E::Certificate | E::Protocol) => {
            "devices-error-unreachable"
        }
        _ => "devices-error-other",
    };
    layout.text(key).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::tests::sample_layout;

    #[test]
    fn errors_are_described_in_words() {
        use AttemptError::{
            Certificate, Dns, ForbiddenAddress, Refused, Status, Timeout, VapidKeyUnknown,
        };
        let denied = "The push service does not accept messages from this server.";
        let unreachable = "The push service cannot be reached.";
        for (error, expected) in [
            (Status(401), denied),
            (Status(403), denied),
            (Status(404), "The push service rejected the message (status 404)."),
            (Status(413), "The push service rejected the message (status 413)."),
            (Status(408), "The push service did not respond in time."),
            (Status(429), "The push service is overloaded and asks this server to wait."),
            (Status(301), "The push service reports an error (status 301)."),
            (Status(503), "The push service reports an error (status 503)."),
            (Timeout, "The push service did not respond in time."),
            (Refused, unreachable),
            (Certificate, unreachable),
            (ForbiddenAddress, unreachable),
            (Dns, unreachable),
            (VapidKeyUnknown, "The message could not be sent."),
        ] {
            assert_eq!(describe_failure(&sample_layout(), Some(&error)), expected, "{error}");
        }
        assert_eq!(describe_failure(&sample_layout(), None), "The message could not be sent.");
    }
}
