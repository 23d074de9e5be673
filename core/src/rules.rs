//! Push rules: what a user wants to hear of, in order.
//!
//! One [`Rule`] serves all five kinds, so each operation is written once.

mod action;
mod condition;
mod fields;
mod id;
mod kind;
pub mod pattern;
mod refusal;
mod rule;
mod scope;

pub use action::{Action, TweakValue};
pub use condition::{Condition, Scalar, Test};
pub use id::{IdError, MAX_ID_BYTES, RuleId};
pub use kind::{Kind, UnknownKind};
pub use refusal::{Class, Refusal};
pub use rule::Rule;
pub use scope::{ProfileTag, Scope, UnknownScope};

/// Members of a JSON object that have no meaning here: kept, and returned as they came.
pub type Extra = serde_json::Map<String, serde_json::Value>;
