//! Metric families change with the events that they count or measure.

mod delivery;
mod postgres;
mod redis;
mod sqlite;
mod tls;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use belfry::metrics::families;

use super::documents::{MetricsTable, parse_table};
use super::promtool::assert_valid_metrics;
use super::text::{Labels, Scrape};

/// Far longer than any event takes on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Families that no scenario changes, with the reason.
const UNCHANGED_FAMILIES: [(&str, &str); 14] = [
    ("belfry_build_info", "constant"),
    ("belfry_http_max_connections", "a setting"),
    ("belfry_postgres_max_connections", "a setting"),
    ("belfry_evaluation_max_queue_length", "depends on the number of processors"),
    ("belfry_panics_total", "see a_panic_in_a_handler_fails_only_its_own_request"),
    (
        "belfry_task_restarts_total",
        "see a_task_that_panics_or_ends_is_restarted_after_a_growing_pause",
    ),
    ("belfry_refresh_tokens_reused_total", "see a_reused_refresh_token_ends_the_sign_in"),
    ("belfry_evaluation_failures_total", "see slots_are_limited_and_released"),
    ("belfry_sqlite_disk_available_bytes", "depends on the whole machine"),
    ("process_max_fds", "set at startup"),
    ("process_start_time_seconds", "constant"),
    ("process_threads", "may not change for seconds"),
    ("process_virtual_memory_bytes", "may not change for seconds"),
    ("process_resident_memory_bytes", "may not change for seconds"),
];

/// The families that were seen, and those that have changed.
struct Observer {
    table: MetricsTable,
    seen_families: BTreeSet<String>,
    changed_families: BTreeSet<String>,
}

/// The metrics of one server over time.
struct Watch<'a> {
    observer: &'a mut Observer,
    previous: Option<Scrape>,
}

impl Observer {
    fn watch(&mut self) -> Watch<'_> {
        Watch { observer: self, previous: None }
    }

    /// Asserts that the metrics table lists the values of labels, if it lists any for a label.
    #[track_caller]
    fn assert_label_values(&self, family: &str, labels: &Labels) {
        let row = self.table.get(family).unwrap_or_else(|| panic!("{family} has no row"));
        for (name, values) in &row.1 {
            let value = &labels[name];
            assert!(values.is_empty() || values.contains(value), "{family}: {name}={value:?}");
        }
    }
}

impl Watch<'_> {
    /// Records the families of these metrics, and those that have changed since the previous
    /// scrape. promtool also checks the first metrics.
    #[track_caller]
    fn observe(&mut self, text: &str) -> &Scrape {
        let scrape = Scrape::parse(text);
        if self.previous.is_none() {
            assert_valid_metrics(text);
        }
        for ((name, labels), value) in &scrape.series {
            let family = scrape.family(name);
            self.observer.assert_label_values(&family, labels);
            let series = (name.clone(), labels.clone());
            let previous_value = self.previous.as_ref().map(|scrape| scrape.series.get(&series));
            if previous_value.is_some_and(|previous| previous != Some(value)) {
                self.observer.changed_families.insert(family.clone());
            }
            self.observer.seen_families.insert(family);
        }
        self.previous.insert(scrape)
    }

    /// Scrapes and observes the metrics until a condition is met.
    async fn observe_until(
        &mut self,
        event: &str,
        mut scrape: impl AsyncFnMut() -> String,
        condition: impl Fn(&Scrape) -> bool,
    ) {
        let start = Instant::now();
        while !condition(self.observe(&scrape().await)) {
            assert!(start.elapsed() < TIMEOUT, "{event} is not visible in the metrics");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_family_changes_with_its_event() {
    let mut observer = Observer {
        table: parse_table(),
        seen_families: BTreeSet::new(),
        changed_families: BTreeSet::new(),
    };
    Box::pin(sqlite::observe_events(&mut observer)).await;
    sqlite::observe_failures(&mut observer).await;
    tls::observe_new_certificate(&mut observer).await;
    delivery::observe_deliveries(&mut observer).await;
    let has_postgres = postgres::observe_outage(&mut observer).await;
    let has_redis = redis::observe_outage(&mut observer).await;

    let Observer { seen_families, changed_families, .. } = observer;
    // With SQLite alone, the cache is never disabled.
    let needs_postgres = |name: &str| name.contains("postgres") || name == "belfry_cache_enabled";
    let needs_redis = |name: &str| name.contains("redis") || name.contains("local_decisions");
    for name in families::all().map(|family| family.name) {
        if needs_postgres(name) && !has_postgres || needs_redis(name) && !has_redis {
            continue;
        }
        assert!(seen_families.contains(name), "{name} was not exported");
        let is_exempt_from_rate_limits =
            UNCHANGED_FAMILIES.iter().any(|(unchanged, _reason)| *unchanged == name);
        assert!(
            is_exempt_from_rate_limits || changed_families.contains(name),
            "{name} did not change"
        );
    }
}
