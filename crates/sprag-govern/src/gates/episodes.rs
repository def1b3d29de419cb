//! Follows a failing command until it works and records the fix. If a command fails again in the same way,
//! the agent sees that fix. If it fails often, Sprag suggests a learning.

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::glob::CaseFolding;
use sprag_base::path::relative;
use sprag_base::redact;
use sprag_base::settings::{SettingKey, SettingSection, Tighten};
use sprag_base::text::{Text, quoted, said, shell_word};
use sprag_base::time::Timestamp;
use sprag_memory::episode::{self, ALIKE, Episode, ErrorClass, FailurePatterns};
use sprag_memory::lesson;
use sprag_memory::records::MemoryRecord;
use sprag_policy::call::{ToolCall, ToolEffect, ToolOutcome};

use crate::event::Event;
use crate::facts::SharedFacts;
use crate::gates::{Ask, Gate, GateCx};
use crate::verdict::Vote;

/// Maximum number of failures that are followed at a time.
const FOLLOWED: usize = 8;
/// Maximum number of files that a fix names.
const FILES: usize = 5;
/// Maximum number of patterns that a session has seen.
const TOLD: usize = 64;
/// Seconds after which a success is not the fix of the failure.
const TOGETHER_SECONDS: i64 = 4 * 60 * 60;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EpisodesGate {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<Failed>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    told: Vec<Digest>,
}

/// A command that still fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Failed {
    command: Text<80>,
    input: Digest,
    class: ErrorClass,
    error: Text<200>,
    tries: u32,
    since: Timestamp,
    /// Files written since the failure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<Text<120>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub notes: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { notes: true }
    }
}

/// Asks for the fixes of earlier failures.
pub struct Question;

impl Gate for EpisodesGate {
    type Settings = Settings;
    type Question = Question;
    type Answer = Option<FailurePatterns>;

    const ABOUT: &'static str =
        "records what fixed a failed command, and shows it when the command fails again";
    const SECTION: SettingSection = SettingSection {
        name: "episodes",
        defaults: "\
# Commands that fail, and their fixes.
[episodes]
# Show the agent the recorded fix when a command fails as before.
notes = true
",
        keys: &[SettingKey { name: "notes", tighten: Tighten::Never }],
    };

    fn ask(&self, ask: &Ask<'_, Settings>, _shared: &SharedFacts) -> Option<Question> {
        match &ask.input.event {
            Event::ToolFinished { call, outcome: ToolOutcome::Failed { .. } }
                if ask.settings.notes && call.command.is_some() =>
            {
                Some(Question)
            }
            _ => None,
        }
    }

    fn step(&mut self, cx: &mut GateCx<'_, EpisodesGate>) -> Vote {
        match &cx.input.event {
            Event::ToolFinished { call, outcome: ToolOutcome::Failed { error } } => {
                self.has_failed(call, error.as_str(), cx)
            }
            Event::ToolFinished { call, outcome: ToolOutcome::Ok } if !self.failed.is_empty() => {
                self.has_worked(call, cx)
            }
            Event::SessionEnded { .. } => {
                self.failed.clear();
                Vote::Pass
            }
            _ => Vote::Pass,
        }
    }
}

impl EpisodesGate {
    fn has_failed(&mut self, call: &ToolCall, error: &str, cx: &GateCx<'_, EpisodesGate>) -> Vote {
        let Some((line, command)) = named(call) else { return Vote::Pass };
        let (class, error) = (ErrorClass::classify(error), episode::gist(error));
        let before =
            self.failed.iter().position(|failed| failed.command == command).map(|at| self.failed.remove(at));
        let before = before.filter(|failed| is_together(failed, cx.input.at));
        let same = before.filter(|failed| failed.class == class && failed.error == error);
        let key = episode::key(command.as_str(), class, error.as_str());
        if self.failed.len() >= FOLLOWED {
            self.failed.remove(0);
        }
        self.failed.push(match same {
            Some(failed) => Failed { tries: failed.tries.saturating_add(1), ..failed },
            // Another error is another episode, and the fix of the first one is unknown.
            None => {
                let (input, since) = (Digest::hash_parts([line]), cx.input.at);
                Failed { command, input, class, error, tries: 1, since, files: Vec::new() }
            }
        });
        self.tell(key, cx)
    }

