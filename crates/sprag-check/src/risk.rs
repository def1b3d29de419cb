//! Raises the depth of checks for risky changes: large ones, ones in security code, and ones whose checks
//! keep failing.

use crate::Profile;

/// Limits for files and lines: a larger change is checked one profile deeper.
pub(crate) const MANY_FILES: u32 = 20;
pub(crate) const MANY_LINES: u32 = 400;
/// Failures in a row after which the deepest profile applies.
pub(crate) const REPEATED: u32 = 2;

/// Words in a part of a path that mark security code. Their plurals with `s` count, too.
const GUARDING: &[&str] = &[
    "auth",
    "authentication",
    "authn",
    "authorization",
    "authz",
    "credential",
    "crypto",
    "cryptography",
    "migration",
    "oauth",
    "passwd",
    "password",
    "permission",
    "secret",
    "security",
    "token",
];

/// Consecutive parts of a path that mark security code together.
const PLACES: &[&[&str]] = &[&[".github", "workflows"]];

/// Facts about a change that decide how deep to check it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Risk {
    pub files: u32,
    pub lines: u32,
    pub touches_security: bool,
    /// Failures of the checks of this change, in a row.
    pub failures: u32,
}

impl Risk {
    pub fn assess<'a>(paths: impl IntoIterator<Item = &'a str>, lines: u32, failures: u32) -> Risk {
        let mut risk = Risk { lines, failures, ..Risk::default() };
        for path in paths {
            risk.files = risk.files.saturating_add(1);
            risk.touches_security |= guards(path);
        }
        risk
    }
}

/// Returns the profile for a change: never below `base`. Size and security each raise it by one.
pub fn escalate(base: Profile, risk: &Risk) -> Profile {
    if risk.failures >= REPEATED {
        return Profile::Deep;
    }
    let is_large = risk.files > MANY_FILES || risk.lines > MANY_LINES;
    let raised = if is_large { base.deeper() } else { base };
    if risk.touches_security { raised.deeper() } else { raised }
}

/// Reports whether a path names security code: `src/auth/login.rs` and `UserPermissions.java` do,
/// `author.rs` and `tokenizer.rs` do not.
pub(crate) fn guards(path: &str) -> bool {
    let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
    let is_place = |place: &&[&str]| {
        parts
            .windows(place.len())
            .any(|window| window.iter().zip(*place).all(|(part, name)| part.eq_ignore_ascii_case(name)))
    };
    PLACES.iter().any(is_place) || parts.iter().any(|part| words(part).any(is_guarding))
}

fn is_guarding(word: &str) -> bool {
    let is = |word: &str| GUARDING.iter().any(|known| word.eq_ignore_ascii_case(known));
    is(word) || word.strip_suffix(['s', 'S']).is_some_and(is)
}

/// Splits a name into words at marks and capitals (`AuthToken`); each unsplit piece counts, too (`OAuth`).
fn words(part: &str) -> impl Iterator<Item = &str> {
    let pieces = part.split(|c: char| !c.is_alphanumeric()).filter(|piece| !piece.is_empty());
    pieces.flat_map(|piece| {
        let mut cuts = vec![0];
        let mut before: Option<char> = None;
        for (at, c) in piece.char_indices() {
            if c.is_uppercase() && before.is_some_and(|before| before.is_lowercase() || before.is_numeric()) {
                cuts.push(at);
            }
            before = Some(c);
        }
        cuts.push(piece.len());
        let apart: Vec<&str> = cuts.windows(2).map(|cut| &piece[cut[0]..cut[1]]).collect();
        apart.into_iter().chain([piece])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_guards_by_a_word_in_it() {
        for guarding in [
            "src/auth/login.rs",
            "src/Auth.rs",
            "app/OAuth/flow.ts",
            "src/user_permissions.py",
            "com/x/AuthService.java",
            "lib/apiTokens.js",
            "config/SECRETS.yml",
            "db/migrations/001.sql",
            "migrations/001_init.sql",
            ".github/workflows/ci.yml",
            "sub/.GitHub/Workflows/ci.yml",
            "win\\crypto\\aes.c",
            "password-reset.html",
        ] {
            assert!(guards(guarding), "{guarding}");
        }
        for other in [
            "",
            "src/author.rs",
            "src/tokenizer.rs",
            ".github/CODEOWNERS",
            "workflows/ci.yml",
            "src/secretary.rs",
            "docs/encryption_of_cryptograms.md",
            "authorOf/Tokenized.rs",
        ] {
            assert!(!guards(other), "{other}");
        }
    }

    #[test]
    fn risk_raises_the_profile() {
        use Profile::{Deep, Quick, Standard};
        let risk =
            |files, lines, touches_security, failures| Risk { files, lines, touches_security, failures };
        for (base, risk, expected) in [
            (Quick, risk(0, 0, false, 0), Quick),
            (Quick, risk(20, 400, false, 1), Quick),
            (Quick, risk(21, 0, false, 0), Standard),
            (Quick, risk(0, 401, false, 0), Standard),
            (Quick, risk(21, 401, false, 0), Standard),
            (Quick, risk(1, 1, true, 0), Standard),
            (Quick, risk(21, 1, true, 0), Deep),
            (Quick, risk(1, 1, false, 2), Deep),
            (Standard, risk(21, 1, false, 0), Deep),
            (Deep, risk(u32::MAX, u32::MAX, true, u32::MAX), Deep),
        ] {
            assert_eq!(escalate(base, &risk), expected, "{base:?} {risk:?}");
        }
        let risk = Risk::assess(["a.rs", "src/auth.rs"], 7, 1);
        assert_eq!(risk, Risk { files: 2, lines: 7, touches_security: true, failures: 1 });
    }
}
