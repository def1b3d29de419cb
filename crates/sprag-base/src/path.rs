//! Paths by their text alone. Where links lead is a matter of facts.

/// A path made absolute: `.` and `..` are resolved.
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

/// Whether a path is a place or below it. Some file systems take both cases for one name.
pub fn below(path: &str, place: &str) -> bool {
    let (path, place) = (path.as_bytes(), place.as_bytes());
    let is_start = path.get(..place.len()).is_some_and(|start| start.eq_ignore_ascii_case(place));
    is_start && matches!(path.get(place.len()), None | Some(b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_what_its_text_says() {
        assert_eq!(absolute("/w/src", "../a/./b//c"), "/w/a/b/c");
        assert_eq!(absolute("/w", "/x/../../y"), "/y");
        assert!(below("/w/.Git/x", "/w/.git") && below("/w/.git", "/w/.git"));
        assert!(!below("/w/.github", "/w/.git") && !below("/w", "/w/.git"));
    }
}
