//! The texts of each language, from `locales/`, compiled in and read when first needed.

use std::borrow::Cow;
use std::sync::OnceLock;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource, FluentValue};

use super::Language;

type Bundle = FluentBundle<FluentResource>;

/// What stands in a text where it leaves a gap.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// Words that others chose, like the name of an app. They are set apart, so that they cannot
    /// turn the direction of the sentence around them.
    Foreign(&'a str),
    /// Words of ours.
    Own(&'a str),
    /// A number, by which the text may choose its grammar.
    Number(usize),
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Foreign(text)
    }
}

impl From<usize> for Value<'_> {
    fn from(number: usize) -> Self {
        Self::Number(number)
    }
}

impl<'a> From<Value<'a>> for FluentValue<'a> {
    fn from(value: Value<'a>) -> Self {
        match value {
            Value::Foreign(text) => isolated(text).into(),
            Value::Own(text) => text.into(),
            Value::Number(number) => number.into(),
        }
    }
}

/// The text between the marks that isolate it, without marks of its own that could end that.
///
/// Marks and not `<bdi>`, because a title and an attribute hold no elements.
pub(crate) fn isolated(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    format!("\u{2068}{}\u{2069}", text.replace(turns, ""))
}

impl Language {
    /// The text of this key.
    #[must_use]
    pub fn text(self, key: &str) -> Cow<'static, str> {
        self.filled(key, None)
    }

    /// The text of this key, with a value in the gap of this name.
    #[must_use]
    pub fn text_with<'a>(self, key: &str, gap: &'a str, value: impl Into<Value<'a>>) -> String {
        self.text_with_all(key, [(gap, value.into())])
    }

    /// The text of this key, with a value in each of its gaps.
    pub(super) fn text_with_all<'a>(
        self,
        key: &str,
        gaps: impl IntoIterator<Item = (&'a str, Value<'a>)>,
    ) -> String {
        let args: FluentArgs<'a> =
            gaps.into_iter().map(|(gap, value)| (gap, FluentValue::from(value))).collect();
        self.filled(key, Some(&args)).into_owned()
    }

    /// A text that is missing is given in English, or else as its key: no reader is served by an
    /// error about it. Tests see to it that none is missing.
    fn filled(self, key: &str, args: Option<&FluentArgs<'_>>) -> Cow<'static, str> {
        #[cfg(test)]
        super::tests::note(key);
        let found = [self, Self::English].into_iter().find_map(|language| {
            let bundle = language.bundle();
            Some((bundle, bundle.get_message(key)?.value()?))
        });
        match found {
            Some((bundle, text)) => bundle.format_pattern(text, args, &mut Vec::new()),
            None => key.to_owned().into(),
        }
    }

    fn bundle(self) -> &'static Bundle {
        static BUNDLES: [OnceLock<Bundle>; Language::ALL.len()] =
            [const { OnceLock::new() }; Language::ALL.len()];
        BUNDLES[self as usize].get_or_init(|| self.read())
    }

    fn read(self) -> Bundle {
        let mut bundle = Bundle::new_concurrent(vec![self.tag().parse().unwrap_or_default()]);
        // Only what is foreign is isolated, and `Value` does that.
        bundle.set_use_isolating(false);
        let (Ok(resource) | Err((resource, _))) = FluentResource::try_new(self.source().to_owned());
        bundle.add_resource_overriding(resource);
        bundle
    }

    /// The file of its texts.
    pub(super) const fn source(self) -> &'static str {
        match self {
            Self::English => include_str!("../../locales/en.ftl"),
            Self::German => include_str!("../../locales/de.ftl"),
            Self::French => include_str!("../../locales/fr.ftl"),
            Self::Spanish => include_str!("../../locales/es.ftl"),
            Self::Portuguese => include_str!("../../locales/pt.ftl"),
            Self::Italian => include_str!("../../locales/it.ftl"),
            Self::Dutch => include_str!("../../locales/nl.ftl"),
            Self::Polish => include_str!("../../locales/pl.ftl"),
            Self::Japanese => include_str!("../../locales/ja.ftl"),
            Self::Chinese => include_str!("../../locales/zh.ftl"),
            Self::Arabic => include_str!("../../locales/ar.ftl"),
        }
    }
}
