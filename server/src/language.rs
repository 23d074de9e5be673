//! The languages of pages and error messages.

mod localize;
mod negotiation;
mod text;

pub use localize::Localize;
use strum::VariantArray;
pub use text::Argument;
pub(crate) use text::isolate;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, VariantArray)]
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
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Returns the two-letter code and the message file.
    const fn locale(self) -> (&'static str, &'static str) {
        match self {
            Self::English => ("en", include_str!("../locales/en.ftl")),
            Self::German => ("de", include_str!("../locales/de.ftl")),
            Self::French => ("fr", include_str!("../locales/fr.ftl")),
            Self::Spanish => ("es", include_str!("../locales/es.ftl")),
            Self::Portuguese => ("pt", include_str!("../locales/pt.ftl")),
            Self::Italian => ("it", include_str!("../locales/it.ftl")),
            Self::Dutch => ("nl", include_str!("../locales/nl.ftl")),
            Self::Polish => ("pl", include_str!("../locales/pl.ftl")),
            Self::Japanese => ("ja", include_str!("../locales/ja.ftl")),
            Self::Chinese => ("zh", include_str!("../locales/zh.ftl")),
            Self::Arabic => ("ar", include_str!("../locales/ar.ftl")),
        }
    }

    /// Returns the two-letter code, used in requests and sessions.
    pub const fn code(self) -> &'static str {
        self.locale().0
    }

    /// Returns the language tag for HTML, which determines the fonts of browsers and the voices of
    /// screen readers.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::Portuguese => "pt-BR",
            Self::Chinese => "zh-Hans",
            _ => self.code(),
        }
    }

    pub const fn native_name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::German => "Deutsch",
            Self::French => "Français",
            Self::Spanish => "Español",
            Self::Portuguese => "Português",
            Self::Italian => "Italiano",
            Self::Dutch => "Nederlands",
            Self::Polish => "Polski",
            Self::Japanese => "日本語",
            Self::Chinese => "中文",
            Self::Arabic => "العربية",
        }
    }

    /// Returns the text direction, as an HTML attribute.
    pub const fn direction(self) -> &'static str {
        match self {
            Self::Arabic => "rtl",
            _ => "ltr",
        }
    }
}

#[cfg(test)]
mod tests;
