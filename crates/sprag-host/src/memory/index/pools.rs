//! Stores of texts that were loaded only for search: one directory, with one directory below it for each
//! pool.

use std::path::Path;

use sprag_base::digest::Digest;

use crate::store::Store;

/// Returns the store of a pool. A pool may have any name; only harmless characters become part of the file
/// name.
pub fn store(dir: &Path, pool: Option<&str>) -> Store {
    match pool {
        None => Store::at(dir),
        Some(pool) => {
            let plain: String =
                pool.chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).take(40).collect();
            Store::at(dir.join("pools").join(format!("{plain}-{}", Digest::hash_parts([pool]))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_nowhere_else() {
        let dir = Path::new("/s");
        assert_eq!(store(dir, None).dir, dir);
        for name in ["../../etc", "", "a/b", "a\0b", ".", "..", &"x".repeat(5000)] {
            let at = store(dir, Some(name)).dir;
            assert_eq!(at.parent(), Some(Path::new("/s/pools")), "{name}");
            assert!(at.file_name().unwrap().len() < 80);
        }
        assert_ne!(store(dir, Some("a/b")).dir, store(dir, Some("ab")).dir);
    }
}
