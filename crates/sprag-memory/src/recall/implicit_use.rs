//! Detects the use of a shown learning that no user or agent reports: its rare words occur in the work of the
//! agent, and the user did not write them. A cited id counts as use, too.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;

use crate::learning::Learning;

/// The required share of a learning's weight.
const SHARE: f32 = 0.15;
/// The required number of rare words.
const RARE_WORDS: u32 = 2;
/// From this weight on, a word is rare.
const RARE: f32 = 2.0;
/// The limit on words of a learning, the rarest first. One bit per word marks whether it occurred.
const TERMS: usize = 32;
/// The limit on bytes of a text. A dump of a file proves nothing.
const BYTES: usize = 64 * 1024;
/// With fewer learnings than this, the frequency of a word among them means little.
const STORE: usize = 50;
/// The least number of characters of an id that can name a learning.
pub const PREFIX: usize = 6;

/// The words of a learning that reveal its use, rarest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Terms(Vec<UsedTerm>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct UsedTerm {
    #[serde(rename = "t")]
    stem: Text<32>,
    #[serde(rename = "w")]
    weight: f32,
}

impl Terms {
    /// Selects the rarest words of a text. `idf` weighs a stem: [`idf`] from counts, or [`plain_idf`] without
    /// counts.
    pub fn new(text: &str, idf: impl Fn(&str) -> f32) -> Terms {
        let mut terms: Vec<UsedTerm> = StemSet::from_texts([text])
            .0
            .into_iter()
            .map(|stem| UsedTerm { weight: idf(&stem).clamp(0.0, 20.0), stem: Text::new(stem) })
            .filter(|term| term.weight > 0.0)
            .collect();
        terms.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.stem.cmp(&b.stem)));
        terms.truncate(TERMS);
        Terms(terms)
    }

    pub fn from_learning(learning: &Learning) -> Terms {
        let it = &learning.candidate;
        let tags: Vec<&str> = it.tags.iter().map(Text::as_str).collect();
        Terms::new(&format!("{} {} {}", it.summary, it.detail, tags.join(" ")), plain_idf)
    }

    fn bits(&self, words: &StemSet) -> u32 {
        let held = self.0.iter().enumerate().filter(|(_, term)| words.0.contains(term.stem.as_str()));
        held.fold(0, |bits, (at, _)| bits | 1 << at)
    }
}

/// The words of one learning that occurred in the current turn. It takes a few bytes and is kept between
/// events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trail {
    /// Words of the user, which prove nothing.
    #[serde(skip_serializing_if = "is_nothing")]
    asked: u32,
    /// Words of the agent.
    #[serde(skip_serializing_if = "is_nothing")]
    met: u32,
}

fn is_nothing(bits: &u32) -> bool {
    *bits == 0
}

impl Trail {
    /// Starts a turn with the words of the user.
    pub fn begin(terms: &Terms, prompt: &StemSet) -> Trail {
        Trail { asked: terms.bits(prompt), met: 0 }
    }

    /// Adds words that the agent answered, ran or wrote.
    pub fn note(&mut self, terms: &Terms, words: &StemSet) {
        self.met |= terms.bits(words);
    }

    pub fn is_implied(self, terms: &Terms) -> bool {
        let met = self.met & !self.asked;
        let all: f32 = terms.0.iter().map(|term| term.weight).sum();
        let held = || terms.0.iter().enumerate().filter(|(at, _)| met & (1 << at) != 0).map(|(_, term)| term);
        let rare = held().filter(|term| term.weight >= RARE).count();
        let mass: f32 = held().map(|term| term.weight).sum();
        rare >= RARE_WORDS as usize && mass >= SHARE * all
    }
}

/// Returns the shown ids that a text names by their start. A start that several ids share names none.
pub fn cited<'a>(text: &str, ids: &[&'a str]) -> Vec<&'a str> {
    let mut found: Vec<&'a str> = Vec::new();
    let is_part = |c: char| c.is_ascii_hexdigit() || c == '-';
    let words =
        cut(text).split(|c: char| !(c.is_alphanumeric() || c == '-')).map(|word| word.trim_matches('-'));
    for word in words.filter(|word| word.len() >= PREFIX && word.chars().all(is_part)) {
        let word = word.to_ascii_lowercase();
        let mut named = ids.iter().copied().filter(|id| id.starts_with(&word));
        if let (Some(id), None) = (named.next(), named.next())
            && !found.contains(&id)
        {
            found.push(id);
        }
    }
    found
}

