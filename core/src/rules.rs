//! Push rules: which events notify a user, and how.
//!
//! All five kinds share the type [`Rule`]. A user's rules in one scope are stored as a
//! [`RuleDocument`]. A [`Ruleset`] contains all rules of a scope that are evaluated, including the
//! built-in rules.

pub mod access;
mod action;
pub mod body;
pub mod builtin;
mod change;
mod condition;
mod document;
mod documents;
mod error;
pub mod evaluate;
pub mod evaluation_request;
pub mod evaluation_response;
pub mod event;
mod expiry;
pub mod explain;
mod id;
mod import;
pub mod index;
mod kind;
mod limits;
mod path;
pub mod pattern;
pub mod preferences;
mod response;
mod rule;
mod ruleset;
pub mod time_and_day;
pub mod trial;
pub mod work;

pub(crate) use action::collect_tweaks;
pub use action::{Action, Effect, TweakValue};
pub use body::{EnabledChange, NewRule};
pub use builtin::User;
pub use change::{PutTarget, RuleChange};
pub use condition::{Condition, ConditionKind, PropertyMatch, RelatedEventMatch, Scalar};
pub use document::{RuleDocument, RulePatch, RulePosition};
pub use documents::UserRuleDocuments;
pub use error::RuleError;
pub use expiry::RuleExpiry;
pub use id::{IdError, MAX_ID_BYTES, ProfileTag, RuleId, RuleScope, UnknownScope};
pub use import::read_import;
pub(crate) use import::read_rulesets;
pub use kind::RuleKind;
pub use limits::{MAX_CONDITIONS, NewRuleLimits, RuleLimits};
pub use path::{PathError, RulePath, RuleRef};
pub use response::{RulesetsExport, RulesetsResponse, default_response};
pub use rule::Rule;
pub use ruleset::Ruleset;

/// Unknown members of a JSON object, stored and returned unchanged.
pub type Extra = serde_json::Map<String, serde_json::Value>;
