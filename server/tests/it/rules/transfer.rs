//! Export, import and reset of all rules.

use axum::body::Body;
use axum::http::StatusCode;
use bytes::Bytes;
use serde_json::{Value, json};

use super::{KINDS, ids, minimal_rule, on_both_engines, pushrules, service};
use crate::support::service::{START, config, unlimited};
use crate::support::{Service, TestClient, TestDatabase};

impl TestClient {
    /// The export without its time.
    async fn export(&self) -> Value {
        let mut export = self.get_rules("export").await;
        assert!(export["exported_ts"].take().is_i64());
        export
    }

    /// Imports rules, which must succeed with `{}`.
    async fn import(&self, body: &Value) {
        let response = self.post_rules("import", body).await;
        assert_eq!(response.expect(StatusCode::OK), json!({}));
    }
}

/// Adds rules of all kinds to two scopes, and changes built-in rules.
async fn add_rules(client: &TestClient) {
    for scope in ["global", "device/phone"] {
        for kind in KINDS {
            for id in ["b", "a"] {
                let mut rule = minimal_rule(kind);
                rule["org.x"] = json!({ "note": [1.5, null, "торт"] });
                client.put_ok(&format!("{scope}/{kind}/{id}"), &rule).await;
            }
            client.put_ok(&format!("{scope}/{kind}/b/enabled"), &json!(false)).await;
        }
    }
    client.put_ok("global/override/.m.rule.master/enabled", &json!(true)).await;
    client.put_ok("global/underride/.m.rule.call/actions", &json!({ "actions": [] })).await;
    client.put_ok("global/underride/.m.rule.message/enabled", &json!(true)).await;
}

on_both_engines! {
    an_export_is_imported_by_another_account,
    an_invalid_import_changes_nothing,
    all_rules_or_those_of_one_scope_are_reset,
}

async fn an_export_is_imported_by_another_account(database: TestDatabase) {
    let service = Service::on(database, unlimited()).await;
    let (alice, bob) = (service.user("alice").await, service.user("bob").await);
    let empty = bob.export().await;
    add_rules(&alice).await;
    let export = alice.get_rules("export").await;
    assert_eq!((&export["version"], &export["exported_ts"]), (&json!("1"), &json!(START * 1000)));
    assert_eq!(ids(&export["global"]["room"], false), ["a", "b"]);
    assert_eq!(ids(&export["global"]["override"], true), [""; 0], "no built-in rules");
    assert_eq!(
        export["builtin_changes"],
        json!({
            ".m.rule.call": { "actions": [] }, ".m.rule.master": { "enabled": true },
            ".m.rule.message": { "enabled": true },
        })
    );

    bob.put_ok("global/room/old", &minimal_rule("room")).await;
    bob.put_ok("device/old/room/old", &minimal_rule("room")).await;
    bob.get_rules("").await;
    bob.import(&export).await;
    assert_eq!(bob.export().await, alice.export().await);
    let [mut of_alice, mut of_bob] = [alice.get_rules("").await, bob.get_rules("").await];
    // The built-in rules about mentions contain the name of the user.
    for all in [&mut of_alice, &mut of_bob] {
        let rules = all["global"]["override"].as_array_mut().unwrap();
        rules.retain(|rule| rule["default"] == false || rule["rule_id"] == ".m.rule.master");
        all["global"]["content"].as_array_mut().unwrap().retain(|rule| rule["default"] == false);
    }
    assert_eq!(of_bob, of_alice);

    // Back to what it was.
    bob.import(&empty).await;
    assert_eq!(bob.export().await, empty);
    assert_eq!(alice.export().await["device"]["phone"], export["device"]["phone"]);
}

