//! The syntax of language tags (RFC 5646).

/// The maximum length of a tag, as recommended by RFC 5646, section 4.4.1.
const MAX_LENGTH: usize = 35;

/// Normalises a tag such as `de` or `pt_BR` to hyphens; `None` if it is malformed.
pub fn normalize(text: &str) -> Option<String> {
    let mut subtags = text.split(['-', '_']);
    let language = subtags.next().unwrap_or_default();
    let is_language =
        (2..=3).contains(&language.len()) && language.bytes().all(|b| b.is_ascii_alphabetic());
    let is_subtag = |subtag: &str| {
        (1..=8).contains(&subtag.len()) && subtag.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    let is_valid = is_language && text.len() <= MAX_LENGTH && subtags.all(is_subtag);
    is_valid.then(|| text.replace('_', "-"))
}
