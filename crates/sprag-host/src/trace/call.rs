//! Traces the files that a write tool changed.

use sprag_base::text::Text;
use sprag_policy::call::ToolCall;
use sprag_trace::finding::TraceFindings;
use sprag_trace::{ChangeRecord, ChangeSource, Contributor};

use super::context::{FileChange, TraceContext};
use super::file_state::FileContent;
use super::{before, file_cache, open};
use crate::worktree::protect::list;

/// Most files of one call.
const FILES: usize = 200;

pub(crate) fn trace_call(ground: &TraceContext<'_>, call: &ToolCall) -> TraceFindings {
    let mut paths: Vec<String> = Vec::new();
    for written in list::written(ground.input) {
        // A write through a link changes its target.
        let [_, real] = &written.paths;
        let path = ground.relative(real);
        paths.extend(path.filter(|path| !paths.contains(path)));
    }
    paths.truncate(FILES);
    if paths.is_empty() {
        return TraceFindings::default();
    }
    let open = open(&ground.store);
    let (mut found, mut made) = (Vec::new(), Vec::new());
    for path in paths {
        let known = open.get(ground.place(), &path);
        let Some(after) = FileContent::read(&ground.file(&path)) else {
            continue;
        };
        // A second report of the same state adds nothing.
        if known.is_some_and(|known| known.after == after.sum()) {
            continue;
        }
        let Some(was) = before::of_call(ground, call, &path, &after, known) else {
            continue;
        };
        let last = known.filter(|known| known.after != was.sum()).and_then(|known| known.after);
        // Another program changed the file between the last record and this call.
        if let Some(last) = last.and_then(|sum| file_cache::kept(&ground.store, &sum)) {
            found.push(FileChange { path: path.clone(), before: last, after: was.clone() });
        }
        made.push(FileChange { path, before: was, after });
    }
    let source = ChangeSource::Call { tool: Text::from(call.name.as_str()), id: call.id.clone() };
    let found = ground.trace(ChangeSource::Found, Contributor::UNKNOWN, &found);
    let made = if made.is_empty() { None } else { ground.trace(source, ground.agent(), &made) };
    TraceFindings {
        traces: found.into_iter().chain(made).map(ChangeRecord::Seen).collect(),
        ..TraceFindings::default()
    }
}
