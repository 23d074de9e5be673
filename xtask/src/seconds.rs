//! `--seconds N`, for the verbs that take their time.

/// Reads what follows `--seconds`.
pub(crate) fn read(text: Option<&String>) -> Result<u32, String> {
    let seconds = text.and_then(|text| text.parse().ok()).filter(|seconds| *seconds > 0);
    seconds.ok_or_else(|| "--seconds needs a whole number, at least 1".to_owned())
}
