//! Messages for a working agent. Each message is a file in the folder of the stage, until a hook of the agent
//! takes it. The agent can write to that folder, so Sprag opens no links in it.

use std::path::Path;
use std::{fs, io};

use sprag_base::text::{ContextNote, Text};
use sprag_host::store::journal;
use sprag_host::sys::disk::{self, Disk};
use sprag_plan::ids::EffectKey;

use crate::session_dir::SessionDir;

const BEGIN: &str = "nudge.";
/// Maximum size of a message.
const LONGEST: u64 = 64 * 1024;

/// Leaves a message for a session; the same step overwrites the same file.
pub(crate) fn leave(
    store: &Path,
    disk: &dyn Disk,
    stage: &str,
    site: &SessionDir,
    key: &EffectKey,
    text: &str,
) -> io::Result<()> {
    let folder = journal::folder(store, stage);
    disk.make_dirs(&folder)?;
    let step = key.0.as_str().rsplit('/').next().unwrap_or_default();
    disk::replace(disk, &folder.join(format!("{BEGIN}{}.{step}", site.id())), text.as_bytes())
}

/// Takes the messages for a session, sorted by name. Messages for other sessions of the stage are too old and
/// are removed.
pub(crate) fn take_pending(store: &Path, disk: &dyn Disk, stage: &str, session: &str) -> Option<ContextNote> {
    let entries = fs::read_dir(journal::folder(store, stage)).ok()?.flatten();
    let is_one = |name: &String| name.starts_with(BEGIN);
    let named = entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(is_one);
    let mut names: Vec<String> = named.collect();
    names.sort();
    let mut told = Vec::new();
    for name in names {
        let path = journal::folder(store, stage).join(&name);
        let text = disk::read_regular(&path, LONGEST).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        // Of two concurrent hooks, only the one that removes the file returns the message.
        let is_ours = disk.remove(&path).is_ok() && name.starts_with(&format!("{BEGIN}{session}."));
        told.extend(text.filter(|_| is_ours));
    }
    (!told.is_empty()).then(|| Text::new(told.join("\n\n")))
}

#[cfg(test)]
mod tests {
    use sprag_host::store::journal;
    use sprag_host::sys::disk::RealDisk;

    use super::*;

    #[test]
    fn a_word_is_told_once_and_to_nobody_else() {
        let dir = tempfile::tempdir().unwrap();
        let site = |name: &str| SessionDir::at(&dir.path().join("s").join(name));
        let key = |step: &str| EffectKey(Text::new(format!("r/a/1/spawn.0/{step}")));
        let leave = |site: &SessionDir, step: &str, text: &str| {
            leave(dir.path(), &RealDisk, "a", site, &key(step), text).unwrap();
        };
        let take = |stage: &str, session: &str| {
            take_pending(dir.path(), &RealDisk, stage, session).map(|it| it.to_string())
        };
        assert_eq!(take("a", "r.a.1.spawn.0"), None);
        let ours = site("r.a.1.spawn.0");
        leave(&ours, "answer.0", "yes");
        leave(&ours, "answer.0", "yes");
        leave(&ours, "filling", "note it");
        leave(&site("r.a.1.spawn.1"), "filling", "too late");
        assert_eq!(take("b", "r.a.1.spawn.0"), None);
        assert_eq!(take("a", &ours.id()).as_deref(), Some("yes\n\nnote it"));
        assert_eq!(take("a", &ours.id()), None);
        assert_eq!(take("a", "r.a.1.spawn.1"), None);
    }

    #[test]
    fn what_is_no_file_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        let folder = journal::folder(dir.path(), "a");
        fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink(&secret, folder.join("nudge.x.answer.0")).unwrap();
        assert_eq!(take_pending(dir.path(), &RealDisk, "a", "x"), None);
        assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    }
}
