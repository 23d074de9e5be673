//! The accent colour of the pages: checked for contrast on light pages, adapted for dark ones.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An sRGB colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color([u8; 3]);

/// The darkest background behind the accent colour on light pages: `--ground` in
/// `static/belfry.css`.
const LIGHT_GROUND: Color = Color([0xf5, 0xf4, 0xf0]);
/// The brightest background behind the accent colour on dark pages: `--paper` in
/// `static/belfry.css`.
const DARK_PAPER: Color = Color([0x1c, 0x21, 0x25]);
/// The text colour of buttons in the accent colour, on light pages.
const TEXT_ON_LIGHT_ACCENT: Color = WHITE;
/// The text colour of buttons in the accent colour, on dark pages.
const TEXT_ON_DARK_ACCENT: Color = Color([0x14, 0x17, 0x1a]);

const WHITE: Color = Color([0xff; 3]);
const BLACK: Color = Color([0; 3]);

/// Minimum contrast of text (WCAG 2.2, 1.4.3).
const MIN_CONTRAST: f64 = 4.5;
/// The minimum contrast of the accent colour derived for dark pages (WCAG 2.2, 1.4.6), as the
/// default accent colour has.
const MIN_DARK_CONTRAST: f64 = 7.0;

impl Color {
    /// Parses six hexadecimal digits, as in `#0b6b65`.
    fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
        let [_, red, green, blue] = number.to_be_bytes();
        Some(Self([red, green, blue]))
    }

    /// Mixes two colours: `parts` of 64 from the other colour, the remaining parts from this one.
    fn mix(self, other: Self, parts: u8) -> Self {
        let mut mixed = self.0;
        for (channel, other_channel) in mixed.iter_mut().zip(other.0) {
            let sum = u16::from(*channel) * u16::from(64 - parts)
                + u16::from(other_channel) * u16::from(parts);
            *channel = u8::try_from(sum / 64).unwrap_or(u8::MAX);
        }
        Self(mixed)
    }

    /// Mixes in as little of another colour as is needed for a minimum contrast with a background.
    /// Returns the other colour if no mixture has enough contrast.
    fn mix_until(self, other: Self, background: Self, contrast: f64) -> Self {
        let mut mixtures = (0..=64).map(|parts| self.mix(other, parts));
        mixtures.find(|color| color.contrast(background) >= contrast).unwrap_or(other)
    }

    /// Returns the WCAG contrast ratio of two colours, from 1 to 21.
    fn contrast(self, other: Self) -> f64 {
        let a = self.luminance() + 0.05;
        let b = other.luminance() + 0.05;
        a.max(b) / a.min(b)
    }

    /// Returns the WCAG relative luminance, from 0 to 1.
    fn luminance(self) -> f64 {
        let linearize = |channel: u8| {
            let fraction = f64::from(channel) / 255.0;
            if fraction <= 0.040_45 {
                fraction / 12.92
            } else {
                ((fraction + 0.055) / 1.055).powf(2.4)
            }
        };
        let [red, green, blue] = self.0.map(linearize);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

/// The colour of links, buttons and marks on light pages, from which the colour for dark pages is
/// derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Accent(Color);

impl Accent {
    /// Returns the colour for dark pages: the darkest tint with enough contrast there.
    pub fn dark(self) -> Color {
        self.0.mix_until(WHITE, DARK_PAPER, MIN_DARK_CONTRAST)
    }

    /// Returns CSS rules that set the custom properties of the style sheet, for light and dark
    /// pages.
    pub fn to_css(self) -> String {
        let properties = |color: Color, mixed_in: Color, text: Color| {
            format!(
                "--accent: {color}; --accent-strong: {}; --on-accent: {text};",
                color.mix(mixed_in, 16)
            )
        };
        let light = properties(self.0, BLACK, TEXT_ON_LIGHT_ACCENT);
        let dark = properties(self.dark(), WHITE, TEXT_ON_DARK_ACCENT);
        format!(
            "\n:root {{ {light} }}\n\n@media (prefers-color-scheme: dark) {{\n  :root {{ {dark} }}\n}}\n"
        )
    }
}

impl TryFrom<String> for Accent {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let Some(color) = Color::parse(&text) else {
            return Err(format!(
                "{text:?} is not a colour: write six hexadecimal digits such as \"#0b6b65\""
            ));
        };
        let contrast = color.contrast(LIGHT_GROUND);
        if contrast < MIN_CONTRAST {
            // Rounded down, so that 4.49 is not shown as the minimum.
            let contrast = (contrast * 10.0).floor() / 10.0;
            let darker = color.mix_until(BLACK, LIGHT_GROUND, MIN_CONTRAST);
            return Err(format!(
                "{text:?} has a contrast of {contrast:.1}:1 with the background of light pages, \
                 {LIGHT_GROUND}, and text needs {MIN_CONTRAST}:1: use a darker colour such as \
                 \"{darker}\""
            ));
        }
        Ok(Self(color))
    }
}

