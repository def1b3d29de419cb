//! Differences that separate two statements: numbers, paths, identifiers, names, negation and word order.

use std::collections::BTreeSet;

use crate::index::analysis::tokens;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Differs {
    Number,
    Path,
    Identifier,
    Name,
    Negation,
    Direction,
}

sprag_base::names! {
    pub fn name(Differs):
    Number = "number", Path = "path", Identifier = "identifier", Name = "name", Negation = "negation",
    Direction = "direction"
}

/// The parts of a statement that are compared.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// Words with a digit: numbers, versions, ports.
    numbers: BTreeSet<String>,
    paths: BTreeSet<String>,
    identifiers: BTreeSet<String>,
    /// Capitalised words inside a sentence.
    names: BTreeSet<String>,
    negations: usize,
    /// The statement has a word that excludes everything else.
    limits: bool,
    /// Sides of the pairs in [`CONTRARIES`] that the statement takes.
    sides: BTreeSet<(usize, StatementSide)>,
    /// Stems in order.
    order: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum StatementSide {
    One,
    Other,
}

const NEGATIONS: &[&str] = &[
    "not", "no", "never", "none", "nothing", "neither", "nor", "without", "cannot", "cant", "dont", "doesnt",
    "isnt", "wont", "shouldnt", "mustnt", "arent", "wasnt", "werent", "didnt", "couldnt", "wouldnt",
    "unless", "nobody", "nowhere", "hardly", "avoid", "stop", "instead", "except", "fails", "lacks",
];

const LIMITS: &[&str] = &["only", "alone", "solely", "exclusively", "just", "merely"];

/// Words with opposite meanings, as stems.
const CONTRARIES: &[(&[&str], &[&str])] = &[
    (&["alway"], &["never"]),
    (&["includ", "inclus"], &["exclud", "exclus"]),
    (&["enabl"], &["disabl"]),
    (&["befor"], &["after"]),
    (&["allow", "permit"], &["deni", "forbid", "block", "refus"]),
    (&["with"], &["without"]),
    (&["more", "greater", "larger", "higher"], &["less", "fewer", "smaller", "lower"]),
    (&["increas", "rais", "grow"], &["decreas", "reduc", "shrink"]),
    (&["min", "minimum", "least"], &["max", "maximum", "most"]),
    (&["true", "yes"], &["fals", "no"]),
    (&["on"], &["off"]),
    (&["up"], &["down"]),
    (&["first"], &["last"]),
    (&["add", "insert", "creat"], &["remov", "delet", "drop"]),
    (&["read"], &["write"]),
    (&["start", "begin"], &["stop", "end"]),
    (&["open"], &["close"]),
    (&["push"], &["pull"]),
    (&["lock"], &["unlock"]),
    (&["sync", "synchron"], &["async", "asynchron"]),
    (&["safe"], &["unsaf"]),
    (&["stabl"], &["unstabl"]),
    (&["requir", "mandatori"], &["option"]),
    (&["client"], &["server"]),
    (&["public"], &["privat"]),
    (&["fast", "faster", "quick"], &["slow", "slower"]),
    (&["pass", "succeed", "success"], &["fail", "failur"]),
    (&["old", "older"], &["new", "newer"]),
    (&["local"], &["remot", "global"]),
    (&["left"], &["right"]),
    (&["ascend"], &["descend"]),
    (&["upper"], &["lower"]),
    (&["debug"], &["releas"]),
    (&["stage"], &["product"]),
    (&["import"], &["export"]),
    (&["encod"], &["decod"]),
    (&["accept"], &["reject"]),
    (&["valid"], &["invalid"]),
];

