//! What the model will say. A script is data written down before the run; the server only reads it
//! out, so a run has no choice left but the client's and ours.

use serde_json::Value;

use super::Asked;

/// One answer of the model: words, tool calls, or both.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    pub text: String,
    pub calls: Vec<Call>,
    /// How many tokens the request is said to have had, where a story is about that.
    pub input_tokens: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub tool: &'static str,
    /// Codex groups some tools under a name of their own.
    pub namespace: Option<&'static str>,
    pub input: Value,
}

/// A turn, or the way to make one from the request: an agent's id is only known once it was started.
#[derive(Clone, Debug)]
pub enum Step {
    Given(Turn),
    Drawn(fn(&Asked) -> Turn),
}

#[derive(Clone, Debug, Default)]
pub struct Script {
    steps: Vec<Step>,
    tracks: Vec<Track>,
    end: Turn,
}

/// The turns of one sub-agent, known by words in the text it was started with.
#[derive(Clone, Debug)]
struct Track {
    name: &'static str,
    mark: &'static str,
    steps: Vec<Step>,
}

/// Which line of the script answered a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Main,
    Track(&'static str),
    /// A request without tools (a title, a summary) or for no answer at all: takes no turn.
    Aside,
}

impl Turn {
    pub fn say(text: &str) -> Turn {
        Turn { text: text.to_owned(), ..Turn::default() }
    }

    pub fn call(call: Call) -> Turn {
        Turn { calls: vec![call], ..Turn::default() }
    }

    pub fn having_read(self, input_tokens: u64) -> Turn {
        Turn { input_tokens: Some(input_tokens), ..self }
    }
}

impl From<Turn> for Step {
    fn from(turn: Turn) -> Step {
        Step::Given(turn)
    }
}

impl Script {
    /// `end` answers every request after the last step: a held agent that only repeats itself.
    pub fn ending(end: &str) -> Script {
        Script { end: Turn::say(end), ..Script::default() }
    }

    pub fn then(mut self, step: impl Into<Step>) -> Script {
        self.steps.push(step.into());
        self
    }

    pub fn then_all(mut self, steps: impl IntoIterator<Item = Step>) -> Script {
        self.steps.extend(steps);
        self
    }

    pub fn track<const N: usize>(self, name: &'static str, mark: &'static str, turns: [Turn; N]) -> Script {
        self.track_steps(name, mark, turns.map(Step::Given))
    }

    /// The same, with turns that depend on what the sub-agent was told.
    pub fn track_steps<const N: usize>(
        mut self,
        name: &'static str,
        mark: &'static str,
        steps: [Step; N],
    ) -> Script {
        self.tracks.push(Track { name, mark, steps: steps.into() });
        self
    }
}

/// A script and how far it was read.
#[derive(Default)]
pub struct Reading {
    script: Script,
    main: usize,
    tracks: Vec<usize>,
}

impl Reading {
    pub fn new(script: Script) -> Reading {
        let tracks = vec![0; script.tracks.len()];
        Reading { script, main: 0, tracks }
    }

    pub fn next(&mut self, asked: &Asked) -> (Part, Turn) {
        if !asked.has_tools {
            return (Part::Aside, Turn::say("ok"));
        }
        let script = &self.script;
        let (part, steps, position) = match script.tracks.iter().position(|t| asked.opening.contains(t.mark))
        {
            Some(i) => (Part::Track(script.tracks[i].name), &script.tracks[i].steps, &mut self.tracks[i]),
            None => (Part::Main, &script.steps, &mut self.main),
        };
        let turn = match steps.get(*position) {
            Some(Step::Given(turn)) => turn.clone(),
            Some(Step::Drawn(draw)) => draw(asked),
            None => script.end.clone(),
        };
        *position += 1;
        (part, turn)
    }
}
