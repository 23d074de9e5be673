//! Descriptions of failed attempts, for users.

use belfry_delivery::outbound::OutboundError;

use crate::language::Argument;
use crate::pages::Layout;

/// Returns a sentence for the stored error of an attempt.
pub(super) fn describe_failure(layout: &Layout<'_>, error: &str) -> String {
    let status = error.strip_prefix("status ").and_then(|status| status.parse::<u16>().ok());
    let key = match status {
        Some(401 | 403) => "devices-error-denied",
        Some(408) => "devices-error-timeout",
        Some(429) => "devices-error-busy",
        Some(status) => {
            let is_rejection = (400..500).contains(&status);
            let key = if is_rejection { "devices-error-rejected" } else { "devices-error-status" };
            let status = status.to_string();
            return layout.language.text_with(key, "status", Argument::Trusted(&status));
        }
        None => connection_error_key(error),
    };
    layout.text(key).into_owned()
}

/// Returns the message key for an error without a response.
fn connection_error_key(error: &str) -> &'static str {
    use OutboundError::{Certificate, Connect, Forbidden, Lookup, Protocol, Timeout, Tls};
    let is_any = |errors: &[OutboundError]| errors.iter().any(|known| known.to_string() == error);
    if is_any(&[Timeout]) {
        "devices-error-timeout"
    } else if is_any(&[Lookup, Connect, Tls, Certificate, Protocol]) {
        "devices-error-unreachable"
    } else if is_any(&[Forbidden]) {
        "devices-error-forbidden"
    } else {
        "devices-error-other"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::tests::sample_layout;

    #[test]
    fn errors_are_described_in_words() {
        let unreachable = "The push service cannot be reached.";
        for (error, expected) in [
            ("status 401", "The push service does not accept messages from this server."),
            ("status 403", "The push service does not accept messages from this server."),
            ("status 404", "The push service rejected the message (status 404)."),
            ("status 413", "The push service rejected the message (status 413)."),
            ("status 408", "The push service did not respond in time."),
            ("status 429", "The push service is overloaded and asks this server to wait."),
            ("status 301", "The push service reports an error (status 301)."),
            ("status 503", "The push service reports an error (status 503)."),
            (&OutboundError::Timeout.to_string(), "The push service did not respond in time."),
            (&OutboundError::Connect.to_string(), unreachable),
            (&OutboundError::Certificate.to_string(), unreachable),
            (
                &OutboundError::Forbidden.to_string(),
                "This server may not connect to the address of the push service.",
            ),
            ("its VAPID key is not known yet", "The message could not be sent."),
            ("", "The message could not be sent."),
        ] {
            assert_eq!(describe_failure(&sample_layout(), error), expected, "{error}");
        }
    }
}
