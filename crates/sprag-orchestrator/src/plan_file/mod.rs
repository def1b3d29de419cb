//! Reads plan files: Markdown around one fence ```` ```yaml sprag ````. Each value has its position in the
//! file; the core validates the plan.

use std::fs::File;
use std::io;
use std::path::Path;

use sprag_base::document::Position;
use sprag_host::intent_files;
use sprag_host::sys::disk::{self, open_regular};
use sprag_host::sys::yaml;
use sprag_host::world::World;
use sprag_intent::{IntentFiles, IntentSet};
use sprag_plan::spec::problem::{PlanProblem, ProblemCode, ProblemList};
use sprag_plan::spec::validate::{PlanDraft, PlanIntents, ValidateInput, Validated, validate};

#[cfg(test)]
mod tests;

/// Maximum size of a plan file.
const LONGEST: u64 = 1024 * 1024;

/// Reads a plan file and validates it against its repository. Errors are I/O errors; problems of the plan are
/// in the result.
pub fn check(path: &Path, worktree: Option<&Path>) -> io::Result<Validated> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    open_regular(path)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
    let loaded = worktree.and_then(intent_files::load);
    let none = IntentSet::default();
    let intents = match loaded.as_ref().map(|loaded| &loaded.read) {
        Some(IntentFiles::Good(set)) => PlanIntents::Known(set),
        Some(IntentFiles::Bad(_)) => PlanIntents::Unreadable,
        None => PlanIntents::Known(&none),
    };
    let around = ValidateInput { intents, taken: &[] };
    Ok(match draft(&bytes) {
        Ok(draft) => validate(&draft, &around),
        Err(problem) => Validated::Bad { found: ProblemList { problems: vec![problem], more: 0 } },
    })
}

/// Writes a new plan file. Refuses to overwrite a file, and does not follow links inside the repository.
pub fn create(world: &World<'_>, root: &Path, path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write as _;
    if let Some(dir) = path.parent() {
        if dir.starts_with(root) {
            disk::make_dirs_within(world.disk, root, dir)?
        } else {
            world.disk.make_dirs(dir)?
        }
    }
    let mut file = File::options().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// Parses a plan file; returns the problem that prevents it.
pub fn draft(bytes: &[u8]) -> Result<PlanDraft, PlanProblem> {
    let start = Position { line: 1, column: 1 };
    if bytes.len() as u64 > LONGEST {
        return Err(PlanProblem::new(
            start,
            ProblemCode::TooLong,
            "the file is longer than 1 MB",
            "split the plan",
        ));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => {
            let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned();
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
            let at = Position { line: number(line), column: number(column) };
            return Err(PlanProblem::new(
                at,
                ProblemCode::NotText,
                "the file is not UTF-8",
                "save it as UTF-8",
            ));
        }
    };
    let fence = fence(text)?;
    let root = yaml::parse(&fence.yaml).map_err(|bad| {
        PlanProblem::new(bad.at, ProblemCode::Yaml, format!("invalid YAML: {}", bad.what), "fix it there")
    })?;
    Ok(PlanDraft { overview: fence.overview, at: fence.at, root })
}

/// The one plan fence of a file.
struct Fence {
    at: Position,
    /// The lines of the fence after as many empty lines as in the file, so that positions match the file.
    yaml: String,
    overview: String,
}

/// A fence that is not closed yet.
struct OpenFence {
    sign: char,
    length: usize,
    at: Position,
    is_ours: bool,
}

/// Finds the plan fence by the rules of Markdown: a fence within a longer one is text.
fn fence(text: &str) -> Result<Fence, PlanProblem> {
    let mut open: Option<OpenFence> = None;
    let mut found: Option<Position> = None;
    let mut near: Option<Position> = None;
    let (mut yaml, mut overview) = (String::new(), String::new());
    for (number, line) in text.split('\n').enumerate() {
        let line_number = u32::try_from(number + 1).unwrap_or(u32::MAX);
        let marks = marks(line);
        let mut is_plan = false;
        match (&open, marks) {
            (Some(fence), Some((sign, length, rest)))
                if sign == fence.sign && length >= fence.length && rest.trim().is_empty() =>
            {
                is_plan = fence.is_ours;
                open = None;
            }
            (Some(fence), _) if fence.is_ours => {
                yaml.push_str(line);
                is_plan = true;
            }
            (Some(_), _) => {}
            (None, Some((sign, length, rest))) => {
                let column = u32::try_from(line.len() - line.trim_start().len() + 1).unwrap_or(1);
                let at = Position { line: line_number, column };
                let words: Vec<&str> = rest.split_whitespace().collect();
                is_plan = matches!(words.as_slice(), ["yaml" | "yml", "sprag"]);
                if is_plan && let Some(first) = found.replace(at) {
                    let what = format!("a second plan; the first is in line {}", first.line);
                    return Err(PlanProblem::new(
                        at,
                        ProblemCode::SecondFence,
                        &what,
                        "move it to a separate file",
                    ));
                }
                if matches!(words.first(), Some(&("yaml" | "yml"))) {
                    near = near.or(Some(at));
                }
                open = Some(OpenFence { sign, length, at, is_ours: is_plan });
            }
            (None, None) => {}
        }
        yaml.push('\n');
        if !is_plan {
            overview.push_str(line);
            overview.push('\n');
        }
    }
    if let Some(fence) = open.filter(|fence| fence.is_ours) {
        let end: String = std::iter::repeat_n(fence.sign, fence.length).collect();
        let what = "the fence is never closed";
        return Err(PlanProblem::new(
            fence.at,
            ProblemCode::OpenFence,
            what,
            format!("end it with a line `{}`", end.replace('`', "'")),
        ));
    }
    let Some(at) = found else {
        let fix = match near {
            Some(at) => format!("write ```yaml sprag in line {}", at.line),
            None => {
                "put the plan between ```yaml sprag and ```, or begin with `sprag plan new NAME`".to_owned()
            }
        };
        let at = Position { line: 1, column: 1 };
        return Err(PlanProblem::new(at, ProblemCode::NoFence, "the file has no plan", &fix));
    };
    Ok(Fence { at, yaml, overview: overview.trim().to_owned() })
}

/// Returns the character of a fence, its count and the rest of the line.
fn marks(line: &str) -> Option<(char, usize, &str)> {
    let trimmed = line.trim_start_matches(' ');
    if line.len() - trimmed.len() > 3 {
        return None;
    }
    let sign = trimmed.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = trimmed.trim_start_matches(sign);
    let length = trimmed.len() - rest.len();
    // ``` in the middle of a line does not start a fence.
    (length >= 3 && !(sign == '`' && rest.contains('`'))).then_some((sign, length, rest))
}
