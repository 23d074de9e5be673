//! The conformance list: what every engine must do, by name.

mod cases;
mod crash;
mod encoding;
mod files;
mod nodes;

use self::cases::{access, accounts, apps, codes, requests, rulesets, sessions, tokens, whole};

/// Makes `sqlite::case` and `postgres::case` of every case.
macro_rules! conformance {
    ($($area:ident::{$($case:ident),* $(,)?})*) => {
        mod sqlite {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let database = crate::support::databases::TestDatabase::sqlite();
                    super::$area::$case(database.open().await).await;
                }
            )*)*
        }
        mod postgres {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let database = crate::support::databases::TestDatabase::postgres().await;
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
        a_name_or_email_is_taken_once,
        of_many_who_take_a_name_one_succeeds,
        accounts_are_listed_by_name_in_pages,
        a_disabled_account_says_so_and_its_sessions_end,
        whom_a_service_acts_for_is_what_the_account_is_now,
        a_new_password_ends_the_sessions,
        a_new_password_ends_tokens_and_codes_unless_they_are_kept,
        of_many_who_sign_in_while_the_password_changes_nobody_stays,
        a_password_is_hashed_anew_only_over_itself_and_the_sessions_go_on,
    }
    apps::{
        an_app_is_read_back_as_it_was_added,
        a_client_id_is_taken_once,
        apps_are_listed_in_pages,
        a_disabled_app_says_so_at_once_also_at_its_tokens,
    }
    tokens::{
        a_token_is_read_back_with_its_account,
        a_token_of_an_app_has_no_account,
        an_unknown_token_is_nobodys,
        a_token_with_the_right_lookup_key_and_another_secret_is_unknown,
        a_revoked_token_says_so_at_once,
        a_revocation_keeps_its_first_time,
        of_many_who_revoke_a_token_all_succeed,
        a_token_of_a_disabled_account_says_so_at_once,
        a_password_of_now_is_good_for_a_token_and_no_other,
        what_an_account_has_granted_an_app_is_what_its_good_tokens_carry,
    }
    access::{
        who_was_let_in_is_whose_tokens_are_good,
        an_app_says_all_that_its_tokens_carry_and_since_when,
        removed_access_ends_the_tokens_at_once_and_nothing_else,
        removed_access_ends_codes_that_are_not_spent,
        to_remove_what_is_not_there_does_nothing,
        of_many_who_spend_codes_while_access_is_removed_nobody_keeps_a_token,
    }
    requests::{
        a_request_is_its_browsers_until_it_ends,
        a_request_moves_with_its_browser_and_with_no_other,
        a_request_moves_again_from_the_cookie_that_it_moved_from,
        a_request_is_taken_once_by_its_browser,
        of_many_who_take_a_request_one_succeeds,
    }
    codes::{
        a_code_is_read_back_as_it_was_added,
        a_code_is_spent_once,
        a_spent_code_names_its_token,
        an_expired_code_is_not_spent,
        an_unknown_code_is_not_spent,
        of_many_who_spend_a_code_one_succeeds,
        a_code_is_given_in_a_session_of_its_account_alone,
        a_code_is_given_without_asking_while_the_app_has_access,
        of_many_codes_without_asking_none_outlives_the_access,
    }
    sessions::{
        a_session_is_read_back_until_it_ends,
        a_session_lasts_longer_when_it_is_touched,
        an_ended_session_is_gone,
        a_session_is_opened_by_the_password_of_now_alone,
    }
    rulesets::{
        an_account_without_rules_has_no_documents,
        documents_are_read_back_by_scope,
        what_was_saved_is_what_the_database_holds,
        a_write_over_a_newer_write_is_refused,
        a_first_write_over_another_first_write_is_refused,
        a_write_of_one_scope_keeps_what_another_wrote_in_the_next,
        a_removed_document_is_gone_and_its_version_is_not_used_again,
        of_many_who_change_a_ruleset_none_is_lost,
        a_reader_never_sees_an_older_ruleset_than_the_last_write,
        the_rules_of_many_are_read_by_name,
        the_rules_of_many_are_those_of_the_last_write,
    }
    whole::{
        it_answers_a_ping,
        what_ended_is_swept_and_what_lives_is_kept,
        texts_of_any_script_and_quotes_are_kept,
        a_text_with_a_nul_is_nobodys_and_is_not_kept,
        a_caller_who_goes_away_does_not_stop_a_write,
    }
}
