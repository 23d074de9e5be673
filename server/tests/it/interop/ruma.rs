//! Interoperability with the request and response types of ruma's client API.

mod pushers;

use std::borrow::Cow;

use axum::http;
use ruma_client_api::account::register;
use ruma_client_api::discovery::get_authorization_server_metadata::v1::{
    self as get_authorization_server_metadata, AccountManagementAction, Prompt,
};
use ruma_client_api::discovery::get_supported_versions;
use ruma_client_api::push::{
    delete_pushrule, get_pushrule, get_pushrule_actions, get_pushrule_enabled, get_pushrules_all,
    get_pushrules_global_scope, set_pushrule, set_pushrule_actions, set_pushrule_enabled,
};
use ruma_client_api::session::login;
use ruma_client_api::uiaa::UserIdentifier;
use ruma_common::OwnedUserId;
use ruma_common::api::auth_scheme::{AuthScheme, SendAccessToken};
use ruma_common::api::error::{Error, FromHttpResponseError};
use ruma_common::api::path_builder::PathBuilder;
use ruma_common::api::{
    IncomingResponse, IncomingResponseExt, MatrixVersion, OutgoingRequest, OutgoingRequestExt,
    SupportedVersions,
};
use ruma_common::push::{
    Action, HighlightTweakValue, NewConditionalPushRule, NewPatternedPushRule, NewPushRule,
    NewSimplePushRule, PushCondition, RuleKind, Ruleset, SoundTweakValue, Tweak,
};

use super::{ALICE, AliceServer};
use crate::support::ServerProcess;

/// A client on top of ruma's types.
struct Client {
    url: String,
    versions: SupportedVersions,
    token: Option<String>,
}

impl Client {
    /// Creates a client for the API versions that the server supports.
    async fn connect(url: &str) -> Self {
        let request = get_supported_versions::Request::new()
            .try_into_http_request(url, SendAccessToken::None, ())
            .unwrap();
        let versions: get_supported_versions::Response = send(request).await.unwrap();
        Self { url: url.to_owned(), versions: versions.as_supported_versions(), token: None }
    }

    async fn send<R>(&self, request: R) -> Result<R::IncomingResponse, (u16, String)>
    where
        R: OutgoingRequest<EndpointError = Error>,
        for<'a> R::Authentication: AuthScheme<Input<'a> = SendAccessToken<'a>>,
        for<'a> R::PathBuilder: PathBuilder<Input<'a> = Cow<'a, SupportedVersions>>,
    {
        let token =
            self.token.as_deref().map_or(SendAccessToken::None, SendAccessToken::IfRequired);
        let versions = Cow::Borrowed(&self.versions);
        let request = request.try_into_http_request(&self.url, token, versions).unwrap();
        match send(request).await {
            Ok(response) => Ok(response),
            Err(FromHttpResponseError::Server(error)) => {
                let errcode = error.error_kind().map(|kind| kind.errcode().to_string());
                Err((error.status_code.as_u16(), errcode.unwrap_or_default()))
            }
            Err(error) => panic!("{error}"),
        }
    }

    async fn log_in(&mut self, user: OwnedUserId, password: &str) -> OwnedUserId {
        let credentials = login::v3::Password::new(UserIdentifier::from(user), password.to_owned());
        let request = login::v3::Request::new(login::v3::LoginInfo::Password(credentials));
        let response = self.send(request).await.unwrap();
        self.token = Some(response.access_token);
        response.user_id
    }

    async fn rules(&self) -> Ruleset {
        self.send(get_pushrules_all::v3::Request::new()).await.unwrap().global
    }

    /// Returns the ids of the user's content rules, in order.
    async fn content_rule_ids(&self) -> Vec<String> {
        let user_rules = self.rules().await.content.into_iter().filter(|rule| !rule.default);
        user_rules.map(|rule| rule.rule_id).collect()
    }

    async fn put_content_rule(&self, rule_id: &str, before: Option<&str>, after: Option<&str>) {
        let pattern = format!("{rule_id}*");
        let rule = NewPatternedPushRule::new(rule_id.to_owned(), pattern, vec![Action::Notify]);
        let mut request = set_pushrule::v3::Request::new(NewPushRule::Content(rule));
        (request.before, request.after) = (before.map(str::to_owned), after.map(str::to_owned));
        self.send(request).await.unwrap();
    }
}

