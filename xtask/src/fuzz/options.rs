//! The arguments of `cargo xtask fuzz`.

use super::TARGETS;
use crate::seconds;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub help: bool,
    pub install: bool,
    pub seconds: u32,
    pub target: Option<&'static str>,
    /// A file to be tried once.
    pub input: Option<String>,
}

pub(super) fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options =
        Options { help: false, install: true, seconds: 60, target: None, input: None };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "-h" | "--help" => options.help = true,
            "--no-install" => options.install = false,
            "--seconds" => options.seconds = seconds::read(rest.next())?,
            option if option.starts_with('-') => {
                return Err(format!("there is no option {option}; --help lists them"));
            }
            target if options.target.is_none() => options.target = Some(named(target)?),
            input if options.input.is_none() => options.input = Some(input.to_owned()),
            third => {
                return Err(format!("one target and one input are enough; what is {third:?}?"));
            }
        }
    }
    Ok(options)
}

fn named(target: &str) -> Result<&'static str, String> {
    let known = TARGETS.into_iter().find(|name| *name == target);
    known.ok_or_else(|| format!("there is no target {target:?}; they are {}", TARGETS.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn nothing_asks_for_a_minute_of_each() {
        let options = parsed("").unwrap();
        assert_eq!((options.seconds, options.target, options.input), (60, None, None));
        assert!(options.install && !options.help);
    }

    #[test]
    fn a_target_may_be_named_with_an_input() {
        let options = parsed("rule --no-install --seconds 5 found/crash-1").unwrap();
        assert_eq!((options.seconds, options.target), (5, Some("rule")));
        assert_eq!(options.input.as_deref(), Some("found/crash-1"));
        assert!(!options.install);
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for (line, named) in [
            ("--seconds", "--seconds"),
            ("--seconds 0", "--seconds"),
            ("--fast", "--fast"),
            ("moon", "moon"),
            ("rule a b", "\"b\""),
        ] {
            assert!(parsed(line).unwrap_err().contains(named), "{line}");
        }
    }
}
