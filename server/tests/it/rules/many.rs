//! Requests that replace or return many rules: export, import and reset.

mod access;
mod limits;
mod reset;
mod transfer;

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{KINDS, minimal_rule, pushrules_path};
use crate::support::{TestClient, TestResponse};

impl TestClient {
    /// Posts to an endpoint for many rules, such as `import`.
    pub(super) async fn post_rules(&self, path: &str, body: &Value) -> TestResponse {
        self.send(&format!("POST {}", pushrules_path(path)), body.to_string()).await
    }

    /// Returns the export without its time.
    async fn export(&self) -> Value {
        let mut export = self.get_rules("export").await;
        assert!(export["exported_ts"].take().is_i64());
        export
    }

    /// Imports rules, which must succeed with `{}`.
    async fn import(&self, body: &Value) {
        let response = self.post_rules("import", body).await;
        assert_eq!(response.expect_json(StatusCode::OK), json!({}));
    }
}

/// Adds rules of all kinds to two scopes, and changes built-in rules.
async fn add_rules(client: &TestClient) {
    for scope in ["global", "device/phone"] {
        for kind in KINDS {
            for id in ["b", "a"] {
                let mut rule = minimal_rule(kind);
                rule["org.x"] = json!({ "note": [1.5, null, "торт"] });
                client.put_rule_ok(&format!("{scope}/{kind}/{id}"), &rule).await;
            }
            client.put_rule_ok(&format!("{scope}/{kind}/b/enabled"), &json!(false)).await;
        }
    }
    client.put_rule_ok("global/override/.m.rule.master/enabled", &json!(true)).await;
    client.put_rule_ok("global/underride/.m.rule.call/actions", &json!({ "actions": [] })).await;
    client.put_rule_ok("global/underride/.m.rule.message/enabled", &json!(true)).await;
}