/// Returns the weight of a stem that `holders` of `count` learnings have. In a small memory the word itself
/// decides.
pub fn idf(stem: &str, holders: usize, count: usize) -> f32 {
    if count < STORE || is_common(stem) {
        return plain_idf(stem);
    }
    let (holders, count) = (holders.min(count) as f32, count as f32);
    (1.0 + (count - holders + 0.5) / (holders + 0.5)).ln()
}

/// Returns the weight of a stem without counts: long words and names are rare, common words are not.
pub fn plain_idf(stem: &str) -> f32 {
    match stem.chars().count() {
        _ if is_common(stem) => 0.5,
        0..=2 => 0.0,
        _ if stem.contains(|c: char| c == '_' || c.is_ascii_digit()) => 4.0,
        3 => 1.5,
        length => 2.0 + length.min(12) as f32 / 6.0,
    }
}

fn is_common(stem: &str) -> bool {
    COMMON_STEMS.contains(stem)
}

/// The stems of texts, each once. Identifiers count whole and in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StemSet(HashSet<String>);

impl StemSet {
    pub fn from_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> StemSet {
        let mut words = StemSet::default();
        texts.into_iter().for_each(|text| words.add(text));
        words
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the share of common words of two texts.
    pub fn overlap(&self, other: &StemSet) -> f32 {
        let common = self.0.intersection(&other.0).count();
        let all = self.0.len() + other.0.len() - common;
        if all == 0 { 0.0 } else { common as f32 / all as f32 }
    }

    fn add(&mut self, text: &str) {
        let names = cut(text).split(|c: char| !(c.is_alphanumeric() || c == '_'));
        for name in names.map(|name| name.trim_matches('_')).filter(|name| !name.is_empty()) {
            let parts = parts(name);
            if parts.len() > 1 {
                self.0.insert(name.to_lowercase());
            }
            self.0.extend(parts.into_iter().map(|part| stem(&part.to_lowercase())));
        }
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(BYTES)]
}

/// Splits an identifier: `retry_count`, `retryCount` and `HTTPServer` have two parts each.
fn parts(name: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut from = 0;
    let chars: Vec<(usize, char)> = name.char_indices().collect();
    for (at, &(offset, c)) in chars.iter().enumerate().skip(1) {
        let (before, after) = (chars[at - 1].1, chars.get(at + 1).map(|&(_, c)| c));
        let starts = c.is_uppercase()
            && (before.is_lowercase() || (before.is_uppercase() && after.is_some_and(char::is_lowercase)));
        if starts || c == '_' {
            parts.push(&name[from..offset]);
            from = if c == '_' { offset + 1 } else { offset };
        }
    }
    parts.push(&name[from..]);
    parts.retain(|part| !part.is_empty());
    parts
}

/// Removes an inflection ending. The rule is simple, but the same on both sides.
fn stem(word: &str) -> String {
    let strip = |ending: &str, least: usize| {
        word.strip_suffix(ending).filter(|rest| rest.len() >= least && rest.is_ascii())
    };
    let rest = strip("ies", 2)
        .map(|rest| format!("{rest}y"))
        .or_else(|| strip("ing", 3).map(str::to_owned))
        .or_else(|| strip("ed", 3).map(str::to_owned))
        .or_else(|| strip("es", 3).filter(|rest| rest.ends_with(['s', 'x', 'h'])).map(str::to_owned))
        .or_else(|| strip("s", 3).filter(|rest| !rest.ends_with(['s', 'u', 'i'])).map(str::to_owned))
        .unwrap_or_else(|| word.to_owned());
    // `caching`, `cached` and `cache` share a stem.
    rest.strip_suffix('e').filter(|rest| rest.len() >= 3).map(str::to_owned).unwrap_or(rest)
}

/// Words without a topic, in any repository.
const COMMON: &str = "\
a about above add after again all allow already also always an and any are as at avoid back be because been before \
behavior below best between both branch bug build but by call can cannot case cause change check class clean code \
command commit compile config contain copy correct could create current data default define delete detail did differ \
different dir directory do does done down each edit either else empty end ensure error every example exist expect \
fail failure false file first fix follow for found from full function get git give given go had handle has have here how \
if implement import in include information input inside install instead into is issue it its itself json just keep kind \
know last learn least let library like line list log look main make may mean method might miss mode module more most must \
name need never new next no not note nothing now number of off on once one only open option or order other our out \
output over own package parse part pass path pattern place point possible print problem process project provide put raise \
read reason remove replace report require resolve result return right root rule run same say schema see set should \
show since single so some source start state step still stop store string such sure system take tell test than that the \
their them then there these they thing this those through time to too tool true try turn two type under until up \
update use user using value variable version very via want was way we well were what when where whether which while \
who why will with within without word work would write written wrong yes yet you your";

static COMMON_STEMS: LazyLock<HashSet<String>> =
    LazyLock::new(|| COMMON.split_ascii_whitespace().map(stem).collect());

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CACHE: &str = "the parser cache is keyed by path alone: call invalidate_cache after a rename, or stale \
                         bytecode is served by the resolver";

