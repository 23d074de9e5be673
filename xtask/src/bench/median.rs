//! The middle of some figures.

/// The middle figure, or the mean of the two in the middle; NaN of none.
pub(super) fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = figures.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.len().saturating_sub(1) / 2, sorted.len() / 2);
    match (sorted.get(low), sorted.get(high)) {
        (Some(low), Some(high)) => f64::midpoint(*low, *high),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "these are exact")]
    fn the_median_is_the_middle() {
        for (figures, middle) in
            [(vec![7.0], 7.0), (vec![9.0, 1.0, 5.0], 5.0), (vec![4.0, 1.0, 2.0, 900.0], 3.0)]
        {
            assert_eq!(median(figures.clone()), middle, "{figures:?}");
        }
        assert!(median([]).is_nan());
    }
}
