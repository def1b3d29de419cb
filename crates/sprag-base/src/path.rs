//! Path operations on text only. They never read the file system, so they do not resolve symbolic links.

use crate::glob::CaseFolding;

/// Makes a path absolute and resolves `.` and `..`.
pub fn absolute(cwd: &str, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{cwd}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Reports whether a path is the directory `dir` or below it.
pub fn is_below(path: &str, dir: &str, folding: CaseFolding) -> bool {
    relative(path, dir, folding).is_some()
}

/// Returns the path relative to `dir`, or `None` if the path is not `dir` or below it.
pub fn relative<'a>(path: &'a str, dir: &str, folding: CaseFolding) -> Option<&'a str> {
    let dir = dir.trim_end_matches('/');
    let (start, rest) = (path.get(..dir.len())?, path.get(dir.len()..)?);
    let is_same = match folding {
        CaseFolding::Exact => start == dir,
        CaseFolding::Folded => {
            start.eq_ignore_ascii_case(dir) || !start.is_ascii() && start.to_lowercase() == dir.to_lowercase()
        }
    };
    (is_same && (rest.is_empty() || rest.starts_with('/'))).then(|| rest.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_what_its_text_says() {
        assert_eq!(absolute("/w/src", "../a/./b//c"), "/w/a/b/c");
        assert_eq!(absolute("/w", "/x/../../y"), "/y");
    }

    #[test]
    fn a_path_is_below_a_directory_or_not() {
        let (exact, folded) = (CaseFolding::Exact, CaseFolding::Folded);
        assert!(is_below("/w/.Git/x", "/w/.git", folded) && is_below("/w/.git", "/w/.git", folded));
        assert!(!is_below("/w/.Git/x", "/w/.git", exact) && is_below("/w/.git/x", "/w/.git/", exact));
        assert!(!is_below("/w/.github", "/w/.git", folded) && !is_below("/w", "/w/.git", folded));
        assert_eq!(relative("/W/\u{c4}rger/x", "/w/\u{e4}rger", folded), Some("x"));
        assert_eq!(relative("/w/a//b", "/w", exact), Some("a//b"));
        assert_eq!(relative("/w", "/w", exact), Some(""));
        assert_eq!(relative("/etc", "/", exact), Some("etc"));
    }
}