async fn an_invalid_import_changes_nothing(database: TestDatabase) {
    let service = Service::on(database, unlimited()).await;
    let alice = service.user("alice").await;
    add_rules(&alice).await;
    let before = alice.get(&pushrules("")).await.text;
    let rule = json!({ "rule_id": "a", "actions": [] });
    for (body, code, error) in [
        (json!({}), "M_MISSING_PARAM", "global is missing"),
        (json!({ "room": [rule] }), "M_MISSING_PARAM", "global is missing"),
        (json!(null), "M_BAD_JSON", "the body must be a JSON object"),
        (
            json!({ "global": {}, "version": "2" }),
            "M_INVALID_PARAM",
            "version must be the string \"1\"",
        ),
        (
            json!({ "global": { "room": [rule, { "rule_id": "b", "actions": ["ring"] }] } }),
            "M_INVALID_PARAM",
            "global.room[1]: actions[0] must be notify, dont_notify, coalesce, set_tweak, or an \
             object with set_tweak",
        ),
        (
            json!({ "global": {}, "device": { "phone": { "room": [rule, rule] } } }),
            "M_INVALID_PARAM",
            "device.phone.room[1]: another rule of this kind has the same rule_id; delete one of them",
        ),
    ] {
        let response = alice.post_rules("import", &body).await;
        let expected = json!({ "errcode": code, "error": error });
        assert_eq!((response.status, response.json()), (400, expected), "{body}");
        assert_eq!(alice.get(&pushrules("")).await.text, before, "{body}");
    }
}

