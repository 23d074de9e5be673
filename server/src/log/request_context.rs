//! The request that the current task handles. Every log line of the task shows it.
//!
//! The context is in a task-local variable instead of a `tracing` span. It costs a few nanoseconds
//! if nothing is logged, while a span must be created, formatted and entered for every request.

use std::cell::Cell;
use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;

use belfry_core::request::{RequestId, TraceId};
use serde::{Serialize, Serializer};
use tokio::task::JoinHandle;
use tokio::task::futures::TaskLocalFuture;

use belfry_runtime::random;

tokio::task_local! {
    static CURRENT_CONTEXT: RequestContext;
}

/// The fields that log lines show about a request.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RequestContext {
    pub(crate) id: RequestId,
    /// The trace that the client continues, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trace_id: Option<TraceId>,
    /// The remote address of the connection. The audit settings decide how much of an address is
    /// logged, so it is not a field of log lines.
    #[serde(skip)]
    pub(crate) peer: SocketAddr,
    pub(crate) method: &'static str,
    pub(crate) route: &'static str,
    /// The account that sent the request, once it is authenticated.
    #[serde(skip_serializing_if = "is_unknown", serialize_with = "serialize_id")]
    account: Cell<Option<i64>>,
    /// The app that sent the request, once it is authenticated, or for which a user authorizes
    /// access.
    #[serde(skip_serializing_if = "is_unknown", serialize_with = "serialize_id")]
    app: Cell<Option<i64>>,
}

fn is_unknown(id: &Cell<Option<i64>>) -> bool {
    id.get().is_none()
}

/// Serializes an id as a string, because JSON parsers round large integers.
fn serialize_id<S: Serializer>(id: &Cell<Option<i64>>, serializer: S) -> Result<S::Ok, S::Error> {
    id.get().map(|id| id.to_string()).serialize(serializer)
}

impl RequestContext {
    pub(crate) fn new(
        id: RequestId,
        trace_id: Option<TraceId>,
        peer: SocketAddr,
        method: &'static str,
        route: &'static str,
    ) -> Self {
        let account = Cell::default();
        let app = Cell::default();
        Self { id, trace_id, peer, method, route, account, app }
    }

    /// Returns a future that handles the request in this context. The caller pins `handler`, which
    /// avoids moving it.
    pub(crate) fn scope<F: Future>(
        self,
        handler: Pin<&mut F>,
    ) -> TaskLocalFuture<Self, Pin<&mut F>> {
        CURRENT_CONTEXT.scope(self, handler)
    }

    /// Calls `view` with the context of the current task; `None` if the task handles no request.
    pub(crate) fn with_current<T>(view: impl FnOnce(&Self) -> T) -> Option<T> {
        CURRENT_CONTEXT.try_with(view).ok()
    }

    /// Returns the work with the context of the current request attached, to run on another thread.
    pub(crate) fn attach_current<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
        let context = Self::with_current(Self::clone);
        move || match context {
            Some(context) => CURRENT_CONTEXT.sync_scope(context, work),
            None => work(),
        }
    }

    /// Spawns a task with the context of the current request. It runs to its end even if the client
    /// disconnects.
    pub(crate) fn spawn<T: Send + 'static>(
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        match Self::with_current(Self::clone) {
            Some(context) => tokio::spawn(CURRENT_CONTEXT.scope(context, work)),
            None => tokio::spawn(work),
        }
    }

    /// Returns the id of the current request, or a new one if the task handles no request.
    pub(crate) fn current_id() -> RequestId {
        Self::with_current(|request| request.id).unwrap_or_else(new_request_id)
    }

    /// Records the app that sent the current request, and the account it acts for, if any.
    pub(crate) fn record_token(account_id: Option<i64>, app: i64) {
        Self::with_current(|request| {
            request.account.set(account_id);
            request.app.set(Some(app));
        });
    }

    pub(crate) fn record_account(account_id: i64) {
        Self::with_current(|request| request.account.set(Some(account_id)));
    }

    /// Records the app that sent the current request, or for which a user authorizes access.
    pub(crate) fn record_app(app: i64) {
        Self::with_current(|request| request.app.set(Some(app)));
    }
}

impl fmt::Display for RequestContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, trace_id, peer: _, method, route, account, app } = self;
        write!(f, "request.id={id} request.method={method} request.route={route}")?;
        if let Some(account) = account.get() {
            write!(f, " request.account={account}")?;
        }
        if let Some(app) = app.get() {
            write!(f, " request.app={app}")?;
        }
        if let Some(trace_id) = trace_id {
            write!(f, " request.trace_id={trace_id}")?;
        }
        Ok(())
    }
}

/// Returns a new request id, without a system call. Ids are unique but not secret: anyone who knows
/// one may be able to compute others.
pub(crate) fn new_request_id() -> RequestId {
    /// The multiplier of PCG64. With an odd increment, the period is 2^128.
    const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
    thread_local! {
        static STATE: Cell<u128> = Cell::new(u128::from_ne_bytes(random::bytes()));
    }
    let state = STATE.get().wrapping_mul(MULTIPLIER).wrapping_add(1);
    STATE.set(state);
    // Different states give different ids. The lower half of the state alone would show a pattern.
    RequestId::new((state ^ state >> 64).to_be_bytes())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::pin::pin;

    use super::*;

    #[test]
    fn new_ids_differ_on_all_threads() {
        let generate_ids = || (0..10_000).map(|_| new_request_id().to_string()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(generate_ids)).collect();
        let all_ids: Vec<_> =
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        let distinct_ids: HashSet<_> = all_ids.iter().collect();
        assert_eq!(distinct_ids.len(), 40_000);
    }

    #[tokio::test]
    async fn the_context_is_visible_in_its_task_and_in_work_that_carries_it() {
        let traceparent = b"00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01";
        let parsed_trace_id = TraceId::parse_traceparent(traceparent);
        let id = RequestId::parse(b"one").unwrap();
        let peer = ([127, 0, 0, 1], 0).into();
        let context = RequestContext::new(id, parsed_trace_id, peer, "GET", "/healthz");
        let current_context = || RequestContext::with_current(ToString::to_string);
        let handler = pin!(async {
            RequestContext::record_app(7);
            let other_task_context = tokio::spawn(async move { current_context() }).await.unwrap();
            let work = RequestContext::attach_current(current_context);
            let thread_context = tokio::task::spawn_blocking(work).await.unwrap();
            let task_context = RequestContext::spawn(async move { current_context() }).await;
            assert_eq!(task_context.unwrap(), thread_context);
            RequestContext::record_account(8);
            let json =
                RequestContext::with_current(|request| serde_json::to_string(request).unwrap());
            (other_task_context, thread_context, json)
        });
        let (other_task_context, thread_context, json) = context.scope(handler).await;
        assert_eq!(other_task_context, None);
        let trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
        let expected = format!(
            "request.id=one request.method=GET request.route=/healthz request.app=7 \
             request.trace_id={trace_id}"
        );
        assert_eq!(thread_context, Some(expected));
        let expected = format!(
            r#"{{"id":"one","trace_id":"{trace_id}","method":"GET","route":"/healthz","account":"8","app":"7"}}"#
        );
        assert_eq!(json, Some(expected));
        assert_eq!(current_context(), None, "the context ends with the request");
    }
}
