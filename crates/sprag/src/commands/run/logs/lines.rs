//! Prints the records of a run in order. The output of an agent comes before the record of its end.

use std::collections::{BTreeSet, VecDeque};
use std::io;

use serde_json::{Value, json};

use sprag_base::text::{one_line, shell_word, without_escapes};
use sprag_base::time::Timestamp;
use sprag_orchestrator::agent::output::{AgentOutput, Stream};
use sprag_orchestrator::run_log;
use sprag_orchestrator::session_dir::site_of;
use sprag_plan::ids::{EffectKey, StageId};
use sprag_plan::run::StageEntry;
use sprag_plan::run::record::RunRecord;
use sprag_plan::run::timed::Timed;
use sprag_plan::sentences;
use sprag_plan::view::StageRow;

use crate::commands::run::selection::SelectedRun;
use crate::output;

/// The output format of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineForm {
    Text,
    /// One JSON object with all lines.
    Object,
    /// One JSON object per line.
    Lines,
}

/// How many of the earlier lines are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backlog {
    All,
    Last,
}

/// Maximum number of earlier lines in text output.
const LAST: usize = 200;

/// Lines that wait until it is known which ones are the last.
#[derive(Default)]
struct HeldLines {
    lines: VecDeque<String>,
    left_out: usize,
}

pub(crate) struct LogPrinter<'a> {
    shown: &'a SelectedRun,
    /// Stage whose lines are printed; `None` prints all lines.
    row: Option<&'a StageRow>,
    form: LineForm,
    timed: Option<Timed>,
    /// Offset in the log up to which records were read.
    at: u64,
    /// Sessions whose output was printed.
    told: BTreeSet<EffectKey>,
    /// `None`: lines are printed at once.
    held: Option<HeldLines>,
    collected: Vec<Value>,
}

impl<'a> LogPrinter<'a> {
    pub(super) fn new(
        shown: &'a SelectedRun,
        row: Option<&'a StageRow>,
        form: LineForm,
        past: Backlog,
    ) -> LogPrinter<'a> {
        let held = match past {
            Backlog::All => None,
            Backlog::Last => Some(HeldLines::default()),
        };
        LogPrinter {
            shown,
            row,
            form,
            timed: None,
            at: 0,
            told: BTreeSet::new(),
            held,
            collected: Vec::new(),
        }
    }

    /// Prints the last of the earlier lines. From here on, every line is printed at once.
    pub(super) fn go_on(&mut self) {
        let Some(HeldLines { lines, left_out }) = self.held.take() else { return };
        if left_out > 0 {
            let plan = shell_word(self.shown.board.plan.as_str());
            output::note(format!("sprag: {left_out} earlier lines are not shown"));
            output::note_next(match self.row {
                Some(row) => format!("sprag run logs {} --plan {plan} --all", shell_word(row.id.as_str())),
                None => format!("sprag run logs --plan {plan} --all"),
            });
        }
        lines.iter().for_each(output::line);
    }

    /// Returns the state of a stage after the records that were read.
    pub(super) fn entry(&self, stage: &StageId) -> Option<&StageEntry> {
        self.timed.as_ref()?.run().entry(stage)
    }

    /// Prints all records since the last call.
    pub(super) fn records(&mut self) -> io::Result<()> {
        let (path, from) = (self.shown.listed.log.clone(), self.at);
        let mut trouble = None;
        self.at = run_log::each(&path, from, |record, at| {
            if let Err(error) = self.record(&record, at) {
                trouble = Some(error);
            }
        })?;
        trouble.map_or(Ok(()), Err)
    }

    fn record(&mut self, record: &RunRecord, at: Timestamp) -> io::Result<()> {
        let Some(timed) = &mut self.timed else {
            self.timed = Timed::begin(record, at);
            if let (None, Some(timed)) = (self.row, &self.timed) {
                let (_, text) = sentences::record(timed.run(), record);
                self.line(Some(at), None, None, "record", &text);
            }
            return Ok(());
        };
        let (stage, text) = sentences::record(timed.run(), record);
        timed.apply(record, at);
        let is_wanted = self.row.is_none_or(|row| stage.as_ref() == Some(&row.id));
        if !is_wanted {
            return Ok(());
        }
        if let (RunRecord::Ended { session, .. }, Some(_)) = (record, self.row) {
            self.words_of(session)?;
        }
        self.line(Some(at), stage.as_ref().map(|id| id.as_str()), None, "record", &text);
        Ok(())
    }

    /// Prints the stored output of a session, once.
    fn words_of(&mut self, session: &EffectKey) -> io::Result<()> {
        if !self.told.insert(session.clone()) {
            return Ok(());
        }
        let printed = AgentOutput::new(&site_of(&self.shown.dir, session));
        printed.finish(|stream, line| self.printed(session, stream, line))
    }

    /// Prints the output of the working agent so far.
    pub(super) fn rest(&mut self) -> io::Result<()> {
        match self.row.and_then(|row| row.agent.session()) {
            Some(session) => self.words_of(session),
            None => Ok(()),
        }
    }

    pub(super) fn has_told(&self, session: &EffectKey) -> bool {
        self.told.contains(session)
    }

    /// Marks the output of a session as printed.
    pub(super) fn leave_out(&mut self, session: &EffectKey) {
        self.told.insert(session.clone());
    }

    pub(super) fn is_over(&self) -> bool {
        self.timed.as_ref().is_none_or(|timed| timed.run().is_over())
    }

    pub(super) fn printed(&mut self, session: &EffectKey, stream: Stream, line: &str) {
        let stage = self.row.map(|row| row.id.as_str());
        let stream = match stream {
            Stream::Out => "out",
            Stream::Err => "err",
        };
        self.line(None, stage, Some(session), stream, &without_escapes(line));
    }

    fn line(
        &mut self,
        at: Option<Timestamp>,
        stage: Option<&str>,
        session: Option<&EffectKey>,
        stream: &'static str,
        text: &str,
    ) {
        let value =
            || json!({"at": at, "stage_id": stage, "session_id": session, "stream": stream, "text": text});
        match (self.form, at) {
            (LineForm::Object, _) => self.collected.push(value()),
            (LineForm::Lines, _) => output::json(value()),
            (LineForm::Text, Some(at)) => {
                let whose = stage.map(|stage| format!("{stage}: ")).unwrap_or_default();
                self.say(format!("{at} {whose}{}", one_line(text)));
            }
            // Lines of Sprag start with a time, so that agent output cannot look like them.
            (LineForm::Text, None) => self.say(format!("{stream}| {text}")),
        }
    }

    fn say(&mut self, line: String) {
        let Some(held) = &mut self.held else { return output::line(line) };
        held.lines.push_back(line);
        if held.lines.len() > LAST {
            held.lines.pop_front();
            held.left_out += 1;
        }
    }

    pub(super) fn end(mut self) {
        self.go_on();
        if self.form == LineForm::Object {
            output::json(
                json!({"plan": self.shown.board.plan, "run": self.shown.board.run, "lines": self.collected}),
            );
        }
    }
}
