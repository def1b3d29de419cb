//! What shows a daemon that somebody is a person: two files that nobody else reads, new with each daemon. They show
//! nothing where the process of an agent holds them.

use std::io;
use std::path::{Path, PathBuf};

use sprag_host::sys::disk::{self, Disk};
use sprag_plan::run::command::Role;

use super::protocol::Token;

#[derive(Clone, Debug)]
pub struct Tokens {
    user: Token,
    admin: Token,
}

impl Tokens {
    pub fn make(run: &Path, disk: &dyn Disk) -> io::Result<Tokens> {
        let made = Tokens { user: new()?, admin: new()? };
        // A file of ours is nobody else's to read, and replaced in one step.
        disk::replace(disk, &path(run, Role::User), made.user.0.as_bytes())?;
        disk::replace(disk, &path(run, Role::Admin), made.admin.0.as_bytes())?;
        Ok(made)
    }

    /// Who holds this.
    pub fn role(&self, shown: &Token) -> Option<Role> {
        match shown {
            shown if is_same(shown, &self.admin) => Some(Role::Admin),
            shown if is_same(shown, &self.user) => Some(Role::User),
            _ => None,
        }
    }
}

/// What shows this role to the daemon that rules now.
pub fn read(run: &Path, role: Role) -> io::Result<Token> {
    disk::read_small(&path(run, role), 256).map(Token)
}

fn path(run: &Path, role: Role) -> PathBuf {
    run.join(match role {
        Role::Agent | Role::User => "token",
        Role::Admin => "admin",
    })
}

fn new() -> io::Result<Token> {
    Ok(Token(format!("{:016x}{:016x}", disk::random()?, disk::random()?)))
}

/// Takes as long for a wrong one as for the right one.
fn is_same(one: &Token, other: &Token) -> bool {
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
        let tokens = Tokens::make(dir.path(), &RealDisk).unwrap();
        for role in [Role::User, Role::Admin] {
            assert_eq!(tokens.role(&read(dir.path(), role).unwrap()), Some(role));
            let mode = path(dir.path(), role).metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert_eq!(tokens.role(&Token(String::new())), None);
        let again = Tokens::make(dir.path(), &RealDisk).unwrap();
        assert_eq!(again.role(&tokens.admin), None, "that of the daemon before shows nothing");
        assert!(!format!("{tokens:?}").contains(&tokens.user.0));
    }
}
