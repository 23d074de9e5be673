//! OAuth scopes: a catalogue, scopes with a parameter, and stored scopes that only a newer release
//! supports.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::error::OAuthError;
use crate::account::Role;
use crate::wire_enum::wire_enum;

wire_enum! {
    /// A scope of the catalogue, in the order of `scopes_supported` in the metadata.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Scope {
        Read = "read",
        Write = "write",
        WriteAccounts = "write:accounts",
        WriteBlocks = "write:blocks",
        WriteBookmarks = "write:bookmarks",
        WriteConversations = "write:conversations",
        WriteFavourites = "write:favourites",
        WriteFilters = "write:filters",
        WriteFollows = "write:follows",
        WriteLists = "write:lists",
        WriteMedia = "write:media",
        WriteMutes = "write:mutes",
        WriteNotifications = "write:notifications",
        WriteReports = "write:reports",
        WriteStatuses = "write:statuses",
        ReadAccounts = "read:accounts",
        ReadBlocks = "read:blocks",
        ReadBookmarks = "read:bookmarks",
        ReadFavourites = "read:favourites",
        ReadFilters = "read:filters",
        ReadFollows = "read:follows",
        ReadLists = "read:lists",
        ReadMutes = "read:mutes",
        ReadNotifications = "read:notifications",
        ReadSearch = "read:search",
        ReadStatuses = "read:statuses",
        Follow = "follow",
        Push = "push",
        Profile = "profile",
        AdminRead = "admin:read",
        AdminReadAccounts = "admin:read:accounts",
        AdminReadReports = "admin:read:reports",
        AdminReadDomainAllows = "admin:read:domain_allows",
        AdminReadDomainBlocks = "admin:read:domain_blocks",
        AdminReadIpBlocks = "admin:read:ip_blocks",
        AdminReadEmailDomainBlocks = "admin:read:email_domain_blocks",
        AdminReadCanonicalEmailBlocks = "admin:read:canonical_email_blocks",
        AdminWrite = "admin:write",
        AdminWriteAccounts = "admin:write:accounts",
        AdminWriteReports = "admin:write:reports",
        AdminWriteDomainAllows = "admin:write:domain_allows",
        AdminWriteDomainBlocks = "admin:write:domain_blocks",
        AdminWriteIpBlocks = "admin:write:ip_blocks",
        AdminWriteEmailDomainBlocks = "admin:write:email_domain_blocks",
        AdminWriteCanonicalEmailBlocks = "admin:write:canonical_email_blocks",
        /// Everything in Matrix's client-server API.
        MatrixApi = "urn:matrix:client:api:*",
    }
}

impl Scope {
    /// Mastodon's scopes. Scopes that only other issuers have follow them in the enum.
    pub const MASTODON: &[Self] =
        Self::ALL.split_at(Self::AdminWriteCanonicalEmailBlocks as usize + 1).0;

    /// Returns whether this scope includes the other: itself, or a child like `read:accounts` of
    /// `read`.
    pub fn covers(self, other: Self) -> bool {
        let suffix = other.as_str().strip_prefix(self.as_str());
        suffix.is_some_and(|suffix| suffix.is_empty() || suffix.starts_with(':'))
    }

    /// Returns whether the scope is reserved for admins.
    pub fn is_admin(self) -> bool {
        self.as_str().starts_with("admin:")
    }

    /// Returns whether the deprecated scope `follow` includes this one.
    fn is_covered_by_follow(self) -> bool {
        let resource = self.as_str().strip_prefix("read:").or(self.as_str().strip_prefix("write:"));
        matches!(resource, Some("blocks" | "follows" | "mutes"))
    }
}

/// The reason a string is not a scope or a list of scopes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ScopeError {
    /// The string violates the grammar of RFC 6749, section 3.3, which also excludes backslashes
    /// and characters outside ASCII.
    #[error("scopes are separated by single spaces and contain no quotes or control characters")]
    Malformed,
    /// A scope is well-formed but unknown.
    #[error("unknown scope {0:?}")]
    Unknown(String),
}

impl From<ScopeError> for OAuthError {
    fn from(error: ScopeError) -> Self {
        match error {
            ScopeError::Malformed => Self::MalformedScope,
            ScopeError::Unknown(name) => Self::UnknownScope(name.as_str().into()),
        }
    }
}

impl FromStr for Scope {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        // Printable ASCII without quote and backslash.
        let is_well_formed = |b| matches!(b, b'!' | b'#'..=b'[' | b']'..=b'~');
        if text.is_empty() || !text.bytes().all(is_well_formed) {
            return Err(ScopeError::Malformed);
        }
        Self::from_name(text).ok_or_else(|| ScopeError::Unknown(text.to_owned()))
    }
}

