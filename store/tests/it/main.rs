//! The conformance list: cases that every database engine must pass. The other modules test one
//! engine, or the implementation below the store's interface.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod cases;
mod crash;
mod credentials;
mod encoding;
mod failover;
mod family_nodes;
mod files;
mod foreign_push_rows;
mod group_commit;
mod ids;
mod nodes;
mod owners;
mod plans;
mod pooler;
mod restored_families;
mod restored_queue;
mod stalled;
mod tls;

use self::cases::{
    access, account_import, account_security, accounts, admins, apps, audit, claims, codes,
    deletion, deliveries, excess, families, grants, lanes, last_use, overlapping_reads,
    push_retention, receivers, removal, requests, retention, rule_writes, rulesets, sessions,
    signing_keys, timed_rules, tokens, whole,
};

/// Defines the tests `sqlite::case` and `postgres::case` for every case.
macro_rules! conformance {
    ($($area:ident::{$($case:ident),* $(,)?})*) => {
        mod sqlite {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let database = belfry_store::test::TestDatabase::sqlite();
                    super::$area::$case(database.open().await).await;
                }
            )*)*
        }
        mod postgres {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let database = belfry_store::test::TestDatabase::postgres().await;
                    if let Some(database) = database {
                        super::$area::$case(database.open().await).await;
                    }
                }
            )*)*
        }
    };
}