    /// Returns a note with the recorded fix, once for each session.
    fn tell(&mut self, key: Digest, cx: &GateCx<'_, EpisodesGate>) -> Vote {
        let pattern = cx.answer.as_ref().and_then(|patterns| patterns.get(key));
        let Some(pattern) = pattern.filter(|_| !self.told.contains(&key) && self.told.len() < TOLD) else {
            return Vote::Pass;
        };
        self.told.push(key);
        let mut told = format!(
            "`{}` failed like this {} before; recorded fix: {}",
            quoted(&said(pattern.command.as_str())),
            if pattern.count == 1 { "once".to_owned() } else { format!("{} times", pattern.count) },
            said(pattern.fix.as_str())
        );
        if pattern.count >= ALIKE {
            told.push_str("; consider a learning about it when you reflect");
        }
        Vote::Note(Text::new(told))
    }

    fn has_worked(&mut self, call: &ToolCall, cx: &mut GateCx<'_, EpisodesGate>) -> Vote {
        if call.effect == ToolEffect::Write {
            for failed in &mut self.failed {
                let new = call.paths.iter().map(|path| Text::from(below(path, &cx.input.root)));
                let new: Vec<Text<120>> = new.filter(|path| !failed.files.contains(path)).collect();
                failed.files.extend(new);
                failed.files.truncate(FILES);
            }
        }
        let Some((line, command)) = named(call) else { return Vote::Pass };
        let Some(at) = self.failed.iter().position(|failed| failed.command == command) else {
            return Vote::Pass;
        };
        let failed = self.failed.remove(at);
        if !is_together(&failed, cx.input.at) {
            return Vote::Pass;
        }
        let intent = cx.session.intent.as_ref().map(|intent| Text::from(intent.id.as_str()));
        let episode = Episode { task: intent.clone().unwrap_or_default(), ..failed.into_episode(call, line) };
        cx.log(MemoryRecord::Episode(episode.clone()));
        // A fixed check is offered as a lesson if the session has an intent, once for each command.
        let is_check = matches!(episode.class, ErrorClass::Test | ErrorClass::Compile)
            && episode.outcome == episode::EpisodeOutcome::Fixed;
        let key = Digest::hash_parts(["lesson", episode.command.as_str()]);
        if intent.is_none()
            || !is_check
            || !cx.settings.notes
            || self.told.contains(&key)
            || self.told.len() >= TOLD
        {
            return Vote::Pass;
        }
        self.told.push(key);
        Vote::Note(lesson::offer(&episode, &cx.input.session))
    }
}

impl Failed {
    fn into_episode(self, call: &ToolCall, line: &str) -> Episode {
        let is_same = self.input == Digest::hash_parts([line]);
        let files: Vec<String> =
            self.files.iter().map(|file| format!("`{}`", quoted(file.as_str()))).collect();
        let (outcome, fix, confidence) = match (is_same, files.is_empty()) {
            (true, true) => {
                (episode::EpisodeOutcome::Passed, "it passed when it was run again".to_owned(), 0.3)
            }
            (true, false) => (episode::EpisodeOutcome::Fixed, format!("changing {}", files.join(", ")), 0.8),
            (false, true) => (episode::EpisodeOutcome::Fixed, format!("running `{}`", short(line)), 0.7),
            (false, false) => (
                episode::EpisodeOutcome::Fixed,
                format!("changing {}; then `{}`", files.join(", "), short(line)),
                0.5,
            ),
        };
        Episode {
            task: Text::default(),
            tool: call.name.clone(),
            command: self.command,
            input: self.input,
            outcome,
            class: self.class,
            error: self.error,
            fix: Text::new(fix),
            tries: self.tries.saturating_add(1),
            confidence,
        }
    }
}

fn is_together(failed: &Failed, now: Timestamp) -> bool {
    now.seconds_since(failed.since) < TOGETHER_SECONDS
}

fn named(call: &ToolCall) -> Option<(&str, Text<80>)> {
    let line = call.command.as_deref()?.trim();
    Some((line, episode::command_of(line)?))
}

fn short(line: &str) -> String {
    let line: Text<150> = redact::short(line);
    quoted(line.as_str())
}

