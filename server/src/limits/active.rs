//! What is in force until it is replaced: the mode, the table, the limits outside it, the proxies.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use belfry_core::limits::abuse::AbuseLimits;
use belfry_core::limits::forwarded::TrustedProxies;
use belfry_core::limits::table::LimitTable;
use belfry_core::limits::{Buckets, CountMode, Limit, Network, RateLimitDecision};

use crate::config::{Config, LimitMode};
use crate::metrics::{LimitMetrics, Tally};

/// What decides about a call.
#[derive(Debug)]
pub struct ActiveLimits {
    /// Whether a call over a limit is refused.
    pub mode: LimitMode,
    /// The limits of calls.
    pub table: LimitTable,
    /// The limits on guessing and on piling up apps.
    pub own: AbuseLimits,
    /// Who may speak for others.
    pub proxies: TrustedProxies,
    /// The metrics of each limit, in the order of the table and then of the others.
    tallies: Vec<(Arc<Limit>, Tally)>,
    warned: AtomicBool,
}

impl ActiveLimits {
    /// What these settings say.
    #[must_use]
    pub fn new(config: &Config, metrics: &LimitMetrics) -> Self {
        let (table, own) = (config.limits.rows.clone(), config.limits.own.clone());
        let limits = table.rows().iter().map(|row| &row.limit).chain(own.limits());
        let tallies =
            limits.map(|limit| (Arc::clone(limit), metrics.tally(limit.name()))).collect();
        Self {
            mode: config.limits.mode,
            proxies: config.trusted_proxies.clone(),
            table,
            own,
            tallies,
            warned: AtomicBool::new(false),
        }
    }

    /// What a call draws on; nothing where limits are off.
    pub(crate) fn buckets(
        &self,
        method: &str,
        target: &str,
        account: Option<i64>,
        from: Network,
    ) -> Buckets<'_> {
        match self.mode {
            LimitMode::Enforce | LimitMode::Shadow => {
                self.table.buckets(method, target, account, from)
            }
            LimitMode::Off => Buckets::new(),
        }
    }

    /// Counts a verdict in the metrics. In shadow mode `refused` says who would be.
    pub(super) fn tally(&self, mode: CountMode, decision: &RateLimitDecision) {
        let counted = match mode {
            CountMode::Check => decision.is_admitted(),
            CountMode::Charge => true,
            CountMode::Peek => false,
        };
        for status in decision.statuses() {
            let found = self.tallies.iter().find(|(limit, _)| *limit == status.limit);
            let Some((_, tally)) = found else { continue };
            match status.admitted {
                false => drop(tally.refused.inc()),
                true if counted => {
                    tally.allowed.inc();
                    if status.is_nearly_exhausted() {
                        tally.near.inc();
                    }
                }
                true => {}
            }
        }
    }

    /// Warns once of a proxy that nobody configured. Only an address of a private network can be
    /// one; anybody else who sends such a header makes it up.
    pub(crate) fn warn_of_proxy(&self, peer: IpAddr) {
        let private = match peer.to_canonical() {
            IpAddr::V4(v4) => v4.is_private() || v4.is_loopback() || v4.is_link_local(),
            IpAddr::V6(v6) => v6.is_unique_local() || v6.is_loopback(),
        };
        if private && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %peer,
                "a peer names the clients it speaks for, but is not among trusted_proxies: all of \
                 them share one limit"
            );
        }
    }

    /// What is in force, by name, for people.
    #[must_use]
    pub fn lines(&self) -> Vec<(String, String)> {
        let mut lines = vec![
            ("mode".to_owned(), format!("{:?}", self.mode).to_lowercase()),
            ("trusted_proxies".to_owned(), self.proxies.to_string()),
        ];
        let rows = self.table.rows().iter();
        lines.extend(rows.map(|row| (row.limit.name().to_owned(), row.to_string())));
        let own = self.own.limits();
        lines.extend(own.map(|limit| (limit.name().to_owned(), limit.to_string())));
        lines
    }

    /// What is other than before, a text for each change.
    pub(super) fn changes_since(&self, before: &Self) -> Vec<String> {
        let (before, now) = (before.lines(), self.lines());
        let find = |lines: &[(String, String)], name: &str| {
            lines.iter().find(|(own, _)| own == name).map(|(_, text)| text.clone())
        };
        let mut changes = Vec::new();
        for (name, text) in &now {
            match find(&before, name) {
                None => changes.push(format!("{name} is new: {text}")),
                Some(was) if was != *text => changes.push(format!("{name}: {text} (was {was})")),
                Some(_) => {}
            }
        }
        let gone = before.iter().filter(|(name, _)| find(&now, name).is_none());
        changes.extend(gone.map(|(name, was)| format!("{name} is removed (was {was})")));
        changes
    }
}
