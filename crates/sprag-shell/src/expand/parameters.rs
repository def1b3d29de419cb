//! `$name` and `${…}`: the known value of a variable, and the operators that change it.

use super::unknown::{self, HOLE, MANY, NUMBER, SECRET};
use super::{Quoting, WordFields};
use crate::eval::Evaluator;

/// The known value of a parameter.
enum ParameterValue {
    Known(String),
    /// `"$@"`, `${a[@]}`.
    List(Vec<String>),
    Unset,
    /// Only the environment knows the value.
    Unknown,
}

impl Evaluator {
    /// Expands the inside of `${…}`, or a bare name.
    pub(super) fn parameter(&mut self, inner: &str, quoting: Quoting, fields: &mut WordFields) {
        if let Some(name) = inner.strip_prefix('#')
            && !name.is_empty()
            && is_parameter(name)
        {
            let length = match self.found(name) {
                ParameterValue::Known(value) if unknown::is_known(&value) => {
                    value.chars().count().to_string()
                }
                ParameterValue::List(values) => values.len().to_string(),
                ParameterValue::Unset => "0".to_owned(),
                ParameterValue::Known(_) | ParameterValue::Unknown => NUMBER.to_string(),
            };
            // A length is one word.
            fields.value(&length, Quoting::Double);
            return;
        }
        let (inner, indirect) = match inner.strip_prefix('!') {
            Some(rest) if !rest.is_empty() => (rest, true),
            _ => (inner, false),
        };
        let (name, operator) = split_name(inner);
        if let Some((_, index)) = name.strip_suffix(']').and_then(|name| name.split_once('['))
            && !matches!(index, "@" | "*")
        {
            self.computed(index);
        }
        let mut found = self.found(name);
        if indirect {
            if let ParameterValue::Known(name) = &found {
                let name = name.clone();
                self.reference(&name);
            }
            found = match found {
                ParameterValue::Known(name) if is_parameter(&name) => self.found(&name),
                _ => ParameterValue::Unknown,
            };
        }
        if operator.is_empty() {
            self.give(found, name, quoting, fields);
            return;
        }
        self.operated(found, name, operator, quoting, fields);
    }

    fn give(&mut self, found: ParameterValue, name: &str, quoting: Quoting, fields: &mut WordFields) {
        match &found {
            ParameterValue::Known(value) => self.count(value.len() / 64),
            ParameterValue::List(values) => {
                self.count(values.len() + values.iter().map(String::len).sum::<usize>() / 64)
            }
            ParameterValue::Unset | ParameterValue::Unknown => {}
        }
        match found {
            ParameterValue::Known(value) => fields.value(&value, quoting),
            ParameterValue::List(values) if name == "*" && quoting != Quoting::Bare => {
                fields.value(&values.join(" "), quoting);
            }
            ParameterValue::List(values) => fields.words(&values, quoting),
            ParameterValue::Unset => fields.value("", quoting),
            ParameterValue::Unknown => {
                let mark = match name {
                    _ if name == "@" || name.ends_with("[@]") => MANY,
                    _ if unknown::is_secret_name(name) => SECRET,
                    _ => HOLE,
                };
                fields.words(&[mark.to_string()], quoting);
            }
        }
    }

    fn found(&self, name: &str) -> ParameterValue {
        let arguments = self.state.arguments.as_ref();
        if let Ok(number) = name.parse::<usize>() {
            if number == 0 {
                return ParameterValue::Known(self.state.name.clone());
            }
            let Some(arguments) = arguments else { return ParameterValue::Unknown };
            // After unknown words the position of an argument is unknown.
            if arguments.iter().take(number).any(|word| word.contains(MANY)) {
                return ParameterValue::Unknown;
            }
            return arguments
                .get(number - 1)
                .map_or(ParameterValue::Unset, |word| ParameterValue::Known(word.clone()));
        }
        match name {
            "@" | "*" => {
                arguments.map_or(ParameterValue::Unknown, |arguments| ParameterValue::List(arguments.clone()))
            }
            "#" => match arguments {
                Some(arguments) if !arguments.iter().any(|word| word.contains(MANY)) => {
                    ParameterValue::Known(arguments.len().to_string())
                }
                _ => ParameterValue::Unknown,
            },
            // Numbers and flags of the current process.
            "?" | "$" | "!" => ParameterValue::Known(NUMBER.to_string()),
            "-" | "_" => ParameterValue::Known(HOLE.to_string()),
            "IFS" if !self.state.variables.contains_key("IFS") => ParameterValue::Known(" \t\n".to_owned()),
            _ => self.variable(name),
        }
    }

