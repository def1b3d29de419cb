//! Detects whether an agent claims that its work is done. Only unmistakable phrases count: a false claim
//! costs minutes of checks, a missed one costs only the check.

use super::Settings;

/// Number of sentences at the end of a message that are searched.
const SENTENCES: usize = 2;

/// Whole phrases that count in a sentence that is not a question and has no reservation.
const ENGLISH: &[&str] = &[
    "all done",
    "i'm done",
    "i am done",
    "everything is done",
    "work is done",
    "work is complete",
    "work is finished",
    "task is done",
    "task is complete",
    "task is completed",
    "task is finished",
    "task has been completed",
    "tasks are complete",
    "tasks are done",
    "implementation is complete",
    "implementation is done",
    "implementation is finished",
    "feature is complete",
    "feature is done",
    "fix is complete",
    "refactoring is complete",
    "migration is complete",
    "fully implemented",
    "all tests pass",
    "all tests passed",
    "all tests are passing",
    "all the tests pass",
    "all checks pass",
    "tests all pass",
    "everything is working",
    "everything works",
    "ready for review",
    "ready to merge",
    "ready to be merged",
];

/// Phrases that count if one of the endings follows.
const JAPANESE: &[&str] = &[
    "完了",
    "実装が完了",
    "すべて完了",
    "全て完了",
    "対応が完了",
    "作業が完了",
    "修正が完了",
    "タスクが完了",
    "すべて終わり",
    "全て終わり",
    "テストはすべて通り",
    "テストがすべて通り",
    "すべてのテストが通り",
    "全てのテストが通り",
    "すべてのテストに合格し",
];

const ENDINGS: &[&str] = &[
    "しました",
    "いたしました",
    "致しました",
    "しています",
    "しております",
    "です",
    "済みです",
    "になりました",
    "となりました",
    "ました",
];

/// Words after an ending that make a condition, a question or a reservation.
const OPEN: &[&str] = &["ら", "か", "が", "けど", "と思", "ということ"];

/// Words before the phrase, in the same clause, that deny it.
const JAPANESE_BEFORE: &[&str] = &["未", "まだ", "もし", "一部", "ほぼ", "途中"];

/// Words before the phrase, in the same clause, that deny it or make it a condition.
const BEFORE: &[&str] = &[
    "not",
    "never",
    "no",
    "cannot",
    "can't",
    "don't",
    "doesn't",
    "isn't",
    "aren't",
    "wasn't",
    "hasn't",
    "haven't",
    "won't",
    "wouldn't",
    "couldn't",
    "didn't",
    "unable",
    "if",
    "once",
    "when",
    "until",
    "unless",
    "after",
    "before",
    "whether",
    "almost",
    "nearly",
    "partially",
    "partly",
    "half",
    "mostly",
    "will",
    "would",
    "should",
    "could",
    "might",
    "may",
    "must",
    "ensure",
    "verify",
    "make",
    "check",
    "think",
    "believe",
    "hope",
    "only",
    "some",
    "than",
];

/// Words after the phrase, in the same clause, that deny it or make it a condition.
const AFTER: &[&str] =
    &["once", "if", "until", "unless", "when", "yet", "not", "without", "after", "pending", "before"];

/// Words after the phrase, up to the end of the sentence, that deny it.
const RESERVED: &[&str] = &["except", "but", "however", "although", "though", "apart", "besides", "aside"];

/// Reports whether the last message of an agent claims that the work is done.
pub(crate) fn claims(message: &str, policy: &Settings) -> bool {
    let said = own_words(message);
    has_marker(&said, &policy.markers)
        || sentences(&said).iter().any(|sentence| is_claim(sentence, &policy.phrases))
}

/// Returns the message without code and quotations, in lower case.
fn own_words(message: &str) -> String {
    let mut out = String::new();
    let mut fence: Option<&str> = None;
    for line in message.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) if start.starts_with('>') => {}
            (None, None) => {
                unquoted(line, &mut out);
                out.push('\n');
            }
        }
    }
    out.replace('\u{2019}', "'").replace("**", "").to_lowercase()
}

