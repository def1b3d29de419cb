//! Checks of a stage as they are written: a command alone, or a map that says what has to come of it.

use sprag_base::document::{Node, What};

use crate::spec::checks::{ARTIFACTS, Cache, Check, Checks, DeadCode, Regression, Stderr, Walls, Wiring};
use crate::spec::fields::{self, Table};
use crate::spec::problem::{Code, Wrong};
use crate::spec::reader::{Fields, Reader, shown};
use crate::spec::values::{Command, FileGlob, Seconds};

/// What a check may take where nothing is said.
pub const USUAL: Seconds = Seconds::new(300);
/// Before and after a stage.
pub const SHORT: Seconds = Seconds::new(30);
const DEAD_CODE: Seconds = Seconds::new(120);

/// Everything that is looked at when a stage says that it is done.
pub fn all(reader: &mut Reader, fields: &Fields<'_>) -> Checks {
    Checks {
        acceptance: checks(reader, fields, "acceptance", USUAL),
        after_stage: checks(reader, fields, "after_stage", SHORT),
        artifacts: artifacts(reader, fields),
        wiring: each(reader, fields, "wiring", &fields::WIRING, wiring),
        wiring_tests: checks(reader, fields, "wiring_tests", USUAL),
        truths: checks(reader, fields, "truths", USUAL),
        dead_code_check: fields.get("dead_code_check").and_then(|node| dead_code(reader, node)),
        regression_test: regression(reader, fields),
    }
}

pub fn checks(reader: &mut Reader, fields: &Fields<'_>, name: &str, timeout: Seconds) -> Vec<Check> {
    let items = reader.items(fields, name);
    items.iter().filter_map(|item| check(reader, item, name, timeout)).collect()
}

pub fn check(reader: &mut Reader, node: &Node, name: &str, timeout: Seconds) -> Option<Check> {
    if let What::Text { .. } = &node.what {
        let command: Command = reader.value(node, name)?;
        return Some(Check::plain(command, timeout));
    }
    let fields = reader.fields(node, &fields::CHECK)?;
    let command = reader.required(&fields, "command").and_then(|node| reader.value(node, "command"));
    let exit_code = reader.number(&fields, "exit_code", (0, 255), 0);
    let errors = reader.texts::<500>(&fields, "stderr_contains");
    let is_empty = reader.flag(&fields, "stderr_empty").unwrap_or(false);
    if is_empty && !errors.is_empty() {
        let what = "`stderr_contains` wants what `stderr_empty` forbids";
        reader.say(fields.at, Code::Contradiction, what, "take one of them away");
    }
    let stdout_contains = reader.texts::<500>(&fields, "stdout_contains");
    let stdout_not_contains = reader.texts::<500>(&fields, "stdout_not_contains");
    let is_both = |text: &&_| stdout_not_contains.iter().any(|not| text_has(*text, not));
    if let Some(text) = stdout_contains.iter().find(is_both) {
        let what = format!(
            "`stdout_contains` wants `{}`, which `stdout_not_contains` forbids",
            shown(text.as_str())
        );
        reader.say(fields.at, Code::Contradiction, what, "take one of them away");
    }
    let timeout = reader.optional(&fields, "timeout").unwrap_or(timeout);
    let cache = match reader.flag(&fields, "cache") {
        Some(false) => Cache::Never,
        Some(true) | None => Cache::ByTree,
    };
    Some(Check {
        command: command?,
        exit_code: u8::try_from(exit_code).unwrap_or(0),
        stdout_contains,
        stdout_not_contains,
        stderr: match (is_empty, errors.is_empty()) {
            (true, _) => Stderr::Empty,
            (false, true) => Stderr::Any,
            (false, false) => Stderr::Contains(errors),
        },
        timeout,
        cache,
        walls: reader.optional(&fields, "walls").unwrap_or(Walls::Up),
    })
}

fn text_has<const N: usize>(text: &sprag_base::text::Text<N>, part: &sprag_base::text::Text<N>) -> bool {
    text.as_str().contains(part.as_str())
}

fn artifacts(reader: &mut Reader, fields: &Fields<'_>) -> Vec<FileGlob> {
    let items = reader.items_up_to(fields, "artifacts", ARTIFACTS);
    let mut globs = Vec::new();
    for item in items {
        let Some(glob) = reader.value::<FileGlob>(item, "artifacts") else { continue };
        if glob.is_exclusion() {
            let what = format!("`{}` takes files away", shown(glob.as_str()));
            let wrong = Wrong::refused(Code::BadPattern, what, "name what has to be there");
            reader.wrong(item.at, "artifacts", wrong);
            continue;
        }
        globs.push(glob);
    }
    globs
}

/// Maps of a list, each read by its table.
pub fn each<T>(
    reader: &mut Reader,
    fields: &Fields<'_>,
    name: &str,
    table: &'static Table,
    read: impl Fn(&mut Reader, &Fields<'_>) -> Option<T>,
) -> Vec<T> {
    let items = reader.items(fields, name);
    let mut found = Vec::new();
    for item in items {
        if let Some(fields) = reader.fields(item, table) {
            found.extend(read(reader, &fields));
        }
    }
    found
}

fn wiring(reader: &mut Reader, fields: &Fields<'_>) -> Option<Wiring> {
    let source = reader.required(fields, "source").and_then(|node| reader.value(node, "source"));
    let pattern = reader.required(fields, "pattern").and_then(|node| reader.value(node, "pattern"));
    let description =
        reader.required(fields, "description").and_then(|node| reader.capped(node, "description"));
    Some(Wiring { source: source?, pattern: pattern?, description: description? })
}

fn dead_code(reader: &mut Reader, node: &Node) -> Option<DeadCode> {
    let fields = reader.fields(node, &fields::DEAD_CODE)?;
    let command = reader.required(&fields, "command").and_then(|node| reader.value(node, "command"));
    let patterns = |reader: &mut Reader, name: &str| {
        reader.values(&fields, name).into_iter().map(|(_, pattern)| pattern).collect::<Vec<_>>()
    };
    reader.required(&fields, "fail_patterns")?;
    let (fail_patterns, ignore_patterns) =
        (patterns(reader, "fail_patterns"), patterns(reader, "ignore_patterns"));
    let timeout = reader.optional(&fields, "timeout").unwrap_or(DEAD_CODE);
    Some(DeadCode { command: command?, fail_patterns, ignore_patterns, timeout })
}

fn regression(reader: &mut Reader, fields: &Fields<'_>) -> Option<Regression> {
    let is_fix = reader.flag(fields, "bug_fix").unwrap_or(false);
    let node = match (fields.get("regression_test"), is_fix) {
        (Some(node), true) => node,
        (Some(node), false) => {
            let what = "a `regression_test` without `bug_fix: true`";
            reader.say(node.at, Code::Contradiction, what, "write `bug_fix: true`, or make it a check");
            node
        }
        (None, true) => {
            let what = "a `bug_fix` without `regression_test`";
            reader.say(fields.at, Code::MissingField, what, "name the test that would have shown it");
            return None;
        }
        (None, false) => return None,
    };
    let fields = reader.fields(node, &fields::REGRESSION)?;
    let file = reader.required(&fields, "file").and_then(|node| reader.value(node, "file"));
    reader.required(&fields, "must_contain")?;
    let must_contain = reader.texts::<500>(&fields, "must_contain");
    Some(Regression { file: file?, must_contain })
}
