//! The client properties that are set at registration: authentication method, grant types,
//! registrar and issuer.

use super::error::OAuthError;
use crate::wire_enum::wire_enum;

/// The values of `token_endpoint_auth_method` for [`AuthMethod::ClientSecret`] (RFC 7591, section
/// 2). A client may use either, regardless of which one it registered.
pub const SECRET_AUTH_METHODS: [&str; 2] = ["client_secret_basic", "client_secret_post"];

wire_enum! {
    /// The authentication method of a client.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum AuthMethod {
        /// The client secret, in the header or in the body.
        ClientSecret = "client_secret",
        /// None, because the client is public. No endpoint registers or accepts such clients yet.
        None = "none",
        /// A method that only a newer release supports.
        #[default]
        Unknown = "unknown",
    }
}

wire_enum! {
    /// A grant type of the token endpoint.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum GrantType {
        AuthorizationCode = "authorization_code",
        ClientCredentials = "client_credentials",
    }
}

wire_enum! {
    /// The party that registered a client.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum Registrar {
        /// Anyone, through the API.
        #[default]
        Api = "api",
        /// The operator, with a command.
        Operator = "operator",
        /// The server, for Matrix clients that sign in with a password.
        Matrix = "matrix",
        /// The server, for tokens issued on the command line.
        CommandLine = "command_line",
    }
}

wire_enum! {
    /// The issuer whose endpoints a client may use.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum Issuer {
        /// The issuer of the endpoints below `/oauth`.
        OAuth = "oauth",
        /// An issuer that only a newer release supports.
        #[default]
        Unknown = "unknown",
    }
}

/// A client's properties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientProperties {
    pub auth_method: AuthMethod,
    pub grant_types: Vec<GrantType>,
    pub registered_by: Registrar,
    pub issuer: Issuer,
}

impl Registrar {
    /// Returns whether the server itself created the client. The secret of such a client
    /// is not disclosed.
    pub fn is_first_party(self) -> bool {
        matches!(self, Self::Matrix | Self::CommandLine)
    }
}

impl ClientProperties {
    /// Returns the properties of a client with a secret. It may use every grant type, unless it is
    /// a first-party client, whose tokens are issued without OAuth.
    pub fn new(registered_by: Registrar) -> Self {
        let grant_types = if registered_by.is_first_party() { &[] } else { GrantType::ALL };
        Self {
            auth_method: AuthMethod::ClientSecret,
            grant_types: grant_types.to_vec(),
            registered_by,
            issuer: Issuer::OAuth,
        }
    }

    /// Returns whether a correct secret authenticates this client at the endpoints below `/oauth`.
    pub fn may_authenticate_with_secret(&self) -> bool {
        self.auth_method == AuthMethod::ClientSecret && self.issuer == Issuer::OAuth
    }

    /// Checks that the client may use a grant type.
    pub fn check_grant_type(&self, grant_type: GrantType) -> Result<(), OAuthError> {
        let is_allowed = self.grant_types.contains(&grant_type);
        if is_allowed { Ok(()) } else { Err(OAuthError::UnauthorizedClient) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registered_clients_may_use_every_grant_type_and_first_party_clients_none() {
        for (registrar, expected) in [
            (Registrar::Api, Ok(())),
            (Registrar::Operator, Ok(())),
            (Registrar::Matrix, Err(OAuthError::UnauthorizedClient)),
            (Registrar::CommandLine, Err(OAuthError::UnauthorizedClient)),
        ] {
            let properties = ClientProperties::new(registrar);
            assert!(properties.may_authenticate_with_secret());
            for &grant_type in GrantType::ALL {
                assert_eq!(properties.check_grant_type(grant_type), expected, "{registrar}");
            }
        }
    }

    #[test]
    fn only_a_confidential_client_of_this_issuer_authenticates_with_a_secret() {
        for &auth_method in AuthMethod::ALL {
            for &issuer in Issuer::ALL {
                let default_properties = ClientProperties::new(Registrar::Api);
                let properties = ClientProperties { auth_method, issuer, ..default_properties };
                let expected = (auth_method, issuer) == (AuthMethod::ClientSecret, Issuer::OAuth);
                assert_eq!(
                    properties.may_authenticate_with_secret(),
                    expected,
                    "{auth_method} {issuer}"
                );
            }
        }
    }
}
