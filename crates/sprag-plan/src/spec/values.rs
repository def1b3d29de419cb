//! Single values of a plan. Each type holds only valid values; an invalid text is reported.

use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use sprag_base::glob::{BadGlob, Glob};
use sprag_base::text::{Text, quoted};
use sprag_intent::Ownership;

use super::problem::{ProblemCode, ValueProblem, did_you_mean};
use crate::ids::StageId;

/// A value that is written as text.
pub trait Readable: Sized {
    fn read(text: &str) -> Result<Self, ValueProblem>;
}

/// Lets a type be written as text in records, too, and read back by the same rule.
macro_rules! as_text {
    ($($type:ident),+) => {
        $(impl TryFrom<String> for $type {
            type Error = String;

            fn try_from(text: String) -> Result<$type, String> {
                <$type as Readable>::read(&text).map_err(|wrong| wrong.what)
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.to_string()
            }
        })+
    };
}

as_text! { Seconds, Cost }

/// Defines text types, each with its own rule.
macro_rules! texts {
    ($($(#[$doc:meta])* $type:ident,)+) => {
        $($(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(String);

        impl $type {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $type {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        })+
        as_text! { $($type),+ }
    };
}

texts! {
    /// A path in a worktree: relative, without `..`, in its shortest form.
    RelPath,
    /// A pattern of files; a leading `!` makes it an exclusion.
    FileGlob,
    /// A regular expression that does not match the empty text.
    RegexText,
    /// A line for the shell. It is never shortened: half a command is another command.
    ShellLine,
    /// A branch, by its short name.
    BranchName,
    /// An id in branches, refs and directories: it has no special characters for any of them.
    Slug,
    /// A foreign name, such as that of a model: one word that is not an option.
    Label,
}

/// Defines a choice between names.
macro_rules! choices {
    ($($(#[$doc:meta])* $type:ident { $($(#[$about:meta])* $variant:ident $name:literal,)+ })+) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $type { $($(#[$about])* #[serde(rename = $name)] $variant),+ }

        impl $type {
            pub const NAMES: &[&str] = &[$($name),+];

            pub fn name(self) -> &'static str {
                match self { $($type::$variant => $name),+ }
            }
        }

        impl crate::spec::values::Readable for $type {
            fn read(text: &str) -> Result<$type, crate::spec::problem::ValueProblem> {
                match text {
                    $($name => Ok($type::$variant),)+
                    _ => Err(crate::spec::values::no_choice(text, $type::NAMES)),
                }
            }
        })+
    };
}
pub(super) use choices;

pub(crate) fn no_choice(text: &str, known: &[&str]) -> ValueProblem {
    ValueProblem::value(format!("unknown value `{}`", quoted(text)), did_you_mean(text, known))
}

/// A duration in whole seconds, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Seconds(NonZeroU32);

const UNITS: [(char, u32); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];
/// Seven days: a longer duration is a mistake.
const LONGEST: u32 = 604_800;

impl Seconds {
    /// Makes a duration. 0 becomes one second, and values over seven days become seven days.
    pub const fn new(seconds: u32) -> Seconds {
        let bounded = if seconds > LONGEST { LONGEST } else { seconds };
        match NonZeroU32::new(bounded) {
            Some(seconds) => Seconds(seconds),
            None => Seconds(NonZeroU32::MIN),
        }
    }

    pub fn get(self) -> u32 {
        self.0.get()
    }
}

impl Readable for Seconds {
    fn read(text: &str) -> Result<Seconds, ValueProblem> {
        let wrong = || {
            let what = format!("`{}` is not a duration from 1 s to 7 days", quoted(text));
            ValueProblem::value(what, "write `300s`, `5m` or `1h30m`")
        };
        let (mut total, mut rest, mut units) = (0u32, text.trim(), UNITS.as_slice());
        if let Ok(seconds) = rest.parse::<u32>() {
            (total, rest) = (seconds, "");
        }
        while !rest.is_empty() {
            let end = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
            let number: u32 = rest[..end].parse().map_err(|_| wrong())?;
            let unit = rest[end..].chars().next().ok_or_else(wrong)?;
            let at = units.iter().position(|(name, _)| *name == unit).ok_or_else(wrong)?;
            total =
                number.checked_mul(units[at].1).and_then(|more| total.checked_add(more)).ok_or_else(wrong)?;
            units = &units[at + 1..];
            rest = &rest[end + unit.len_utf8()..];
        }
        match total {
            1..=LONGEST => Ok(Seconds::new(total)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.get();
        for (unit, seconds) in UNITS {
            if rest >= seconds {
                write!(f, "{}{unit}", rest / seconds)?;
                rest %= seconds;
            }
        }
        Ok(())
    }
}

/// Money in millionths, because prices of tokens are small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cost(u64);

impl Cost {
    pub fn millionths(self) -> u64 {
        self.0
    }
}

impl Readable for Cost {
    fn read(text: &str) -> Result<Cost, ValueProblem> {
        let wrong = || {
            let what = format!("`{}` is not an amount between 0 and a million", quoted(text));
            ValueProblem::value(what, "write `12.50`")
        };
        let (whole, part) = text.trim().split_once('.').unwrap_or((text.trim(), "0"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(part) || whole.len() > 7 || part.len() > 6 {
            return Err(wrong());
        }
        let whole: u64 = whole.parse().map_err(|_| wrong())?;
        let part: u64 = format!("{part:0<6}").parse().map_err(|_| wrong())?;
        match whole * 1_000_000 + part {
            total @ 1..=1_000_000_000_000 => Ok(Cost(total)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = format!("{:06}", self.0 % 1_000_000);
        let short = part.trim_end_matches('0');
        write!(f, "{}.{short:0<2}", self.0 / 1_000_000)
    }
}

impl RelPath {
    /// Returns the path of the worktree itself.
    pub fn root() -> RelPath {
        RelPath(".".to_owned())
    }
}

impl Readable for RelPath {
    fn read(text: &str) -> Result<RelPath, ValueProblem> {
        let shown = quoted(&Text::<80>::from(text).to_string());
        if text.is_empty() || text.len() > 500 || text.contains(['\0', '\n']) {
            return Err(ValueProblem::value(
                format!("`{shown}` is not a valid path"),
                "write a path of 1 to 500 bytes",
            ));
        }
        let leaves = text.starts_with(['/', '~']) || text.split(['/', '\\']).any(|name| name == "..");
        if leaves {
            let what = format!("`{shown}` leads out of the worktree");
            return Err(ValueProblem {
                code: ProblemCode::Traversal,
                what,
                fix: "write a relative path without `..`".to_owned(),
            });
        }
        let names: Vec<&str> = text.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
        match names.as_slice() {
            [] => Ok(RelPath::root()),
            names => Ok(RelPath(names.join("/"))),
        }
    }
}

impl Readable for FileGlob {
    fn read(text: &str) -> Result<FileGlob, ValueProblem> {
        match Ownership::check(text) {
            Ok(()) => Ok(FileGlob(text.to_owned())),
            Err(bad) => {
                let code =
                    if bad == BadGlob::Outside { ProblemCode::Traversal } else { ProblemCode::BadPattern };
                let what = format!("`{}`: {bad}", quoted(&Text::<80>::from(text).to_string()));
                Err(ValueProblem { code, what, fix: "write a pattern such as `src/**`".to_owned() })
            }
        }
    }
}

impl FileGlob {
    /// Reports whether the pattern excludes files.
    pub fn is_exclusion(&self) -> bool {
        self.0.starts_with('!')
    }

    pub fn glob(&self) -> Glob {
        Glob::parse(self.0.strip_prefix('!').unwrap_or(&self.0)).expect("it was parsed when it was read")
    }
}

const PATTERN: usize = 500;

impl RegexText {
    /// Returns the compiled expression; `^` and `$` match at each line.
    pub fn regex(&self) -> regex_lite::Regex {
        compiled(&self.0).expect("it was compiled when it was read")
    }
}

fn compiled(text: &str) -> Result<regex_lite::Regex, regex_lite::Error> {
    regex_lite::RegexBuilder::new(text).multi_line(true).size_limit(1 << 20).nest_limit(50).build()
}

impl Readable for RegexText {
    fn read(text: &str) -> Result<RegexText, ValueProblem> {
        let shown = quoted(&Text::<80>::from(text).to_string());
        if text.is_empty() || text.chars().count() > PATTERN {
            let what = format!("`{shown}` is not a pattern of 1 to {PATTERN} characters");
            return Err(ValueProblem {
                code: ProblemCode::BadPattern,
                what,
                fix: "write a shorter pattern".to_owned(),
            });
        }
        let regex = compiled(text).map_err(|error| ValueProblem {
            code: ProblemCode::BadPattern,
            what: format!("`{shown}` is not a regular expression: {error}"),
            fix: "put a `\\` before literal special characters".to_owned(),
        })?;
        // Some expressions, such as `\b`, match the empty text only between two letters.
        if regex.is_match("") || regex.find_iter("a 0\n\n_-").any(|found| found.range().is_empty()) {
            let what = format!("`{shown}` matches the empty text, so it matches any file");
            return Err(ValueProblem {
                code: ProblemCode::WeakPattern,
                what,
                fix: "name a text that must occur".to_owned(),
            });
        }
        Ok(RegexText(text.to_owned()))
    }
}

const COMMAND: usize = 4000;

impl Readable for ShellLine {
    fn read(text: &str) -> Result<ShellLine, ValueProblem> {
        let is_good = !text.trim().is_empty() && !text.contains('\0') && text.chars().count() <= COMMAND;
        if is_good {
            Ok(ShellLine(text.to_owned()))
        } else {
            Err(ValueProblem::value(
                format!("`{}` is not a valid command", quoted(&Text::<80>::from(text).to_string())),
                format!("write a shell command of 1 to {COMMAND} characters"),
            ))
        }
    }
}

impl Readable for BranchName {
    fn read(text: &str) -> Result<BranchName, ValueProblem> {
        // Names that git refuses, and names that look like an option.
        let is_bad_char =
            |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\`'\"$;|&<>(){}".contains(c);
        let is_bad_part =
            |part: &str| part.is_empty() || part.starts_with(['.', '-']) || part.ends_with(".lock");
        let is_good = (1..=200).contains(&text.len())
            && !text.contains(is_bad_char)
            && !text.split('/').any(is_bad_part)
            && !text.contains("..")
            && !text.contains("@{")
            && !text.ends_with('.')
            && text != "@"
            && text != "HEAD";
        if is_good {
            Ok(BranchName(text.to_owned()))
        } else {
            Err(ValueProblem::value(
                format!("`{}` is not a branch name", quoted(&Text::<80>::from(text).to_string())),
                "write a short name such as `main`",
            ))
        }
    }
}

impl Slug {
    pub fn stage(&self) -> StageId {
        StageId::new(&self.0)
    }
}

impl Readable for Slug {
    fn read(text: &str) -> Result<Slug, ValueProblem> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_good = (1..=63).contains(&text.len())
            && text.bytes().all(|byte| is_plain(byte) || byte == b'-')
            && text.bytes().next().is_some_and(is_plain);
        if is_good {
            return Ok(Slug(text.to_owned()));
        }
        let what = format!("`{}` is not a valid id", quoted(&Text::<80>::from(text).to_string()));
        let fix = "write 1 to 63 of `a-z`, `0-9` and `-`, without a leading `-`".to_owned();
        Err(ValueProblem { code: ProblemCode::BadId, what, fix })
    }
}

impl Readable for Label {
    fn read(text: &str) -> Result<Label, ValueProblem> {
        let is_good = (1..=100).contains(&text.len())
            && !text.starts_with('-')
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:/@+[]-".contains(&byte));
        if is_good {
            Ok(Label(text.to_owned()))
        } else {
            Err(ValueProblem::value(
                format!("`{}` is not a valid name", quoted(&Text::<80>::from(text).to_string())),
                "write one word of letters, digits and `._:/@+-`",
            ))
        }
    }
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
