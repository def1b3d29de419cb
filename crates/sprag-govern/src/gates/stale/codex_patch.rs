//! Patches of Codex: files by name, then hunks of kept, removed and added lines without line numbers.

use serde_json::Value;

use sprag_policy::call::ToolCall;

use super::file_access::WriteManner;

/// Maximum number of line comparisons for all hunks of a patch.
const WORK: usize = 20_000_000;

/// The changes of a patch to one file.
enum PatchSection<'a> {
    Add(Vec<&'a str>),
    Delete,
    Update { to: Option<&'a str>, hunks: Vec<PatchHunk<'a>> },
}

#[derive(Default)]
struct PatchHunk<'a> {
    /// A line that precedes the hunk.
    after: Option<&'a str>,
    old: Vec<&'a str>,
    new: Vec<&'a str>,
}

/// Returns how a patch changes a file.
pub(crate) fn manner(call: &ToolCall, path: &str) -> WriteManner {
    let found = sections(text(call).unwrap_or_default());
    let named = found.iter().find(|(name, _)| *name == path).map(|(_, section)| section);
    match named {
        Some(PatchSection::Delete) => WriteManner::Remove,
        Some(PatchSection::Update { to: Some(_), .. }) => WriteManner::Remove,
        Some(PatchSection::Update { to: None, .. }) => WriteManner::Edit,
        // An added file, or the target of a move.
        Some(PatchSection::Add(_)) | None => WriteManner::Overwrite,
    }
}

/// Returns the file after the patch; `None` if that is unknown, or if the patch removes the file.
pub(crate) fn patched(call: &ToolCall, path: &str, before: Option<&[u8]>) -> Option<Vec<u8>> {
    let found = sections(text(call)?);
    let mut named = found.iter().filter(|(name, _)| *name == path);
    let (Some((_, section)), None) = (named.next(), named.next()) else {
        return None;
    };
    match section {
        PatchSection::Add(lines) => Some(whole(lines)),
        PatchSection::Delete | PatchSection::Update { to: Some(_), .. } => None,
        PatchSection::Update { to: None, hunks } => updated(std::str::from_utf8(before?).ok()?, hunks),
    }
}

fn text(call: &ToolCall) -> Option<&str> {
    let texts = call.input.as_object()?.values().filter_map(Value::as_str);
    texts.into_iter().find(|text| text.contains("*** Begin Patch"))
}

