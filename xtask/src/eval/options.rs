//! The arguments of `cargo xtask eval`.

use std::path::PathBuf;

use crate::failure::Usage;

pub const USAGE: &str = "usage: cargo xtask eval policy|retrieval|trace|trace-export [--data DIR] [--sprag PATH] [--errors N] [--strict]";

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub data: Option<PathBuf>,
    pub sprag: Option<PathBuf>,
    /// The number of wrong answers of each kind to show.
    pub errors: usize,
    /// Whether a missed target fails the command.
    pub strict: bool,
}

impl Options {
    pub fn read(args: &[String]) -> Result<Options, Usage> {
        let mut options = Options::default();
        let mut rest = args.iter();
        while let Some(flag) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| Usage(format!("`{flag}` needs a value\n{USAGE}")));
            match flag.as_str() {
                "--data" => options.data = Some(value()?.into()),
                "--sprag" => options.sprag = Some(value()?.into()),
                "--errors" => {
                    let number = value()?;
                    options.errors =
                        number.parse().map_err(|_| Usage(format!("`{number}` is not a number\n{USAGE}")))?;
                }
                "--strict" => options.strict = true,
                _ => return Err(Usage(format!("no flag `{flag}`\n{USAGE}"))),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, Usage> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::read(&args)
    }

    #[test]
    fn flags_are_read_and_others_refused() {
        let options = read("--data d --errors 3 --strict").unwrap();
        assert_eq!((options.data, options.errors, options.strict), (Some("d".into()), 3, true));
        assert!(read("--errors x").is_err());
        assert!(read("--errors").is_err());
        assert!(read("--what").is_err());
    }
}
