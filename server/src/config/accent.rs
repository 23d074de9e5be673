//! The accent colour of the pages, which must be readable.

use serde::{Deserialize, Serialize};

/// The darkest background behind the accent colour on light pages: `--ground` in
/// `static/belfry.css`.
const LIGHT_GROUND: [u8; 3] = [0xf5, 0xf4, 0xf0];
/// Minimum contrast of text (WCAG 2.2, 1.4.3).
const MIN_CONTRAST: f64 = 4.5;

/// The colour of links, buttons and marks on light pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Accent([u8; 3]);

impl Accent {
    /// Returns CSS rules that set the colour. The tint for dark pages is readable for every colour.
    pub fn to_css(self) -> String {
        let color = String::from(self);
        format!(
            "\n:root {{ --accent: {color}; }}\n\n@media (prefers-color-scheme: dark) {{\n  \
             :root {{ --accent: color-mix(in srgb, {color} 45%, white); }}\n}}\n"
        )
    }
}

impl TryFrom<String> for Accent {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let Some(color) = parse(&text) else {
            return Err(format!(
                "{text:?} is not a colour: write six hexadecimal digits such as \"#0b6b65\""
            ));
        };
        let contrast = contrast(color, LIGHT_GROUND);
        if contrast < MIN_CONTRAST {
            // Rounded down, so that 4.49 is not shown as the minimum.
            let contrast = (contrast * 10.0).floor() / 10.0;
            let ground = String::from(Self(LIGHT_GROUND));
            return Err(format!(
                "{text:?} has a contrast of {contrast:.1}:1 with the background of light pages, \
                 {ground}, and text needs {MIN_CONTRAST}:1: use a darker colour"
            ));
        }
        Ok(Self(color))
    }
}

impl From<Accent> for String {
    fn from(Accent([red, green, blue]): Accent) -> Self {
        format!("#{red:02x}{green:02x}{blue:02x}")
    }
}

/// Parses six hexadecimal digits, as in `#0b6b65`.
fn parse(text: &str) -> Option<[u8; 3]> {
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
    let [_, red, green, blue] = number.to_be_bytes();
    Some([red, green, blue])
}

/// Returns the WCAG contrast ratio of two colours, from 1 to 21.
fn contrast(color: [u8; 3], other: [u8; 3]) -> f64 {
    let [a, b] = [color, other].map(|color| {
        let [red, green, blue] = color.map(|channel| {
            let fraction = f64::from(channel) / 255.0;
            if fraction <= 0.040_45 {
                fraction / 12.92
            } else {
                ((fraction + 0.055) / 1.055).powf(2.4)
            }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05
    });
    a.max(b) / a.min(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_follows_the_wcag_definition() {
        // Examples from https://www.w3.org/TR/WCAG22/ and from common tools.
        for (first, second, expected) in [
            ("#000000", "#ffffff", 21.0),
            ("#ffffff", "#ffffff", 1.0),
            ("#777777", "#ffffff", 4.48),
            ("#0000ff", "#ffffff", 8.59),
            ("#ff0000", "#ffffff", 4.0),
            // The tint of black and the background on dark pages.
            ("#8c8c8c", "#1c2125", 4.83),
        ] {
            let contrast = contrast(parse(first).unwrap(), parse(second).unwrap());
            assert!((contrast - expected).abs() < 0.005, "{first} {second}: {contrast}");
        }
    }

    #[test]
    fn an_unreadable_or_malformed_colour_is_rejected() {
        let not_a_colour = "is not a colour: write six hexadecimal digits such as \"#0b6b65\"";
        for (text, problem) in [
            (
                "#ffd400",
                "has a contrast of 1.3:1 with the background of light pages, #f5f4f0, and \
                 text needs 4.5:1: use a darker colour",
            ),
            ("teal", not_a_colour),
            ("#abc", not_a_colour),
            ("#+12345", not_a_colour),
            ("#é1234", not_a_colour),
        ] {
            let error = Accent::try_from(text.to_owned()).unwrap_err();
            assert_eq!(error, format!("{text:?} {problem}"));
        }
        assert!(Accent::try_from("#846e00".to_owned()).is_ok());
    }

    #[test]
    fn the_background_matches_the_style_sheet() {
        let style = include_str!("../../static/belfry.css");
        let ground = String::from(Accent(LIGHT_GROUND));
        assert!(style.contains(&format!("--ground: {ground};")));
        assert!(style.contains("--paper: #1c2125;"));
    }
}
