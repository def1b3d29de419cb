//! Tokens for the broker. A process that starts an agent gives it a token, which decides the agent's role.
//! Sprag stores only the hash.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use sprag_base::ids::SessionId;
use sprag_base::time::Timestamp;
use sprag_govern::gates::review::case::{hash_of, is_token};

use crate::mcp::role::McpRole;
use crate::store::new_record;
use crate::sys::disk::{self, Disk, read_small};
use crate::sys::locations::UserLocations;

/// The rights of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    pub role: McpRole,
    pub session: SessionId,
    /// The store that the token is valid for.
    pub store: PathBuf,
    pub until: Timestamp,
}

/// Maximum bytes of a stored grant.
const BYTES: u64 = 8192;

/// Issues a new token.
pub fn issue(user: &UserLocations, disk: &dyn Disk, granted: &Granted) -> io::Result<String> {
    let token = new_record::new_token().ok_or_else(|| io::Error::other("no random bytes available"))?;
    let path = path(user, &token);
    disk::make_parent(disk, &path)?;
    disk::replace(disk, &path, &serde_json::to_vec(granted).map_err(io::Error::other)?)?;
    Ok(token)
}

/// Returns the rights of a token, if Sprag issued it and it has not expired.
pub fn check(user: &UserLocations, token: &str, now: Timestamp) -> Option<Granted> {
    let text = read_small(&path(user, token), BYTES).ok().filter(|_| is_token(token))?;
    let granted: Granted = serde_json::from_str(&text).ok()?;
    (granted.until > now).then_some(granted)
}

pub fn revoke(user: &UserLocations, disk: &dyn Disk, token: &str) -> io::Result<()> {
    disk.remove(&path(user, token))
}

fn path(user: &UserLocations, token: &str) -> PathBuf {
    user.state.join("broker").join(format!("{}.json", hash_of(token)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::disk::RealDisk;

    #[test]
    fn a_token_counts_until_it_runs_out_or_is_taken_back() {
        let temp = tempfile::tempdir().unwrap();
        let user = UserLocations { config: temp.path().to_owned(), state: temp.path().to_owned() };
        let at = Timestamp::from_millis;
        let granted = Granted {
            role: McpRole::Merge,
            session: SessionId::new("s1"),
            store: PathBuf::from("/store"),
            until: at(1000),
        };
        let token = issue(&user, &RealDisk, &granted).unwrap();
        assert_eq!(check(&user, &token, at(999)), Some(granted));
        assert_eq!(check(&user, &token, at(1000)), None);
        assert_eq!(check(&user, "sprt_00000000000000000000000000000000", at(1)), None);
        assert_eq!(check(&user, "../x", at(1)), None);
        let kept = std::fs::read_dir(temp.path().join("broker")).unwrap().flatten().next().unwrap();
        assert!(!kept.file_name().to_string_lossy().contains(&token[5..]));
        assert!(!std::fs::read_to_string(kept.path()).unwrap().contains(&token));
        revoke(&user, &RealDisk, &token).unwrap();
        assert_eq!(check(&user, &token, at(1)), None);
    }
}
