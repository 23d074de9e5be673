//! The counters: one list of cases that both engines pass, by name, and what only Redis can do.

mod cases;
mod engine;
mod gate;
mod outage;
mod server;

macro_rules! conformance {
    ($($case:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $case() {
                super::cases::$case(super::engine::Engine::memory()).await;
            })*
        }

        mod redis {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $case() {
                if let Some(engine) = super::engine::Engine::redis().await {
                    super::cases::$case(engine).await;
                }
            })*
        }
    };
}

conformance![
    the_301st_of_300_is_refused,
    a_refused_call_costs_none_of_its_limits,
    a_window_ends_after_its_length_and_the_next_call_starts_another,
    reset_is_the_end_of_the_window_for_every_call_in_it,
    a_peek_costs_nothing_and_starts_no_window,
    a_charge_counts_wherever_there_is_room,
    what_was_charged_is_seen_by_a_peek,
    keys_and_limits_have_budgets_of_their_own,
    names_of_any_kind_and_length_are_counted,
    a_limit_of_0_refuses_everything,
    the_largest_limit_and_the_longest_window_are_counted,
    a_call_without_limits_is_admitted,
    a_changed_number_of_requests_keeps_what_was_counted,
    a_shorter_window_holds_at_once,
    of_64_callers_on_one_key_exactly_the_limit_pass,
    of_many_callers_on_crossing_keys_every_refused_one_cost_nothing,
    three_processes_on_one_key_admit_exactly_the_limit,
];
