//! Converts a path in the notation of `.gitignore` to patterns of Sprag.
//!
//! `//x` is absolute, `~/x` is below the home directory, `/x` is relative to the file with the rule. `x` and
//! `./x` are relative to the working directory of the agent. A name without a slash matches at any depth; a
//! directory matches everything in it.

use serde_json::json;

use crate::examples::EXAMPLE_HOME;
use crate::import::{RuleOwner, RuleText};
use crate::rule::Decision;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImportAccess {
    Read,
    Write,
}

/// Path patterns with the examples to try them on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Paths {
    pub any: Vec<String>,
    pub tries: Vec<String>,
    pub counter: Vec<String>,
}

/// The starting point of a path.
enum ImportPathBase {
    Root,
    Home,
    /// An absolute directory.
    Dir(String),
    /// The working directory of the agent.
    Here,
}

pub(crate) fn of_path(
    path: &str,
    access: ImportAccess,
    decision: Decision,
    source: &RuleText<'_>,
) -> Result<Paths, String> {
    let path = path.trim();
    let is_foreign = |c: char| "?[]\\".contains(c) || c.is_control() || c >= '\u{F0000}';
    if let Some(sign) = path.chars().find(|c| is_foreign(*c)) {
        return Err(format!("path patterns do not support `{}`", sign.escape_debug()));
    }
    if path.starts_with('!') || path.split('/').any(|part| part == "..") {
        return Err("path patterns support neither `!` nor `..`".to_owned());
    }
    let (anchor, rest) = anchored(path, source)?;
    let rest = rest.trim_start_matches('/');
    let is_deep = matches!(anchor, ImportPathBase::Here | ImportPathBase::Dir(_))
        && !path.starts_with('/')
        && !rest.trim_end_matches('/').contains('/')
        && (decision != Decision::Allow || !path.starts_with("./"));
    let rest = rest.replace('{', "\\{").replace('}', "\\}");
    let mut tails: Vec<String> = match rest.strip_suffix('/').unwrap_or(&rest) {
        "" | "**" | "*" => vec!["**".to_owned()],
        inner if inner.ends_with("/**") => vec![inner.to_owned()],
        inner if rest.ends_with('/') => vec![format!("{inner}/**")],
        inner => vec![inner.to_owned(), format!("{inner}/**")],
    };
    // In the notation of the source, `a/**/b` also matches `a/b`.
    let short: Vec<String> =
        tails.iter().filter(|tail| tail.contains("/**/")).map(|tail| tail.replace("/**/", "/")).collect();
    tails.extend(short);
    let name = match access {
        ImportAccess::Read => "Read",
        ImportAccess::Write => "Write",
    };
    let mut places: Vec<String> = Vec::new();
    for tail in &tails {
        let (tail, depth) = match tail.strip_prefix("**/") {
            Some(tail) => (tail, TailDepth::Any),
            None if is_deep && tail != "**" => (tail.as_str(), TailDepth::Any),
            None => (tail.as_str(), TailDepth::Direct),
        };
        places.extend(placed(&anchor, tail, depth, decision));
    }
    places.dedup();
    let call = |tool: &str, path: String| format!("@{tool} {}", json!({ "file_path": path }));
    let (tool, other) = match access {
        ImportAccess::Read => ("Read", "Edit"),
        ImportAccess::Write => ("Edit", "Read"),
    };
    let example = places.first().map(|place| example(place)).unwrap_or_default();
    Ok(Paths {
        any: places.iter().map(|place| format!("{name}:{place}")).collect(),
        tries: vec![call(tool, example.clone())],
        counter: vec![call(tool, "/elsewhere/x".to_owned()), call(other, example)],
    })
}

fn anchored<'p>(path: &'p str, source: &RuleText<'_>) -> Result<(ImportPathBase, &'p str), String> {
    let base = || {
        if source.base.contains(['*', '{', '}', '[', ']', '\\']) || !source.base.starts_with('/') {
            Err(format!("the base directory `{}` cannot be part of a pattern", source.base))
        } else {
            Ok(ImportPathBase::Dir(source.base.trim_end_matches('/').to_owned()))
        }
    };
    Ok(if let Some(rest) = path.strip_prefix("//") {
        (ImportPathBase::Root, rest)
    } else if path == "~" {
        (ImportPathBase::Home, "")
    } else if let Some(rest) = path.strip_prefix("~/") {
        (ImportPathBase::Home, rest)
    } else if path.starts_with('~') {
        return Err("the home directory of another user is unknown".to_owned());
    } else if let Some(rest) = path.strip_prefix('/') {
        (base()?, rest)
    } else {
        let rest = path.strip_prefix("./").unwrap_or(path);
        match source.owner {
            RuleOwner::Project => (base()?, rest),
            RuleOwner::User => (ImportPathBase::Here, rest),
        }
    })
}

/// The depth below its base at which the tail of a path may match.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TailDepth {
    Direct,
    Any,
}

fn placed(anchor: &ImportPathBase, tail: &str, depth: TailDepth, decision: Decision) -> Vec<String> {
    let is_deep = depth == TailDepth::Any;
    let below = |dir: &str| {
        if is_deep {
            vec![format!("{dir}/{tail}"), format!("{dir}/**/{tail}")]
        } else {
            vec![format!("{dir}/{tail}")]
        }
    };
    match anchor {
        ImportPathBase::Root => below(""),
        ImportPathBase::Home => below("~"),
        ImportPathBase::Dir(dir) => below(dir),
        // A rule that restricts may also match outside the worktree, because the agent may work anywhere.
        ImportPathBase::Here if is_deep && decision != Decision::Allow => vec![format!("**/{tail}")],
        ImportPathBase::Here if is_deep || tail.starts_with("**") => below("."),
        ImportPathBase::Here => vec![tail.to_owned()],
    }
}

/// Returns a path that the pattern matches.
fn example(place: &str) -> String {
    let path = place.replace("**", "x").replace('*', "x").replace("\\{", "{").replace("\\}", "}");
    match path.strip_prefix('~') {
        Some(rest) => format!("{EXAMPLE_HOME}{rest}"),
        None => path,
    }
}
