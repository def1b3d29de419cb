//! The rules of plain language, one pattern each.

use std::ops::Range;

use regex_lite::Regex;

use super::prose::{Kind, Paragraph};

/// Words of a paragraph that break a rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Hit {
    pub rule: &'static str,
    pub at: usize,
    pub words: String,
}

const MAX_WORDS: usize = 30;
const MAX_MESSAGE: usize = 160;

struct Pattern {
    rule: &'static str,
    /// Texts of which every hit contains at least one. They are cheaper to search than a pattern.
    needles: &'static [&'static str],
    pattern: &'static str,
    /// Reports whether the words around a hit make it harmless.
    is_fine: fn(Words<'_>) -> bool,
}

#[derive(Clone, Copy)]
struct Words<'a> {
    before: &'a str,
    /// The word that follows.
    next: &'a str,
}

const NEVER: fn(Words<'_>) -> bool = |_| false;

const PATTERNS: &[Pattern] = &[
    Pattern {
        rule: "people",
        needles: &["body", "hoever"],
        pattern: r"\b([Ss]ome|[Nn]o|[Ee]very)body\b|\b[Ww]hoever\b",
        is_fine: NEVER,
    },
    Pattern {
        rule: "owner",
        needles: &["'s"],
        pattern: r"\b(is|are|was|were|not) (a person's|(nobody|somebody|everybody)'s|the agent's)\b",
        is_fine: |words| !words.next.is_empty() && !matches!(words.next, "and" | "or" | "alone" | "own"),
    },
    Pattern {
        rule: "telling",
        needles: &[" told", "tell"],
        pattern: r"\b(is|are|was|were|be|been) told\b|\btells? (of|whether|what|who)\b",
        is_fine: NEVER,
    },
    Pattern {
        rule: "old",
        needles: &[
            "anew",
            "mend",
            "goes on",
            "went on",
            "of ours",
            "one's own",
            "by itself",
            "stead",
            "once more",
        ],
        pattern: r"\b(anew|mend(s|ed|ing)?|goes on|went on|of ours|of one's own|by itself|stead|once more)\b",
        is_fine: NEVER,
    },
    Pattern {
        rule: "no_noun",
        needles: &["is no "],
        pattern: r"\b[Ii]s no\b",
        is_fine: |words| {
            words.before.to_lowercase().ends_with("there ")
                || matches!(words.next, "" | "longer" | "more" | "less" | "better" | "worse" | "different")
        },
    },
    Pattern {
        rule: "vague",
        needles: &["ome to", "omes to", "ame to"],
        pattern: r"\b([Cc]omes?|came) to\b",
        is_fine: |words| matches!(words.next, "an" | "mind" | "light"),
    },
    Pattern {
        rule: "vague",
        needles: &["as it "],
        pattern: r"\b[Aa]s it (is|was|should be)\b",
        is_fine: |words| {
            let is_limit =
                ["far ", "long ", "soon ", "much "].iter().any(|word| words.before.ends_with(word));
            is_limit || is_participle(words.next)
        },
    },
    Pattern {
        rule: "jargon",
        needles: &["reign", "seam", "wall", "talk", "the book", "sent home", "held back", "looked at"],
        pattern: r"\b([Rr]eigns?|[Ss]eams?|[Ww]alls?|[Tt]alk|the book|sent home|held back|looked at)\b",
        is_fine: |words| matches!(words.next, "time" | "clock"),
    },
    Pattern {
        rule: "colour",
        needles: &[" red", " green"],
        pattern: r"\b(is|are|was|were|be) (red|green)\b",
        is_fine: NEVER,
    },
    Pattern { rule: "percent", needles: &[" %"], pattern: r"\d %", is_fine: NEVER },
];

/// Words that look like a verb in the third person.
const NOT_VERBS: &[&str] = &[
    "This", "Its", "Is", "As", "Was", "Always", "Unless", "Perhaps", "Besides", "Less", "Across", "Towards",
    "Yes",
];
/// Words that follow a noun in the plural.
const AFTER_NOUN: &[&str] = &["of", "which", "whose", "are", "were", "have", "may", "can", "must"];

fn is_participle(word: &str) -> bool {
    const IRREGULAR: &[&str] = &[
        "read", "sent", "run", "found", "put", "set", "kept", "built", "held", "made", "said", "left",
        "meant", "gone", "last",
    ];
    IRREGULAR.contains(&word)
        || ["ed", "ing", "en", "wn"].iter().any(|ending| word.len() > 3 && word.ends_with(ending))
}

pub struct Rules(Vec<(&'static Pattern, Regex)>);

impl Rules {
    pub fn new() -> Rules {
        let compiled =
            |pattern: &'static Pattern| (pattern, Regex::new(pattern.pattern).expect("the pattern is valid"));
        Rules(PATTERNS.iter().map(compiled).collect())
    }

    pub fn check(&self, paragraph: &Paragraph) -> Vec<Hit> {
        let text = paragraph.text.as_str();
        let hit =
            |rule, range: Range<usize>| Hit { rule, at: range.start, words: paragraph.raw[range].to_owned() };
        let mut hits = Vec::new();
        for (pattern, regex) in &self.0 {
            if !pattern.needles.iter().any(|needle| text.contains(needle)) {
                continue;
            }
            for found in regex.find_iter(text) {
                let after = text[found.end()..].strip_prefix(' ').unwrap_or_default();
                let next = after.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
                let words = Words { before: &text[..found.start()], next };
                let is_end =
                    ["a end", "the end", "a stop", "an end"].iter().any(|end| after.starts_with(end));
                if !((pattern.is_fine)(words) || pattern.rule == "vague" && is_end) {
                    let with_next = if pattern.rule == "no_noun" { 1 + next.len() } else { 0 };
                    hits.push(hit(pattern.rule, found.start()..(found.end() + with_next).min(text.len())));
                }
            }
        }
        let sentences = sentences(text);
        for range in &sentences {
            let sentence = &text[range.clone()];
            if starts_without_subject(sentence, paragraph.kind) {
                hits.push(hit("start", first_words(sentence, range.start, 4)));
            }
            let words =
                sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
            if words > MAX_WORDS {
                let mut long = hit("long", first_words(sentence, range.start, 5));
                long.words = format!("{} .. ({words} words)", long.words);
                hits.push(long);
            }
        }
        match paragraph.kind {
            Kind::FunctionDoc if !starts_with_verb(text) => {
                hits.push(hit("verb_first", first_words(text, 0, 4)))
            }
            Kind::Message => hits.extend(message(text).map(|why| {
                let mut found = hit("message", first_words(text, 0, 4));
                found.words = format!("{} .. ({why})", found.words);
                found
            })),
            _ => {}
        }
        hits
    }
}

/// Returns the ranges of sentences. A mark before white space and a new beginning ends a sentence.
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let starts_sentence = |at: &usize| text[at + 1..].trim_start().starts_with(|c: char| !c.is_lowercase());
    let marks = [". ", "! ", "? "].into_iter().flat_map(|mark| text.match_indices(mark));
    let mut ends: Vec<usize> = marks.map(|(at, _)| at + 1).filter(starts_sentence).collect();
    ends.sort_unstable();
    ends.push(text.len());
    let mut begin = 0;
    let range = |end: usize| {
        let from = begin + text[begin..end].len() - text[begin..end].trim_start().len();
        begin = end;
        from..end
    };
    ends.into_iter().map(range).filter(|range| !range.is_empty()).collect()
}

fn first_words(text: &str, at: usize, count: usize) -> Range<usize> {
    let ends = text.match_indices(' ').map(|(end, _)| end);
    at..at + ends.take(count).last().filter(|_| text.split(' ').count() > count).unwrap_or(text.len())
}

fn starts_without_subject(sentence: &str, kind: Kind) -> bool {
    let is_word = |word: &str| {
        let rest = sentence.strip_prefix(word);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '\''))
    };
    let words = ["What", "Who", "Whoever", "Whose", "That which"];
    let lower = ["what", "who", "whoever", "whose"];
    let is_there =
        words.into_iter().any(is_word) || (kind == Kind::Message && lower.into_iter().any(is_word));
    is_there && !sentence.ends_with('?')
}

