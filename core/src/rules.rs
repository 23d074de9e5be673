//! Push rules: what a user wants to hear of, in order.
//!
//! One [`Rule`] serves all five kinds, so each operation is written once. A user's rules of one
//! scope are a [`Document`]; a [`Ruleset`] is what the user sees of it, built-in rules included.

mod access;
mod action;
mod answer;
pub mod body;
mod bounds;
pub mod builtin;
mod change;
mod condition;
mod document;
mod effect;
pub mod evaluate;
pub mod evaluation_request;
pub mod evaluation_response;
pub mod event;
pub(crate) mod fields;
mod id;
pub mod index;
mod kind;
mod member_count;
mod path;
pub mod pattern;
pub mod property_path;
mod refusal;
mod rule;
mod ruleset;
mod scope;

pub use access::RuleAccess;
pub use action::{Action, TweakValue};
pub use answer::{answer, untouched};
pub use body::NewRule;
pub use bounds::RuleLimits;
pub use builtin::User;
pub use change::RulePatch;
pub use condition::{Condition, ConditionKind, Scalar};
pub use document::{Document, Position, Unreadable};
pub use effect::Effect;
pub use id::{IdError, MAX_ID_BYTES, RuleId};
pub use kind::{RuleKind, UnknownKind};
pub use path::{PathError, RulePath, RuleRef};
pub use refusal::{Class, RuleError};
pub use rule::Rule;
pub use ruleset::{Ruleset, RulesetsResponse};
pub use scope::{ProfileTag, RuleScope, UnknownScope};

/// Members of a JSON object that have no meaning here: kept, and returned as they came.
pub type Extra = serde_json::Map<String, serde_json::Value>;
