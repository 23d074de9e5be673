//! Tests of glob patterns.

use proptest::prelude::*;

use super::*;

fn matches_whole(glob: &str, text: &str) -> bool {
    GlobPattern::new(glob).matches_whole(&lower(text), &UserWorkBudget::unlimited())
}

fn matches_word(glob: &str, text: &str) -> bool {
    GlobPattern::new(glob).matches_word(&SearchText::new(text), &UserWorkBudget::unlimited())
}

#[test]
fn a_word_match_starts_and_ends_at_an_ascii_word_boundary() {
    for (glob, body, is_match) in [
        ("test", "ütest", true),
        ("тест", "мойтест", true),
        ("@room", "x@room", false),
        ("@room", "hey @room!", true),
        ("foo ", "foo bar", false),
        ("foo ", "foo  bar", true),
        ("c++", "c++x", false),
        ("c++", "I like c++!", true),
        ("a*b", "a\nb", false),
        ("cake", "Piece of CAKE.", true),
        ("cake", "cakes", false),
        ("cake", "pancake", false),
        ("cake", "cake_", false),
        ("cake", "pancake cake", true),
        ("cake", "cake4", false),
        ("cake*", "cakes", true),
        ("*cake", "pancake", true),
        ("*cake", "pancakes", false),
        ("*cake*", "pancakes", true),
        ("c?ke", "my coke is", true),
        ("c?ke", "my cooke is", false),
        ("foo bar", "a foo bar b", true),
        ("foo*bar", "foobar", true),
        ("foo*bar", "x foo baz bar y", true),
        ("foo*bar", "foo baz barn", false),
        ("foo*bar", "foo\nfoo bar", true),
        ("a\nb", "x a\nb y", true),
        ("a*\n*b", "x a1\n2b y", true),
        ("a*\n*b", "x a1\n\n2b y", false),
        ("[ab]", "a", false),
        ("[ab]", "see [AB]", true),
        ("a.c", "abc", false),
        (r"\*", r"\x", true),
        ("?", "🎂", true),
        ("?", "ab", false),
        ("*", "", true),
        ("*", "anything", true),
        ("?", "", false),
    ] {
        assert_eq!(matches_word(glob, body), is_match, "{glob:?} in {body:?}");
    }
}

#[test]
fn the_empty_pattern_matches_only_the_empty_text() {
    for text in ["a", " ", "a!", "!!", "\n"] {
        assert!(!matches_word("", text), "{text:?}");
        assert!(!matches_whole("", text), "{text:?}");
    }
    assert!(matches_word("", ""));
    assert!(matches_whole("", ""));
}

#[test]
fn a_whole_match_covers_the_value_from_start_to_end() {
    for (glob, text, is_match) in [
        ("m.room.message", "m.room.message", true),
        ("m.room.message", "M.Room.Message", true),
        ("m.room.message", "m.room.messages", false),
        ("m.*", "m.room.message", true),
        ("m.*", "org.m.room", false),
        ("*.message", "m.room.message", true),
        ("m.????.*", "m.room.message", true),
        ("m.???.*", "m.room.message", false),
        ("foo*", "foo\nbar", false),
        ("foo\n*", "foo\nbar", true),
        ("foo?bar", "foo\nbar", false),
        ("*", "a\nb", false),
        ("*\n*", "a\nb", true),
        ("*a*a*", "a", false),
        ("*a*a*", "aa", true),
        ("a*a", "a", false),
        ("ab*ab", "aba", false),
        ("?*?", "a", false),
        ("?*?", "ab", true),
        ("*", "", true),
        ("**", "", true),
    ] {
        assert_eq!(matches_whole(glob, text), is_match, "{glob:?} on {text:?}");
    }
}

#[test]
fn case_is_ignored_beyond_ascii() {
    for (glob, text) in [
        ("STRAẞE", "straße"),
        ("ПРИВЕТ", "привет"),
        ("ὈΔΥΣΣΕΎΣ", "ὀδυσσεύς"),
        ("ὀδυσσεύς", "ὈΔΥΣΣΕΎΣ"),
        ("ὈΔΥΣ*", "ὀδυσσεύς"),
        ("İ", "i\u{307}"),
    ] {
        assert!(matches_whole(glob, text), "{glob:?} on {text:?}");
    }
}

/// Returns the steps that a word match took, and whether the pattern matched.
fn count_steps(glob: &str, text: &str) -> (usize, bool) {
    let work = UserWorkBudget::unlimited();
    let is_match = GlobPattern::new(glob).matches_word(&SearchText::new(text), &work);
    (usize::MAX - work.remaining_steps(), is_match)
}

const LONG_TEXT_BYTES: usize = 64 * 1024;

