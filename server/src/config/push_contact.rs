//! The operator's contact, which push services get with every message.

use serde::{Deserialize, Serialize};
use url::Url;

/// A `mailto:` or `https:` URL of the operator.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct PushContact(String);

/// Top-level domains without public hosts. Apple's push service rejects them.
const NON_PUBLIC_TLDS: [&str; 3] = ["localhost", "local", "invalid"];

impl PushContact {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for PushContact {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let problem = format!(
            "{text:?} is not a valid contact URL: write \"mailto:you@ring.example\" or \
             \"https://…\""
        );
        let url = Url::parse(&text).map_err(|_| problem.clone())?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(
                "the URL contains a user name or a password, which every push service would \
                        receive: remove it"
                    .to_owned(),
            );
        }
        let url_host = match url.scheme() {
            "mailto" => url.path().rsplit_once('@').map(|(_, host)| host),
            "https" => url.host_str(),
            _ => None,
        };
        let host = url_host.filter(|host| !host.is_empty()).ok_or(problem)?;
        let tld = host.trim_end_matches('.').rsplit('.').next().unwrap_or(host);
        if NON_PUBLIC_TLDS.iter().any(|name| name.eq_ignore_ascii_case(tld)) {
            return Err(format!("push services reject the host {host:?}: use a public one"));
        }
        Ok(Self(text))
    }
}

impl From<PushContact> for String {
    fn from(contact: PushContact) -> Self {
        contact.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_is_a_url_with_a_public_host() {
        for contact in ["mailto:ops@ring.example", "https://ring.example/contact"] {
            assert_eq!(PushContact::try_from(contact.to_owned()).unwrap().as_str(), contact);
        }
        for (contact, problem) in [
            ("", "is not a valid contact URL"),
            ("ops@ring.example", "is not a valid contact URL"),
            ("mailto:ops", "is not a valid contact URL"),
            ("mailto:ops@", "is not a valid contact URL"),
            ("http://ring.example", "is not a valid contact URL"),
            ("mailto:ops@localhost", "push services reject the host"),
            ("mailto:ops@ring.LOCAL", "push services reject the host"),
            ("https://ring.invalid./", "push services reject the host"),
            ("https://user:pw@ring.example", "contains a user name or a password"),
        ] {
            let error = PushContact::try_from(contact.to_owned()).unwrap_err();
            assert!(error.contains(problem), "{contact}: {error}");
        }
    }
}
