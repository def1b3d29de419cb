//! Comments that are no comments: what a compiler, a bundler or an interpreter reads in them counts like code.

use crate::lang::Lang;

/// `before` is the source up to the comment: some are read in the first lines only.
pub(crate) fn is_directive(lang: Lang, text: &str, before: &str) -> bool {
    let body = text.trim_start_matches(['/', '*', '#', '!']).trim_start();
    match lang {
        Lang::Go => {
            let exact = text.trim_start_matches('/');
            let is_line = text.starts_with("//");
            is_line && (is_marked(exact) || body.starts_with("+build "))
                || text.starts_with("/*line ")
                || is_output(text)
        }
        Lang::Python => {
            let line = before.bytes().filter(|byte| *byte == b'\n').take(2).count();
            let is_first_on_line = before.rsplit('\n').next().is_none_or(|line| line.trim().is_empty());
            (text.starts_with("#!") && before.is_empty())
                || body.starts_with("///")
                || body.starts_with("dependencies =")
                || body.starts_with("requires-python =")
                || body.starts_with("type:")
                || body.starts_with("cython:")
                || (line < 2 && is_first_on_line && (body.contains("coding:") || body.contains("coding=")))
        }
        Lang::JavaScript | Lang::TypeScript | Lang::Tsx => {
            const MARKS: [&str; 18] = [
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
        // Code for a browser, kept in a comment; and what is an escape to the compiler may end the comment.
        Lang::Java => text.starts_with("/*-{") || text.contains("\\u"),
        Lang::Rust => false,
    }
}

/// What an example of Go is expected to print.
pub(crate) fn is_output(text: &str) -> bool {
    let body = text.trim_start_matches(['/', '*']).trim_start();
    let starts = |mark: &str| body.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark));
    starts("output:") || starts("unordered output:")
}

/// `//go:embed`, `//export`, `//line`: a mark directly behind the slashes.
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