fn below(path: &str, root: &str) -> String {
    let below = relative(path, root, CaseFolding::Exact).filter(|_| !root.is_empty()).unwrap_or(path);
    shell_word(below.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use sprag_base::ids::SessionId;
    use sprag_base::record::{Projection as _, Record};
    use sprag_policy::call::{InputCompleteness, ToolRow};

    use super::*;
    use crate::event::Input;
    use crate::gates::RecordEffect as Logged;
    use crate::gates::fixture::StepFixture;

    const TOOLS: &[ToolRow] = &[
        ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") },
        ToolRow { name: "Edit", effect: ToolEffect::Write, paths: &["file_path"], command: None },
    ];

    #[derive(Default)]
    struct Story {
        gate: EpisodesGate,
        logged: Vec<Logged>,
        patterns: FailurePatterns,
        seconds: i64,
    }

    impl Story {
        fn told(&mut self, event: Event) -> Vote {
            let at = Timestamp::from_millis(0).plus_seconds(self.seconds);
            let input = Input::new(at, SessionId::new("s"), event).within("/w");
            let mut fixture = StepFixture { answer: Some(self.patterns.clone()), ..StepFixture::default() };
            let vote = fixture.step(&mut self.gate, &input);
            self.logged.extend(fixture.effects);
            vote
        }

        fn ran(&mut self, command: &str, error: Option<&str>) -> Vote {
            let call =
                ToolCall::new(TOOLS, "Bash", json!({ "command": command }), None, InputCompleteness::Yes);
            let outcome =
                error.map_or(ToolOutcome::Ok, |error| ToolOutcome::Failed { error: Text::from(error) });
            self.told(Event::ToolFinished { call, outcome })
        }

        fn edited(&mut self, path: &str) {
            let call =
                ToolCall::new(TOOLS, "Edit", json!({ "file_path": path }), None, InputCompleteness::Yes);
            assert_eq!(self.told(Event::ToolFinished { call, outcome: ToolOutcome::Ok }), Vote::Pass);
        }

        fn bodies(&self) -> Vec<Value> {
            self.logged.iter().map(|effect| effect.record.body()).collect()
        }
    }

    #[test]
    fn what_was_changed_until_it_worked_is_what_helped() {
        let mut story = Story::default();
        assert_eq!(story.ran("cargo test -p a", Some("error: no feature `x` on line 3")), Vote::Pass);
        story.edited("/w/Cargo.toml");
        assert_eq!(story.ran("cargo test -p a", Some("error: no feature `x` on line 4")), Vote::Pass);
        story.edited("/w/src/lib.rs");
        story.ran("ls", None);
        assert!(story.logged.is_empty());
        story.ran("cargo test -p a", None);
        let body = &story.bodies()[0];
        assert_eq!(
            (&body["command"], &body["fix"], &body["tries"], &body["outcome"]),
            (&json!("cargo test"), &json!("changing `Cargo.toml`, `src/lib.rs`"), &json!(3), &json!("fixed"))
        );
        story.ran("cargo test -p a", None);
        assert_eq!(story.logged.len(), 1, "it had not failed since");
    }

    #[test]
    fn another_form_of_the_command_may_be_what_helped() {
        let mut story = Story::default();
        story.ran("npm run build", Some("error: out of memory"));
        story.ran("NODE_OPTIONS=--max-old-space-size=4096 npm run build", None);
        let fix = &story.bodies()[0]["fix"];
        assert_eq!(fix, &json!("running `NODE_OPTIONS=--max-old-space-size=4096 npm run build`"));
        story.ran("make", Some("error: connection reset"));
        story.ran("make", None);
        assert_eq!(story.bodies()[1]["outcome"], "passed");
    }

    #[test]
    fn a_success_of_another_day_has_nothing_to_do_with_it() {
        let mut story = Story::default();
        story.ran("make", Some("error: x"));
        story.seconds = TOGETHER_SECONDS;
        story.ran("make", None);
        assert!(story.logged.is_empty() && story.gate.failed.is_empty());
    }

    #[test]
    fn who_runs_into_the_same_wall_is_told_once_what_helped() {
        let mut story = Story::default();
        story.ran("make", Some("error: no rule on line 1"));
        story.edited("/w/Makefile");
        story.ran("make", None);
        let record = Record::new("episode", Timestamp::from_millis(0), story.bodies()[0].clone());
        story.patterns.apply(&record);
        let Vote::Note(note) = story.ran("make", Some("error: no rule on line 7")) else {
            panic!("nothing was said")
        };
        assert_eq!(note.as_str(), "`make` failed like this once before; recorded fix: changing `Makefile`");
        assert_eq!(story.ran("make", Some("error: no rule on line 8")), Vote::Pass);
        (0..2).for_each(|_| story.patterns.apply(&record));
        story.gate.told.clear();
        let Vote::Note(note) = story.ran("make", Some("error: no rule on line 7")) else {
            panic!("nothing was said")
        };
        assert!(note.as_str().ends_with("consider a learning about it when you reflect"), "{note}");
    }

    #[test]
    fn no_secret_of_a_command_is_kept() {
        let mut story = Story::default();
        story.ran("curl x", Some("error: 401"));
        story.ran("curl -H 'Authorization: Bearer ghp_0123456789abcdefghij0123456789abcdef' x", None);
        assert!(!story.bodies()[0].to_string().contains("0123456789"), "{}", story.bodies()[0]);
    }
}
