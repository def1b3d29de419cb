//! Reads checks of a stage: a command alone, or a map with the expected result.

use sprag_base::document::{DocumentNode, NodeValue};

use crate::spec::checks::{
    ARTIFACTS, CheckCache, CheckSandbox, DeadCode, Regression, StageCheck, StageChecks, StderrCheck, Wiring,
};
use crate::spec::fields::{self, FieldTable};
use crate::spec::problem::{ProblemCode, ValueProblem};
use crate::spec::reader::{FieldReader, PlanReader, shown};
use crate::spec::values::{FileGlob, Seconds, ShellLine};

/// Default timeout of a check.
pub(crate) const USUAL: Seconds = Seconds::new(300);
/// Default timeout of checks before and after a stage.
pub(crate) const SHORT: Seconds = Seconds::new(30);
const DEAD_CODE: Seconds = Seconds::new(120);

/// Reads all checks of a claim.
pub(crate) fn all(reader: &mut PlanReader, fields: &FieldReader<'_>) -> StageChecks {
    StageChecks {
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

pub(crate) fn checks(
    reader: &mut PlanReader,
    fields: &FieldReader<'_>,
    name: &str,
    timeout: Seconds,
) -> Vec<StageCheck> {
    let items = reader.items(fields, name);
    items.iter().filter_map(|item| check(reader, item, name, timeout)).collect()
}

pub(crate) fn check(
    reader: &mut PlanReader,
    node: &DocumentNode,
    name: &str,
    timeout: Seconds,
) -> Option<StageCheck> {
    if let NodeValue::Text { .. } = &node.what {
        let command: ShellLine = reader.value(node, name)?;
        return Some(StageCheck::plain(command, timeout));
    }
    let fields = reader.fields(node, &fields::CHECK)?;
    let command = reader.required(&fields, "command").and_then(|node| reader.value(node, "command"));
    let exit_code = reader.number(&fields, "exit_code", (0, 255), 0);
    let errors = reader.texts::<500>(&fields, "stderr_contains");
    let is_empty = reader.flag(&fields, "stderr_empty").unwrap_or(false);
    if is_empty && !errors.is_empty() {
        let what = "`stderr_contains` requires text that `stderr_empty` forbids";
        reader.say(fields.at, ProblemCode::Contradiction, what, "remove one of them");
    }
    let stdout_contains = reader.texts::<500>(&fields, "stdout_contains");
    let stdout_not_contains = reader.texts::<500>(&fields, "stdout_not_contains");
    let is_both = |text: &&_| stdout_not_contains.iter().any(|not| text_has(*text, not));
    if let Some(text) = stdout_contains.iter().find(is_both) {
        let what = format!(
            "`stdout_contains` requires `{}`, which `stdout_not_contains` forbids",
            shown(text.as_str())
        );
        reader.say(fields.at, ProblemCode::Contradiction, what, "remove one of them");
    }
    let timeout = reader.optional(&fields, "timeout").unwrap_or(timeout);
    let cache = match reader.flag(&fields, "cache") {
        Some(false) => CheckCache::Never,
        Some(true) | None => CheckCache::ByTree,
    };
    Some(StageCheck {
        command: command?,
        exit_code: u8::try_from(exit_code).unwrap_or(0),
        stdout_contains,
        stdout_not_contains,
        stderr: match (is_empty, errors.is_empty()) {
            (true, _) => StderrCheck::Empty,
            (false, true) => StderrCheck::Any,
            (false, false) => StderrCheck::Contains(errors),
        },
        timeout,
        cache,
        walls: reader.optional(&fields, "walls").unwrap_or(CheckSandbox::Up),
    })
}

fn text_has<const N: usize>(text: &sprag_base::text::Text<N>, part: &sprag_base::text::Text<N>) -> bool {
    text.as_str().contains(part.as_str())
}

fn artifacts(reader: &mut PlanReader, fields: &FieldReader<'_>) -> Vec<FileGlob> {
    let items = reader.items_up_to(fields, "artifacts", ARTIFACTS);
    let mut globs = Vec::new();
    for item in items {
        let Some(glob) = reader.value::<FileGlob>(item, "artifacts") else { continue };
        if glob.is_exclusion() {
            let what = format!("`{}` excludes files", shown(glob.as_str()));
            let wrong = ValueProblem::refused(ProblemCode::BadPattern, what, "name files that must exist");
            reader.wrong(item.at, "artifacts", wrong);
            continue;
        }
        globs.push(glob);
    }
    globs
}

/// Reads a list of maps, each by its table.
pub(crate) fn each<T>(
    reader: &mut PlanReader,
    fields: &FieldReader<'_>,
    name: &str,
    table: &'static FieldTable,
    read: impl Fn(&mut PlanReader, &FieldReader<'_>) -> Option<T>,
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

fn wiring(reader: &mut PlanReader, fields: &FieldReader<'_>) -> Option<Wiring> {
    let source = reader.required(fields, "source").and_then(|node| reader.value(node, "source"));
    let pattern = reader.required(fields, "pattern").and_then(|node| reader.value(node, "pattern"));
    let description =
        reader.required(fields, "description").and_then(|node| reader.capped(node, "description"));
    Some(Wiring { source: source?, pattern: pattern?, description: description? })
}

fn dead_code(reader: &mut PlanReader, node: &DocumentNode) -> Option<DeadCode> {
    let fields = reader.fields(node, &fields::DEAD_CODE)?;
    let command = reader.required(&fields, "command").and_then(|node| reader.value(node, "command"));
    let patterns = |reader: &mut PlanReader, name: &str| {
        reader.values(&fields, name).into_iter().map(|(_, pattern)| pattern).collect::<Vec<_>>()
    };
    reader.required(&fields, "fail_patterns")?;
    let (fail_patterns, ignore_patterns) =
        (patterns(reader, "fail_patterns"), patterns(reader, "ignore_patterns"));
    let timeout = reader.optional(&fields, "timeout").unwrap_or(DEAD_CODE);
    Some(DeadCode { command: command?, fail_patterns, ignore_patterns, timeout })
}

fn regression(reader: &mut PlanReader, fields: &FieldReader<'_>) -> Option<Regression> {
    let is_fix = reader.flag(fields, "bug_fix").unwrap_or(false);
    let node = match (fields.get("regression_test"), is_fix) {
        (Some(node), true) => node,
        (Some(node), false) => {
            let what = "`regression_test` needs `bug_fix: true`";
            reader.say(
                node.at,
                ProblemCode::Contradiction,
                what,
                "write `bug_fix: true`, or make it a check",
            );
            node
        }
        (None, true) => {
            let what = "`bug_fix` needs a `regression_test`";
            reader.say(
                fields.at,
                ProblemCode::MissingField,
                what,
                "name the test that fails without the fix",
            );
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
