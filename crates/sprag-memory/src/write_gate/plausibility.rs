//! Checks whether a text supports the claimed criteria. It does not judge the truth: it only detects a
//! rationale without a reason, or a request that the user did not make.

use crate::learning::{Candidate, KeepReason};
use crate::write_gate::GateRequest;

/// The claimed criteria, split into supported and doubtful ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plausibility {
    pub borne_out: Vec<KeepReason>,
    pub doubtful: Vec<KeepReason>,
}

pub fn plausibility(candidate: &Candidate, asked: &GateRequest<'_>) -> Plausibility {
    let text = format!("{}\n{}", candidate.summary, candidate.detail);
    let words = LowercaseWords::parse(&text);
    let mut found = Plausibility::default();
    for &criterion in &candidate.criteria_met {
        let is_plausible = match criterion {
            KeepReason::ExplicitRequest => asked.was_asked_for,
            // The word lists are English; a text in another language passes.
            _ if !words.is_english() => true,
            KeepReason::BehaviorChanging => words.has_any(ACTING),
            KeepReason::DecisionRationale => words.has_any(REASONING),
            KeepReason::StableFact => words.has_any(STATING) && !words.has_any(PASSING),
        };
        if is_plausible { found.borne_out.push(criterion) } else { found.doubtful.push(criterion) }
    }
    found
}

/// Returns the words that a text needs for a criterion.
pub fn wanted(criterion: KeepReason) -> &'static str {
    match criterion {
        KeepReason::BehaviorChanging => "say what to do or avoid next time",
        KeepReason::DecisionRationale => "say why (`because`, `instead of`, `rather than`)",
        KeepReason::StableFact => "state a fact that stays true in later sessions",
        KeepReason::ExplicitRequest => "the user of this session has not asked to remember anything",
    }
}

/// Reports whether a user's prompt asks to remember something.
pub fn asks_to_remember(prompt: &str) -> bool {
    let prompt = &prompt[..prompt.char_indices().nth(20_000).map_or(prompt.len(), |(at, _)| at)];
    let words = LowercaseWords::parse(prompt);
    let asked =
        words.0.windows(2).any(|pair| pair[1] == "remember" && !BEFORE_REMEMBER.contains(&pair[0].as_str()));
    asked
        || words.0.first().is_some_and(|first| first == "remember")
        || words.has_any(REMEMBER)
        || REMEMBER_UNSPACED.iter().any(|phrase| prompt.contains(phrase))
}

/// After one of these words, `remember` is not a request.
const BEFORE_REMEMBER: &[&str] = &[
    "i", "you", "we", "they", "cannot", "can't", "don't", "didn't", "not", "to", "who", "it", "could", "does",
];

const REMEMBER: &[&str] = &[
    "to remember that",
    "to remember this",
    "you to remember",
    "memorize",
    "memorise",
    "keep in mind",
    "bear in mind",
    "don't forget",
    "do not forget",
    "never forget",
    "note that down",
    "note this down",
    "make a note",
    "take a note",
    "take note",
    "write that down",
    "write this down",
    "for next time",
    "for the future",
    "for future sessions",
    "from now on",
    "in future sessions",
    "add to memory",
    "to your memory",
    "save this",
    "learn this",
    "merk dir",
    "merke dir",
    "souviens-toi",
    "retiens",
    "recuerda",
];

const REMEMBER_UNSPACED: &[&str] = &["覚えて", "忘れないで", "今後は", "记住", "記住", "别忘", "기억해"];

const ACTING: &[&str] = &[
    "must",
    "should",
    "shall",
    "never",
    "always",
    "instead",
    "avoid",
    "avoids",
    "use",
    "uses",
    "using",
    "do not",
    "don't",
    "need",
    "needs",
    "needed",
    "require",
    "requires",
    "required",
    "before",
    "after",
    "first",
    "run",
    "running",
    "call",
    "calling",
    "set",
    "setting",
    "prefer",
    "ensure",
    "check",
    "without",
    "fails",
    "fail",
    "breaks",
    "break",
    "otherwise",
    "only",
    "when",
    "whenever",
    "unless",
    "if",
    "until",
    "rather",
    "pass",
    "add",
    "remove",
    "wrap",
    "keep",
    "put",
    "start",
    "restart",
    "stop",
    "reset",
    "rebuild",
    "regenerate",
    "update",
    "write",
    "read",
    "look",
    "ask",
    "wait",
    "skip",
    "fix",
    "fixed",
    "by",
    "has to",
    "have to",
    "cannot",
    "can't",
    "forget",
    "leads",
    "causes",
    "hangs",
    "drops",
    "loses",
    "load",
    "loads",
    "try",
    "go through",
    "not",
];

const REASONING: &[&str] = &[
    "because",
    "since",
    "so that",
    "so",
    "rather than",
    "instead of",
    "instead",
    "over",
    "chose",
    "chosen",
    "choose",
    "decided",
    "decision",
    "why",
    "reason",
    "reasons",
    "trade-off",
    "tradeoff",
    "due to",
    "therefore",
    "thus",
    "hence",
    "in order to",
    "avoid",
    "avoids",
    "prefer",
    "preferred",
    "picked",
    "rejected",
    "ruled out",
    "considered",
    "versus",
    "vs",
    "cheaper",
    "faster",
    "simpler",
    "safer",
    "slower",
    "otherwise",
    "would",
    "as it",
    "as they",
    "which lets",
    "which keeps",
    "at the price",
    "at the cost",
];

