//! Text as terms: what is indexed, and what is looked up.

/// Gives every term of a text, in order: stems, identifiers whole and in parts, segments of paths.
pub fn terms(text: &str, mut take: impl FnMut(&str)) {
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        take(&word.to_lowercase());
    }
}

/// The terms of a question, each once, without words that say nothing.
pub fn query_terms(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    terms(text, |term| {
        if !found.iter().any(|known| known == term) {
            found.push(term.to_owned());
        }
    });
    found
}
