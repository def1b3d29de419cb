//! Installs git's `post-rewrite` hook in one clone. The hook lets the trace follow amended and rebased
//! commits by name. Sprag leaves a foreign hook alone, because both would have to share one input.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use sprag_base::text::shell_word;

use super::{InstallError, SettingsChange, read};

const HEAD: &str = "#!/bin/sh\n# Written by sprag: which commits took the place of which.\n";

pub fn path(common: &Path) -> PathBuf {
    common.join("hooks/post-rewrite")
}

fn text(program: &str) -> String {
    // A rebase must not fail because Sprag could not record it.
    format!("{HEAD}{} trace rewritten \"$@\" >/dev/null 2>&1 || true\n", shell_word(program))
}

/// Plans the hook file. `None`: a foreign hook exists.
pub fn plan(common: &Path, program: &str) -> Result<Option<SettingsChange>, InstallError> {
    let path = path(common);
    let before = read(&path)?;
    let is_free = before.as_ref().is_none_or(|text| text.starts_with(HEAD));
    Ok(is_free.then(|| SettingsChange { path, before, after: Some(text(program)) }))
}

pub fn plan_removal(common: &Path) -> Result<SettingsChange, InstallError> {
    let path = path(common);
    let before = read(&path)?;
    let after = before.clone().filter(|text| !text.starts_with(HEAD));
    Ok(SettingsChange { path, before, after })
}

/// Makes the hook executable; git ignores hooks that are not.
pub fn make_program(common: &Path) -> io::Result<()> {
    fs::set_permissions(path(common), fs::Permissions::from_mode(0o755))
}
