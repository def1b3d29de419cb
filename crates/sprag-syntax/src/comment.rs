//! Comments that count as code, because a compiler, a bundler or an interpreter reads them.

use crate::lang::Lang;

/// Reports whether a comment is a directive. `before` is the source before the comment, because some
/// directives count only in the first lines.
pub(crate) fn is_directive(lang: Lang, text: &str, before: &str) -> bool {
    let body = text.trim_start_matches(['/', '*', '#', '!']).trim_start();
    match lang {
        Lang::Go => {
            let exact = text.trim_start_matches('/');
            let is_line = text.starts_with("//");
            // Generators read `+kubebuilder:..`, `@Router ..` and `swagger:..`.
            let is_told = ["+", "@", "swagger:", "Code generated "].iter().any(|mark| {
                body.strip_prefix(mark).is_some_and(|rest| rest.starts_with(|c: char| c.is_alphabetic()))
            });
            is_line && (is_marked(exact) || is_told) || text.starts_with("/*line ") || is_output(text)
        }
        Lang::Python => {
            let line = before.bytes().filter(|byte| *byte == b'\n').take(2).count();
            let is_first_on_line = before.rsplit('\n').next().is_none_or(|line| line.trim().is_empty());
            (text.starts_with("#!") && before.is_empty())
                || body.starts_with("///")
                || body.starts_with("dependencies =")
                || body.starts_with("requires-python =")
                || body.starts_with("type:")
                || ["cython:", "distutils:", "mypy:", "pyright:", "pragma:"]
                    .iter()
                    .any(|mark| body.starts_with(mark))
                || (line < 2 && is_first_on_line && (body.contains("coding:") || body.contains("coding=")))
        }
        Lang::JavaScript | Lang::TypeScript | Lang::Tsx => {
            const MARKS: [&str; 21] = [
                "# sourceMappingURL=",
                "# sourceURL=",
                "@ngInject",
                "@vitest-environment",
                "turbopack",
                "@ts-",
                "@jsx",
                "@flow",
                "@noflow",
                "<reference",
                "<amd-",
                "@__PURE__",
                "#__PURE__",
                "__PURE__",
                "@__NO_SIDE_EFFECTS__",
                "#__NO_SIDE_EFFECTS__",
                "webpack",
                "@vite-ignore",
                "@license",
                "@preserve",
                "@jest-environment",
            ];
            let starts = |line: &str| {
                let line = line.trim_start().trim_start_matches(['/', '*', '!']).trim_start();
                MARKS.iter().any(|mark| line.starts_with(mark))
            };
            text.lines().any(starts) || text.contains("@jsx")
        }
        // JSNI code in a comment; and an escape that the compiler decodes may end the comment.
        Lang::Java => text.starts_with("/*-{") || text.contains("\\u"),
        Lang::Rust => false,
    }
}

/// Reports whether a comment is the expected output of a Go example.
pub(crate) fn is_output(text: &str) -> bool {
    let body = text.trim_start_matches(['/', '*']).trim_start();
    let starts = |mark: &str| body.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark));
    starts("output:") || starts("unordered output:")
}

/// Reports whether a mark directly follows the slashes: `//go:embed`, `//export`, `//line`.
fn is_marked(text: &str) -> bool {
    ["go:", "export ", "line ", "extern ", "sys", "cgo:"].iter().any(|mark| text.starts_with(mark))
        || text.split_once(':').is_some_and(|(tool, rest)| {
            !tool.is_empty()
                && tool.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
                && rest.starts_with(|first: char| first.is_ascii_lowercase())
                && tool != "http"
                && tool != "https"
        })
}

/// Reports whether a Rust attribute may use documentation, for example for help texts, schemas or bindings.
pub(crate) fn reads_docs(attribute: &str) -> bool {
    const BLIND: &str = "
        allow warn deny forbid expect cfg inline cold must_use test ignore should_panic track_caller deprecated
        non_exhaustive no_mangle repr target_feature rustfmt clippy tokio async_trait default serde doc error from source
        rustc_on_unimplemented diagnostic automatically_derived macro_export macro_use salsa query_group
    ";
    const BLIND_DERIVES: &str = "
        Debug Clone Copy PartialEq Eq PartialOrd Ord Hash Default Serialize Deserialize Error Display From Into
        Deref DerefMut AsRef Zeroize Pod Zeroable
    ";
    let is_one_of = |words: &str, word: &str| words.split_whitespace().any(|known| known == word);
    let mut words = attribute
        .trim_start_matches(['#', '!', '[', ' '])
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty());
    match words.next() {
        Some("derive") => words.any(|word| {
            // Paths to derives start in lower case.
            word.starts_with(|c: char| c.is_uppercase()) && !is_one_of(BLIND_DERIVES, word)
        }),
        Some(word) => !is_one_of(BLIND, word),
        None => false,
    }
}

/// Reads the comments and attributes at the start of a text. Returns their length, and whether an attribute
/// reads documentation.
pub(crate) fn attributes_ahead(text: &str) -> (usize, bool) {
    let mut rest = text;
    let mut reads = false;
    loop {
        rest = rest.trim_start();
        let length = if rest.starts_with("//") {
            rest.find('\n')
        } else if rest.starts_with("/*") {
            rest.find("*/").map(|at| at + 2)
        } else if rest.starts_with("#[") {
            let mut depth = 0;
            let end = rest.bytes().position(|byte| {
                depth += i32::from(byte == b'[') - i32::from(byte == b']');
                byte == b']' && depth == 0
            });
            reads |= end.is_some_and(|end| reads_docs(&rest[..=end]));
            end.map(|end| end + 1)
        } else {
            None
        };
        match length {
            Some(length) => rest = &rest[length..],
            None => return (text.len() - rest.len(), reads),
        }
    }
}