async fn all_rules_or_those_of_one_scope_are_reset(database: TestDatabase) {
    let service = Service::on(database, unlimited()).await;
    let alice = service.user("alice").await;
    let (new, empty) = (alice.get_rules("").await, alice.export().await);
    add_rules(&alice).await;
    let full = alice.export().await;
    let reset = async |body: &str| {
        let response = alice.send(&format!("POST {}", pushrules("reset")), body.to_owned()).await;
        assert_eq!(response.expect(StatusCode::OK), json!({}), "{body}");
    };
    reset(r#"{"scope":"device/unknown"}"#).await;
    assert_eq!(alice.export().await, full);

    reset(r#"{"scope":"device/phone"}"#).await;
    let mut expected = full.clone();
    expected["device"] = json!({});
    assert_eq!(alice.export().await, expected);

    alice.import(&full).await;
    reset(r#"{"scope":"global"}"#).await;
    let mut expected = empty.clone();
    expected["device"] = full["device"].clone();
    assert_eq!(alice.export().await, expected);

    for body in ["", "{}"] {
        alice.import(&full).await;
        reset(body).await;
        assert_eq!(alice.export().await, empty);
        assert_eq!(alice.get_rules("").await, new, "as for a new user");
        reset(body).await;
    }

    alice.import(&full).await;
    for (body, code) in [
        (r#"{"scpoe":"device/phone"}"#, "M_BAD_JSON"),
        (r#"{"scope":null}"#, "M_BAD_JSON"),
        (r#"{"scope":"phone"}"#, "M_INVALID_PARAM"),
        ("[]", "M_BAD_JSON"),
        (" ", "M_NOT_JSON"),
        ("scope=global", "M_NOT_JSON"),
    ] {
        let response = alice.send(&format!("POST {}", pushrules("reset")), body).await;
        assert_eq!(response.errcode(), (400, code.into()), "{body}");
    }
    assert_eq!(alice.export().await, full);
}

/// The rules of an account on another Matrix server, as its clients get them.
#[tokio::test]
async fn the_response_with_all_rulesets_is_imported() {
    let service = service().await;
    let (alice, bob) = (service.user("alice").await, service.user("bob").await);
    add_rules(&alice).await;
    let mut all = alice.get_rules("").await;
    let other = json!({ "rule_id": ".org.other.rule", "default": true, "enabled": false,
        "actions": [], "conditions": [] });
    all["global"]["override"].as_array_mut().unwrap().push(other);
    bob.import(&all).await;
    let mut expected = alice.export().await;
    // It is the default, which the response does not show.
    expected["builtin_changes"].as_object_mut().unwrap().remove(".m.rule.message");
    assert_eq!(bob.export().await, expected);
}

#[tokio::test]
async fn timed_rules_end_in_exports_and_are_omitted_by_imports_after_their_end() {
    let service = service().await;
    let (alice, bob) = (service.user("alice").await, service.user("bob").await);
    let until = (START + 60) * 1000;
    let timed = json!({ "op": "put", "kind": "room", "rule_id": "timed",
        "rule": { "actions": [], "until": until } });
    let pause = json!({ "op": "set_enabled", "kind": "override", "rule_id": ".m.rule.master",
        "enabled": true, "until": until });
    let permanent = json!({ "op": "put", "kind": "room", "rule_id": "permanent",
        "rule": { "actions": [] } });
    alice.change_rules(&json!([permanent, timed, pause])).await;
    let before = alice.export().await;
    assert_eq!(ids(&before["global"]["room"], false), ["timed", "permanent"]);
    assert_eq!(before["global"]["room"][0]["until"], until);
    let master = json!({ ".m.rule.master": { "enabled": true, "until": until } });
    assert_eq!(before["builtin_changes"], master);
    bob.import(&before).await;
    assert_eq!(bob.export().await, before);

    service.clock.advance(60);
    let after = alice.export().await;
    assert_eq!(ids(&after["global"]["room"], false), ["permanent"]);
    assert_eq!(after["builtin_changes"], json!({}));
    assert_eq!(bob.export().await, after);
    let carol = service.user("carol").await;
    carol.import(&before).await;
    assert_eq!(carol.export().await, after);
    let response = carol.post_rules("bulk", &json!({ "changes": [timed] })).await;
    assert_eq!(response.errcode(), (400, "M_INVALID_PARAM".into()));
}

#[tokio::test]
async fn a_thousand_rules_are_exported_and_imported() {
    let service = service().await;
    let (alice, bob) = (service.user("alice").await, service.user("bob").await);
    let rules = |count: usize| -> Vec<Value> {
        let rule = |number| {
            json!({ "rule_id": format!("r{number}"), "default": false, "enabled": number % 3 == 0,
                "actions": ["notify"], "pattern": "p", "x": "x".repeat(700) })
        };
        (0..count).map(rule).collect()
    };
    let body = |count: usize| json!({ "global": { "content": rules(count) } });
    assert!(body(1000).to_string().len() > 750_000);
    alice.import(&body(1000)).await;
    let export = alice.get_rules("export").await;
    assert_eq!(export["global"]["content"], json!(rules(1000)));
    bob.import(&export).await;
    assert_eq!(bob.export().await, alice.export().await);

    let before = bob.get(&pushrules("")).await.text;
    let response = bob.post_rules("import", &body(1001)).await;
    assert_eq!(response.errcode(), (413, "M_TOO_LARGE".into()));
    // More than 1 MiB of rules, of which no one is too large.
    let mut wide = body(1000);
    for rule in wide["global"]["content"].as_array_mut().unwrap() {
        rule["x"] = json!("x".repeat(1000));
    }
    let response = bob.post_rules("import", &wide).await;
    assert_eq!(response.errcode(), (413, "M_TOO_LARGE".into()));
    assert_eq!(
        response.json()["error"],
        "the rules of an account may take at most 1048576 bytes; \
        delete some, or shorten them"
    );
    // More than a body may have.
    let spaces = " ".repeat((2 << 20) + (64 << 10));
    let request = format!("POST {}", pushrules("import"));
    let response = bob.send(&request, format!("{spaces}{{\"global\":{{}}}}")).await;
    assert_eq!(response.errcode(), (413, "M_TOO_LARGE".into()));
    assert_eq!(bob.get(&pushrules("")).await.text, before);
}

/// A lowered limit must not prevent a user from importing an own export.
#[tokio::test]
async fn an_account_above_a_limit_may_import_as_many_rules_as_it_has() {
    let service = service().await;
    let alice = service.user("alice").await;
    add_rules(&alice).await;
    drop(alice);
    let lowered = config(|config| {
        config.limits.mode = belfry::config::LimitMode::Off;
        config.rules.max_rules = 3;
        config.rules.max_bytes = 100;
    });
    let service = service.restart(lowered).await;
    let alice = service.user("alice").await;
    let export = alice.get_rules("export").await;
    alice.import(&export).await;
    assert_eq!(alice.export().await["global"], export["global"]);
    let mut more = export.clone();
    more["device"]["new"] = json!({ "room": [{ "rule_id": "a", "actions": [] }] });
    assert_eq!(alice.post_rules("import", &more).await.errcode(), (413, "M_TOO_LARGE".into()));
}

#[tokio::test]
async fn the_endpoints_have_one_method_each_and_no_trailing_slash() {
    let service = service().await;
    let alice = service.user("alice").await;
    for (path, allowed) in
        [("export", "GET,HEAD"), ("import", "POST"), ("reset", "POST"), ("bulk", "POST")]
    {
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "BREW"] {
            if allowed.split(',').any(|one| one == method) {
                continue;
            }
            let response = alice.send(&format!("{method} {}", pushrules(path)), "{}").await;
            assert_eq!(
                (response.status, response.header("allow")),
                (405, allowed),
                "{method} {path}"
            );
            if method != "HEAD" {
                assert_eq!(response.errcode().1, "M_UNRECOGNIZED", "{method} {path}");
            }
        }
        for below in ["/", "/room/", "/room/a"] {
            let response = alice.get(&pushrules(&format!("{path}{below}"))).await;
            assert_eq!(response.errcode(), (400, "M_UNRECOGNIZED".into()), "{path}{below}");
        }
    }
    let export = format!("HEAD {}", pushrules("export"));
    assert_eq!(alice.send(&export, "").await.status, 200);
}

#[tokio::test]
async fn reading_and_writing_require_their_scopes() {
    let service = service().await;
    for (scopes, read, write) in [
        ("read", 200, 403),
        ("read:notifications", 200, 403),
        ("write:notifications", 403, 200),
        ("push", 200, 200),
        ("read:accounts", 403, 403),
    ] {
        let client = service.user_with_scopes("alice", scopes).await;
        assert_eq!(client.get(&pushrules("export")).await.status, read, "{scopes}");
        for (path, body) in [
            ("import", json!({ "global": {} })),
            ("reset", json!({})),
            ("bulk", json!({ "changes": [] })),
        ] {
            let response = client.post_rules(path, &body).await;
            assert_eq!(response.status, write, "{scopes} {path}");
            if write == 403 {
                assert_eq!(response.errcode().1, "M_FORBIDDEN");
            }
        }
    }
}

/// Truncated bodies, and bodies of every JSON type in every place.
#[tokio::test]
async fn no_malformed_body_changes_anything() {
    let service = service().await;
    let alice = service.user("alice").await;
    add_rules(&alice).await;
    let rule = json!({ "rule_id": "a", "enabled": true, "actions": ["notify"], "pattern": "é" });
    let import = json!({
        "version": "1", "exported_ts": 1, "global": { "content": [rule], "room": [] },
        "builtin_changes": { ".m.rule.master": { "enabled": false, "actions": [] } },
        "device": { "phone": { "room": [rule] } },
    });
    let bulk = json!({ "changes": [
        { "op": "put", "scope": "global", "kind": "content", "rule_id": "a", "rule": rule,
          "before": "b", "after": "b" },
        { "op": "set_actions", "kind": "content", "rule_id": "a", "actions": [] },
        { "op": "set_enabled", "kind": "content", "rule_id": "a", "enabled": false },
        { "op": "delete", "kind": "content", "rule_id": "a" },
    ] });
    let before = alice.get(&pushrules("")).await.text;
    let codes = ["M_NOT_JSON", "M_BAD_JSON", "M_MISSING_PARAM", "M_INVALID_PARAM"];
    for (path, valid) in [("import", &import), ("bulk", &bulk)] {
        let request = format!("POST {}", pushrules(path));
        let text = valid.to_string();
        for end in 0..text.len() {
            let response = alice.send(&request, text.as_bytes()[..end].to_vec()).await;
            let code = response.errcode().1;
            // A change may be found invalid before the end of the body is missed.
            assert_eq!((response.status, code.as_str()), (400, "M_NOT_JSON"), "cut at {end}");
        }
        for pointer in pointers(valid) {
            for wrong in [json!(null), json!(1.5), json!("?/"), json!([[]]), json!({ "?/": 1 })] {
                let mut body = valid.clone();
                *body.pointer_mut(&pointer).unwrap() = wrong.clone();
                let response = alice.post_rules(path, &body).await;
                if response.status == 200 {
                    // Fields that are ignored, and extra fields of rules.
                    let ignored = pointer == "/exported_ts" || pointer.ends_with("/enabled");
                    let is_pattern = pointer.ends_with("/pattern") && wrong.is_string();
                    let ignored = ignored || is_pattern || pointer.ends_with("/rule/rule_id");
                    assert!(ignored, "{path} {pointer} {wrong}");
                    alice.send(&format!("POST {}", pushrules("reset")), "").await;
                    add_rules(&alice).await;
                    continue;
                }
                let (status, code) = response.errcode();
                let is_neighbour = pointer.ends_with("/before") || pointer.ends_with("/after");
                let is_expected = codes.contains(&&*code)
                    || (code == "M_UNKNOWN" && is_neighbour)
                    || (code == "M_NOT_FOUND" && path == "bulk");
                assert!(
                    is_expected && matches!(status, 400 | 404),
                    "{path} {pointer} {wrong}: {code}"
                );
            }
        }
    }
    assert_eq!(alice.get(&pushrules("")).await.text, before);
}

/// The JSON pointers of all values below a value, and of the value itself.
fn pointers(value: &Value) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut add = |name: &str, below: &Value| {
        all.extend(pointers(below).into_iter().map(|rest| format!("/{name}{rest}")));
    };
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| add(&index.to_string(), item));
        }
        Value::Object(members) => members.iter().for_each(|(name, member)| add(name, member)),
        _ => {}
    }
    all
}

/// An account cannot occupy memory with many bodies that arrive slowly.
#[tokio::test]
async fn an_account_sends_one_large_body_at_a_time() {
    let service = service().await;
    let (alice, bob) = (service.user("alice").await, service.user("bob").await);
    let (sender, receiver) = tokio::sync::mpsc::channel::<Result<Bytes, std::io::Error>>(1);
    let (polled, is_polled) = tokio::sync::oneshot::channel::<()>();
    let state = (receiver, Some(polled));
    let stream = futures_util::stream::unfold(state, async |(mut receiver, polled)| {
        if let Some(polled) = polled {
            let _ = polled.send(());
        }
        receiver.recv().await.map(|chunk| (chunk, (receiver, None)))
    });
    let request = format!("POST {}", pushrules("import"));
    let slow = {
        let (alice, request) = (alice.clone(), request.clone());
        tokio::spawn(async move { alice.send(&request, Body::from_stream(stream)).await })
    };
    is_polled.await.unwrap();
    let large = json!({ "global": { "room": [{ "rule_id": "a", "actions": [], "x": "x".repeat(60_000) },
        { "rule_id": "b", "actions": [], "x": "x".repeat(60_000) }] } });
    let response = alice.post_rules("import", &large).await;
    assert_eq!(response.errcode(), (503, "M_UNKNOWN".into()));
    assert_eq!(response.header("retry-after"), "5");
    bob.import(&large).await;
    alice.change_rules(&json!([])).await;

    sender.send(Ok(Bytes::from_static(b"{\"global\":"))).await.unwrap();
    sender.send(Ok(Bytes::from_static(b"{}}"))).await.unwrap();
    drop(sender);
    assert_eq!(slow.await.unwrap().status, 200);
    alice.import(&large).await;
}
