//! Classification of the errors of requests to other servers.

use std::error::Error;
use std::iter::successors;

use belfry_core::push::attempt_error::AttemptError;
use belfry_runtime::certificate::rejection;

/// Finds the reason among the causes of an HTTP client error.
pub(super) fn classify(error: &(dyn Error + 'static)) -> AttemptError {
    let mut causes = successors(Some(error), |error| (*error).source());
    causes.find_map(|cause| cause.downcast_ref().cloned()).unwrap_or(AttemptError::Protocol)
}

/// Classifies a TLS handshake error.
pub(super) fn classify_handshake(error: &(dyn Error + 'static)) -> AttemptError {
    if rejection::find_certificate_error(error).is_some() {
        AttemptError::Certificate
    } else {
        AttemptError::Tls
    }
}
