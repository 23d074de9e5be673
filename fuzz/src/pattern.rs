//! Fuzz target for globs: the matcher agrees with a direct implementation of their definition.
//!
//! An input is a glob and, on the lines below it, the text to match.

use belfry_core::rules::pattern::{GlobPattern, SearchText, lower};
use belfry_core::rules::work::UserWorkBudget;

/// Longer inputs are not compared with the definition, because they may exceed the step budget.
const MAX_GLOB_CHARS: usize = 48;
const MAX_TEXT_CHARS: usize = 400;
/// Maximum number of `?` and line breaks in a glob.
const MAX_COSTLY_CHARS: usize = 12;

pub fn check_input(input: &[u8]) {
    let input = String::from_utf8_lossy(input);
    let (glob, text) = input.split_once('\n').unwrap_or((&input, ""));
    // A tab in the input is a line break in the glob.
    let glob = glob.replace('\t', "\n");
    let pattern = GlobPattern::new(&glob);
    let lower_text = lower(text);
    let unlimited = UserWorkBudget::unlimited();
    let matches_whole = pattern.matches_whole(&lower_text, &unlimited);
    let matches_word = pattern.matches_word(&SearchText::new(text), &unlimited);

    let glob: Vec<char> = lower(&glob).chars().collect();
    let text: Vec<char> = lower_text.chars().collect();
    let costly_char_count = glob.iter().filter(|c| matches!(c, '?' | '\n')).count();
    if glob.len() > MAX_GLOB_CHARS
        || text.len() > MAX_TEXT_CHARS
        || costly_char_count > MAX_COSTLY_CHARS
    {
        return;
    }
    let ends = match_ends(&glob, &text, |position| position == 0);
    assert_eq!(matches_whole, ends[text.len()], "{glob:?} on the whole of {text:?}");
    let is_boundary =
        |c: Option<&char>| c.is_none_or(|c| !(c.is_ascii_alphanumeric() || *c == '_'));
    let can_start = |position: usize| position == 0 || is_boundary(text.get(position - 1));
    let ends = match_ends(&glob, &text, can_start);
    // The empty pattern matches only the empty text.
    let expected = (0..=text.len()).any(|end| ends[end] && is_boundary(text.get(end)))
        && (!glob.is_empty() || text.is_empty());
    assert_eq!(matches_word, expected, "{glob:?} in a word of {text:?}");
}

/// Returns, for each position in the text, whether a match that started at an allowed position can
/// end there.
fn match_ends(glob: &[char], text: &[char], can_start: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut can_end: Vec<bool> = (0..=text.len()).map(can_start).collect();
    for glob_char in glob {
        // The positions at which a match of the glob before this character can end.
        let could_end = can_end.clone();
        for position in 0..=text.len() {
            let last =
                position.checked_sub(1).map(|last| (could_end[last], can_end[last], text[last]));
            can_end[position] = match (glob_char, last) {
                ('*', None) => could_end[position],
                ('*', Some((_, can_end_before, c))) => {
                    could_end[position] || can_end_before && c != '\n'
                }
                (_, None) => false,
                ('?', Some((could_end_before, _, c))) => could_end_before && c != '\n',
                (literal, Some((could_end_before, _, c))) => could_end_before && c == *literal,
            };
        }
    }
    can_end
}
