//! Prometheus metrics: families, values and the text format. Each crate declares its families with
//! [`families!`](crate::families).

pub mod exposition;
#[cfg(test)]
mod tests;
mod value;

pub use self::value::{Counter, Gauge, GaugeGuard, Histogram};

/// A group of series with one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    /// The name; a counter's name ends in `_total`.
    pub name: &'static str,
    /// Counter, gauge or histogram.
    pub kind: Kind,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number that only grows.
    Counter,
    /// A number that grows and shrinks.
    Gauge,
    Histogram,
}

impl Kind {
    /// Returns the name in the text format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// Declares the metric families of a crate, and a list of them, `ALL`.
#[macro_export]
macro_rules! families {
    ($($id:ident = $kind:ident $name:literal [$($label:literal)*] $help:literal;)*) => {
        $(pub(crate) const $id: $crate::metrics::Family = $crate::metrics::Family {
            name: $name,
            kind: $crate::metrics::Kind::$kind,
            labels: &[$($label),*],
            help: $help,
        };)*

        pub const ALL: &[$crate::metrics::Family] = &[$($id),*];
    };
}