/// The text before the device id in the scope of a Matrix device.
const MATRIX_DEVICE_PREFIX: &str = "urn:matrix:client:device:";

/// The beginning of Matrix's scopes, and the one in the proposal that became the specification,
/// which some clients still send.
const MATRIX_PREFIXES: [&str; 2] = ["urn:matrix:client:", "urn:matrix:org.matrix.msc2967.client:"];

/// The maximum length of the device id in a scope, in bytes.
const MAX_DEVICE_ID_BYTES: usize = 255;

/// Returns the device id of the scope of a Matrix device.
fn device_id(scope: &str) -> Option<&str> {
    let device_id = scope.strip_prefix(MATRIX_DEVICE_PREFIX)?;
    (1..=MAX_DEVICE_ID_BYTES).contains(&device_id.len()).then_some(device_id)
}

/// A set of scopes that preserves insertion order. Equality ignores the order.
#[derive(Debug, Clone, Default, Eq)]
pub struct Scopes {
    catalogue_scopes: Vec<Scope>,
    /// Stored scopes that are not in the catalogue: those with a parameter, and those that only a
    /// newer release supports, which have no effect.
    other_scopes: Vec<String>,
}

impl Scopes {
    /// Parses stored scopes. Unknown ones, which a newer release may have written, are preserved
    /// without effect.
    pub fn from_stored(text: &str) -> Self {
        let mut scopes = Self::default();
        for name in text.split(' ').filter(|name| !name.is_empty()) {
            match Scope::from_name(name) {
                Some(scope) => scopes.add(scope),
                None => scopes.add_other(name.to_owned()),
            }
        }
        scopes
    }

    /// Returns the text to store: all scopes, separated by spaces, including unknown ones.
    pub fn to_stored(&self) -> String {
        let catalogue_names = self.catalogue_scopes.iter().map(|scope| scope.as_str());
        let other_names = self.other_scopes.iter().map(String::as_str);
        catalogue_names.chain(other_names).collect::<Vec<_>>().join(" ")
    }

    /// Returns the number of stored scopes that this release does not support.
    pub fn unknown_count(&self) -> usize {
        self.other_scopes.iter().filter(|scope| device_id(scope).is_none()).count()
    }

    /// Returns the memory that the scopes occupy outside this value, in bytes.
    pub fn heap_bytes(&self) -> usize {
        let other_bytes = self.other_scopes.iter().map(|other| size_of_val(other) + other.len());
        self.catalogue_scopes.len() + other_bytes.sum::<usize>()
    }

    pub fn add_all(&mut self, other: Self) {
        other.catalogue_scopes.into_iter().for_each(|scope| self.add(scope));
        other.other_scopes.into_iter().for_each(|scope| self.add_other(scope));
    }

    fn add(&mut self, scope: Scope) {
        if !self.contains(scope) {
            self.catalogue_scopes.push(scope);
        }
    }

    fn add_other(&mut self, scope: String) {
        if !self.other_scopes.contains(&scope) {
            self.other_scopes.push(scope);
        }
    }

    /// Returns these scopes, or `read` if the set is empty.
    pub fn or_read(self) -> Self {
        self.or(Scope::Read)
    }

    /// Returns these scopes, or `default` if the set is empty.
    pub fn or(self, default: Scope) -> Self {
        if self.is_empty() { Self::from_iter([default]) } else { self }
    }

