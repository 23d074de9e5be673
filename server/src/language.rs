//! The languages of the pages and of the errors.

mod localize;
pub(crate) mod messages;
mod negotiation;
mod text;

pub use localize::Localize;
pub use text::Value;
pub(crate) use text::isolated;

/// A language that every text is written in. The order is the one in which they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(missing_docs, reason = "the names say it")]
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

    /// Its two letters, by which it is asked for and remembered.
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

    /// What a browser or a screen reader must know to pick letters and a voice: which Chinese and
    /// which Portuguese it is.
    #[must_use]
    pub const fn tag(self) -> &'static str {
        match self {
            Self::Portuguese => "pt-BR",
            Self::Chinese => "zh-Hans",
            _ => self.code(),
        }
    }

    /// The direction of its writing, as HTML names it.
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
