//! The client properties that are set at registration: authentication method, grant types,
//! registrar and issuer; and the client's secrets.

use jiff::Timestamp;

use super::error::OAuthError;
use crate::secret::HashedSecret;
use crate::wire_enum::wire_enum;

wire_enum! {
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum AuthMethod {
        /// The client secret, in the header or in the body.
        ClientSecret = "client_secret",
        /// None, because the client is public: it has no place where a secret would be safe.
        None = "none",
        /// A method that only a newer release supports.
        #[default]
        Unknown = "unknown",
    }
}

wire_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum GrantType {
        AuthorizationCode = "authorization_code",
        RefreshToken = "refresh_token",
        ClientCredentials = "client_credentials",
    }
}

wire_enum! {
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum Registrar {
        /// Anyone, through the API.
        #[default]
        Api = "api",
        Operator = "operator",
        /// The server, for Matrix clients that sign in with a password.
        Matrix = "matrix",
        /// The server, for tokens issued on the command line.
        CommandLine = "command_line",
    }
}

wire_enum! {
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum Issuer {
        /// The issuer of the endpoints below `/oauth`.
        OAuth = "oauth",
        /// The issuer of the endpoints below `/id`.
        Id = "id",
        /// An issuer that only a newer release supports.
        #[default]
        Unknown = "unknown",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientProperties {
    pub auth_method: AuthMethod,
    pub grant_types: Vec<GrantType>,
    pub registered_by: Registrar,
    pub issuer: Issuer,
}

impl AuthMethod {
    /// Returns the values of `token_endpoint_auth_method` for this method (RFC 7591, section 2). A
    /// client with a secret may send it in either way, regardless of which one it registered.
    pub const fn wire_names(self) -> &'static [&'static str] {
        match self {
            Self::ClientSecret => &["client_secret_basic", "client_secret_post"],
            Self::None => &["none"],
            Self::Unknown => &[],
        }
    }
}

impl Registrar {
    /// Returns whether the server itself created the client. The secret of such a client
    /// is not disclosed.
    pub fn is_first_party(self) -> bool {
        matches!(self, Self::Matrix | Self::CommandLine)
    }
}

impl ClientProperties {
    pub fn check_grant_type(&self, grant_type: GrantType) -> Result<(), OAuthError> {
        let is_allowed = self.grant_types.contains(&grant_type);
        if is_allowed { Ok(()) } else { Err(OAuthError::UnauthorizedClient) }
    }
}

/// An app's secret, and the one before its last rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientSecrets {
    pub current: HashedSecret,
    /// The secret before the last rotation, unless the rotation invalidated it.
    pub previous: Option<PreviousSecret>,
}

/// A secret that was replaced and is accepted for some time, so that the app can be updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreviousSecret {
    pub secret: HashedSecret,
    /// Time until which it is accepted.
    pub until: Timestamp,
}

/// The secrets of an app whose secret was never replaced.
impl From<HashedSecret> for ClientSecrets {
    fn from(current: HashedSecret) -> Self {
        Self { current, previous: None }
    }
}

impl ClientSecrets {
    /// Returns whether a client that presents this secret is the app. Digests are compared in
    /// constant time.
    pub fn accepts(&self, presented_secret: HashedSecret, now: Timestamp) -> bool {
        // Both are compared, so that timing does not reveal which one was presented.
        let is_current = self.current == presented_secret;
        let is_previous = self.previous_until(now).is_some()
            & self.previous.is_some_and(|previous| previous.secret == presented_secret);
        is_current | is_previous
    }

    /// Returns the time until which the previous secret is accepted, if it still is.
    pub fn previous_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.previous.map(|previous| previous.until).filter(|until| *until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::issuer_policy::MASTODON;
    use crate::secret::SplitToken;

    #[test]
    fn registered_clients_may_use_the_grant_types_of_their_issuer_and_first_party_clients_none() {
        for (registrar, grant_types) in [
            (Registrar::Api, "authorization_code client_credentials"),
            (Registrar::Operator, "authorization_code client_credentials"),
            (Registrar::Matrix, ""),
            (Registrar::CommandLine, ""),
        ] {
            let properties = ClientProperties::new(&MASTODON, registrar);
            assert!(properties.may_authenticate(&MASTODON, AuthMethod::ClientSecret));
            for &grant_type in GrantType::ALL {
                let is_allowed = grant_types.split(' ').any(|name| name == grant_type.as_str());
                let expected =
                    if is_allowed { Ok(()) } else { Err(OAuthError::UnauthorizedClient) };
                assert_eq!(properties.check_grant_type(grant_type), expected, "{registrar}");
            }
        }
    }

    #[test]
    fn only_a_confidential_client_of_this_issuer_authenticates_with_a_secret() {
        for &auth_method in AuthMethod::ALL {
            for &issuer in Issuer::ALL {
                let properties = ClientProperties {
                    auth_method,
                    issuer,
                    ..ClientProperties::new(&MASTODON, Registrar::Api)
                };
                let expected = (auth_method, issuer) == (AuthMethod::ClientSecret, Issuer::OAuth);
                let is_accepted = properties.may_authenticate(&MASTODON, AuthMethod::ClientSecret);
                assert_eq!(is_accepted, expected, "{auth_method} {issuer}");
            }
        }
    }

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn secret(random: u8) -> HashedSecret {
        SplitToken::new(time(0), [random; SplitToken::RANDOM_BYTES]).hashed_secret()
    }

    #[test]
    fn the_previous_secret_is_accepted_until_it_expires() {
        let old_secret = secret(1);
        let new_secret = secret(2);
        let other_secret = secret(3);
        let initial_secrets = ClientSecrets::from(new_secret);
        let previous = Some(PreviousSecret { secret: old_secret, until: time(10) });
        let rotated_secrets = ClientSecrets { previous, ..initial_secrets };
        for (secrets, presented_secret, now, is_accepted) in [
            (initial_secrets, new_secret, 0, true),
            (initial_secrets, old_secret, 0, false),
            (rotated_secrets, new_secret, 9, true),
            (rotated_secrets, new_secret, 10, true),
            (rotated_secrets, old_secret, 9, true),
            (rotated_secrets, old_secret, 10, false),
            (rotated_secrets, other_secret, 9, false),
        ] {
            assert_eq!(
                secrets.accepts(presented_secret, time(now)),
                is_accepted,
                "{secrets:?} at {now}"
            );
        }
        assert_eq!(rotated_secrets.previous_until(time(9)), Some(time(10)));
        assert_eq!(rotated_secrets.previous_until(time(10)), None);
        assert_eq!(initial_secrets.previous_until(time(0)), None);
    }

    /// A secret's lookup key is not confidential.
    #[test]
    fn a_secret_with_a_forged_lookup_key_is_rejected() {
        let current = secret(1);
        let other = secret(2);
        let forged_secret = HashedSecret { lookup_key: current.lookup_key, digest: other.digest };
        assert!(!ClientSecrets::from(current).accepts(forged_secret, time(0)));
    }
}
