//! The mechanism of metrics for Prometheus: families, values and the text format. Each crate declares
//! its own families with [`families!`](crate::families).

pub mod exposition;
mod family;
#[cfg(test)]
mod tests;
mod value;

pub use self::family::{Family, Kind};
pub use self::value::{Counter, Gauge, GaugeGuard, Histogram};