async fn send<R: IncomingResponse>(
    request: http::Request<Vec<u8>>,
) -> Result<R, FromHttpResponseError<R::EndpointError>> {
    let request = request.try_into().unwrap();
    let reqwest_response = reqwest::Client::new().execute(request).await.unwrap();
    let mut response = http::Response::new(&[][..]);
    *response.status_mut() = reqwest_response.status();
    *response.headers_mut() = reqwest_response.headers().clone();
    let body = reqwest_response.bytes().await.unwrap();
    *response.body_mut() = &body;
    R::try_from_http_response(response)
}

async fn start_and_log_in() -> (AliceServer, Client) {
    let server = AliceServer::start();
    let mut client = Client::connect(&server.process.url).await;
    assert!(client.versions.versions.contains(&MatrixVersion::V1_1));
    let user: OwnedUserId = ALICE.try_into().unwrap();
    assert_eq!(client.log_in(user.clone(), &server.password).await, user);
    (server, client)
}

#[tokio::test]
async fn ruma_creates_orders_enables_changes_and_deletes_rules() {
    let (_server, client) = start_and_log_in().await;
    client.put_content_rule("tea", None, None).await;
    client.put_content_rule("cake", None, None).await;
    client.put_content_rule("pie 🥧", None, Some("cake")).await;
    assert_eq!(client.content_rule_ids().await, ["cake", "pie 🥧", "tea"]);
    client.put_content_rule("tea", Some("cake"), None).await;
    assert_eq!(client.content_rule_ids().await, ["tea", "cake", "pie 🥧"]);

    let (kind, rule_id) = (RuleKind::Content, || "pie 🥧".to_owned());
    let disable = set_pushrule_enabled::v3::Request::disable(kind.clone(), rule_id());
    client.send(disable).await.unwrap();
    let get_enabled = get_pushrule_enabled::v3::Request::new(kind.clone(), rule_id());
    assert!(!client.send(get_enabled).await.unwrap().enabled);

    let actions = vec![
        Action::Notify,
        Action::SetTweak(Tweak::Sound(SoundTweakValue::Default)),
        Action::SetTweak(Tweak::Highlight(HighlightTweakValue::No)),
    ];
    let set_actions =
        set_pushrule_actions::v3::Request::new(kind.clone(), rule_id(), actions.clone());
    client.send(set_actions).await.unwrap();
    let request = get_pushrule_actions::v3::Request::new(kind.clone(), rule_id());
    let stored_actions = client.send(request).await.unwrap().actions;
    assert_eq!(
        serde_json::to_value(&stored_actions).unwrap(),
        serde_json::to_value(&actions).unwrap()
    );

    let get_rule = get_pushrule::v3::Request::new(kind.clone(), rule_id());
    let rule = client.send(get_rule.clone()).await.unwrap().rule;
    assert_eq!((rule.pattern.as_deref(), rule.enabled), (Some("pie 🥧*"), false));
    client.send(delete_pushrule::v3::Request::new(kind.clone(), rule_id())).await.unwrap();
    assert_eq!(client.content_rule_ids().await, ["tea", "cake"]);
    let not_found = (404, "M_NOT_FOUND".to_owned());
    assert_eq!(client.send(get_rule).await.unwrap_err(), not_found);
    let second_delete = delete_pushrule::v3::Request::new(kind, rule_id());
    assert_eq!(client.send(second_delete).await.unwrap_err(), not_found);
}

