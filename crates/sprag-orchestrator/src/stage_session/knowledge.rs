//! Collects project knowledge for a brief: knowledge files, learnings as hooks recall them, and skills of the
//! repository. Each may be missing, and none is trusted.

use std::fs;
use std::path::Path;

use sprag_base::document::{DocumentNode, NodeValue};
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_host::memory::recall;
use sprag_host::store::files_with_ending;
use sprag_host::sys::disk::{self, Disk};
use sprag_host::sys::env::Env;
use sprag_host::sys::locations::Locations;
use sprag_host::sys::yaml;
use sprag_host::world::World;
use sprag_plan::brief::{BriefLearning, ProjectKnowledge, Skill};
use sprag_plan::handoff;
use sprag_plan::spec::StageSpec;

/// Folders of skills.
const SKILLS: [&str; 2] = [".claude/skills", ".agents/skills"];
/// Maximum size of a file.
const BYTES: u64 = 256 * 1024;
/// Maximum numbers of knowledge files and of skills.
const FILES: usize = 12;
const MOST: usize = 50;

pub(crate) fn collect(
    worktree: &Path,
    spec: &StageSpec,
    disk: &dyn Disk,
    now: Timestamp,
) -> ProjectKnowledge {
    ProjectKnowledge {
        knowledge: knowledge(worktree),
        learnings: learnings(worktree, spec, disk, now),
        skills: skills(worktree),
        sandbox: Vec::new(),
    }
}

/// Returns the knowledge files by category. Topic files have the same content in more detail.
fn knowledge(worktree: &Path) -> Vec<(String, String)> {
    let files = files_with_ending(&worktree.join(".sprag/knowledge"), "md");
    let read = |path: &std::path::PathBuf| {
        let name = path.file_name()?.to_str()?.to_owned();
        let bytes = disk::read_regular(path, BYTES).ok()?;
        Some((name, without_mark(&String::from_utf8_lossy(&bytes)).to_owned()))
    };
    // The index only lists the other files.
    files.iter().filter_map(read).filter(|(name, _)| name != "INDEX.md").take(FILES).collect()
}

/// Removes the first line if it is the ownership mark.
fn without_mark(text: &str) -> &str {
    if text.starts_with("<!--") { text.split_once('\n').map_or("", |(_, rest)| rest) } else { text }
}

fn learnings(worktree: &Path, spec: &StageSpec, disk: &dyn Disk, now: Timestamp) -> Vec<BriefLearning> {
    let env = Env::Real;
    let Ok(places) = Locations::find(worktree, &env) else { return Vec::new() };
    let world = World::new(&env, disk, places);
    let is_plain = |path: &&str| !path.contains(['*', '?', '{', '[', '!']);
    let globs: Vec<String> = spec.scope.globs.iter().map(ToString::to_string).collect();
    let files = globs.iter().map(String::as_str).filter(is_plain).map(str::to_owned).collect();
    let text = format!("{}\n{}", spec.name, spec.description);
    let found = recall::about(&world, text, files, now);
    let remembered = found.into_iter().map(|it| BriefLearning {
        id: it.id,
        summary: it.summary,
        detail: it.detail,
        is_stale: it.is_stale,
    });
    remembered.collect()
}

fn skills(worktree: &Path) -> Vec<Skill> {
    let mut found: Vec<Skill> = Vec::new();
    for place in SKILLS {
        let mut dirs: Vec<_> =
            fs::read_dir(worktree.join(place)).into_iter().flatten().flatten().map(|it| it.path()).collect();
        dirs.sort();
        found.extend(dirs.iter().take(MOST).filter_map(|dir| skill(dir)));
    }
    found.truncate(MOST);
    found
}

/// Reads a skill; returns `None` if it has no name.
fn skill(dir: &Path) -> Option<Skill> {
    let bytes = disk::read_regular(&dir.join("SKILL.md"), BYTES).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, _) = handoff::parts(&text);
    let root = yaml::parse(head).ok()??;
    Some(Skill {
        name: Text::from(member(&root, "name")?),
        description: Text::from(member(&root, "description").unwrap_or_default()),
    })
}

fn member<'a>(root: &'a DocumentNode, name: &str) -> Option<&'a str> {
    let NodeValue::Map(members) = &root.what else { return None };
    let (_, node) = members.iter().find(|(known, _)| known.text == name)?;
    match &node.what {
        NodeValue::Text { text, .. } => Some(text),
        NodeValue::List(_) | NodeValue::Map(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path, path: &str, text: &str) {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn knowledge_and_skills_are_found_and_what_is_neither_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), ".sprag/knowledge/INDEX.md", "# Knowledge\n");
        write(dir.path(), ".sprag/knowledge/pitfall.md", "<!-- written by sprag -->\n# pitfall\n\n- x\n");
        write(dir.path(), ".claude/skills/b/SKILL.md", "---\nname: bake\ndescription: bread\n---\nlong\n");
        write(dir.path(), ".claude/skills/c/SKILL.md", "---\nname: *alias\n---\n");
        write(dir.path(), ".claude/skills/d/README.md", "none\n");
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join(".sprag/knowledge/x.md")).unwrap();
        assert_eq!(knowledge(dir.path()), [("pitfall.md".to_owned(), "# pitfall\n\n- x\n".to_owned())]);
        let skills = skills(dir.path());
        assert_eq!(skills.len(), 1);
        assert_eq!((skills[0].name.as_str(), skills[0].description.as_str()), ("bake", "bread"));
    }
}
