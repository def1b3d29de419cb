//! Stores of texts that were only loaded to be searched: a directory that holds nothing else, and below it
//! one for each pool of texts that has nothing to do with the others.

use std::path::Path;

use sprag_base::digest::Digest;

use crate::store::Store;

/// The store of a pool. Its name is anything; it becomes part of a file name only as far as it is harmless.
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
