//! The active limits: mode, limit table, abuse limits and trusted proxies.

use std::collections::HashMap;
use std::iter;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::HeaderName;
use belfry_core::limits::abuse::AbuseLimits;
use belfry_core::limits::forwarded::TrustedProxies;
use belfry_core::limits::table::LimitTable;
use belfry_core::limits::{Buckets, CountMode, Network, RateLimitDecision, TokenOwner};
use foldhash::quality::RandomState;

use crate::config::{Config, IPV6_48_MULTIPLE, RateLimitMode};
use crate::metrics::{LimitCounters, LimitMetrics};

/// The limit settings in use. A reload replaces them as a whole.
#[derive(Debug)]
pub struct ActiveLimits {
    /// Treatment of requests over a limit.
    pub mode: RateLimitMode,
    /// The limits on requests by method and path.
    pub table: LimitTable,
    /// The abuse limits, such as those on sign-in attempts and wrong client secrets.
    pub abuse: AbuseLimits,
    pub proxies: TrustedProxies,
    /// The only forwarding header that is trusted; `X-Forwarded-For` and `Forwarded` if unset.
    pub proxy_header: Option<HeaderName>,
    /// The metrics of each limit, by its name.
    counters: HashMap<String, Arc<LimitCounters>, RandomState>,
    has_warned_about_proxy: AtomicBool,
}

impl ActiveLimits {
    pub fn new(config: &Config, metrics: &LimitMetrics) -> Self {
        let table = config.limits.rows.clone().with_site_multiple(IPV6_48_MULTIPLE);
        let abuse = config.limits.abuse.clone().with_site_multiple(IPV6_48_MULTIPLE);
        let limits = table
            .rows
            .iter()
            .map(|row| &row.limit)
            .chain(abuse.limits())
            .flat_map(|limit| iter::once(limit).chain(limit.site()));
        let counters =
            limits.map(|limit| (limit.name().to_owned(), metrics.counters(limit.name()))).collect();
        Self {
            mode: config.limits.mode,
            proxies: config.trusted_proxies.clone(),
            proxy_header: config.trusted_proxy_header.clone(),
            table,
            abuse,
            counters,
            has_warned_about_proxy: AtomicBool::new(false),
        }
    }

    /// Returns the buckets of a request; none when limits are off.
    pub(crate) fn buckets(
        &self,
        method: &str,
        target: &str,
        owner: Option<TokenOwner>,
        network: Network,
    ) -> Buckets<'_> {
        if self.mode == RateLimitMode::Off {
            return Buckets::new();
        }
        self.table.buckets(method, target, owner, network)
    }

    /// Records a decision in the metrics. In shadow mode `rejected` counts would-be rejections.
    pub(super) fn record(&self, mode: CountMode, decision: &RateLimitDecision) {
        let is_counted = match mode {
            CountMode::Check => decision.is_admitted(),
            CountMode::Charge => true,
            CountMode::Peek | CountMode::Refund => false,
        };
        for status in decision.statuses() {
            let Some(counters) = self.counters.get(status.limit.name()) else { continue };
            if !status.is_admitted {
                counters.rejected.inc();
            } else if is_counted {
                counters.allowed.inc();
                if status.is_nearly_exhausted() {
                    counters.nearly_exhausted.inc();
                }
            }
        }
    }

    /// Warns once about a proxy that is not configured. Only private addresses are reported: from
    /// other addresses, the header is probably forged.
    pub(crate) fn warn_about_proxy(&self, peer: IpAddr) {
        let is_private = match peer.to_canonical() {
            IpAddr::V4(v4) => v4.is_private() || v4.is_loopback() || v4.is_link_local(),
            IpAddr::V6(v6) => v6.is_unique_local() || v6.is_loopback(),
        };
        if is_private && !self.has_warned_about_proxy.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %peer,
                "forwarding headers from a peer that is not in trusted_proxies: all its clients \
                 share one limit"
            );
        }
    }
}