#[test]
fn patterns_that_invite_backtracking_take_a_few_steps_per_byte() {
    let a = "a".repeat(LONG_TEXT_BYTES);
    let pairs = "a ".repeat(LONG_TEXT_BYTES / 2) + "a";
    let accents = format!("_é{pairs}");
    let question_marks = "?".repeat(10_000);
    for (glob, text, expected_match) in [
        ("*a".repeat(10_000) + "*", &a, true),
        ("*a".repeat(10_000) + "*b", &a, false),
        ("a*".repeat(30_000) + "b", &a, false),
        ("*a?".repeat(10_000) + "*b", &a, false),
        ("*?".repeat(20_000), &a, true),
        (question_marks.clone(), &a, false),
        (question_marks.clone(), &pairs, false),
        (question_marks.clone(), &accents, false),
        (format!("{question_marks}*{question_marks}"), &a, true),
        (format!("{question_marks}b"), &a, false),
        (format!("b{question_marks}"), &a, false),
        ("a ".repeat(10_000) + "*x", &pairs, false),
        ("x*".to_owned() + &"a ".repeat(10_000), &pairs, false),
        (" a".repeat(10_000) + "*x", &pairs, false),
    ] {
        let (steps, actual_match) = count_steps(&glob, text);
        let glob_start = &glob[..20.min(glob.len())];
        assert_eq!(actual_match, expected_match, "{glob_start}…");
        assert!(steps <= 4 * (text.len() + glob.len()), "{glob_start}… took {steps} steps");
    }
}

#[test]
fn no_pattern_exceeds_its_step_budget() {
    let a = "a".repeat(LONG_TEXT_BYTES / 8);
    let lines = "\n".repeat(LONG_TEXT_BYTES / 8);
    for (glob, text) in [
        ("*".to_owned() + &"a?".repeat(2000) + "b", &a),
        (format!("*{}?b", "a".repeat(4000)), &a),
        ("*\n".repeat(2000) + "a", &lines),
        ("?\n".repeat(2000) + "a", &lines),
    ] {
        let (steps, is_match) = count_steps(&glob, text);
        assert!(!is_match);
        assert!(steps <= StepBudget::STEPS_PER_BYTE * (text.len() + glob.len() + 1));
    }
}

#[test]
fn overlapping_occurrences_of_a_literal_are_found() {
    let has_word = |text: &str, literal: &str| {
        SearchText::new(text).contains_word(literal, &UserWorkBudget::unlimited())
    };
    let text = format!("b{}", " a".repeat(LONG_TEXT_BYTES / 2));
    assert!(!has_word(&text, &" a".repeat(LONG_TEXT_BYTES / 4)));
    let text = "a ".repeat(LONG_TEXT_BYTES / 2) + "a";
    assert!(!has_word(&text, &"a ".repeat(LONG_TEXT_BYTES / 4)));
    assert!(has_word("aa aab aa", "aa"));
    assert!(has_word("xaba aba", "aba"));
    assert!(has_word("x a a", "a a"));
}

/// A direct implementation of the definition by backtracking, for short inputs.
fn matches_by_definition(
    glob: &[char],
    text: &[char],
    position: usize,
    is_end: &dyn Fn(usize) -> bool,
) -> bool {
    match glob {
        [] => is_end(position),
        ['*', rest @ ..] => {
            matches_by_definition(rest, text, position, is_end)
                || (text.get(position).is_some_and(|c| *c != '\n')
                    && matches_by_definition(glob, text, position + 1, is_end))
        }
        ['?', rest @ ..] => {
            text.get(position).is_some_and(|c| *c != '\n')
                && matches_by_definition(rest, text, position + 1, is_end)
        }
        [c, rest @ ..] => {
            text.get(position) == Some(c) && matches_by_definition(rest, text, position + 1, is_end)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_pattern_matches_as_defined(
        glob in "[ab é?*\n]{1,8}|[ab_é !]{1,5}",
        text in "[ab_ é!\n]{0,12}",
    ) {
        let (pattern, chars) = (GlobPattern::new(&glob), text.chars().collect::<Vec<_>>());
        let glob: Vec<char> = glob.chars().collect();
        let is_boundary = |position: usize| chars.get(position).is_none_or(|c| !"ab_".contains(*c));

        let is_end = |position: usize| position == chars.len();
        let expected_whole = matches_by_definition(&glob, &chars, 0, &is_end);
        let unlimited = UserWorkBudget::unlimited();
        prop_assert_eq!(pattern.matches_whole(&text, &unlimited), expected_whole);

        let expected_word = (0..=chars.len())
            .filter(|position| *position == 0 || is_boundary(position - 1))
            .any(|position| matches_by_definition(&glob, &chars, position, &is_boundary));
        prop_assert_eq!(pattern.matches_word(&SearchText::new(&text), &unlimited), expected_word);
    }

    #[test]
    fn a_literal_is_found_wherever_its_boundaries_are_allowed(
        literal in "[ a!]{1,6}",
        text in "[ ab!]{0,24}",
    ) {
        let expected = text.match_indices(&literal[..1]).any(|(position, _)| {
            text[position..].starts_with(&literal)
                && Boundary::Word.allows_start(&text, position)
                && Boundary::Word.allows_end(&text, position + literal.len())
        });
        let work = UserWorkBudget::unlimited();
        let mut budget = StepBudget::new(literal.len(), &text, &work);
        let boundaries = (Boundary::Word, Boundary::Word);
        let match_end = search::find_literal(&text, &literal, 0, boundaries, &mut budget);
        prop_assert_eq!(match_end.is_some(), expected);
    }

    #[test]
    fn matching_does_not_panic(glob in ".{0,40}", text in "(?s).{0,200}") {
        let pattern = GlobPattern::new(&glob);
        let lowercase = lower(&text);
        let work = UserWorkBudget::unlimited();
        let _ = pattern.matches_whole(&lowercase, &work);
        let _ = pattern.matches_word(&SearchText::new(&text), &work);
    }
}