const STATING: &[&str] = &[
    "is", "are", "has", "have", "lives", "live", "returns", "return", "means", "mean", "stores", "store",
    "stored", "uses", "use", "requires", "require", "needs", "need", "contains", "contain", "supports",
    "support", "defaults", "default", "always", "never", "must", "does", "do", "runs", "run", "reads",
    "writes", "takes", "expects", "expect", "belongs", "belong", "comes", "goes", "keeps", "holds", "sits",
    "ends", "starts", "begins", "ships", "fails", "only", "every", "each", "all", "cannot", "can", "counts",
    "drops", "loses", "ignores", "sends", "calls", "depends", "maps", "sorts", "allows", "breaks", "hangs",
    "accepts", "rejects", "rounds", "closes", "opens", "works", "leads", "causes", "happens", "not", "no",
];

/// Phrases about the current moment only.
const PASSING: &[&str] = &[
    "today",
    "yesterday",
    "tomorrow",
    "right now",
    "for now",
    "at the moment",
    "this session",
    "this conversation",
    "this turn",
    "temporarily",
    "wip",
    "in progress",
    "i just",
    "just finished",
    "so far",
];

/// A text as lower-case words, so that `because` does not match `use`.
struct LowercaseWords(Vec<String>);

impl LowercaseWords {
    fn parse(text: &str) -> LowercaseWords {
        let text = text.to_lowercase().replace('’', "'");
        let is_word = |c: char| c.is_alphanumeric() || c == '\'' || c == '-' || c == '_';
        let words = text.split(|c: char| !is_word(c)).map(|word| word.trim_matches(['\'', '-']));
        LowercaseWords(words.filter(|word| !word.is_empty()).map(str::to_owned).collect())
    }

    fn has_any(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.has(phrase))
    }

    fn has(&self, phrase: &str) -> bool {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        self.0
            .windows(phrase.len())
            .any(|window| window.iter().zip(&phrase).all(|(word, wanted)| word == wanted))
    }

    /// Reports whether the text is English. Nearly every English sentence has some of these words; other
    /// languages rarely do.
    fn is_english(&self) -> bool {
        const COMMON: &[&str] = &[
            "the", "a", "an", "is", "are", "of", "to", "and", "in", "it", "for", "with", "on", "by", "not",
            "that", "this", "be", "from", "or", "as", "at", "when", "if", "has", "have", "was", "must",
            "before", "after", "use", "only",
        ];
        let common = self.0.iter().filter(|word| COMMON.contains(&word.as_str())).count();
        common * 12 >= self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::write_gate::{CandidateFacts, WriteGate};

    fn judged(summary: &str, detail: &str, criteria: &[&str]) -> Plausibility {
        let candidate = Candidate::read(&json!({
            "category": "domain", "summary": summary, "detail": detail, "tags": ["x"], "criteria_met": criteria,
        }));
        let around = CandidateFacts::default();
        let policy = WriteGate::default();
        let asked = GateRequest { policy, was_asked_for: false, resolution: None, around: &around };
        plausibility(&candidate.unwrap(), &asked)
    }

    #[test]
    fn a_claim_needs_words_that_bear_it_out() {
        let told = "the migration was finished by the afternoon crew";
        let why = "sqlite was chosen over postgres here because a single file is easier to ship";
        assert_eq!(judged(told, "it went well and took two hours", &["decision_rationale"]).borne_out, []);
        assert_eq!(judged("about the choice", why, &["decision_rationale"]).doubtful, []);
        let both = judged("about the choice", why, &["decision_rationale", "explicit_request"]);
        assert_eq!(
            (both.borne_out, both.doubtful),
            (vec![KeepReason::DecisionRationale], vec![KeepReason::ExplicitRequest])
        );
    }

    #[test]
    fn what_is_so_for_the_moment_is_no_stable_fact() {
        let passing = "the branch is in progress and today the tests are red";
        assert_eq!(judged(passing, "I just looked at the state of it", &["stable_fact"]).borne_out, []);
        let stable =
            judged("the queue is drained by a cron job", "it runs every ten minutes", &["stable_fact"]);
        assert_eq!(stable.doubtful, []);
    }

    #[test]
    fn words_are_whole_words() {
        // `because` and `disuse` contain `use`.
        let text = LowercaseWords::parse("because of disuse");
        assert!(text.has("because") && !text.has("use"));
        assert!(LowercaseWords::parse("Don’t forget: X").has("don't forget"));
    }

    #[test]
    fn another_language_is_believed() {
        let german = "Rechnungen werden je Mandant nummeriert, nicht je Kunde";
        let detail = "Die Nummernkreise liegen beim Mandanten und beginnen jedes Jahr von vorn.";
        assert_eq!(judged(german, detail, &["decision_rationale"]).doubtful, []);
        let japanese = "請求書の番号は法人ごとに振られる";
        assert_eq!(
            judged(japanese, "番号は毎年一月一日に最初からやり直す。顧客ごとではない。", &["stable_fact"])
                .doubtful,
            []
        );
    }

    #[test]
    fn a_request_to_remember_is_told_from_talk_about_memory() {
        for asking in [
            "Remember: the port is 8080",
            "please remember that we deploy on Fridays",
            "Always use tabs here. Remember this!",
            "keep in mind the API is rate limited",
            "From now on run `just check` first",
            "ポートは8080だと覚えておいて",
        ] {
            assert!(asks_to_remember(asking), "{asking}");
        }
        for talking in [
            "do you remember where the parser is?",
            "I remember it was in src",
            "I can't remember the name",
            "add a remember-me checkbox",
            "fix the login",
            "",
        ] {
            assert!(!asks_to_remember(talking), "{talking}");
        }
    }
}
