//! The arguments of `cargo xtask test`.

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub help: bool,
    pub install: bool,
    pub filter: Option<String>,
    /// Handed on to the test programs.
    pub for_tests: Vec<String>,
}

pub(super) fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options { help: false, install: true, filter: None, for_tests: vec![] };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "-h" | "--help" => options.help = true,
            "--no-install" => options.install = false,
            "--" => options.for_tests = rest.by_ref().cloned().collect(),
            option if option.starts_with('-') => {
                return Err(format!(
                    "there is no option {option}; for the test programs it goes after `--`"
                ));
            }
            filter if options.filter.is_none() => options.filter = Some(filter.to_owned()),
            second => return Err(format!("one filter is enough; what is {second:?}?")),
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn nothing_asks_for_everything() {
        let everything = Options { help: false, install: true, filter: None, for_tests: vec![] };
        assert_eq!(parsed(""), Ok(everything));
    }

    #[test]
    fn what_follows_the_dashes_is_for_the_tests() {
        let options = parsed("--no-install spent -- --nocapture other").unwrap();
        assert_eq!(options.filter.as_deref(), Some("spent"));
        assert_eq!(options.for_tests, ["--nocapture", "other"]);
        assert!(!options.install);
    }

    #[test]
    fn unknown_options_and_a_second_filter_are_refused_by_name() {
        for (line, named) in [("--nocapture", "--nocapture"), ("one two", "two")] {
            assert!(parsed(line).unwrap_err().contains(named), "{line}");
        }
    }
}
