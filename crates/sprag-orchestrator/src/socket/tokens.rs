//! Tokens that identify people: two files that only this user can read, new with each daemon. A token that a
//! process of an agent shows proves nothing.

use std::io;
use std::path::{Path, PathBuf};

use sprag_host::sys::disk::{self, Disk};
use sprag_plan::stage::command::CommandRole;

use super::protocol::PersonToken;

#[derive(Clone, Debug)]
pub(crate) struct PersonTokens {
    user: PersonToken,
    admin: PersonToken,
}

impl PersonTokens {
    pub(super) fn make(run: &Path, disk: &dyn Disk) -> io::Result<PersonTokens> {
        let made = PersonTokens { user: new()?, admin: new()? };
        // The files are readable only by the user, and replaced in one step.
        disk::replace(disk, &path(run, CommandRole::User), made.user.0.as_bytes())?;
        disk::replace(disk, &path(run, CommandRole::Admin), made.admin.0.as_bytes())?;
        Ok(made)
    }

    /// Returns the role that a token proves.
    pub(super) fn role(&self, shown: &PersonToken) -> Option<CommandRole> {
        match shown {
            shown if is_same(shown, &self.admin) => Some(CommandRole::Admin),
            shown if is_same(shown, &self.user) => Some(CommandRole::User),
            _ => None,
        }
    }
}

/// Reads the token of a role for the running daemon.
pub(crate) fn read(run: &Path, role: CommandRole) -> io::Result<PersonToken> {
    disk::read_small(&path(run, role), 256).map(PersonToken)
}

fn path(run: &Path, role: CommandRole) -> PathBuf {
    run.join(match role {
        CommandRole::Agent | CommandRole::User => "token",
        CommandRole::Admin => "admin",
    })
}

fn new() -> io::Result<PersonToken> {
    Ok(PersonToken(format!("{:016x}{:016x}", disk::random()?, disk::random()?)))
}

/// Compares in constant time.
fn is_same(one: &PersonToken, other: &PersonToken) -> bool {
    let (one, other) = (one.0.as_bytes(), other.0.as_bytes());
    one.len() == other.len() && one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use sprag_host::sys::disk::RealDisk;

    use super::*;

    #[test]
    fn each_shows_one_role_and_is_ours_alone() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = PersonTokens::make(dir.path(), &RealDisk).unwrap();
        for role in [CommandRole::User, CommandRole::Admin] {
            assert_eq!(tokens.role(&read(dir.path(), role).unwrap()), Some(role));
            let mode = path(dir.path(), role).metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert_eq!(tokens.role(&PersonToken(String::new())), None);
        let again = PersonTokens::make(dir.path(), &RealDisk).unwrap();
        assert_eq!(again.role(&tokens.admin), None, "a token of the earlier daemon proves nothing");
        assert!(!format!("{tokens:?}").contains(&tokens.user.0));
    }
}