    /// Reports whether one turn used the shown learning. `done` holds the texts of the agent.
    fn uses(terms: &Terms, done: &[&str], prompt: &str) -> bool {
        let mut trail = Trail::begin(terms, &StemSet::from_texts([prompt]));
        trail.note(terms, &StemSet::from_texts(done.iter().copied()));
        trail.is_implied(terms)
    }

    fn is_used(done: &[&str], prompt: &str) -> bool {
        uses(&Terms::new(CACHE, plain_idf), done, prompt)
    }

    #[test]
    fn rare_words_in_what_was_done_are_use() {
        assert!(is_used(&["I renamed it and invalidated the resolver's bytecode"], "rename the module"));
        assert!(is_used(&["cargo test", "grep -rn invalidate_cache src && vim resolver.rs"], "fix the test"));
        assert!(is_used(&["let resolver = Resolver::new(); self.bytecodeCache.clear()"], ""));
    }

    #[test]
    fn what_the_user_said_and_what_everybody_says_is_none() {
        let prompt =
            "why does the resolver serve stale bytecode after a rename? is a parser cache invalidated?";
        assert!(!is_used(
            &["the resolver serves stale bytecode because the cache is not invalidated"],
            prompt
        ));
        assert!(!is_used(&["I will call the function with the path and check the file"], ""));
        assert!(!is_used(&["the bytecode is fine"], ""), "one rare word may be chance");
        assert!(!is_used(&[], "") && !is_used(&[""], CACHE));
    }

    #[test]
    fn a_turn_may_come_in_pieces() {
        let terms = Terms::new(CACHE, plain_idf);
        let mut trail = Trail::begin(&terms, &StemSet::from_texts(["fix the resolver"]));
        trail.note(&terms, &StemSet::from_texts(["vim resolver.rs"]));
        trail.note(&terms, &StemSet::from_texts(["invalidate_cache()"]));
        assert!(trail.is_implied(&terms), "{trail:?}");
        assert!(!Trail::begin(&terms, &StemSet::default()).is_implied(&terms));
        let kept = serde_json::to_string(&(trail, &terms)).unwrap();
        assert_eq!(serde_json::from_str::<(Trail, Terms)>(&kept).unwrap(), (trail, terms));
    }

    #[test]
    fn a_word_of_many_learnings_is_not_rare() {
        let common = |stem: &str| idf(stem, if stem == "resolver" { 90 } else { 1 }, 100);
        assert!(common("resolver") < RARE && common("bytecod") > RARE);
        assert!(idf("resolver", 9, 10) > RARE, "ten learnings are too few to tell");
    }

    #[test]
    fn a_cited_id_is_one_of_those_shown() {
        let ids =
            ["0190f3c1-1111-7000-8000-000000000001", "0190f3c1-2222-7000-8000-000000000002", "0a44beef"];
        assert_eq!(cited("as `0190f3c1-2222` says, and 0A44BEEF", &ids), [ids[1], ids[2]]);
        assert_eq!(cited("0190f3c1", &ids), Vec::<&str>::new(), "two begin so");
        assert_eq!(cited("0a44b is too short, 0a44beefff too long, xyz0a44beef another word", &ids), [""; 0]);
        assert_eq!(cited(&format!("({}), again {}", ids[0], ids[0]), &ids), [ids[0]]);
    }

    #[test]
    fn forms_of_a_word_are_one() {
        for (one, other) in
            [("caches", "cached"), ("retries", "retry"), ("parsing", "parsed"), ("boxes", "box")]
        {
            assert_eq!(StemSet::from_texts([one]), StemSet::from_texts([other]));
        }
        assert_eq!(
            StemSet::from_texts(["HTTPServer retryCount"]),
            StemSet::from_texts(["httpserver retrycount HTTP server retry count"])
        );
    }

    proptest! {
        #[test]
        fn any_text_is_looked_at(text in "\\PC{0,300}", done in "\\PC{0,300}") {
            let terms = Terms::new(&text, plain_idf);
            let _used_or_not = uses(&terms, &[&done], &text);
            prop_assert!(!uses(&terms, &[&done], &done), "nothing is left of it");
            let _named_or_not = cited(&text, &[&done]);
        }
    }
}
