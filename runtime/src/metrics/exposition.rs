//! The text format of `/metrics`: Prometheus text 0.0.4.

use std::fmt::{Display, Write};

use super::{Family, Histogram};

pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The text of all metrics, written family by family.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
}

impl Exposition {
    /// Begins a family. It is written with its first sample; without samples it is omitted.
    pub fn family(&mut self, family: &'static Family) -> Samples<'_> {
        Samples { exposition: self, family, is_described: false }
    }

    /// Writes a family with one sample and without labels.
    pub fn value(&mut self, family: &'static Family, value: impl Display) {
        self.family(family).value(&[], value);
    }

    /// Writes a histogram without labels.
    pub fn histogram(&mut self, family: &'static Family, histogram: &Histogram) {
        self.family(family).histogram(&[], histogram);
    }

    /// Returns the whole text.
    pub fn finish(self) -> String {
        self.text
    }
}

#[derive(Debug)]
pub struct Samples<'a> {
    exposition: &'a mut Exposition,
    family: &'static Family,
    is_described: bool,
}

impl Samples<'_> {
    /// Writes a sample with the values of the family's labels.
    pub fn value(&mut self, labels: &[&str], value: impl Display) {
        self.write_description();
        self.write_line("", labels, None, value);
    }

    /// Writes a histogram with the values of the family's labels.
    pub fn histogram(&mut self, labels: &[&str], histogram: &Histogram) {
        self.write_description();
        let (buckets, count, sum) = histogram.snapshot();
        for (bound, observations) in buckets {
            self.write_line("_bucket", labels, Some(&bound.to_string()), observations);
        }
        self.write_line("_bucket", labels, Some("+Inf"), count);
        self.write_line("_sum", labels, None, sum);
        self.write_line("_count", labels, None, count);
    }

    /// Writes the family's description before its first sample.
    fn write_description(&mut self) {
        if std::mem::replace(&mut self.is_described, true) {
            return;
        }
        let Family { name, kind, help, .. } = self.family;
        let text = &mut self.exposition.text;
        // Writing to a string never fails.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {}", kind.as_str());
    }

    fn write_line(
        &mut self,
        suffix: &str,
        labels: &[&str],
        bound: Option<&str>,
        value: impl Display,
    ) {
        let Family { name, labels: label_names, .. } = self.family;
        debug_assert_eq!(label_names.len(), labels.len(), "{name}");
        let text = &mut self.exposition.text;
        text.push_str(name);
        text.push_str(suffix);
        let label_pairs = label_names.iter().copied().zip(labels.iter().copied());
        let mut separator = '{';
        for (name, value) in label_pairs.chain(bound.map(|bound| ("le", bound))) {
            text.push(separator);
            text.push_str(name);
            text.push_str("=\"");
            for character in value.chars() {
                match character {
                    '\n' => text.push_str("\\n"),
                    '"' | '\\' => text.extend(['\\', character]),
                    _ => text.push(character),
                }
            }
            text.push('"');
            separator = ',';
        }
        if separator == ',' {
            text.push('}');
        }
        let _ = writeln!(text, " {value}");
    }
}