const QUOTES: &[(char, char)] = &[('`', '`'), ('"', '"'), ('“', '”'), ('「', '」'), ('『', '』'), ('«', '»')];

/// Appends a line without its quotations. A quotation that does not end within the line is kept.
fn unquoted(line: &str, out: &mut String) {
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let end = QUOTES
            .iter()
            .find(|(open, _)| *open == c)
            .and_then(|(_, close)| after.find(*close).map(|at| at + close.len_utf8()));
        match end {
            Some(end) => {
                // A placeholder keeps the words on either side apart.
                out.push('\u{fffc}');
                rest = &after[end..];
            }
            None => {
                out.push(c);
                rest = after;
            }
        }
    }
}

fn has_marker(said: &str, markers: &[String]) -> bool {
    let is_edge = |c: char| matches!(c, '.' | ',' | '!' | ')' | '(' | ':' | ';' | '。' | '、' | '*');
    let words = || said.split_whitespace().map(|word| word.trim_matches(is_edge));
    markers.iter().any(|marker| {
        let marker = marker.trim().to_lowercase();
        !marker.is_empty() && words().any(|word| word == marker)
    })
}

/// Returns the last sentences, each with its final mark.
fn sentences(said: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in said.lines() {
        let mut start = 0;
        let mut chars = line.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let ends = match c {
                '。' | '！' | '？' => true,
                // `v1.2` and `a.rs` are words.
                '.' | '!' | '?' => chars.peek().is_none_or(|(_, next)| !next.is_alphanumeric()),
                _ => false,
            };
            if ends {
                found.push(&line[start..at + c.len_utf8()]);
                start = at + c.len_utf8();
            }
        }
        found.push(&line[start..]);
    }
    found.retain(|sentence| sentence.chars().any(char::is_alphanumeric));
    let first = found.len().saturating_sub(SENTENCES);
    found.split_off(first)
}

fn is_claim(sentence: &str, more: &[String]) -> bool {
    if sentence.trim_end().ends_with(['?', '？']) {
        return false;
    }
    let sentence = &without_numbers(sentence);
    let more: Vec<String> = more.iter().map(|phrase| phrase.trim().to_lowercase()).collect();
    let phrases =
        ENGLISH.iter().copied().chain(more.iter().map(String::as_str)).filter(|phrase| !phrase.is_empty());
    phrases.into_iter().any(|phrase| is_said(sentence, phrase)) || is_said_in_japanese(sentence)
}

/// Removes numbers, so that `all 42 tests pass` reads as `all tests pass`.
fn without_numbers(sentence: &str) -> String {
    let is_number = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit());
    let words: Vec<&str> = sentence.split(' ').filter(|word| !is_number(word)).collect();
    words.join(" ")
}

const CLAUSE: [char; 5] = [',', ';', ':', '—', '、'];

fn is_said(sentence: &str, phrase: &str) -> bool {
    sentence.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (&sentence[..at], &sentence[at + phrase.len()..]);
        let is_whole = !is_joined(before.chars().next_back(), phrase.chars().next())
            && !is_joined(phrase.chars().next_back(), after.chars().next());
        let before = before.rsplit(CLAUSE).next().unwrap_or(before);
        let clause = after.split(CLAUSE).next().unwrap_or(after);
        is_whole && !has_word(before, BEFORE) && !has_word(clause, AFTER) && !has_word(after, RESERVED)
    })
}

/// Reports whether two characters belong to one word. Japanese has no spaces between words.
fn is_joined(left: Option<char>, right: Option<char>) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && c < '\u{3000}');
    is_letter(left) && is_letter(right)
}

fn has_word(text: &str, words: &[&str]) -> bool {
    let mut found = text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty());
    found.any(|word| words.contains(&word))
}

