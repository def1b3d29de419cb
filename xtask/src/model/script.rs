//! The answers of the model. A script is fixed before the run and the server only reads it, so only the
//! client and Sprag make decisions.

use serde_json::Value;

use super::Asked;

/// One answer of the model: text, tool calls, or both.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    pub text: String,
    pub calls: Vec<Call>,
    /// The number of input tokens to report, for stories that need it.
    pub input_tokens: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub tool: &'static str,
    /// The namespace of the tool; Codex groups some tools.
    pub namespace: Option<&'static str>,
    pub input: Value,
}

/// A turn, or a function that makes one from the request. An agent's id is known only after its start.
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

/// The turns of one sub-agent, which is recognised by a text in its prompt.
#[derive(Clone, Debug)]
struct Track {
    name: &'static str,
    mark: &'static str,
    steps: Vec<Step>,
}

/// The part of the script that answered a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Main,
    Track(&'static str),
    /// A request without tools (a title, a summary) or without an answer; it uses no turn.
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
    /// Returns a script that answers every request after the last step with `end`, like a held agent that
    /// repeats itself.
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

    /// Adds a sub-agent whose turns depend on its prompt.
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

/// A script and the current position in it.
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
