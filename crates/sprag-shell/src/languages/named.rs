//! Paths that code names as literals, and code that sends data away.

use super::lexer::CodeToken;
use crate::DoubtKind;
use crate::eval::Evaluator;
use crate::expand::unknown;

/// Calls that send data over the network.
const SENDING: &[&str] = &[
    "connect",
    "create_connection",
    "fetch",
    "file_get_contents",
    "fsockopen",
    "HTTPSConnection",
    "HTTPConnection",
    "patch",
    "post",
    "post_form",
    "put",
    "request",
    "sendall",
    "sendmail",
    "sendto",
    "urlopen",
    "WebSocket",
];

/// Calls that delete or empty a file.
const DELETING: &[&str] = &[
    "delete",
    "remove",
    "rm",
    "rmSync",
    "rmtree",
    "rm_rf",
    "truncate",
    "unlink",
    "unlinkSync",
    "write_bytes",
    "write_text",
];

/// Calls that list files.
const WALKING: &[&str] = &[
    "find",
    "glob",
    "iglob",
    "iterdir",
    "listdir",
    "readdir",
    "readdirSync",
    "rglob",
    "scandir",
    "walk",
    "opendir",
    "RecursiveDirectoryIterator",
    "finddepth",
];

/// The longest literal that counts as a path.
const LONGEST: usize = 300;

impl Evaluator {
    /// Records the literal paths of code, and whether it sends data or its environment away.
    pub(super) fn named_in_code(&mut self, name: &str, tokens: &[CodeToken]) {
        for token in tokens {
            let CodeToken::Text(text) = token else { continue };
            let is_path = text.contains('/') || text.starts_with('.');
            if is_path && text.len() < LONGEST && unknown::is_known(text) && !text.contains([' ', '\n', ':'])
            {
                // `os.environ["HOME"] + "/.ssh/id_rsa"` and `expanduser("~/.ssh")`.
                self.names(text, name, None);
            }
        }
        if sweeps(tokens) {
            self.doubt(DoubtKind::Dynamic, &format!("code for {name} deletes files below a home or a root"));
        }
        if !sends(tokens) {
            return;
        }
        self.names("/proc/self/sent", name, None);
        if dumps_environment(tokens) {
            self.names("/proc/self/environ/sent", name, None);
        }
    }
}

/// Reports whether code walks through a home or a root and deletes or empties what it finds.
fn sweeps(tokens: &[CodeToken]) -> bool {
    let named = |wanted: &[&str]| {
        tokens.iter().any(|token| matches!(token, CodeToken::Name(name) if wanted.contains(&name.as_str())))
    };
    // `array_map("unlink", glob("/home/*"))`
    let passed = tokens
        .iter()
        .any(|token| matches!(token, CodeToken::Text(text) if matches!(text.as_str(), "unlink" | "rmdir")));
    let is_top = |text: &str| {
        let inner = text.trim_end_matches(['*', '/']);
        let depth = inner.split('/').filter(|part| !part.is_empty()).count();
        matches!(text, "~" | "/" | "~/")
            || text.ends_with('*')
                && (inner == "~" || inner.starts_with('/') && depth <= 2 && !inner.starts_with("/tmp"))
    };
    let at_top = tokens.iter().any(|token| matches!(token, CodeToken::Text(text) if is_top(text)));
    (named(DELETING) || passed)
        && named(WALKING)
        && (at_top || named(&["homedir"]) || named(&["Path"]) && named(&["home"]))
}

/// Reports whether code names an address, or a socket, and a call that sends.
fn sends(tokens: &[CodeToken]) -> bool {
    let calls =
        |token: &CodeToken| matches!(token, CodeToken::Name(name) if SENDING.contains(&name.as_str()));
    let is_address = |token: &CodeToken| match token {
        CodeToken::Text(text) => {
            text.contains("://") && !text.contains("://localhost") && !text.contains("://127.")
        }
        CodeToken::Name(name) => matches!(name.as_str(), "socket" | "net" | "https" | "http" | "TCPSocket"),
        CodeToken::Exec(_) | CodeToken::Mark(_) => false,
    };
    tokens.iter().any(calls) && tokens.iter().any(is_address)
}

/// Reports whether code uses the whole environment, not one variable of it.
fn dumps_environment(tokens: &[CodeToken]) -> bool {
    tokens.iter().enumerate().any(|(at, token)| {
        let is_whole = !matches!(tokens.get(at + 1), Some(CodeToken::Mark('[' | '.' | '{')));
        let to_map = matches!(tokens.get(at + 2), Some(CodeToken::Name(name)) if matches!(name.as_str(), "copy" | "items" | "to_h" | "inspect" | "to_a" | "to_s"));
        let is_name = matches!(token, CodeToken::Name(name) if matches!(name.as_str(), "environ" | "env" | "ENV" | "getenv"));
        is_name && (is_whole || to_map)
    })
}