impl Marks {
    pub(super) fn from_text(text: &str) -> Marks {
        let mut marks = Marks::default();
        let mut before = None;
        for word in text.split_whitespace() {
            let bare =
                word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '_' | '-' | '~'));
            let bare = bare.trim_end_matches(['-', '/']);
            marks.add_word(bare, before.replace(word));
        }
        marks
    }

    fn add_word(&mut self, word: &str, before: Option<&str>) {
        if word.is_empty() {
            return;
        }
        let starts_sentence = before.is_none_or(|word| word.ends_with(['.', '!', '?', ':']));
        let lower = word.to_lowercase();
        let is_path = word.contains('/') && word.chars().any(char::is_alphanumeric);
        let has_digit = word.chars().any(|c| c.is_ascii_digit());
        let capital = word.chars().next().is_some_and(char::is_uppercase);
        let is_compound = word.contains(['_', ':', '.']) && word.chars().any(char::is_alphabetic);
        let rises =
            word.chars().zip(word.chars().skip(1)).any(|(a, b)| !a.is_uppercase() && b.is_uppercase());
        let kind = match () {
            () if is_path => Some(&mut self.paths),
            () if has_digit => Some(&mut self.numbers),
            () if is_compound || rises => Some(&mut self.identifiers),
            () if capital && !starts_sentence && word.chars().count() > 1 => Some(&mut self.names),
            () => None,
        };
        if let Some(kind) = kind {
            kind.insert(lower.trim_start_matches(if has_digit { "v" } else { "" }).to_owned());
        }
        let plain: String = lower.chars().filter(|c| !matches!(c, '\'' | '\u{2019}')).collect();
        self.negations += usize::from(NEGATIONS.contains(&plain.as_str()));
        self.limits |= LIMITS.contains(&plain.as_str());
        let stem = tokens::stem(&plain);
        for (at, (one, other)) in CONTRARIES.iter().enumerate() {
            if one.contains(&stem.as_str()) {
                self.sides.insert((at, StatementSide::One));
            }
            if other.contains(&stem.as_str()) {
                self.sides.insert((at, StatementSide::Other));
            }
        }
        tokens::terms(word, |term| self.order.push(term.to_owned()));
    }

    pub(super) fn differ(&self, other: &Marks) -> Option<Differs> {
        match () {
            () if self.numbers != other.numbers => Some(Differs::Number),
            () if self.paths != other.paths => Some(Differs::Path),
            () if self.identifiers != other.identifiers => Some(Differs::Identifier),
            () if exchanged(&self.names, &other.names) => Some(Differs::Name),
            () if self.negations % 2 != other.negations % 2
                || self.limits != other.limits
                || self.is_contrary(other) =>
            {
                Some(Differs::Negation)
            }
            () if self.is_turned(other) => Some(Differs::Direction),
            () => None,
        }
    }

    /// Reports whether one statement takes a side and the other only the opposite side.
    fn is_contrary(&self, other: &Marks) -> bool {
        (0..CONTRARIES.len()).any(|at| {
            let takes = |marks: &Marks, side| marks.sides.contains(&(at, side));
            let is_against = |a: &Marks, b: &Marks| {
                takes(a, StatementSide::One)
                    && !takes(a, StatementSide::Other)
                    && takes(b, StatementSide::Other)
                    && !takes(b, StatementSide::One)
            };
            is_against(self, other) || is_against(other, self)
        })
    }

    /// Reports whether both have the same words, except at most one, in another order.
    fn is_turned(&self, other: &Marks) -> bool {
        let (mine, theirs) = (sorted(&self.order), sorted(&other.order));
        let missing = mine.iter().filter(|stem| !theirs.contains(stem)).count();
        let extra = theirs.iter().filter(|stem| !mine.contains(stem)).count();
        let common = |order: &'_ [String], of: &[&String]| -> Vec<String> {
            order.iter().filter(|stem| of.contains(stem)).cloned().collect()
        };
        missing.max(extra) <= 1 && common(&self.order, &theirs) != common(&other.order, &mine)
    }
}

/// Reports whether each side has a name that the other lacks. A name on one side only is more detail.
fn exchanged(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    a.difference(b).next().is_some() && b.difference(a).next().is_some()
}

fn sorted(order: &[String]) -> Vec<&String> {
    let mut sorted: Vec<&String> = order.iter().collect();
    sorted.sort();
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differ(a: &str, b: &str) -> Option<Differs> {
        let (a, b) = (Marks::from_text(a), Marks::from_text(b));
        assert_eq!(a.differ(&b), b.differ(&a), "what differs does so both ways");
        a.differ(&b)
    }

    #[test]
    fn what_must_not_be_overlooked_is_seen() {
        for (a, b, expected) in [
            ("keep 3 replicas of it", "keep 4 replicas of it", Differs::Number),
            ("needs tokio 1.38", "needs tokio 1.39", Differs::Number),
            ("tables live in db/a.sql", "tables live in db/b.sql", Differs::Path),
            ("call open_pool before", "call open_file before", Differs::Identifier),
            ("the Cache type is Send", "the Cache type is not Send", Differs::Negation),
            ("workers don't share it", "workers share it", Differs::Negation),
            ("it is keyed by the path alone", "it is keyed by worktree and path", Differs::Negation),
            ("enable it in tests", "disable it in tests", Differs::Negation),
            ("copy from left pane to main pane", "copy from main pane to left pane", Differs::Direction),
            ("the job uses Redis for locks", "the job uses Kafka for locks", Differs::Name),
        ] {
            assert_eq!(differ(a, b), Some(expected), "{a} / {b}");
        }
    }

    #[test]
    fn what_only_reads_otherwise_does_not_differ() {
        for (a, b) in [
            ("the cache is keyed by path", "the cache is keyed by the path"),
            ("run the formatter first", "first, run the formatter please and look"),
            ("Retries happen 3 times", "retries happen 3 times."),
            ("the job uses locks", "the job uses Redis locks"),
        ] {
            assert_eq!(differ(a, b), None, "{a} / {b}");
        }
    }
}
