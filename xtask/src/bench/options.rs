//! The arguments of `cargo xtask bench`.

use crate::seconds;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub help: bool,
    pub install: bool,
    pub seconds: u32,
    pub filter: Option<String>,
}

pub(super) fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options { help: false, install: true, seconds: 2, filter: None };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "-h" | "--help" => options.help = true,
            "--no-install" => options.install = false,
            "--seconds" => options.seconds = seconds::read(rest.next())?,
            option if option.starts_with('-') => {
                return Err(format!("there is no option {option}; --help lists them"));
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

    fn parsed(words: &[&str]) -> Result<Options, String> {
        parse(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_filter_may_have_spaces_and_seconds_a_number() {
        let options = parsed(&["GET /healthz", "--seconds", "2"]).unwrap();
        assert_eq!((options.filter.as_deref(), options.seconds), (Some("GET /healthz"), 2));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for words in [&["--seconds"] as &[_], &["--seconds", "0"], &["--fast"], &["a", "b"]] {
            assert!(parsed(words).is_err(), "{words:?}");
        }
    }
}
