//! Counting tests in the output of `cargo test`.

/// Test counts over all test binaries.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub passed: u32,
    pub failed: u32,
    pub ignored: u32,
    /// Number of test binaries, including documentation tests.
    pub binaries: u32,
    /// The names of the failed tests.
    pub failures: Vec<String>,
}

impl Tally {
    /// Counts the tests in a line of output.
    pub(super) fn count_line(&mut self, line: &str) {
        if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.failures.push(name.to_owned());
        }
        // Output of a test that does not end with a newline may precede the result.
        let Some((_, result)) = line.split_once("test result: ") else { return };
        let Some((_, counts)) = result.split_once(". ") else { return };
        self.binaries += 1;
        for count in counts.split("; ") {
            let Some((number, outcome)) = count.split_once(' ') else { continue };
            let Ok(number) = number.parse::<u32>() else { continue };
            match outcome {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 3 tests
test secret::tests::a_digest_is_compared ... ok
test store::postgres::a_code_is_redeemed_once ... FAILED
test slow ... ignored, takes an hour

failures:
    store::postgres::a_code_is_redeemed_once

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s

running 2 tests
ding dongtest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s
";

    #[test]
    fn counts_are_summed_over_all_binaries_and_failures_are_listed() {
        let mut tally = Tally::default();
        OUTPUT.lines().for_each(|line| tally.count_line(line));
        let failures = vec!["store::postgres::a_code_is_redeemed_once".to_owned()];
        assert_eq!(tally, Tally { passed: 3, failed: 1, ignored: 1, binaries: 2, failures });
    }

    #[test]
    fn malformed_results_add_no_tests() {
        let mut tally = Tally::default();
        for line in ["", "test result: ", "test result: ok. many passed; x", "12 passed; 1 failed"]
        {
            tally.count_line(line);
        }
        assert_eq!((tally.passed, tally.failed, tally.ignored), (0, 0, 0));
    }
}
