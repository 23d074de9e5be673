//! A form that was not accepted because of a change since its page was opened.

/// What the page says above the form, which it shows again with what was entered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleForm {
    /// A sentence, already localised.
    pub text: String,
    /// The path of the sign-in page, if the user is signed out.
    pub sign_in: Option<String>,
}
