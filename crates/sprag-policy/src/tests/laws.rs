//! Properties that hold for every pattern, command and rule.

use proptest::prelude::*;

use sprag_shell::{Script, ShellStart};

use super::{ground, judge, path, rule, script};
use crate::pattern::word_glob;
use crate::*;

proptest! {
    #[test]
    fn any_text_is_a_pattern_or_an_error(text in "\\PC{0,60}") {
        let says_why = |bad: BadPattern| !bad.why.is_empty();
        for kind in ["", "Bash:", "Via:", "Write:", "Read:"] {
            let read = Pattern::parse(&format!("{kind}{text}"));
            prop_assert!(read.map_or_else(says_why, |_| true));
        }
        prop_assert!(Pattern::parse_exemption(&text).map_or_else(says_why, |_| true));
    }

    #[test]
    fn both_ways_through_a_glob_agree(glob in "[ab*]{0,8}", text in "[ab]{0,8}") {
        let letters: Vec<word_glob::Letter> = text.chars().map(word_glob::Letter::Char).collect();
        let read = word_glob::WordGlob::token(&glob);
        prop_assert_eq!(read.fits(&text), read.fit(&letters) == word_glob::GlobFit::Yes);
    }

    #[test]
    fn any_pattern_meets_any_command(
        pattern in "(Bash:|Write:|Read:)[-a-c*{},!<>root=/~. ]{1,24}",
        text in "[-a-c?*=/~.; ]{0,24}",
    ) {
        if let Ok(parsed) = Pattern::parse(&pattern) {
            match_script(&parsed, &Script::parse(&text, &ShellStart::default()), &KnownPaths::default());
            let mut script = script(&text);
            script.writes = text.split(' ').map(path).collect();
            match_script(&parsed, &script, &ground());
            judge(&[Rule::gate(&pattern), rule("a", Decision::Allow, &[&pattern])], &script);
        }
    }

    #[test]
    fn allowing_more_never_weakens_a_deny(
        denied in "Bash:[ab]( -[cd])?( \\*)?",
        allowed in "Bash:[ab*]( -[cd])?( \\*)?",
        text in "[ab?]( -[cd]| x| \\?\\*){0,3}",
    ) {
        let deny = rule("deny", Decision::Deny, &[&denied]);
        let allow = rule("allow", Decision::Allow, &[&allowed]);
        let script = script(&text);
        let before = judge(std::slice::from_ref(&deny), &script).verdict;
        let after = judge(&[allow, deny], &script).verdict;
        if matches!(before, RuleDecision::Deny | RuleDecision::Ask) {
            prop_assert_eq!(before, after);
        }
    }
}