    fn variable(&self, name: &str) -> ParameterValue {
        let Some((name, index)) = name.strip_suffix(']').and_then(|name| name.split_once('[')) else {
            return match self.state.value(name) {
                Some(value) => ParameterValue::Known(value.to_owned()),
                None => ParameterValue::Unknown,
            };
        };
        let Some(variable) = self.state.variables.get(name) else { return ParameterValue::Unknown };
        match index {
            "@" | "*" => ParameterValue::List(variable.values.clone()),
            _ => match index.parse::<usize>() {
                Ok(at) => variable
                    .values
                    .get(at)
                    .map_or(ParameterValue::Unset, |value| ParameterValue::Known(value.clone())),
                Err(_) => ParameterValue::Unknown,
            },
        }
    }

    fn operated(
        &mut self,
        found: ParameterValue,
        name: &str,
        operator: &str,
        quoting: Quoting,
        fields: &mut WordFields,
    ) {
        let (colon, rest) = match operator.strip_prefix(':') {
            Some(rest) if rest.starts_with(['-', '=', '+', '?']) => (true, rest),
            _ => (false, operator),
        };
        let mut chars = rest.chars();
        let kind = chars.next().unwrap_or(' ');
        let word = chars.as_str();
        let missing = match &found {
            ParameterValue::Unset => Some(true),
            ParameterValue::Known(value) if colon && value.is_empty() => Some(true),
            ParameterValue::List(values) if values.is_empty() => Some(true),
            ParameterValue::Known(value)
                if colon && !unknown::is_known(value) && !value.contains(|c| !unknown::is_hole(c)) =>
            {
                None
            }
            ParameterValue::Known(_) | ParameterValue::List(_) => Some(false),
            ParameterValue::Unknown => None,
        };
        match kind {
            '-' | '=' => {
                if missing == Some(false) {
                    // The other value is not used, but its substitutions are still walked.
                    self.reach(word);
                    self.give(found, name, quoting, fields);
                    return;
                }
                // A variable that the text does not set is most likely unset, and then the default counts.
                let defaults = matches!(found, ParameterValue::Unknown) && !word.is_empty();
                if missing == Some(true) || defaults {
                    if kind == '=' {
                        let value = self.in_one(word, quoting);
                        self.state.set(name, value.clone());
                        fields.value(&value, quoting);
                    } else {
                        self.pieces(word, quoting, fields);
                    }
                    return;
                }
                self.reach(word);
                if kind == '=' {
                    self.state.set_hole(name);
                }
                fields.value(HOLE.encode_utf8(&mut [0; 4]), quoting);
            }
            '+' => match missing {
                Some(true) => self.reach(word),
                Some(false) => self.pieces(word, quoting, fields),
                None => {
                    self.reach(word);
                    fields.value(HOLE.encode_utf8(&mut [0; 4]), quoting);
                }
            },
            '?' => {
                self.reach(word);
                self.give(found, name, quoting, fields);
            }
            _ => {
                if kind == ':' {
                    self.computed(word);
                }
                // `@P` expands the value a second time, as a prompt.
                if operator == "@P" {
                    match &found {
                        ParameterValue::Known(value) if unknown::is_known(value) => {
                            let value = value.clone();
                            self.reference(&value);
                        }
                        ParameterValue::Unset => {}
                        ParameterValue::Known(_) | ParameterValue::List(_) | ParameterValue::Unknown => {
                            self.doubt(
                                crate::DoubtKind::Dynamic,
                                &format!("${{{name}@P}} expands its value"),
                            );
                        }
                    }
                }
                let pattern =
                    self.in_one(rest.trim_start_matches(['#', '%', '/', '^', ',', ':', '@']), Quoting::Bare);
                let value = match &found {
                    ParameterValue::Known(value)
                        if unknown::is_known(value) && unknown::is_known(&pattern) =>
                    {
                        changed(value, operator, &pattern)
                    }
                    ParameterValue::Unset => Some(String::new()),
                    ParameterValue::Known(_) | ParameterValue::List(_) | ParameterValue::Unknown => None,
                };
                match (value, found) {
                    (Some(value), _) => fields.value(&value, quoting),
                    (None, ParameterValue::List(_)) => fields.words(&[MANY.to_string()], Quoting::Bare),
                    (None, _) => fields.value(HOLE.encode_utf8(&mut [0; 4]), quoting),
                }
            }
        }
    }
}

fn is_parameter(name: &str) -> bool {
    let plain = name.split('[').next().unwrap_or(name);
    !plain.is_empty() && plain.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '*'))
}