    /// Parses requested scopes like `from_str`, and also those of Matrix devices. The former names
    /// of Matrix's scopes are replaced by the present ones.
    pub fn parse_with_devices(text: &str) -> Result<Self, ScopeError> {
        let mut scopes = Self::default();
        for name in text.split(' ').filter(|_| !text.is_empty()) {
            let name = match name.strip_prefix(MATRIX_PREFIXES[1]) {
                Some(suffix) => format!("{}{suffix}", MATRIX_PREFIXES[0]),
                None => name.to_owned(),
            };
            match name.parse() {
                Ok(scope) => scopes.add(scope),
                Err(ScopeError::Unknown(name)) if device_id(&name).is_some() => {
                    scopes.add_other(name);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(scopes)
    }

    /// Returns the ids of the Matrix devices in the set.
    fn device_ids(&self) -> impl Iterator<Item = &str> {
        self.other_scopes.iter().filter_map(|scope| device_id(scope))
    }

    /// Returns the id of the Matrix device that the scopes are for, if any.
    pub fn device_id(&self) -> Option<&str> {
        self.device_ids().next()
    }

    /// Returns the scopes that a consent is about: not the device, which is new in every sign-in.
    pub fn without_devices(mut self) -> Self {
        self.other_scopes.retain(|scope| device_id(scope).is_none());
        self
    }

    /// Returns whether the scopes only identify the user, and give access to nothing else.
    pub fn only_identify(&self) -> bool {
        self.iter().all(|scope| scope == Scope::Profile)
    }

    /// Checks that Matrix's API is requested for exactly one device, and a device only for it.
    pub fn check_device(&self) -> Result<(), OAuthError> {
        let devices = self.device_ids().count();
        let has_api = self.contains(Scope::MatrixApi);
        if devices == usize::from(has_api) { Ok(()) } else { Err(OAuthError::DeviceScope) }
    }

    /// Returns the scopes of the catalogue, in insertion order.
    pub fn iter(&self) -> impl Iterator<Item = Scope> + '_ {
        self.catalogue_scopes.iter().copied()
    }

    /// Returns the names of the scopes that this release supports: those of the catalogue, then
    /// those with a parameter.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let other_names = self.other_scopes.iter().map(String::as_str);
        let catalogue_names = self.catalogue_scopes.iter().map(|scope| scope.as_str());
        catalogue_names.chain(other_names.filter(|name| device_id(name).is_some()))
    }

    pub fn is_empty(&self) -> bool {
        self.catalogue_scopes.is_empty() && self.other_scopes.is_empty()
    }

    /// Returns whether the set contains `scope` itself. A broader scope does not count.
    pub fn contains(&self, scope: Scope) -> bool {
        self.catalogue_scopes.contains(&scope)
    }

    /// Returns the name of the first scope in `requested_scopes` that an app which registered these
    /// scopes may not request.
    pub fn first_not_covered<'a>(&self, requested_scopes: &'a Self) -> Option<&'a str> {
        let is_covered = |scope: &Scope| self.iter().any(|registered| registered.covers(*scope));
        let catalogue_scope = requested_scopes.iter().find(|scope| !is_covered(scope));
        let covers_devices = self.contains(Scope::MatrixApi);
        let is_other_covered = |scope: &String| {
            self.other_scopes.contains(scope) || (covers_devices && device_id(scope).is_some())
        };
        let other_scope =
            requested_scopes.other_scopes.iter().find(|scope| !is_other_covered(scope));
        catalogue_scope.map(Scope::as_str).or(other_scope.map(String::as_str))
    }

    /// Returns whether an account with `role` may grant all scopes; `None` for an app token.
    pub fn are_allowed_for(&self, role: Option<Role>) -> bool {
        self.check_role(role).is_ok()
    }

    /// Rejects the first scope that an account with `role` may not grant; `None` for an app token.
    pub fn check_role(&self, role: Option<Role>) -> Result<(), OAuthError> {
        match self.iter().find(|scope| scope.is_admin()) {
            Some(scope) if role != Some(Role::Admin) => {
                Err(OAuthError::AdminScopeDenied(scope.as_str().into()))
            }
            _ => Ok(()),
        }
    }

    /// Returns the scopes that a token has while its account has `role` (`None` for an app token):
    /// `admin:*` scopes are dropped unless the role is admin.
    pub fn effective_for_role(mut self, role: Option<Role>) -> Self {
        if !self.are_allowed_for(role) {
            self.catalogue_scopes.retain(|scope| !scope.is_admin());
        }
        self
    }

    /// Returns whether a token with these scopes may be used where `needed` is required.
    pub fn allows(&self, needed: Scope) -> bool {
        self.iter().any(|granted| {
            granted.covers(needed) || (granted == Scope::Follow && needed.is_covered_by_follow())
        })
    }

    /// Returns whether a token with these scopes may be used where one of `needed` is required.
    pub fn allows_any(&self, needed: &[Scope]) -> bool {
        needed.iter().any(|scope| self.allows(*scope))
    }
}

impl PartialEq for Scopes {
    fn eq(&self, other: &Self) -> bool {
        self.catalogue_scopes.len() == other.catalogue_scopes.len()
            && self.other_scopes.len() == other.other_scopes.len()
            && self.iter().all(|scope| other.contains(scope))
            && self.other_scopes.iter().all(|scope| other.other_scopes.contains(scope))
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        let mut set = Self::default();
        scopes.into_iter().for_each(|scope| set.add(scope));
        set
    }
}

impl FromStr for Scopes {
    type Err = ScopeError;

    /// Parses requested scopes, separated by single spaces; an empty string is the empty set. All
    /// of them must be in the catalogue.
    fn from_str(text: &str) -> Result<Self, ScopeError> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        text.split(' ').map(str::parse).collect()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().collect::<Vec<_>>().join(" "))
    }
}

#[cfg(test)]
mod tests;
