//! The messages in `locales/`, embedded in the binary and parsed at first use.

use std::borrow::Cow;
use std::sync::OnceLock;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource, FluentValue};

use super::Language;

type Bundle = FluentBundle<FluentResource>;

/// The value of a variable in a message.
#[derive(Debug, Clone, Copy)]
pub enum Argument<'a> {
    /// Text from a user or an app. It is isolated, so that it cannot change the direction of the
    /// text around it.
    Untrusted(&'a str),
    Trusted(&'a str),
    /// A number, which may select a plural form.
    Number(usize),
}

impl<'a> From<&'a str> for Argument<'a> {
    fn from(text: &'a str) -> Self {
        Self::Untrusted(text)
    }
}

impl From<usize> for Argument<'_> {
    fn from(number: usize) -> Self {
        Self::Number(number)
    }
}

impl<'a> From<Argument<'a>> for FluentValue<'a> {
    fn from(value: Argument<'a>) -> Self {
        match value {
            Argument::Untrusted(text) => isolate(text).into(),
            Argument::Trusted(text) => text.into(),
            Argument::Number(number) => number.into(),
        }
    }
}

/// Encloses text in bidirectional isolation characters, after removing embedding, override and
/// isolate characters.
///
/// `<bdi>` is not used, because titles and attributes cannot contain elements.
pub(crate) fn isolate(text: &str) -> String {
    let is_bidi_formatting =
        |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    format!("\u{2068}{}\u{2069}", text.replace(is_bidi_formatting, ""))
}

impl Language {
    pub fn text(self, key: &str) -> Cow<'static, str> {
        self.format_message(key, None)
    }

    pub fn text_with<'a>(self, key: &str, name: &'a str, value: impl Into<Argument<'a>>) -> String {
        self.text_with_all(key, [(name, value.into())])
    }

    pub(crate) fn text_with_all<'a>(
        self,
        key: &str,
        arguments: impl IntoIterator<Item = (&'a str, Argument<'a>)>,
    ) -> String {
        let args: FluentArgs<'a> =
            arguments.into_iter().map(|(name, value)| (name, FluentValue::from(value))).collect();
        self.format_message(key, Some(&args)).into_owned()
    }

    /// Formats a message. A missing message falls back to English, then to its key, because an
    /// error would not help the user.
    fn format_message(self, key: &str, args: Option<&FluentArgs<'_>>) -> Cow<'static, str> {
        let message = [self, Self::English].into_iter().find_map(|language| {
            let bundle = language.bundle();
            Some((bundle, bundle.get_message(key)?.value()?))
        });
        debug_assert!(message.is_some(), "no message {key}");
        match message {
            Some((bundle, pattern)) => bundle.format_pattern(pattern, args, &mut Vec::new()),
            None => key.to_owned().into(),
        }
    }

    fn bundle(self) -> &'static Bundle {
        static BUNDLES: [OnceLock<Bundle>; Language::ALL.len()] =
            [const { OnceLock::new() }; Language::ALL.len()];
        BUNDLES[self as usize].get_or_init(|| self.parse_bundle())
    }

    fn parse_bundle(self) -> Bundle {
        let mut bundle = Bundle::new_concurrent(vec![self.tag().parse().unwrap_or_default()]);
        // `Argument` isolates only untrusted text.
        bundle.set_use_isolating(false);
        let (Ok(resource) | Err((resource, _))) =
            FluentResource::try_new(self.locale().1.to_owned());
        bundle.add_resource_overriding(resource);
        bundle
    }
}