#[tokio::test]
async fn ruma_reads_back_override_underride_room_and_sender_rules() {
    let (_server, client) = start_and_log_in().await;
    let conditions =
        vec![PushCondition::EventMatch(ruma_common::push::EventMatchConditionData::new(
            "type".to_owned(),
            "m.room.message".to_owned(),
        ))];
    let conditional_rule =
        |id: &str| NewConditionalPushRule::new(id.to_owned(), conditions.clone(), vec![]);
    let room: ruma_common::OwnedRoomId = "!room:example.org".try_into().unwrap();
    let sender: OwnedUserId = ALICE.try_into().unwrap();
    for rule in [
        NewPushRule::Override(conditional_rule("over")),
        NewPushRule::Underride(conditional_rule("under")),
        NewPushRule::Room(NewSimplePushRule::new(room.clone(), vec![Action::Notify])),
        NewPushRule::Sender(NewSimplePushRule::new(sender.clone(), vec![])),
    ] {
        client.send(set_pushrule::v3::Request::new(rule)).await.unwrap();
    }
    let rules = client.rules().await;
    // The master rule first, then the new rule, then the others.
    let mut overrides = rules.override_.iter().map(|rule| &*rule.rule_id);
    assert_eq!(overrides.next(), Some(".m.rule.master"));
    assert_eq!(overrides.next(), Some("over"));
    for (kind, id) in [
        (RuleKind::Override, "over"),
        (RuleKind::Underride, "under"),
        (RuleKind::Room, room.as_str()),
        (RuleKind::Sender, sender.as_str()),
    ] {
        let rule = rules.get(kind.clone(), id).unwrap_or_else(|| panic!("{kind:?} {id}"));
        assert!(rule.enabled() && !rule.is_server_default(), "{id}");
    }
    let stored_rule = rules.override_.get("over").unwrap();
    let to_json = |conditions: &Vec<PushCondition>| serde_json::to_value(conditions).unwrap();
    assert_eq!(to_json(&stored_rule.conditions), to_json(&conditions));
    let global = client.send(get_pushrules_global_scope::v3::Request::new()).await.unwrap().global;
    assert_eq!(serde_json::to_value(global).unwrap(), serde_json::to_value(rules).unwrap());
}

#[tokio::test]
async fn ruma_parses_error_responses() {
    let (_server, mut client) = start_and_log_in().await;
    let rule = NewPatternedPushRule::new("x".to_owned(), "x".to_owned(), vec![]);
    let mut request = set_pushrule::v3::Request::new(NewPushRule::Content(rule));
    request.before = Some("nobody".to_owned());
    assert_eq!(client.send(request).await.unwrap_err(), (400, "M_UNKNOWN".to_owned()));
    client.token = Some("wrong".to_owned());
    let request = get_pushrules_all::v3::Request::new();
    assert_eq!(client.send(request).await.unwrap_err(), (401, "M_UNKNOWN_TOKEN".to_owned()));
}

#[tokio::test]
async fn ruma_registers_an_application_service_user() {
    let dir = tempfile::tempdir().unwrap();
    let settings = "registration = 'closed'\n[[application_services]]\nid = 'irc'\n\
                    as_token = 'token'\nsender_localpart = 'bot'\n\
                    namespaces.users = [{ regex = '@irc_.*', exclusive = true }]\n";
    std::fs::write(dir.path().join("belfry.toml"), settings).unwrap();
    let server = ServerProcess::start(dir.path(), &[]);
    let client = Client::connect(&server.url).await;
    let register = async |name: &str| {
        let mut request = register::v3::Request::new();
        request.username = Some(name.to_owned());
        request.login_type = Some(register::LoginType::ApplicationService);
        let token = SendAccessToken::Appservice("token");
        let versions = Cow::Borrowed(&client.versions);
        send(request.try_into_http_request(&client.url, token, versions).unwrap()).await
    };
    let response: register::v3::Response = register("irc_ann").await.unwrap();
    assert_eq!(response.user_id, "@irc_ann:127.0.0.1");
    assert!(response.access_token.is_some() && response.device_id.is_some());
    let rejection: Result<register::v3::Response, _> = register("zoe").await;
    let error = format!("{:?}", rejection.unwrap_err());
    assert!(error.contains("Exclusive"), "{error}");
}

#[tokio::test]
async fn ruma_parses_the_authorization_server_metadata() {
    let server = AliceServer::start();
    let client = Client::connect(&server.process.url).await;
    let request = get_authorization_server_metadata::Request::new();
    let metadata = client.send(request).await.unwrap().metadata.deserialize().unwrap();
    metadata.insecure_validate_urls().unwrap();
    assert_eq!(metadata.issuer.as_str(), format!("{}/id", server.process.url));
    assert!(metadata.registration_endpoint.is_some());
    assert_eq!(metadata.prompt_values_supported, [Prompt::Create]);
    let actions = metadata.account_management_actions_supported;
    for action in [
        AccountManagementAction::Profile,
        AccountManagementAction::DevicesList,
        AccountManagementAction::DeviceView,
        AccountManagementAction::DeviceDelete,
        AccountManagementAction::AccountDeactivate,
    ] {
        assert!(actions.contains(&action), "{action:?}");
    }
}
