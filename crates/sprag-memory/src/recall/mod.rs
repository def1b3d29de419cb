//! The question to the memory on an occasion, and its answer. This module builds the question from the event;
//! the host adds facts and searches.

pub mod exposure;
mod feedback;
pub mod floor;
pub mod implicit_use;

use serde::{Deserialize, Serialize};

use sprag_base::glob::CaseFolding;
use sprag_base::path as base_path;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use crate::learning::Category;
use crate::recall::implicit_use::Terms;

/// The occasions on which a session may be shown learnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecallOccasion {
    Start,
    Prompt,
    Tool,
}

sprag_base::names! { pub fn name(RecallOccasion): Start = "start", Prompt = "prompt", Tool = "tool" }

impl RecallOccasion {
    /// Returns the limit on tokens of one occasion.
    pub fn tokens(self) -> u32 {
        match self {
            RecallOccasion::Start => 1200,
            RecallOccasion::Prompt => 600,
            RecallOccasion::Tool => 400,
        }
    }

    /// Reports whether the host may add facts about the worktree. A prompt needs none.
    pub fn looks_around(self) -> bool {
        self == RecallOccasion::Start
    }
}

/// The limit on tokens of one session.
pub const SESSION_TOKENS: u32 = 4000;

/// The limit on bytes of a prompt. The rest of a long prompt is data.
const TEXT: usize = 4000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecallQuestion {
    pub text: String,
    /// Paths relative to the worktree.
    pub files: Vec<String>,
}

impl RecallQuestion {
    /// Returns the question that a prompt asks: its first bytes, and the files that it names.
    pub fn from_prompt(text: &str, root: &str) -> RecallQuestion {
        let end = (0..=TEXT.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
        let text = &text[..end.unwrap_or(0)];
        RecallQuestion { text: text.to_owned(), files: files_in(text, root) }
    }

    /// Returns the question about these paths. The input of a tool names files, not topics.
    pub fn from_paths(paths: &[String], root: &str) -> RecallQuestion {
        let below = |path: &String| relative(path, root);
        RecallQuestion { text: String::new(), files: paths.iter().filter_map(below).collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.files.is_empty()
    }
}

fn relative(path: &str, root: &str) -> Option<String> {
    let below = match path.strip_prefix('/') {
        Some(_) => base_path::relative(path, root, CaseFolding::Exact).filter(|_| !root.is_empty())?,
        None => path.strip_prefix("./").unwrap_or(path),
    };
    let is_plain = !below.is_empty() && !below.split('/').any(|part| part == "..");
    is_plain.then(|| below.to_owned())
}

/// Returns words that are paths: with a slash, or with a name and an extension.
fn files_in(text: &str, root: &str) -> Vec<String> {
    const MOST: usize = 8;
    let is_mark =
        |c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '(' | ')' | ',' | ';' | '<' | '>');
    let words = text.split(is_mark).map(|word| word.trim_end_matches(['.', ':', '?', '!']));
    words.filter(|word| is_path(word)).filter_map(|word| relative(word, root)).take(MOST).collect()
}

fn is_path(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let has_ending = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        let is_short = (1..=5).contains(&ending.len());
        (stem.len() > 1 || word.contains('/'))
            && is_short
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
    });
    let is_plain = word.chars().all(|c| c.is_alphanumeric() || "/._-@+[]".contains(c));
    is_plain && has_ending && word.chars().any(char::is_alphabetic) && word.len() <= 300
}

/// The learnings found, best first, and changes of learnings shown before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recalled {
    pub found: Vec<RecalledLearning>,
    pub notices: Vec<Notice>,
    /// Whether the memory holds any learning.
    pub is_any: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RecalledLearning {
    pub id: Text<64>,
    pub summary: Text<200>,
    pub detail: Text<2000>,
    pub category: Option<Category>,
    /// The probability that the learning helps.
    pub score: f32,
    /// The signals for the learning.
    pub why: Text<200>,
    /// The evidence changed since the learning was stored.
    pub is_stale: bool,
    /// No record reports the change yet.
    pub has_changed: bool,
    pub is_personal: bool,
    /// The state of a negative learning.
    pub caveat: Option<&'static str>,
    /// The words that reveal its use.
    pub terms: Terms,
}

/// A change of a learning that was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub id: Text<64>,
    pub what: LearningChange,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LearningChange {
    /// The new summary and its time.
    Corrected {
        summary: Text<200>,
        at: Timestamp,
    },
    Superseded {
        by: Option<Text<64>>,
        summary: Option<Text<200>>,
    },
    Archived,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_names_files() {
        for (text, files) in [
            ("fix `src/cache.rs` and ./a/b.py, please.", &["src/cache.rs", "a/b.py"][..]),
            ("see README.md:", &["README.md"]),
            ("what is /w/src/a.rs?", &["src/a.rs"]),
            ("e.g. version 1.2 of node.js or ../x.rs and /etc/passwd.txt", &["node.js"]),
            ("nothing here", &[]),
        ] {
            assert_eq!(files_in(text, "/w"), files, "{text}");
        }
    }

    #[test]
    fn paths_are_told_from_the_worktree() {
        assert_eq!(relative("/w/src/a.rs", "/w").as_deref(), Some("src/a.rs"));
        assert_eq!(relative("/elsewhere/a.rs", "/w"), None);
        assert_eq!(relative("/wide/a.rs", "/w"), None);
        assert_eq!(relative("./a.rs", "/w").as_deref(), Some("a.rs"));
        assert_eq!(relative("a/../../b", "/w"), None);
    }
}