fn starts_with_verb(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default().trim_end_matches([',', ':', ';', '.']);
    let is_third_person = first.starts_with(|c: char| c.is_ascii_uppercase())
        && first.len() > 2
        && first.ends_with('s')
        && first[1..].chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let is_noun = words.next().is_some_and(|word| AFTER_NOUN.contains(&word));
    is_third_person && !NOT_VERBS.contains(&first) && !is_noun
}

fn message(text: &str) -> Option<&'static str> {
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_upper = first.starts_with(|c: char| c.is_uppercase())
        && first[1..].starts_with(|c: char| c.is_lowercase())
        && !matches!(first, "Sprag" | "Claude" | "Codex" | "Git" | "MCP");
    let faults = [
        (is_upper, "starts with an upper-case word"),
        (matches!(first, "it" | "they"), "starts with a pronoun"),
        (text.ends_with('.') && !text.ends_with(".."), "ends with a full stop"),
        (text.ends_with('?'), "is a question"),
        (text.chars().count() > MAX_MESSAGE, "exceeds 160 characters"),
    ];
    faults.into_iter().find_map(|(is_there, fault)| is_there.then_some(fault))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::checks::plain_words::prose;
    use crate::tidy::tree::Tree;

    /// Returns the rules that a text of a file breaks.
    fn broken(path: &str, text: &str) -> Vec<&'static str> {
        let rules = Rules::new();
        let paragraphs = prose::paragraphs(&Tree::of(&[(path, text)]));
        paragraphs.iter().flat_map(|paragraph| rules.check(paragraph)).map(|hit| hit.rule).collect()
    }

    #[test]
    fn each_rule_has_bad_and_good_lines() {
        for (rule, bad, good) in [
            ("start", "What guards the agent stays.", "What is a gate? Files that the agent changed stay."),
            ("start", "It ends. Whoever reads it. Who reads it is free.", "Reports what the gate did."),
            ("people", "The file that nobody reads.", "The antibody `nobody` and \"somebody\" stay."),
            ("owner", "This command is a person's.", "It was the agent's turn, and a person's word counts."),
            ("telling", "The agent is told so.", "It was retold and tells the user."),
            ("telling", "It tells what is wrong.", "Git reports what is wrong."),
            ("old", "The run goes on.", "I recommend an amendment instead."),
            ("no_noun", "Code is no text.", "There is no file, it is no longer here, and the answer is no."),
            ("vague", "The gate came to mean less.", "The run comes to a stop and comes to an end."),
            ("vague", "It stays as it was.", "It stays as it was written, as long as it is there."),
            ("jargon", "Inside the walls.", "It measures wall time in `the book` of a wallet."),
            ("colour", "The check is red.", "The red check is greenish."),
            ("percent", "At 80 % of it.", "At 80% of it, and `a % b`."),
        ] {
            let rules = broken("docs/a.md", bad);
            assert!(
                !rules.is_empty() && rules.iter().all(|found| [rule, "people", "start"].contains(found)),
                "{bad}: {rules:?}"
            );
            assert!(rules.contains(&rule), "{bad}: {rules:?}");
            assert_eq!(broken("docs/a.md", good), [""; 0], "{good}");
        }
    }

    #[test]
    fn a_sentence_has_thirty_words() {
        assert_eq!(broken("docs/a.md", &format!("{}end.", "word ".repeat(30))), ["long"]);
        assert_eq!(
            broken("docs/a.md", &format!("{}end. {}", "word ".repeat(29), "Next ".repeat(3))),
            [""; 0]
        );
    }

    #[test]
    fn comments_of_functions_start_with_a_verb() {
        for (first, is_verb) in [
            ("Returns the plan.", true),
            ("Reports whether it is so.", true),
            ("Whether it is so.", false),
            ("The plan.", false),
            ("Paths of the plan.", false),
            ("This is it.", false),
        ] {
            let found =
                broken("crates/x/src/a.rs", &format!("/// {first}\n#[inline]\npub(crate) const fn f() {{}}"));
            assert_eq!(found.is_empty(), is_verb, "{first}: {found:?}");
        }
        assert_eq!(broken("crates/x/src/a.rs", "/// The plan.\nstruct Plan;\n"), [""; 0]);
        assert_eq!(broken("crates/x/tests/a.rs", "/// The plan.\nfn f() {}\n"), [""; 0]);
    }

    #[test]
    fn messages_are_short_fragments() {
        for (text, is_fine) in [
            ("the plan was not changed", true),
            ("`{x}` was deleted", true),
            ("The plan was not changed", false),
            ("the plan was not changed.", false),
            ("it is about to start", false),
            ("which learning is meant?", false),
            (&"too many words ".repeat(12), false),
        ] {
            let found = broken("crates/x/src/messages.rs", &format!("fn f() {{ g(\"{text}\") }}"));
            assert_eq!(found.iter().all(|rule| *rule != "message"), is_fine, "{text}: {found:?}");
        }
        assert_eq!(broken("crates/x/src/messages.rs", "fn f() { g(\"what is ephemeral ends\") }"), ["start"]);
    }
}
