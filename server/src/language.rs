//! The languages of pages and error messages.

mod localize;
pub(crate) mod messages;
mod negotiation;
mod text;

pub use localize::Localize;
pub use text::Argument;
pub(crate) use text::isolate;

/// A supported language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(missing_docs, reason = "the names are self-explanatory")]
pub enum Language {
    #[default]
    English,
    German,
    French,
    Spanish,
    Portuguese,
    Italian,
    Dutch,
    Polish,
    Japanese,
    Chinese,
    Arabic,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 11] = [
        Self::English,
        Self::German,
        Self::French,
        Self::Spanish,
        Self::Portuguese,
        Self::Italian,
        Self::Dutch,
        Self::Polish,
        Self::Japanese,
        Self::Chinese,
        Self::Arabic,
    ];

    /// Its two-letter code, used in requests and sessions.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
            Self::French => "fr",
            Self::Spanish => "es",
            Self::Portuguese => "pt",
            Self::Italian => "it",
            Self::Dutch => "nl",
            Self::Polish => "pl",
            Self::Japanese => "ja",
            Self::Chinese => "zh",
            Self::Arabic => "ar",
        }
    }

    /// Its tag in HTML, by which browsers and screen readers choose fonts and voices: with the script
    /// of Chinese and the region of Portuguese.
    #[must_use]
    pub const fn tag(self) -> &'static str {
        match self {
            Self::Portuguese => "pt-BR",
            Self::Chinese => "zh-Hans",
            _ => self.code(),
        }
    }

    /// Its text direction, as an HTML attribute.
    #[must_use]
    pub const fn direction(self) -> &'static str {
        match self {
            Self::Arabic => "rtl",
            _ => "ltr",
        }
    }
}

#[cfg(test)]
mod tests;