fn sections(text: &str) -> Vec<(&str, PatchSection<'_>)> {
    let mut found: Vec<(&str, PatchSection<'_>)> = Vec::new();
    for line in text.lines() {
        let mark = |mark: &str| line.trim().strip_prefix(mark).map(str::trim);
        if let Some(path) = mark("*** Add File: ") {
            found.push((path, PatchSection::Add(Vec::new())));
        } else if let Some(path) = mark("*** Delete File: ") {
            found.push((path, PatchSection::Delete));
        } else if let Some(path) = mark("*** Update File: ") {
            found.push((path, PatchSection::Update { to: None, hunks: Vec::new() }));
        } else if mark("*** End Patch").is_some() {
            break;
        } else if let Some((_, section)) = found.last_mut() {
            section.add_line(line);
        }
    }
    found
}

impl<'a> PatchSection<'a> {
    fn add_line(&mut self, line: &'a str) {
        match self {
            PatchSection::Add(lines) => lines.extend(line.strip_prefix('+')),
            PatchSection::Delete => {}
            PatchSection::Update { to, hunks } => {
                if let Some(path) = line.trim().strip_prefix("*** Move to: ") {
                    *to = Some(path.trim());
                } else if let Some(after) = line.strip_prefix("@@") {
                    let after = Some(after.trim()).filter(|after| !after.is_empty());
                    hunks.push(PatchHunk { after, ..PatchHunk::default() });
                } else if !line.starts_with("*** ") {
                    if hunks.is_empty() {
                        hunks.push(PatchHunk::default());
                    }
                    hunks.last_mut().expect("one was pushed").add_line(line);
                }
            }
        }
    }
}

impl<'a> PatchHunk<'a> {
    fn add_line(&mut self, line: &'a str) {
        match (line.strip_prefix('-'), line.strip_prefix('+')) {
            (Some(old), _) => self.old.push(old),
            (_, Some(new)) => self.new.push(new),
            _ => {
                let kept = line.strip_prefix(' ').unwrap_or(line);
                self.old.push(kept);
                self.new.push(kept);
            }
        }
    }
}

fn updated(before: &str, hunks: &[PatchHunk<'_>]) -> Option<Vec<u8>> {
    let mut lines: Vec<&str> = before.lines().collect();
    let wanted: usize = hunks.iter().map(|hunk| hunk.old.len() + 1).sum();
    if lines.len().saturating_mul(wanted) > WORK {
        return None;
    }
    let mut from = 0;
    for hunk in hunks {
        if let Some(after) = hunk.after {
            from += lines[from..].iter().position(|line| line.trim() == after)? + 1;
        }
        let at = if hunk.old.is_empty() { lines.len() } else { from + find(&lines[from..], &hunk.old)? };
        lines.splice(at..at + hunk.old.len(), hunk.new.iter().copied());
        from = at + hunk.new.len();
    }
    Some(whole(&lines))
}

/// Returns the first position of these lines, if necessary ignoring trailing blanks.
fn find(lines: &[&str], old: &[&str]) -> Option<usize> {
    let exactly = lines.windows(old.len()).position(|window| window == old);
    let is_near =
        |window: &[&str]| window.iter().zip(old).all(|(line, old)| line.trim_end() == old.trim_end());
    exactly.or_else(|| lines.windows(old.len()).position(is_near))
}

fn whole(lines: &[&str]) -> Vec<u8> {
    let mut text = lines.join("\n");
    if !lines.is_empty() {
        text.push('\n');
    }
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use sprag_policy::call::InputCompleteness;

    use super::*;

    const PATCH: &str = "*** Begin Patch\n\
        *** Update File: a.rs\n@@ fn two()\n-    old\n+    new\n+    more\n     end\n\
        *** Add File: b.rs\n+one\n+\n+two\n\
        *** Update File: c.rs\n*** Move to: d.rs\n@@\n-x\n+y\n\
        *** Delete File: e.rs\n*** End Patch\n";

    fn call(patch: &str) -> ToolCall {
        ToolCall::new(&[], "apply_patch", json!({ "command": patch }), None, InputCompleteness::Yes)
    }

    fn after(patch: &str, path: &str, before: Option<&str>) -> Option<String> {
        let after = patched(&call(patch), path, before.map(str::as_bytes));
        after.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_patch_is_applied_where_its_lines_are() {
        let before = "fn one()\n    old\n    end\nfn two()\n    old\n    end\n";
        assert_eq!(
            after(PATCH, "a.rs", Some(before)).as_deref(),
            Some("fn one()\n    old\n    end\nfn two()\n    new\n    more\n    end\n")
        );
        assert_eq!(after(PATCH, "b.rs", None).as_deref(), Some("one\n\ntwo\n"));
        assert_eq!(after(PATCH, "e.rs", Some("x")), None);
        assert_eq!(after(PATCH, "a.rs", Some("nothing of it")), None);
        assert_eq!(after("no patch", "a.rs", Some(before)), None);
    }

    #[test]
    fn every_file_of_a_patch_has_its_manner() {
        let manners = ["a.rs", "b.rs", "c.rs", "d.rs", "e.rs"].map(|path| manner(&call(PATCH), path));
        assert_eq!(
            manners,
            [
                WriteManner::Edit,
                WriteManner::Overwrite,
                WriteManner::Remove,
                WriteManner::Overwrite,
                WriteManner::Remove
            ]
        );
    }
}
