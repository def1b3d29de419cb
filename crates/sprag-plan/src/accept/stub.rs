//! Finds stubs: files that exist but say that they are not implemented yet. A stub does not count as an
//! artifact, even if it compiles. Only code is read, because prose may mention such words.

use sprag_base::text::Text;

/// The place where a file says that it is not implemented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stub {
    /// The line number, from 1.
    pub line: usize,
    pub text: Text<120>,
}

/// How code of one language says that it is not implemented.
struct Habit {
    extensions: &'static [&'static str],
    comment: &'static str,
    /// Texts in lower case; a text right after a part of a name does not count.
    admits: &'static [&'static str],
}

const HABITS: &[Habit] = &[
    Habit { extensions: &["rs"], comment: "//", admits: &["todo!(", "unimplemented!("] },
    Habit { extensions: &["py", "pyi"], comment: "#", admits: &["raise notimplementederror"] },
    Habit { extensions: &["rb"], comment: "#", admits: &["raise notimplementederror"] },
    Habit {
        extensions: &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"],
        comment: "//",
        admits: &[
            "throw new error(\"not implemented",
            "throw new error('not implemented",
            "throw new error(`not implemented",
        ],
    },
    Habit {
        extensions: &["go"],
        comment: "//",
        admits: &["panic(\"not implemented", "panic(\"unimplemented", "panic(\"todo"],
    },
    Habit {
        extensions: &["java", "kt", "kts", "scala"],
        comment: "//",
        admits: &["throw new unsupportedoperationexception(\"not ", "todo(\""],
    },
    Habit { extensions: &["cs"], comment: "//", admits: &["throw new notimplementedexception"] },
    Habit {
        extensions: &["c", "h", "cc", "cpp", "hpp", "swift"],
        comment: "//",
        admits: &["fatalerror(\"not implemented", "assert(!\"not implemented"],
    },
    Habit { extensions: &["php"], comment: "//", admits: &["throw new exception('not implemented"] },
];

/// Words of a comment in the place of missing code.
const PROMISES: [&str; 4] = ["todo", "fixme", "implement me", "not implemented"];

/// Finds the first place where a file says that it is not implemented.
pub fn stub(path: &str, text: &str) -> Option<Stub> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (_, extension) = name.rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    let habit = HABITS.iter().find(|habit| habit.extensions.contains(&extension.as_str()))?;
    let lines: Vec<&str> = text.lines().collect();
    let found =
        (0..lines.len()).find(|&at| habit.admits_at(&lines, at) || habit.is_empty_body(&lines, at))?;
    Some(Stub { line: found + 1, text: Text::new(lines[found].trim()) })
}

impl Habit {
    fn admits_at(&self, lines: &[&str], at: usize) -> bool {
        let line = self.code(lines[at]).to_ascii_lowercase();
        let admits = self.admits.iter().any(|words| begins_somewhere(&line, words));
        admits && !(self.comment == "#" && is_abstract(lines, at))
    }

    /// Reports whether a body contains nothing but a comment that promises code.
    fn is_empty_body(&self, lines: &[&str], at: usize) -> bool {
        let line = lines[at].trim();
        let Some(promise) = line.strip_prefix(self.comment).map(str::to_ascii_lowercase) else {
            return false;
        };
        if !PROMISES.iter().any(|word| promise.trim_start_matches(['/', ' ', '#']).starts_with(word)) {
            return false;
        }
        let before = lines[..at].iter().rev().map(|line| line.trim()).find(|line| !line.is_empty());
        let after = lines[at + 1..].iter().map(|line| line.trim()).find(|line| !line.is_empty());
        match (before, after) {
            (Some(before), Some(after)) if self.comment == "//" => {
                before.ends_with('{') && after.starts_with('}')
            }
            (Some(before), Some(after)) => before.ends_with(':') && matches!(after, "pass" | "..."),
            _ => false,
        }
    }

    /// Removes the comment at the end of a line. A comment mark inside a text (such as an address) counts
    /// as one, so the code after it is not checked.
    fn code<'a>(&self, line: &'a str) -> &'a str {
        line.split(self.comment).next().unwrap_or(line)
    }
}

fn begins_somewhere(line: &str, words: &str) -> bool {
    let is_part_of_name =
        |before: &str| before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
    line.match_indices(words).any(|(at, _)| !is_part_of_name(&line[..at]))
}

/// Reports whether a method is abstract: such a method has a decorator `abstractmethod`.
fn is_abstract(lines: &[&str], at: usize) -> bool {
    let mut above = lines[..at].iter().rev().map(|line| line.trim());
    let is_named =
        above.by_ref().take(40).any(|line| line.starts_with("def ") || line.starts_with("async def "));
    is_named && above.take_while(|line| line.starts_with('@')).any(|line| line.contains("abstractmethod"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(path: &str, text: &str) -> Option<usize> {
        stub(path, text).map(|stub| stub.line)
    }

    #[test]
    fn code_that_is_still_to_be_written_is_found() {
        for (path, text) in [
            ("src/a.rs", "fn a() {\n    todo!()\n}\n"),
            ("src/a.rs", "fn a() {\n    unimplemented!(\"later\")\n}\n"),
            ("a.py", "def f():\n    raise NotImplementedError\n"),
            ("a.py", "def f():\n    # TODO: write\n    pass\n"),
            ("a.ts", "function f() {\n  throw new Error('Not implemented yet')\n}\n"),
            ("a.go", "func f() {\n\tpanic(\"not implemented\")\n}\n"),
            ("A.java", "void f() {\n  throw new UnsupportedOperationException(\"Not yet\");\n}\n"),
            ("a.cs", "int F() =>\n  throw new NotImplementedException();\n"),
            ("a.js", "const f = () => {\n\n  // TODO implement\n\n}\n"),
        ] {
            assert!(line(path, text).is_some(), "{path}: {text}");
        }
        assert_eq!(line("a.js", "f = () => {\n\n  // FIXME\n}\n"), Some(3));
    }

    #[test]
    fn what_only_talks_of_it_is_not() {
        for (path, text) in [
            ("README.md", "todo!() is not used here\n"),
            ("notes.txt", "raise NotImplementedError\n"),
            ("a.rs", "// todo!() was here\nfn a() -> u8 { 1 }\n"),
            ("a.rs", "fn a() { my_todo!() }\n"),
            ("a.rs", "fn a() {\n    // TODO: faster\n    work()\n}\n"),
            ("a.py", "class A:\n    @abstractmethod\n    def f(self):\n        raise NotImplementedError\n"),
            ("a.py", "def f():\n    # TODO: faster\n    return 1\n"),
            ("a.go", "func f() { panic(\"not reached\") }\n"),
            ("Makefile", "todo!()\n"),
            (".rs", ""),
        ] {
            assert_eq!(line(path, text), None, "{path}: {text}");
        }
    }
}