conformance! {
    accounts::{
        an_account_is_read_back_as_it_was_added,
        an_account_is_found_by_its_email_in_any_case,
        a_name_or_email_can_only_be_used_once,
        only_one_concurrent_registration_of_a_name_succeeds,
        accounts_are_listed_by_name_in_pages,
        accounts_are_listed_by_state_role_name_and_email,
        disabling_an_account_is_stored_and_ends_its_sessions,
        an_application_service_request_gets_the_current_account,
        a_new_password_ends_the_sessions,
        a_new_password_revokes_tokens_and_codes_if_requested,
        no_sign_in_concurrent_with_a_password_change_survives_it,
        rehashing_a_password_replaces_only_the_same_hash_and_preserves_sessions,
        no_session_or_token_is_added_if_the_password_was_changed_after_its_verification,
    }
    account_import::{
        imported_accounts_are_read_back_with_their_rules,
        an_import_does_not_change_existing_accounts,
        every_imported_account_has_an_audit_event,
        only_one_concurrent_import_adds_an_account,
        an_import_with_text_that_cannot_be_stored_adds_nothing,
    }
    admins::{
        a_role_is_stored_and_reported_by_tokens_immediately,
        the_last_enabled_admin_is_not_removed,
        one_of_several_concurrent_removals_of_all_admins_fails,
        two_admins_who_remove_each_other_do_not_both_succeed,
    }
    account_security::{
        a_changed_password_invalidates_sessions_codes_and_tokens_except_the_current_session,
        a_new_password_records_the_apps_that_lose_access,
        only_one_concurrent_password_change_succeeds,
        a_changed_email_address_is_unverified,
        sessions_are_listed_with_their_browser_most_recently_used_first,
        a_session_is_ended_only_by_its_account,
        an_apps_tokens_are_listed_most_recently_used_first,
        a_token_is_revoked_only_by_its_account,
        an_account_is_deleted_when_its_waiting_period_has_ended,
        the_last_admin_cannot_request_deletion_and_is_not_deleted,
        a_cancelled_deletion_never_deletes_the_account,
    }
    apps::{
        an_app_is_read_back_as_it_was_added,
        a_client_id_can_only_be_used_once,
        apps_are_listed_in_pages,
        apps_are_listed_by_state_name_and_use,
        a_rotation_replaces_the_secret_and_accepts_the_previous_one_for_some_time,
        an_apps_valid_tokens_are_counted,
        a_disabled_app_is_reported_immediately_even_by_its_tokens,
    }
    tokens::{
        a_token_is_read_back_with_its_account,
        an_app_token_has_no_account,
        unknown_scopes_are_read_without_effect_and_counted,
        an_unknown_token_is_not_found,
        a_token_with_a_known_lookup_key_and_a_wrong_secret_is_unknown,
        a_revoked_token_is_reported_immediately,
        a_second_revocation_does_not_change_the_time,
        concurrent_revocations_of_a_token_all_succeed,
        a_disabled_account_is_reported_immediately_by_its_tokens,
        a_token_is_issued_only_for_the_current_password,
        a_sign_in_is_recorded_with_its_token,
        only_grants_with_valid_tokens_are_active,
        no_session_code_or_token_is_stored_while_an_account_or_app_is_disabled,
    }
    access::{
        authorized_apps_are_those_with_valid_tokens,
        an_authorized_app_has_the_scopes_and_the_earliest_time_of_its_valid_tokens,
        revoking_access_revokes_the_tokens_immediately_and_nothing_else,
        revoking_access_deletes_unredeemed_codes,
        revoking_access_that_does_not_exist_has_no_effect,
        no_code_redeemed_concurrently_with_a_revocation_leaves_a_valid_token,
    }
    grants::{
        a_grant_is_created_with_a_code_and_is_active_with_its_token,
        a_grant_is_identified_by_scopes_redirect_uri_and_device,
        a_grant_without_a_valid_token_is_inactive,
        revoking_access_deletes_only_the_apps_grants,
        grants_are_deleted_with_their_app,
        a_login_revokes_earlier_tokens_for_its_device,
        a_sweep_deletes_a_grant_with_its_last_code_or_token,
        concurrent_codes_and_tokens_with_one_identity_share_a_grant,
        no_grant_renewed_during_a_sweep_is_lost,
    }
    families::{
        a_code_is_redeemed_for_a_family_whose_tokens_are_computed,
        only_access_tokens_computed_with_the_key_are_accepted,
        access_tokens_of_every_generation_are_accepted,
        the_first_use_of_the_newest_access_token_is_stored,
        a_refresh_decided_on_an_outdated_row_is_not_written,
        only_one_of_several_concurrent_refreshes_with_one_token_is_written,
        a_sign_in_replaces_earlier_tokens_of_its_device,
        one_of_several_concurrent_sign_ins_of_a_device_remains,
        devices_are_listed_renamed_and_deleted,
        the_registration_of_a_known_client_renews_it_while_it_is_unused,
        concurrent_registrations_of_one_client_add_it_once,
        a_new_password_or_a_revocation_of_all_access_ends_families,
        no_refresh_concurrent_with_a_revocation_survives_it,
        a_family_ends_180_days_after_its_last_refresh_and_is_deleted_30_days_later,
        a_lost_response_is_repeated_and_a_used_token_is_recognised,
    }
    audit::{
        an_event_is_stored_with_every_change,
        simultaneous_events_are_listed_in_change_order,
        a_change_without_effect_leaves_no_event,
        a_failed_write_leaves_neither_change_nor_event,
        counted_events_with_the_same_hour_and_subject_share_a_row,
        events_are_listed_by_account_app_and_time,
        old_events_are_deleted_in_small_batches,
    }
    requests::{
        a_request_is_found_only_in_its_browser_until_it_expires,
        the_oldest_requests_are_deleted_beyond_a_maximum,
        a_request_is_rebound_only_by_its_browser,
        a_request_can_be_rebound_again_from_the_previous_cookie,
        a_request_is_consumed_once_and_only_by_its_browser,
        only_one_concurrent_attempt_to_consume_a_request_succeeds,
    }
    codes::{
        a_code_is_read_back_as_it_was_added,
        a_code_is_redeemed_once,
        a_redeemed_code_refers_to_its_token,
        an_expired_code_cannot_be_redeemed,
        an_unknown_code_cannot_be_redeemed,
        exactly_one_concurrent_redemption_succeeds,
        a_code_is_issued_only_in_a_session_of_its_account,
        a_code_is_issued_with_implied_consent_only_while_the_app_has_access,
        no_access_from_implied_consent_survives_a_concurrent_revocation,
    }
    sessions::{
        a_session_is_read_back_until_it_expires,
        using_a_session_extends_it,
        an_ended_session_is_not_found,
        a_session_is_added_only_for_the_current_password,
        a_sign_in_is_recorded_with_its_session,
        an_accounts_sessions_are_counted_until_they_expire,
        a_pending_sign_in_has_a_bounded_number_of_attempts,
        a_pending_sign_in_is_added_only_for_the_current_password,
    }
    rule_writes::{
        several_documents_are_saved_together,
        a_conflict_in_one_of_several_documents_saves_none,
        no_concurrent_change_to_several_documents_is_lost_or_partial,
        a_change_to_all_documents_is_applied_again_after_a_conflict,
        a_rejected_change_to_all_documents_is_undone,
        all_changes_by_two_writers_are_saved,
        no_rules_are_saved_for_a_deleted_account,
        no_first_rule_is_saved_for_a_disabled_account,
    }
    rulesets::{
        an_account_without_rules_has_no_documents,
        documents_are_read_back_by_scope,
        a_saved_document_equals_the_one_in_the_database,
        a_write_over_a_newer_version_is_a_conflict,
        a_second_write_of_a_new_document_is_a_conflict,
        a_write_to_one_scope_does_not_affect_other_scopes,
        a_deleted_document_is_not_found_and_its_version_is_not_reused,
        no_concurrent_change_to_a_ruleset_is_lost,
        a_reader_never_sees_an_older_ruleset_than_the_last_write,
        rulesets_of_many_accounts_are_read_by_name,
        rulesets_of_many_accounts_include_the_last_write,
    }
    retention::{
        expired_requests_codes_and_sessions_are_deleted_within_minutes,
        revoked_and_expired_tokens_are_deleted_after_30_days,
        apps_that_no_user_authorized_are_deleted_30_days_after_their_last_use,
        the_least_recently_used_apps_are_deleted_when_there_are_too_many,
        an_app_added_by_the_operator_is_never_deleted_as_unused,
        the_registration_event_of_an_unused_app_is_deleted_with_it,
        a_sweep_deletes_more_rows_than_fit_in_one_batch,
        nothing_is_deleted_within_an_hour_after_a_clock_jump,
        only_one_of_several_concurrent_sweeps_runs,
        token_and_unused_app_retention_times_are_configurable,
    }
    timed_rules::{
        a_timed_rule_is_read_until_it_expires,
        the_next_save_deletes_expired_rules,
        a_sweep_deletes_expired_rules_a_day_after_the_first_expiry,
        a_ruleset_is_rewritten_once_a_day_however_many_rules_expire,
        a_sweep_changes_more_rulesets_than_fit_in_a_batch,
        imported_timed_rules_are_deleted_by_a_sweep,
        no_change_concurrent_with_a_sweep_is_lost,
    }
    last_use::{
        the_last_use_of_a_token_and_its_app_is_stored_once_an_hour,
        issuing_an_app_token_counts_as_a_use_of_the_app,
        uses_recorded_during_a_flush_are_not_lost,
    }
    excess::{
        the_least_recently_used_app_tokens_are_deleted_beyond_a_maximum,
        a_new_token_is_not_deleted_before_its_first_use,
        tokens_issued_during_a_deletion_are_counted_by_the_next_deletion,
        the_100_most_recently_used_valid_tokens_of_a_grant_remain,
        a_redeemed_code_counts_like_an_issued_token,
        at_most_100_invalid_tokens_per_account_and_app_remain,
        a_grant_is_deleted_when_its_last_token_exceeds_the_maximum,
        the_500_most_recently_used_grants_of_an_account_remain,
        the_50_most_recently_used_sessions_of_an_account_remain,
    }
    deletion::{
        a_deleted_account_leaves_nothing_behind,
        the_deletion_event_contains_the_account_name,
        the_name_of_a_deleted_account_is_reserved_until_it_is_released,
        a_deleted_app_leaves_nothing_behind,
        nothing_is_added_for_a_deleted_account_or_app,
        no_sign_in_concurrent_with_an_account_deletion_survives_it,
    }
    receivers::{
        a_receiver_is_read_back_as_it_was_registered,
        a_receiver_replaces_the_one_with_the_same_push_key,
        a_receiver_is_live_while_its_account_token_and_app_are,
        no_receiver_is_registered_without_a_valid_account_and_token,
        beyond_20_receivers_the_least_recently_successful_is_deleted,
        concurrent_registrations_leave_at_most_20_receivers,
        a_push_key_is_removed_from_other_accounts,
        renewing_a_receiver_replaces_its_settings_and_token,
        a_receiver_is_activated_by_its_ack_token,
        only_one_concurrent_deletion_of_a_receiver_succeeds,
        receivers_of_many_accounts_are_read_together,
        receivers_are_listed_page_by_page_with_their_account_and_app,
    }
    signing_keys::{
        a_signing_key_is_added_only_if_it_replaces_the_newest_of_its_purpose,
        only_one_of_several_concurrent_signing_keys_is_added,
        the_receivers_of_each_vapid_key_are_counted,
    }
    deliveries::{
        a_delivery_is_stored_claimed_and_logged,
        a_repeated_request_stores_nothing_and_returns_the_same_count,
        concurrent_requests_with_the_same_deliveries_store_them_once,
        nothing_is_stored_for_a_receiver_that_is_not_live,
        a_receiver_has_at_most_100_waiting_deliveries,
        nothing_is_stored_for_failing_receivers_and_lanes_if_only_working_ones_are_admitted,
        the_newest_deliveries_of_an_account_are_listed,
        lanes_with_many_waiting_deliveries_are_listed,
        no_delivery_remains_if_it_is_claimed_while_its_account_is_deleted,
    }
    claims::{
        a_receiver_gets_one_message_at_a_time_first_those_with_the_fewest_attempts,
        proven_receivers_are_claimed_first_and_others_up_to_a_maximum,
        a_pause_of_a_receiver_delays_only_its_messages,
        no_receiver_is_claimed_twice_by_concurrent_claims,
        a_receiver_is_claimed_again_when_its_lease_has_expired,
        only_one_concurrent_claim_gets_a_receiver_with_an_expired_lease,
        a_released_receiver_can_be_claimed_immediately,
        the_results_of_attempts_are_stored_in_the_receiver,
        deliveries_to_a_receiver_that_is_not_live_are_removed,
        a_delivery_expires_after_at_least_one_attempt,
        each_outcome_is_stored,
        results_of_concurrent_claims_are_all_stored,
        the_least_recently_used_receiver_is_deleted_for_a_new_one,
    }
    lanes::{
        a_paused_lane_has_no_due_deliveries,
        a_pause_from_a_wrong_clock_is_ignored,
        a_lane_at_rest_is_due_with_its_first_receiver_after_its_pause,
        due_lanes_are_listed_failing_ones_last_in_the_order_they_became_due,
        no_message_is_forgotten_after_concurrent_enqueues_claims_and_results,
    }
    push_retention::{
        a_sweep_deletes_receivers_whose_token_is_no_longer_valid,
        a_sweep_expires_attempted_deliveries_and_those_of_failing_receivers_and_lanes,
        deliveries_are_deleted_7_days_after_they_finished_or_expired,
        a_message_is_deleted_with_its_last_waiting_delivery,
        an_empty_lane_is_deleted_7_days_after_its_last_message_unless_it_is_paused,
        the_newest_100_deliveries_of_an_account_remain_after_a_day,
        a_sweep_deletes_more_receivers_than_fit_in_a_batch,
        receivers_from_a_clock_that_was_ahead_are_due_after_it_is_set_back,
        every_accepted_delivery_waits_or_has_ended_after_any_deletion,
        a_message_without_deliveries_is_deleted_even_if_the_clock_is_not_trusted,
    }
    removal::{
        a_newer_message_of_a_topic_replaces_the_waiting_one,
        a_full_receiver_accepts_a_message_that_replaces_another,
        a_delivery_in_flight_is_neither_replaced_nor_withdrawn,
        the_delivery_after_an_expired_one_is_in_flight,
        a_failed_delivery_is_removed_if_a_newer_one_of_its_topic_waits,
        messages_that_were_read_are_withdrawn,
        concurrent_messages_of_a_topic_leave_one,
    }
    overlapping_reads::{
        a_token_read_while_its_account_or_app_changes_is_not_cached,
        an_app_read_while_it_changes_is_not_cached,
        an_account_read_while_it_is_disabled_is_not_cached,
    }
    whole::{
        a_ping_succeeds,
        text_in_any_script_and_with_quotes_is_read_back,
        text_with_a_nul_is_not_found_and_not_stored,
        dropping_the_future_does_not_cancel_a_write,
    }
}