fn is_said_in_japanese(sentence: &str) -> bool {
    JAPANESE.iter().any(|phrase| {
        sentence.match_indices(phrase).any(|(at, _)| {
            let (before, after) = (&sentence[..at], &sentence[at + phrase.len()..]);
            let clause = before.rsplit(['、', ',']).next().unwrap_or(before);
            let ending = ENDINGS.iter().find_map(|ending| after.strip_prefix(ending));
            ending.is_some_and(|rest| !OPEN.iter().any(|open| rest.starts_with(open)))
                && !JAPANESE_BEFORE.iter().any(|word| clause.contains(word))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(message: &str) -> bool {
        claims(message, &Settings::default())
    }

    #[test]
    fn these_are_claims() {
        for message in [
            "All done.",
            "All done!",
            "**All done.**",
            "All done",
            "All done, let me know if anything is missing.",
            "I'm done.",
            "I’m done with the parser.",
            "The task is complete.",
            "The task is complete. Let me know if you want changes.",
            "The task has been completed.",
            "The implementation is complete, and the docs are updated.",
            "I changed `a.rs`.\n\nThe implementation is complete.",
            "- fixed the parser\n- all tests pass",
            "All tests pass.",
            "All 42 tests pass.",
            "All 12 files are converted; all tests are passing.",
            "Everything is working now.",
            "The branch is ready for review.",
            "See v1.2 and src/a.rs. The feature is complete.",
            "ALL TESTS PASS",
            "```\nnot yet\n```\nAll tests pass.",
            "No problems were found, all tests pass.",
            "#done",
            "I fixed it. #done",
            "I fixed it (#done).\nThe rest is as it was.\nNothing else.\nBye.",
            "完了しました。",
            "実装が完了しました。",
            "すべて完了しました！",
            "対応が完了しました。ご確認ください。",
            "問題ないことを確認し、作業が完了しました。",
            "修正が完了しています。",
            "パーサーの実装が完了です。",
            "すべてのテストが通りました。",
            "テストはすべて通りました。",
            "すべて終わりました。",
        ] {
            assert!(says(message), "{message}");
        }
    }

    #[test]
    fn these_are_none() {
        for message in [
            "",
            "Done.",
            "I read the file.",
            "The task is not complete.",
            "The task isn't done; all tests fail.",
            "I don't think the task is complete.",
            "Not all tests pass.",
            "Not all 42 tests pass.",
            "Is the task complete?",
            "The implementation is complete, right?",
            "Once all tests pass, I will commit.",
            "If everything is working, merge it.",
            "I will tell you when all tests pass.",
            "All tests pass except one.",
            "All tests pass, but the linter complains.",
            "The branch is ready for review once CI is green.",
            "The implementation is almost done, and will be all done tomorrow.",
            "The script prints \"all done\".",
            "The script prints `all done` at its end.",
            "```\nall tests pass\n```",
            "> The task is complete.\n\nThat is what he wrote.",
            "The task is complete. I read a file. Then I wrote another.",
            "overall donec",
            "We should make sure that all tests pass.",
            "Use the tag `#done`.",
            "#done-ish",
            "x#done",
            "作業は未完了です。",
            "実装が完了していません。",
            "まだ完了していません。",
            "完了しましたか？",
            "完了しましたら連絡します。",
            "実装が完了したら、テストします。",
            "完了次第、報告します。",
            "一部の対応が完了しました。",
            "実装が完了しましたが、テストが失敗します。",
            "「完了しました」と表示されます。",
            "まだ実装が完了です、とは言えません。",
        ] {
            assert!(!says(message), "{message}");
        }
    }

    #[test]
    fn more_words_can_be_given() {
        let policy = Settings {
            markers: vec!["[FERTIG]".to_owned(), " ".to_owned()],
            phrases: vec!["Alles fertig".to_owned(), String::new(), "終了".to_owned()],
            ..Settings::default()
        };
        for message in ["alles fertig.", "So. [fertig]", "本日の作業は終了"] {
            assert!(claims(message, &policy), "{message}");
        }
        for message in ["", "not alles fertig", "alles fertiggestellt", "#done"] {
            assert!(!claims(message, &policy), "{message}");
        }
    }
}
