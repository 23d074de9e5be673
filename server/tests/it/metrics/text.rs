//! A parser for the Prometheus text format.

use std::collections::BTreeMap;

pub(super) type Labels = BTreeMap<String, String>;

#[derive(Debug, Default)]
pub(super) struct Scrape {
    /// Series by name (with suffixes such as `_bucket`) and labels.
    pub(super) series: BTreeMap<(String, Labels), f64>,
    pub(super) types: BTreeMap<String, String>,
}

impl Scrape {
    /// Parses metrics. Each family must be described once, before its samples.
    #[track_caller]
    pub(super) fn parse(text: &str) -> Self {
        let mut scrape = Self::default();
        let mut described_families: Vec<&str> = Vec::new();
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, _) = help.split_once(' ').unwrap();
                assert!(!described_families.contains(&name), "{name} is described twice");
                described_families.push(name);
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                let previous_type = scrape.types.insert(name.to_owned(), kind.to_owned());
                assert!(
                    previous_type.is_none() && described_families.last() == Some(&name),
                    "{name}"
                );
            } else {
                let (name, labels, value) = parse_sample(line);
                let family = described_families.last().expect("a description comes first");
                assert_eq!(scrape.family(&name), *family, "samples of a family are together");
                let previous = scrape.series.insert((name, labels), value);
                assert_eq!(previous, None, "{line}");
            }
        }
        scrape
    }

    pub(super) fn family(&self, name: &str) -> String {
        let suffixes = ["_bucket", "_sum", "_count"];
        let base = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix));
        let histogram =
            base.filter(|base| self.types.get(*base).is_some_and(|kind| kind == "histogram"));
        histogram.unwrap_or(name).to_owned()
    }

    pub(super) fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let to_owned_pair =
            |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let labels = labels.iter().map(to_owned_pair).collect();
        self.series.get(&(name.to_owned(), labels)).copied()
    }
}

fn parse_sample(line: &str) -> (String, Labels, f64) {
    let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
    let value = value.parse().unwrap_or_else(|_| panic!("{line}"));
    let Some((name, labels)) = series.split_once('{') else {
        return (series.to_owned(), Labels::new(), value);
    };
    let labels = labels.strip_suffix("\"}").unwrap_or_else(|| panic!("{line}"));
    // No label value of Belfry contains a quote.
    let pairs = labels.split("\",").map(|pair| pair.split_once("=\"").unwrap());
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
    (name.to_owned(), pairs.collect(), value)
}
