//! Tokens for the broker: whoever starts an agent for a purpose hands it one, and the agent is what the
//! token says. Only a hash of it is kept.

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

/// What a token stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    pub role: McpRole,
    pub session: SessionId,
    /// The records it is for; elsewhere it counts for nothing.
    pub store: PathBuf,
    pub until: Timestamp,
}

/// Longer than any grant.
const BYTES: u64 = 8192;

/// A new token for this.
pub fn issue(user: &UserLocations, disk: &dyn Disk, granted: &Granted) -> io::Result<String> {
    let token = new_record::new_token().ok_or_else(|| io::Error::other("there is no randomness"))?;
    let path = path(user, &token);
    disk::make_parent(disk, &path)?;
    disk::replace(disk, &path, &serde_json::to_vec(granted).map_err(io::Error::other)?)?;
    Ok(token)
}

/// What a token stands for now, if it is one of ours and has not run out.
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
