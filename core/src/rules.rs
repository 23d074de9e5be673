//! Push rules: what a user wants to hear of, in order.
//!
//! One [`Rule`] serves all five kinds, so each operation is written once. A user's rules of one
//! scope are a [`Document`]; a [`Ruleset`] is what the user sees of it, built-in rules included.

mod access;
mod action;
mod answer;
pub mod audience;
pub mod body;
mod bounds;
pub mod builtin;
mod change;
mod condition;
mod document;
mod effect;
pub mod evaluation;
pub mod event;
pub(crate) mod fields;
mod id;
pub mod key;
mod kind;
pub mod matching;
mod member_count;
mod path;
pub mod pattern;
mod refusal;
mod rule;
mod ruleset;
mod scope;
pub mod verdict_request;

pub use access::Access;
pub use action::{Action, TweakValue};
pub use answer::{answer, untouched};
pub use body::NewRule;
pub use bounds::Bounds;
pub use builtin::User;
pub use change::Change;
pub use condition::{Condition, Scalar, Test};
pub use document::{Document, Place, Unreadable};
pub use effect::Effect;
pub use id::{IdError, MAX_ID_BYTES, RuleId};
pub use kind::{Kind, UnknownKind};
pub use path::{PathError, RuleName, RulePath};
pub use refusal::{Class, Refusal};
pub use rule::Rule;
pub use ruleset::{Ruleset, Rulesets};
pub use scope::{ProfileTag, Scope, UnknownScope};

/// Members of a JSON object that have no meaning here: kept, and returned as they came.
pub type Extra = serde_json::Map<String, serde_json::Value>;
