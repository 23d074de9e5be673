//! Prometheus metrics: families, values and the text format. Each crate declares its families with
//! [`families!`](crate::families).

pub mod exposition;
mod family;
#[cfg(test)]
mod tests;
mod value;

pub use self::family::{Family, Kind};
pub use self::value::{Counter, Gauge, GaugeGuard, Histogram};