impl From<Accent> for String {
    fn from(accent: Accent) -> Self {
        accent.0.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn color(text: &str) -> Color {
        Color::parse(text).unwrap()
    }

    #[test]
    fn contrast_follows_the_wcag_definition() {
        // Examples from https://www.w3.org/TR/WCAG22/ and from common tools.
        for (first, second, expected) in [
            ("#000000", "#ffffff", 21.0),
            ("#ffffff", "#ffffff", 1.0),
            ("#777777", "#ffffff", 4.48),
            ("#767676", "#ffffff", 4.54),
            ("#0000ff", "#ffffff", 8.59),
            ("#ff0000", "#ffffff", 4.0),
        ] {
            let contrast = color(first).contrast(color(second));
            assert!((contrast - expected).abs() < 0.005, "{first} {second}: {contrast}");
        }
    }

    #[test]
    fn a_colour_that_is_too_bright_is_rejected_with_a_darker_suggestion() {
        assert_eq!(
            Accent::try_from("#ffd400".to_owned()).unwrap_err(),
            "\"#ffd400\" has a contrast of 1.3:1 with the background of light pages, #f5f4f0, and \
             text needs 4.5:1: use a darker colour such as \"#836d00\""
        );
        assert!(Accent::try_from("#836d00".to_owned()).is_ok());
    }

    #[test]
    fn a_malformed_colour_is_rejected_with_an_example() {
        for (text, error) in [
            ("teal", "\"teal\" is not a colour: write six hexadecimal digits such as \"#0b6b65\""),
            ("#abc", "\"#abc\" is not a colour: write six hexadecimal digits such as \"#0b6b65\""),
            (
                "#+12345",
                "\"#+12345\" is not a colour: write six hexadecimal digits such as \"#0b6b65\"",
            ),
            (
                "#é1234",
                "\"#é1234\" is not a colour: write six hexadecimal digits such as \"#0b6b65\"",
            ),
        ] {
            assert_eq!(Accent::try_from(text.to_owned()).unwrap_err(), error);
        }
    }

    #[test]
    fn the_backgrounds_match_the_style_sheet() {
        let style = include_str!("../../static/belfry.css");
        let (light, dark) = style.split_once("@media (prefers-color-scheme: dark)").unwrap();
        assert!(light.contains(&format!("--ground: {LIGHT_GROUND};")));
        assert!(dark.contains(&format!("--paper: {DARK_PAPER};")));
    }

    proptest! {
        #[test]
        fn every_accepted_colour_is_readable(channels in any::<[u8; 3]>()) {
            let Ok(accent) = Accent::try_from(Color(channels).to_string()) else { return Ok(()) };
            let light = accent.0;
            let dark = accent.dark();
            for (text, background) in [
                (light, LIGHT_GROUND),
                (light, WHITE),
                (TEXT_ON_LIGHT_ACCENT, light),
                (TEXT_ON_LIGHT_ACCENT, light.mix(BLACK, 16)),
                (dark, DARK_PAPER),
                (dark, TEXT_ON_DARK_ACCENT),
                (TEXT_ON_DARK_ACCENT, dark.mix(WHITE, 16)),
            ] {
                let contrast = text.contrast(background);
                prop_assert!(contrast >= MIN_CONTRAST, "{text} on {background}: {contrast}");
            }
        }

        #[test]
        fn a_suggested_colour_is_accepted(channels in any::<[u8; 3]>()) {
            let darker = Color(channels).mix_until(BLACK, LIGHT_GROUND, MIN_CONTRAST);
            prop_assert!(Accent::try_from(darker.to_string()).is_ok());
        }
    }
}
