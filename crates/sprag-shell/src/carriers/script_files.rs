//! Programs whose code is in a file. The evaluator walks a file that the same text wrote; any other file is a
//! doubt.

use crate::DoubtKind;
use crate::eval::Evaluator;
use crate::expand::unknown;

impl Evaluator {
    /// Adds a doubt for a script or build target that runs unread code.
    pub(crate) fn opaque(&mut self, name: &str, words: &[String], command: usize) {
        let path = words[0].as_str();
        if path.contains('/') && unknown::is_known(path) {
            if let Some(text) = self.file(path).map(str::to_owned) {
                if !text.contains(|c: char| !unknown::is_hole(c) && !c.is_whitespace())
                    && !text.trim().is_empty()
                {
                    self.doubt_of(
                        DoubtKind::Dynamic,
                        &format!("the content of {path} is known only at run time"),
                        Some(command),
                    );
                    return;
                }
                if !self.calls.iter().any(|call| call == path) {
                    self.calls.push(path.to_owned());
                    self.written_program(&text, words);
                    self.calls.pop();
                }
                return;
            }
            let standard = ["/bin/", "/sbin/", "/usr/", "/opt/", "/nix/", "/snap/"];
            if !standard.iter().any(|place| path.starts_with(place)) {
                self.doubt_of(DoubtKind::Opaque, &format!("program {path}"), Some(command));
            }
            return;
        }
        let verb = words.get(1).map_or("", String::as_str);
        // With these options the programs only list targets and run nothing.
        let lists = ["-l", "--list", "--list-sessions", "--summary", "-T", "--version", "--help", "-h"];
        if words.iter().skip(1).any(|word| lists.contains(&word.as_str())) && words.len() <= 3 {
            return;
        }
        let targets = match name {
            "just" | "task" | "rake" | "mage" | "invoke" | "nox" | "tox" | "gradle" | "gradlew" | "mvn"
            | "mvnw" | "ant" | "bazel" | "ninja" | "scons" | "meson" | "sbt" | "earthly" | "dagger" => true,
            // Languages that the evaluator does not read.
            "groovy" | "scala" | "ghc" | "runghc" | "guile" | "racket" | "clojure" | "clj" | "bb"
            | "raku" | "octave" | "janet" | "swift" | "kotlin" | "java" | "erl" | "sbcl" | "clisp"
            | "ocaml" | "nim" | "jshell" | "dotnet-script" | "wolframscript" | "maxima" | "gnuplot" => {
                words.len() > 1
            }
            "go" => matches!(verb, "run" | "generate"),
            "dotnet" => matches!(verb, "run" | "fsi" | "script"),
            "npm" | "pnpm" | "bun" if verb.starts_with("run") => words.len() > 2,
            "npm" | "pnpm" | "bun" => {
                matches!(
                    verb,
                    "run" | "run-script" | "test" | "t" | "start" | "stop" | "restart" | "rum" | "urn"
                )
            }
            "yarn" => matches!(verb, "run" | "test" | "start" | "stop" | "restart" | "build"),
            "deno" => matches!(verb, "task" | "run"),
            "cargo" => matches!(verb, "xtask" | "run" | "r"),
            "composer" => matches!(verb, "run" | "run-script" | "exec"),
            _ => [".sh", ".bash", ".zsh", ".py", ".rb", ".pl", ".js"].iter().any(|end| name.ends_with(end)),
        };
        if targets {
            self.doubt_of(DoubtKind::Opaque, &words.join(" "), Some(command));
        }
    }

    /// Walks a program that this text wrote, with the interpreter of its first line.
    fn written_program(&mut self, text: &str, words: &[String]) {
        let first = text.lines().next().unwrap_or_default();
        let interpreter = first.strip_prefix("#!").and_then(|line| {
            line.split_whitespace()
                .map(unknown::base_name)
                .find(|name| *name != "env" && !name.starts_with('-'))
        });
        match interpreter {
            Some(name) if !super::shells::is_shell(name) => self.interpreter_code(name, text),
            _ => self.shell_text(unknown::base_name(&words[0]), text, words[1..].to_vec()),
        }
    }
}
