//! The reasons why a request to another server fails.

use std::error::Error;
use std::iter::successors;

use belfry_runtime::certificate::rejection;
use thiserror::Error;

/// The reason why a request got no response. The messages contain neither data from the other
/// server nor resolved addresses, so they can be shown to users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OutboundError {
    /// Nothing was sent, because the URL or an address of its host is forbidden.
    #[error("the address is in a private or reserved network")]
    Forbidden,
    /// The name has no addresses, or the name server does not respond.
    #[error("the host name cannot be resolved")]
    Lookup,
    /// No address of the host accepts connections.
    #[error("the server does not accept connections")]
    Connect,
    /// The TLS handshake failed.
    #[error("no TLS connection to the server is possible")]
    Tls,
    /// The server's certificate has expired, is for a different name, or was issued by an unknown
    /// authority.
    #[error("the server's certificate is not valid")]
    Certificate,
    /// The response was not complete in time.
    #[error("the server did not respond in time")]
    Timeout,
    /// The server closed the connection or sent an invalid response, for example with too many
    /// headers.
    #[error("the server did not send a valid response")]
    Protocol,
}

impl OutboundError {
    /// Finds the reason among the causes of an HTTP client error.
    pub(super) fn classify(error: &(dyn Error + 'static)) -> Self {
        let mut causes = successors(Some(error), |error| (*error).source());
        causes.find_map(|cause| cause.downcast_ref().copied()).unwrap_or(Self::Protocol)
    }

    /// Classifies a TLS handshake error.
    pub(super) fn classify_handshake(error: &(dyn Error + 'static)) -> Self {
        if rejection::find_certificate_error(error).is_some() {
            Self::Certificate
        } else {
            Self::Tls
        }
    }
}
