//! What shows a daemon that somebody is a person: two files that nobody else reads, new with each daemon. They show
//! nothing where the process of an agent holds them.

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
        // A file of ours is nobody else's to read, and replaced in one step.
        disk::replace(disk, &path(run, CommandRole::User), made.user.0.as_bytes())?;
        disk::replace(disk, &path(run, CommandRole::Admin), made.admin.0.as_bytes())?;
        Ok(made)
    }

    /// Who holds this.
    pub(super) fn role(&self, shown: &PersonToken) -> Option<CommandRole> {
        match shown {
            shown if is_same(shown, &self.admin) => Some(CommandRole::Admin),
            shown if is_same(shown, &self.user) => Some(CommandRole::User),
            _ => None,
        }
    }
}

/// What shows this role to the daemon that rules now.
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

/// Takes as long for a wrong one as for the right one.
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
        assert_eq!(again.role(&tokens.admin), None, "that of the daemon before shows nothing");
        assert!(!format!("{tokens:?}").contains(&tokens.user.0));
    }
}