/// Splits into the name with its index, and the operator.
fn split_name(inner: &str) -> (&str, &str) {
    let first = inner.chars().next().unwrap_or(' ');
    let mut end = if first.is_ascii_alphabetic() || first == '_' {
        inner.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inner.len())
    } else if first.is_ascii_digit() {
        inner.find(|c: char| !c.is_ascii_digit()).unwrap_or(inner.len())
    } else {
        first.len_utf8().min(inner.len())
    };
    if inner[end..].starts_with('[')
        && let Some(length) = inner[end..].find(']')
    {
        end += length + 1;
    }
    inner.split_at(end)
}

/// Returns the value after `#`, `%`, `/`, `^`, `,` or `:offset:length`, or `None` if it cannot be computed.
fn changed(value: &str, operator: &str, pattern: &str) -> Option<String> {
    if let Some(rest) = operator.strip_prefix(':') {
        let mut parts = rest.splitn(2, ':');
        let offset = parts.next()?.trim().parse::<i64>().ok()?;
        let length = parts.next().map(|length| length.trim().parse::<i64>()).transpose().ok()?;
        let chars: Vec<char> = value.chars().collect();
        let count = i64::try_from(chars.len()).ok()?;
        let from = if offset < 0 { count.checked_add(offset)? } else { offset }.clamp(0, count);
        let to = match length {
            None => count,
            Some(length) if length < 0 => count.checked_add(length)?,
            Some(length) => from.checked_add(length)?,
        };
        let to = to.clamp(from, count);
        return Some(chars[usize::try_from(from).ok()?..usize::try_from(to).ok()?].iter().collect());
    }
    let upper = |text: &str| text.to_uppercase();
    let lower = |text: &str| text.to_lowercase();
    let first = |change: &dyn Fn(&str) -> String| {
        let mut chars = value.chars();
        let head: String = chars.next().into_iter().collect();
        format!("{}{}", change(&head), chars.as_str())
    };
    match operator {
        "^^" | "@U" => return Some(upper(value)),
        ",," | "@L" => return Some(lower(value)),
        "^" | "@u" => return Some(first(&upper)),
        "," => return Some(first(&lower)),
        _ => {}
    }
    let ends: Vec<usize> = value.char_indices().map(|(at, _)| at).chain([value.len()]).collect();
    if ends.len() > 256 {
        return None;
    }
    if operator.starts_with('#') {
        let longest = operator.starts_with("##");
        let mut hits = ends.iter().filter(|end| glob(pattern, &value[..**end]));
        let hit = if longest { hits.next_back() } else { hits.next() };
        return Some(value[hit.copied().unwrap_or(0)..].to_owned());
    }
    if operator.starts_with('%') {
        let longest = operator.starts_with("%%");
        let mut hits = ends.iter().filter(|start| glob(pattern, &value[**start..]));
        let hit = if longest { hits.next() } else { hits.next_back() };
        return Some(value[..hit.copied().unwrap_or(value.len())].to_owned());
    }
    if let Some(rest) = operator.strip_prefix('/') {
        let (all, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
        let (find, put) = rest.split_once('/').unwrap_or((rest, ""));
        // Only plain text on both sides; globs are not supported here.
        if find.is_empty()
            || [find, put]
                .iter()
                .any(|part| part.contains(['*', '?', '[', '\\', '\'', '"', '$', '`', '#', '%']))
        {
            return None;
        }
        if value.matches(find).count().saturating_mul(put.len()) > crate::eval::TEXT {
            return None;
        }
        return Some(if all { value.replace(find, put) } else { value.replacen(find, put, 1) });
    }
    None
}

/// Matches a pattern with only `*` and `?`; all other characters are literal.
fn glob(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&'*') {
            back = Some((p + 1, t));
            p += 1;
        } else if pattern.get(p).is_some_and(|c| *c == '?' || *c == text[t]) {
            p += 1;
            t += 1;
        } else if let Some((after, from)) = back {
            p = after;
            t = from + 1;
            back = Some((after, from + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_change_known_values() {
        for (value, operator, pattern, result) in [
            ("abcdef", ":1:3", "", Some("bcd")),
            ("abcdef", ": -2", "", Some("ef")),
            ("gh", "^^", "", Some("GH")),
            ("GH", ",,", "", Some("gh")),
            ("a/b/c", "##*/", "*/", Some("c")),
            ("a/b/c", "#*/", "*/", Some("b/c")),
            ("a.b.c", "%.*", ".*", Some("a.b")),
            ("a.b.c", "%%.*", ".*", Some("a")),
            ("gXh", "/X/", "", Some("gh")),
            ("a-a", "//a/b", "", Some("b-b")),
            ("a-a", "/*/b", "", None),
        ] {
            assert_eq!(changed(value, operator, pattern).as_deref(), result, "{value} {operator}");
        }
    }
}
