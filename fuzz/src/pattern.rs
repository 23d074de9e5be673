//! Fuzz target for globs: a glob matches what the definition says.
//!
//! An input is a glob and, on the lines below it, the text to match.

use belfry_core::rules::pattern::{GlobPattern, Text, lower};
use belfry_core::rules::work::Work;

/// The limits within which the result is compared with the definition; beyond them a pattern may
/// exceed its step budget.
const MAX_GLOB: usize = 48;
const MAX_TEXT: usize = 400;
const MAX_WILDCARDS: usize = 12;

/// Checks one input.
pub fn check(input: &[u8]) {
    let input = String::from_utf8_lossy(input);
    let (glob, text) = input.split_once('\n').unwrap_or((&input, ""));
    // A tab in the input is a line break in the glob.
    let glob = glob.replace('\t', "\n");
    let pattern = GlobPattern::new(&glob);
    let lowered = lower(text);
    let unlimited = Work::unlimited();
    let whole = pattern.matches_whole(&lowered, &unlimited);
    let word = pattern.matches_word(&Text::new(text), &unlimited);

    let glob: Vec<char> = lower(&glob).chars().collect();
    let text: Vec<char> = lowered.chars().collect();
    let wild = glob.iter().filter(|c| matches!(c, '?' | '\n')).count();
    if glob.len() > MAX_GLOB || text.len() > MAX_TEXT || wild > MAX_WILDCARDS {
        return;
    }
    let ends = match_ends(&glob, &text, |at| at == 0);
    assert_eq!(whole, ends[text.len()], "{glob:?} on the whole of {text:?}");
    let is_boundary =
        |c: Option<&char>| c.is_none_or(|c| !(c.is_ascii_alphanumeric() || *c == '_'));
    let starts = |at: usize| at == 0 || is_boundary(text.get(at - 1));
    let ends = match_ends(&glob, &text, starts);
    // The empty pattern matches only the empty text.
    let expected = (0..=text.len()).any(|at| ends[at] && is_boundary(text.get(at)))
        && (!glob.is_empty() || text.is_empty());
    assert_eq!(word, expected, "{glob:?} in a word of {text:?}");
}

/// Returns, for each position in the text, whether a match that started at an allowed position can
/// end there.
fn match_ends(glob: &[char], text: &[char], starts: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut reached: Vec<bool> = (0..=text.len()).map(starts).collect();
    for part in glob {
        let before = reached.clone();
        for at in 0..=text.len() {
            let last = at.checked_sub(1).map(|last| (before[last], reached[last], text[last]));
            reached[at] = match (part, last) {
                ('*', None) => before[at],
                ('*', Some((_, inside, c))) => before[at] || inside && c != '\n',
                (_, None) => false,
                ('?', Some((was, _, c))) => was && c != '\n',
                (part, Some((was, _, c))) => was && c == *part,
            };
        }
    }
    reached
}
