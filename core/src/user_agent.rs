//! The browser and the operating system in a `User-Agent` header, for the session list.
//!
//! Only names from the tables below are stored: the header itself can identify people, has no
//! maximum length, and may contain anything.

/// Header substrings and the browsers they identify. Specific entries come first, because most
/// browsers also include the tokens of those they imitate.
const BROWSERS: [(&str, &str); 20] = [
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("EdgiOS/", "Edge"),
    ("OPR/", "Opera"),
    ("OPT/", "Opera"),
    ("Vivaldi/", "Vivaldi"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("YaBrowser/", "Yandex Browser"),
    ("DuckDuckGo/", "DuckDuckGo"),
    ("Ddg/", "DuckDuckGo"),
    ("Focus/", "Firefox Focus"),
    ("SeaMonkey/", "SeaMonkey"),
    ("FxiOS/", "Firefox"),
    ("Firefox/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Epiphany/", "GNOME Web"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
];

/// Header substrings and the operating systems they identify. Specific entries come first, because
/// Android headers also include Linux, and iOS headers also include Mac OS.
const SYSTEMS: [(&str, &str); 12] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS ", "ChromeOS"),
    ("Windows", "Windows"),
    ("Macintosh", "macOS"),
    ("Mac OS X", "macOS"),
    ("Ubuntu", "Linux"),
    ("Linux", "Linux"),
    ("FreeBSD", "FreeBSD"),
    ("OpenBSD", "OpenBSD"),
    ("X11", "Unix"),
];

/// Number of header bytes that are searched. Browsers send about 150.
const MAX_SEARCHED_BYTES: usize = 1024;

/// A browser and its operating system, each `None` if unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UserAgent {
    pub browser: Option<&'static str>,
    /// The name of the operating system or device.
    pub system: Option<&'static str>,
}

impl UserAgent {
    /// Recognises the browser and the operating system in a header.
    pub fn from_header(header: &[u8]) -> Self {
        let header = header.get(..MAX_SEARCHED_BYTES).unwrap_or(header);
        let find_in_header = |table: &[(&str, &'static str)]| {
            let contains =
                |part: &str| header.windows(part.len()).any(|bytes| bytes == part.as_bytes());
            table.iter().find(|(part, _)| contains(part)).map(|(_, name)| *name)
        };
        Self { browser: find_in_header(&BROWSERS), system: find_in_header(&SYSTEMS) }
    }

    /// Returns the stored form: both names, separated by a slash.
    pub fn to_text(self) -> String {
        format!("{}/{}", self.browser.unwrap_or_default(), self.system.unwrap_or_default())
    }

    /// Reads the stored form. Names missing from the tables are ignored.
    pub fn from_text(text: &str) -> Self {
        let (browser, system) = text.split_once('/').unwrap_or((text, ""));
        let find_name = |table: &[(&str, &'static str)], stored_name: &str| {
            table.iter().map(|(_, name)| *name).find(|name| *name == stored_name)
        };
        Self { browser: find_name(&BROWSERS, browser), system: find_name(&SYSTEMS, system) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn browsers_and_operating_systems_are_recognised() {
        let webkit = "AppleWebKit/537.36 (KHTML, like Gecko)";
        for (header, browser, system) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
                "Firefox",
                "Linux",
            ),
            (
                "Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0",
                "Firefox",
                "Android",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/140.0 Mobile/15E148 Safari/605.1.15",
                "Firefox",
                "iPhone",
            ),
            (
                &*format!(
                    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) {webkit} Chrome/138.0.0.0 Safari/537.36"
                ),
                "Chrome",
                "Windows",
            ),
            (
                &*format!(
                    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) {webkit} Chrome/138.0.0.0 Safari/537.36 Edg/138.0.0.0"
                ),
                "Edge",
                "Windows",
            ),
            (
                &*format!(
                    "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) {webkit} Chrome/138.0.0.0 Safari/537.36"
                ),
                "Chrome",
                "ChromeOS",
            ),
            (
                &*format!(
                    "Mozilla/5.0 (X11; Linux x86_64) {webkit} HeadlessChrome/138.0.0.0 Safari/537.36"
                ),
                "Chrome",
                "Linux",
            ),
            (
                &*format!(
                    "Mozilla/5.0 (Linux; Android 10; K) {webkit} SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36"
                ),
                "Samsung Internet",
                "Android",
            ),
            (
                &*format!(
                    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) {webkit} Chrome/138.0.0.0 Safari/537.36 OPR/120.0.0.0"
                ),
                "Opera",
                "macOS",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15",
                "Safari",
                "macOS",
            ),
            (
                "Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
                "Safari",
                "iPad",
            ),
            (
                "Mozilla/5.0 (X11; FreeBSD amd64; rv:140.0) Gecko/20100101 Firefox/140.0",
                "Firefox",
                "FreeBSD",
            ),
            ("curl/8.14.1", "curl", ""),
            ("Lynx/2.9", "", ""),
            ("", "", ""),
        ] {
            let agent = UserAgent::from_header(header.as_bytes());
            let names = (agent.browser.unwrap_or_default(), agent.system.unwrap_or_default());
            assert_eq!(names, (browser, system), "{header}");
            assert_eq!(UserAgent::from_text(&agent.to_text()), agent);
        }
    }

    #[test]
    fn unknown_stored_names_are_ignored() {
        for text in ["", "/", "<b>/", "Netscape/AmigaOS", "Netscape"] {
            assert_eq!(UserAgent::from_text(text), UserAgent::default(), "{text}");
        }
        let system = Some("Linux");
        assert_eq!(UserAgent::from_text("Netscape/Linux"), UserAgent { browser: None, system });
    }

    #[test]
    fn only_the_beginning_of_a_long_header_is_searched() {
        let header = format!("{}Firefox/1", " ".repeat(MAX_SEARCHED_BYTES));
        assert_eq!(UserAgent::from_header(header.as_bytes()), UserAgent::default());
    }

    proptest! {
        #[test]
        fn the_stored_form_is_short_and_round_trips(header: Vec<u8>) {
            let agent = UserAgent::from_header(&header);
            prop_assert!(agent.to_text().len() < 40);
            prop_assert_eq!(UserAgent::from_text(&agent.to_text()), agent);
        }
    }
}
