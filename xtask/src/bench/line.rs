//! The lines of the table: figures and their performance targets.

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Target {
    AtLeast(f64),
    AtMost(f64),
}

pub(super) const HEADER: &[&str] =
    &["row", "measured", "reference", "result", "CPU ratio", "target", ""];

/// A line of the table, with a value that may have a target.
pub(super) struct ReportLine {
    pub name: String,
    /// The figures from which the value is computed.
    pub measured: String,
    pub reference: String,
    pub value: f64,
    pub unit: String,
    /// CPU time per request relative to the reference; NaN if it was not measured.
    pub cpu_ratio: f64,
    pub target: Option<Target>,
    /// Requests that failed or had an unexpected status.
    pub errors: u64,
}

impl ReportLine {
    /// Creates a line with only a value.
    pub(super) fn metric(name: &str, value: f64, unit: &str, target: Option<Target>) -> Self {
        Self {
            name: name.to_owned(),
            measured: String::new(),
            reference: String::new(),
            value,
            unit: unit.to_owned(),
            cpu_ratio: f64::NAN,
            target,
            errors: 0,
        }
    }

    pub(super) fn has_passed(&self) -> bool {
        let is_within_target = match self.target {
            Some(Target::AtLeast(target)) => self.value >= target,
            Some(Target::AtMost(target)) => self.value <= target,
            None => true,
        };
        is_within_target && self.errors == 0
    }

    pub(super) fn cells(&self) -> Vec<String> {
        let with_unit = |number: String| format!("{number} {}", self.unit).trim_end().to_owned();
        let decimals = if self.unit.is_empty() { 2 } else { 1 };
        let target = match self.target {
            Some(Target::AtLeast(target)) => with_unit(format!("at least {target}")),
            Some(Target::AtMost(target)) => with_unit(format!("at most {target}")),
            None => String::new(),
        };
        let outcome = match (self.errors, self.target) {
            (1.., _) => format!("{} errors", self.errors),
            (0, None) => String::new(),
            (0, Some(_)) if self.has_passed() => "ok".to_owned(),
            (0, Some(_)) => "FAILED".to_owned(),
        };
        let cpu_ratio = Some(self.cpu_ratio)
            .filter(|ratio| !ratio.is_nan())
            .map_or(String::new(), |ratio| format!("{ratio:.2}"));
        let value = with_unit(format!("{:.decimals$}", self.value));
        vec![
            self.name.clone(),
            self.measured.clone(),
            self.reference.clone(),
            value,
            cpu_ratio,
            target,
            outcome,
        ]
    }

    /// Returns the cells separated by semicolons, to print the line as soon as it is measured.
    pub(super) fn summary(&self) -> String {
        self.cells().into_iter().filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

/// Returns the median, or NaN without values.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let low = sorted.len().saturating_sub(1) / 2;
    let high = sorted.len() / 2;
    match (sorted.get(low), sorted.get(high)) {
        (Some(low), Some(high)) => f64::midpoint(*low, *high),
        _ => f64::NAN,
    }
}
