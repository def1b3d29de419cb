//! Sources in which line breaks carry meaning beyond the tokens.

use crate::lang::Lang;

/// Reports whether language and parser disagree about line breaks in a source.
pub(crate) fn has_hidden_lines(lang: Lang, text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_lone = |at: usize| bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n');
    let has_lone = text.contains('\r') && (0..bytes.len()).any(is_lone);
    let has_other = lang.is_script() && text.contains(['\u{2028}', '\u{2029}']);
    // Java decodes these escapes first: as line breaks, quotes, backslashes or comment marks.
    let is_told = |escape: &str| {
        let code = escape.trim_start_matches('u').get(..4).unwrap_or_default();
        ["000a", "000d", "0022", "0027", "005c", "002a", "002f"]
            .iter()
            .any(|mark| code.eq_ignore_ascii_case(mark))
    };
    has_lone || has_other || (lang == Lang::Java && text.split("\\u").skip(1).any(is_told))
}

/// Returns the positions of imports of C, alone or in a group.
pub(crate) fn c_imports(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let (mut at, mut group) = (0, None);
    for line in text.split_inclusive('\n') {
        let words = line.split("//").next().unwrap_or_default().trim();
        let indent = line.len() - line.trim_start().len();
        if words.starts_with("import") && words.ends_with('(') {
            group = Some(at + indent);
        }
        if matches!(words.strip_prefix("import").unwrap_or(words).trim(), "\"C\"" | "(\"C\")" | "\"C\";") {
            found.push(at + indent);
            found.extend(group);
        }
        at += line.len();
    }
    found
}

/// Reports whether a member named `get`, `set` or `static` has no end, so that it modifies the next member.
pub(crate) fn is_open_member(source: &str, node: &tree_sitter::Node<'_>, kind: &str) -> bool {
    matches!(kind, "field_definition" | "public_field_definition")
        && matches!(
            &source[node.start_byte()..node.end_byte()],
            "get" | "set" | "static" | "accessor" | "async"
        )
        && !source[node.end_byte()..].trim_start().starts_with([';', '}'])
}
