//! A glob, and on the lines below it a text: it matches as its definition says.

use belfry_core::rules::pattern::{GlobPattern, Text, lower};

/// So long a glob and a text, and so many wildcards and lines, are compared with the definition;
/// a pattern that takes more work may give up.
const LONGEST_GLOB: usize = 48;
const LONGEST_TEXT: usize = 400;
const MOST_WILD: usize = 12;

/// Checks one input.
pub fn check(input: &[u8]) {
    let input = String::from_utf8_lossy(input);
    let (glob, text) = input.split_once('\n').unwrap_or((&input, ""));
    // A line break in a glob is written as a tab, which means nothing else here.
    let glob = glob.replace('\t', "\n");
    let pattern = GlobPattern::new(&glob);
    let lowered = lower(text);
    let whole = pattern.is_whole(&lowered);
    let word = pattern.is_word_of(&Text::new(text));

    let glob: Vec<char> = lower(&glob).chars().collect();
    let text: Vec<char> = lowered.chars().collect();
    let wild = glob.iter().filter(|c| matches!(c, '?' | '\n')).count();
    if glob.len() > LONGEST_GLOB || text.len() > LONGEST_TEXT || wild > MOST_WILD {
        return;
    }
    let ends = ends(&glob, &text, |at| at == 0);
    assert_eq!(whole, ends[text.len()], "{glob:?} on the whole of {text:?}");
    let is_edge = |c: Option<&char>| c.is_none_or(|c| !(c.is_ascii_alphanumeric() || *c == '_'));
    let starts = |at: usize| at == 0 || is_edge(text.get(at - 1));
    let ends = self::ends(&glob, &text, starts);
    // The empty pattern is in the empty text alone.
    let expected = (0..=text.len()).any(|at| ends[at] && is_edge(text.get(at)))
        && (!glob.is_empty() || text.is_empty());
    assert_eq!(word, expected, "{glob:?} in a word of {text:?}");
}

/// For each place in the text whether the glob can end there, having begun at a good place.
fn ends(glob: &[char], text: &[char], starts: impl Fn(usize) -> bool) -> Vec<bool> {
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
