//! Language negotiation: the `lang` parameter, then the choice on a page, then the session, then
//! `Accept-Language`.

use belfry_core::language_tag;

use super::Language;

impl Language {
    /// Returns the language of a tag such as `de`, `pt-BR` or `zh_TW`, case-insensitively. `None`
    /// for other languages and invalid tags.
    pub fn from_tag(tag: &str) -> Option<Self> {
        let tag = language_tag::normalize(tag)?;
        let code = tag.split('-').next()?;
        Self::ALL.iter().copied().find(|language| language.code().eq_ignore_ascii_case(code))
    }

    /// Returns the language of a response: the first that is set of the `lang` parameter, the
    /// choice on a page (a cookie), the session's language and the preferred language of
    /// `Accept-Language`; English if none is set.
    pub fn negotiate(
        lang: Option<Self>,
        page_choice: Option<Self>,
        session_language: Option<Self>,
        accept_language: Option<&str>,
    ) -> Self {
        lang.or(page_choice)
            .or(session_language)
            .or_else(|| accept_language.and_then(Self::from_accept_language))
            .unwrap_or_default()
    }

    /// Returns the first language with the highest weight in an `Accept-Language` header. A
    /// wildcard means English. `fluent-langneg` is not used, because it ignores the weights.
    fn from_accept_language(header: &str) -> Option<Self> {
        let ranges = header.split(',').filter_map(parse_range);
        let parse_language =
            |range| if range == "*" { Some(Self::English) } else { Self::from_tag(range) };
        let weighted_languages =
            ranges.filter_map(|(range, weight)| Some((parse_language(range)?, weight)));
        let mut languages: Vec<(Self, f32)> =
            weighted_languages.filter(|(_, weight)| *weight > 0.0).collect();
        languages.sort_by(|(_, weight), (_, other_weight)| other_weight.total_cmp(weight));
        languages.first().map(|(language, _)| *language)
    }
}

/// Parses a language range and its weight; `None` if its parameter is not a valid weight.
fn parse_range(range_with_weight: &str) -> Option<(&str, f32)> {
    let mut parts = range_with_weight.split(';').map(str::trim);
    let range = parts.next()?;
    let Some(parameter) = parts.next() else { return Some((range, 1.0)) };
    let (name, value) = parameter.split_once('=')?;
    let weight = parse_weight(value.trim_start())?;
    name.trim_end().eq_ignore_ascii_case("q").then_some((range, weight))
}

/// Parses `0`, `0.8`, `1.000`: RFC 9110, section 12.4.2.
fn parse_weight(text: &str) -> Option<f32> {
    let is_short = text.len() <= 5 && text.starts_with(['0', '1']);
    let is_decimal = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let weight = text.parse().ok().filter(|_| is_short && is_decimal)?;
    (0.0..=1.0).contains(&weight).then_some(weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Language::{Arabic, Chinese, English, French, German, Japanese, Portuguese};

    #[test]
    fn a_tag_names_its_language_in_any_case() {
        for (tag, expected) in [
            ("de", Some(German)),
            ("DE", Some(German)),
            ("de-AT", Some(German)),
            ("pt-BR", Some(Portuguese)),
            ("pt_PT", Some(Portuguese)),
            ("zh_TW", Some(Chinese)),
            ("zh-Hans-CN", Some(Chinese)),
            ("ar-u-nu-latn", Some(Arabic)),
            ("tlh", None),
            ("deu", None),
            ("zz", None),
            ("None", None),
            ("*", None),
            ("", None),
            (" de", None),
            ("-de", None),
            ("de/../../etc/passwd", None),
            ("de-<script>", None),
            ("de\r\nSet-Cookie: a=b", None),
            ("de-abcdefghi", None),
            ("ｄｅ", None),
        ] {
            assert_eq!(Language::from_tag(tag), expected, "{tag:?}");
        }
    }

    #[test]
    fn every_language_is_found_by_its_code_and_its_tag() {
        for &language in Language::ALL {
            assert_eq!(Language::from_tag(language.code()), Some(language));
            assert_eq!(Language::from_tag(language.tag()), Some(language));
        }
    }

    #[test]
    fn the_parameter_takes_precedence_over_the_choice_the_session_and_the_header() {
        for (lang, page_choice, session_language, accept_language, expected) in [
            (Some(German), Some(Arabic), Some(French), Some("ja"), German),
            (None, Some(Arabic), Some(French), Some("ja"), Arabic),
            (None, None, Some(French), Some("ja"), French),
            (None, None, None, Some("ja"), Japanese),
            (None, None, None, None, English),
            (None, None, None, Some(""), English),
        ] {
            let language =
                Language::negotiate(lang, page_choice, session_language, accept_language);
            assert_eq!(
                language, expected,
                "{lang:?} {page_choice:?} {session_language:?} {accept_language:?}"
            );
        }
    }

    #[test]
    fn the_language_with_the_highest_weight_in_the_header_is_chosen() {
        for (accept, expected) in [
            ("de", German),
            ("de-CH, fr;q=0.9, en;q=0.8", German),
            ("en;q=0.5, fr;q=0.9, de;q=0.7", French),
            ("en ; q = 0.5 , fr ; q = 0.51", French),
            ("fr;Q=0.2, de;Q=0.3", German),
            ("fr, de", French),
            ("de;q=0.333, fr;q=0.333", German),
            ("sv, da;q=0.9, ar;q=0.1", Arabic),
            ("pt-BR;q=0.9, fr;q=0.8, pt;q=0.1", Portuguese),
            ("pt;q=0.1, fr;q=0.8, pt-BR;q=0.9", Portuguese),
            ("fr;q=0, de;q=0.1", German),
            ("fr;q=0", English),
            ("fr;q=0.000, *", English),
            ("*", English),
            ("*, de;q=0.5", English),
            ("en;q=0.1, *, de;q=0.5", English),
            ("*;q=0.1, de;q=0.5", German),
            ("sv", English),
        ] {
            assert_eq!(Language::negotiate(None, None, None, Some(accept)), expected, "{accept}");
        }
    }

    #[test]
    fn invalid_ranges_are_ignored() {
        for invalid_range in [
            "de;q=2",
            "de;q=1.001",
            "de;q=-1",
            "de;q=",
            "de;q",
            "de;q=0.1234",
            "de;q=.5",
            "de;q=NaN",
            "de;q=1e3",
            "de;level=1",
            ";",
            ";;;",
            "=",
            "de de",
            "de\0",
            "\u{202e}ed",
        ] {
            let accept = format!(",, ,{invalid_range},ja;q=0.001,{invalid_range}");
            assert_eq!(
                Language::negotiate(None, None, None, Some(&accept)),
                Japanese,
                "{invalid_range:?}"
            );
        }
    }
}
