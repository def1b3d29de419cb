//! Paths that programs read and write, from a table of their operands. It reports only certain uses; a
//! program that is not listed may still read or write.

mod named;
pub mod options;
mod read_only;
mod verbs;

use super::PathUse;
use super::eval::Evaluator;
use super::expand::unknown;
use super::paths::options::ProgramOptions;

/// A selection of operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OperandRange {
    None,
    All,
    First,
    Last,
    ButLast,
    ButFirst,
}

struct PathRow {
    names: &'static [&'static str],
    options: ProgramOptions,
    reads: OperandRange,
    writes: OperandRange,
    /// Options whose value is a written path.
    writes_at: &'static [&'static str],
    /// Options whose value is a read path.
    reads_at: &'static [&'static str],
    /// If not empty, operands are written only with one of these options.
    only_with: &'static [&'static str],
    /// With one of these options, operands are only read.
    not_with: &'static [&'static str],
}

const fn row(
    names: &'static [&'static str],
    reads: OperandRange,
    writes: OperandRange,
    letters: &'static str,
    long: &'static [&'static str],
) -> PathRow {
    PathRow {
        names,
        options: ProgramOptions { letters, long },
        reads,
        writes,
        writes_at: &[],
        reads_at: &[],
        only_with: &[],
        not_with: &[],
    }
}

/// Returns the row of a program that copies to its last operand or to the directory of `-t`.
const fn copying(
    names: &'static [&'static str],
    writes: OperandRange,
    short: &'static str,
    long: &'static [&'static str],
) -> PathRow {
    PathRow {
        writes_at: &["-t", "--target-directory"],
        ..row(names, OperandRange::ButLast, writes, short, long)
    }
}

const ROWS: &[PathRow] = &[
    copying(&["cp", "gcp"], OperandRange::Last, "tS", &["--target-directory", "--suffix"]),
    // Moving a file also removes it from its old path.
    copying(&["mv", "gmv"], OperandRange::All, "tS", &["--target-directory", "--suffix"]),
    copying(&["ln", "gln"], OperandRange::Last, "tS", &["--target-directory", "--suffix"]),
    copying(
        &["install"],
        OperandRange::Last,
        "gmotS",
        &["--target-directory", "--mode", "--owner", "--group", "--suffix"],
    ),
    row(
        &["rsync"],
        OperandRange::ButLast,
        OperandRange::Last,
        "efTM",
        &["--exclude", "--include", "--filter", "--rsh", "--exclude-from", "--include-from"],
    ),
    row(&["scp"], OperandRange::ButLast, OperandRange::Last, "cFiJloPSX", &[]),
    row(&["tee", "sponge"], OperandRange::None, OperandRange::All, "", &[]),
    row(&["touch"], OperandRange::None, OperandRange::All, "drt", &["--date", "--reference"]),
    row(&["truncate"], OperandRange::None, OperandRange::All, "sr", &["--size", "--reference"]),
    row(
        &["rm", "unlink", "rmdir", "shred", "srm", "trash", "grm"],
        OperandRange::None,
        OperandRange::All,
        "ns",
        &[],
    ),
    row(&["mkdir", "mkfifo", "mknod"], OperandRange::None, OperandRange::All, "m", &["--mode"]),
    row(
        &["chmod", "chown", "chgrp", "chattr", "setfacl"],
        OperandRange::None,
        OperandRange::ButFirst,
        "",
        &["--reference"],
    ),
    PathRow {
        writes_at: &["-d", "--directory", "-o", "--output", "-r", "--reject-file"],
        ..row(
            &["patch"],
            OperandRange::None,
            OperandRange::First,
            "pdiorBFVYz",
            &["--strip", "--directory", "--input", "--output", "--reject-file"],
        )
    },
    PathRow {
        writes_at: &["-o", "--output"],
        ..row(&["shuf"], OperandRange::All, OperandRange::None, "ino", &["--output"])
    },
    row(&["uniq"], OperandRange::First, OperandRange::ButFirst, "fsw", &[]),
    row(&["xxd"], OperandRange::First, OperandRange::ButFirst, "cgloRs", &[]),
    PathRow {
        writes_at: &["-o"],
        ..row(
            &["go"],
            OperandRange::None,
            OperandRange::None,
            "",
            &["-o", "-tags", "-ldflags", "-gcflags", "-mod"],
        )
    },
    PathRow {
        writes_at: &["-out", "-keyout", "-CAserial", "-writerand"],
        ..row(
            &["openssl"],
            OperandRange::None,
            OperandRange::None,
            "",
            &["-out", "-in", "-keyout", "-key", "-days", "-subj", "-CAserial", "-writerand", "-pass", "-k"],
        )
    },
    PathRow {
        writes_at: &["-o", "--output"],
        ..row(
            &["strace", "ltrace", "time", "gtime", "perf"],
            OperandRange::None,
            OperandRange::None,
            "aeEfonpPsu",
            &["--output"],
        )
    },
    PathRow {
        writes_at: &["-O", "-B", "-T", "-I"],
        ..row(&["script"], OperandRange::None, OperandRange::First, "cEIoBOTm", &["--command"])
    },
    PathRow {
        only_with: &["-i", "--inplace", "--in-place"],
        ..row(
            &["yq"],
            OperandRange::ButFirst,
            OperandRange::ButFirst,
            "",
            &["--arg", "--argjson", "--indent"],
        )
    },
    PathRow {
        only_with: &["-i", "--in-place", "-I"],
        ..row(
            &["sed", "gsed"],
            OperandRange::ButFirst,
            OperandRange::ButFirst,
            "efl",
            &["--expression", "--file", "--line-length"],
        )
    },
    PathRow {
        only_with: &["-i"],
        ..row(&["perl", "ruby"], OperandRange::All, OperandRange::All, "eEIMmF", &[])
    },
    PathRow {
        writes_at: &["-o", "--output"],
        ..row(
            &["sort"],
            OperandRange::All,
            OperandRange::None,
            "okStT",
            &["--output", "--key", "--field-separator"],
        )
    },
    PathRow {
        writes_at: &["-o", "--output"],
        ..row(
            &["diff", "sdiff"],
            OperandRange::All,
            OperandRange::None,
            "CUIFLWxXSo",
            &["--output", "--label", "--exclude", "--exclude-from", "--width"],
        )
    },
    PathRow {
        writes_at: &["-o", "--output", "-c", "--cookie-jar", "-D", "--dump-header", "--output-dir"],
        reads_at: &["-T", "--upload-file", "-K", "--config"],
        ..row(
            &["curl"],
            OperandRange::None,
            OperandRange::None,
            "AbCcDdEeFHhKmoPQrTtUuwxXYyz",
            &[
                "--output",
                "--output-dir",
                "--data",
                "--data-raw",
                "--data-binary",
                "--data-urlencode",
                "--json",
                "--form",
                "--header",
                "--request",
                "--user",
                "--upload-file",
                "--config",
                "--cookie",
                "--cookie-jar",
                "--dump-header",
                "--user-agent",
                "--referer",
                "--max-time",
                "--connect-timeout",
                "--retry",
                "--proxy",
                "--cert",
                "--key",
                "--cacert",
                "--resolve",
                "--url",
                "--write-out",
                "--form-string",
                "--limit-rate",
                "--interface",
                "--range",
            ],
        )
    },
    PathRow {
        writes_at: &[
            "-O",
            "--output-document",
            "-P",
            "--directory-prefix",
            "-o",
            "--output-file",
            "-a",
            "--append-output",
            "--save-cookies",
        ],
        reads_at: &["--post-file", "--body-file", "-i", "--input-file"],
        ..row(
            &["wget"],
            OperandRange::None,
            OperandRange::None,
            "OPoaUeBtTwQi",
            &[
                "--output-document",
                "--directory-prefix",
                "--output-file",
                "--append-output",
                "--save-cookies",
                "--post-file",
                "--post-data",
                "--header",
                "--user-agent",
                "--input-file",
                "--body-file",
            ],
        )
    },
    PathRow {
        writes_at: &["-o", "--out", "--output"],
        ..row(
            &["aria2c", "axel", "fetch", "http", "https", "xh", "xhs"],
            OperandRange::None,
            OperandRange::None,
            "oadAjnx",
            &["--out", "--output", "--auth", "--dir"],
        )
    },
    PathRow { writes_at: &["-d"], ..row(&["unzip"], OperandRange::First, OperandRange::None, "dxP", &[]) },
    PathRow {
        writes_at: &["-o", "--output"],
        ..row(
            &["gpg", "cc", "gcc", "clang", "g++", "rustc", "ld", "jq-out"],
            OperandRange::None,
            OperandRange::None,
            "o",
            &["--output"],
        )
    },
    row(&["zip"], OperandRange::ButFirst, OperandRange::First, "bitx", &[]),
    PathRow {
        writes_at: &["-o"],
        not_with: &["-c", "--stdout", "--to-stdout", "-t", "--test", "-l", "--list"],
        ..row(
            &["gzip", "gunzip", "xz", "unxz", "bzip2", "bunzip2", "zstd", "unzstd", "lz4", "brotli"],
            OperandRange::All,
            OperandRange::All,
            "So",
            &["--suffix"],
        )
    },
    row(&["split"], OperandRange::First, OperandRange::ButFirst, "abCln", &[]),
    PathRow {
        writes_at: &["-f", "--prefix"],
        ..row(&["csplit"], OperandRange::First, OperandRange::None, "bfn", &["--prefix"])
    },
    PathRow {
        reads_at: &["-f", "--file", "--exclude-from"],
        ..row(
            &["grep", "egrep", "fgrep", "rg", "ag", "ack", "zgrep"],
            OperandRange::ButFirst,
            OperandRange::None,
            "ABCDdefgmtT",
            &[
                "--exclude-from",
                "--regexp",
                "--file",
                "--max-count",
                "--glob",
                "--type",
                "--include",
                "--exclude",
                "--exclude-dir",
                "--color",
            ],
        )
    },
    PathRow {
        writes_at: &["-o"],
        ..row(&["strip", "objcopy"], OperandRange::First, OperandRange::Last, "oOIRNKjF", &[])
    },
    row(
        &["jq", "gojq"],
        OperandRange::ButFirst,
        OperandRange::None,
        "",
        &["--arg", "--argjson", "--slurpfile", "--rawfile", "--indent"],
    ),
    // `gawk -i inplace`.
    PathRow {
        only_with: &["-i", "--include"],
        ..row(
            &["awk", "gawk", "mawk", "nawk"],
            OperandRange::ButFirst,
            OperandRange::ButFirst,
            "Ffvi",
            &["--field-separator", "--assign", "--file", "--include"],
        )
    },
    row(
        &[
            "cat",
            "tac",
            "less",
            "more",
            "bat",
            "batcat",
            "nl",
            "od",
            "hexdump",
            "strings",
            "wc",
            "file",
            "md5sum",
            "sha1sum",
            "sha256sum",
            "sha512sum",
            "shasum",
            "base64",
            "base32",
            "cmp",
            "comm",
            "paste",
            "column",
            "fold",
            "rev",
            "zcat",
            "open",
            "xdg-open",
            "ed",
            "pr",
            "expand",
            "tsort",
            "iconv",
            "bzcat",
            "xzcat",
        ],
        OperandRange::All,
        OperandRange::None,
        "",
        &[],
    ),
    row(
        &["vim", "vi", "view", "nvim", "nano", "emacs", "code"],
        OperandRange::All,
        OperandRange::None,
        "cSuT",
        &["--cmd", "--eval"],
    ),
    row(&["head", "tail"], OperandRange::All, OperandRange::None, "ncs", &["--lines", "--bytes", "--pid"]),
    row(
        &["cut"],
        OperandRange::All,
        OperandRange::None,
        "bcdf",
        &["--delimiter", "--fields", "--characters"],
    ),
    row(&["look"], OperandRange::All, OperandRange::None, "t", &[]),
];

impl Evaluator {
    /// Records the paths of a program that was just added as `command`.
    pub(super) fn paths(&mut self, name: &str, words: &[String], command: Option<usize>) {
        let (reads, writes) = (self.script.reads.len(), self.script.writes.len());
        match name {
            "dd" => self.dd(words),
            "tar" | "bsdtar" | "gtar" => self.tar(words),
            "git" => self.git_paths(words),
            "tree" => self.tree(words),
            "unzip" | "wget" | "cpio" => self.unnamed(name, words),
            "7z" | "7za" | "7zr" | "7zz" => self.seven_zip(words),
            "docker" | "podman" | "nerdctl" | "kubectl" => self.container_copy(name, words),
            "sed" | "gsed" => self.sed(words),
            _ => self.by_row(name, words),
        }
        if self.script.reads.len() == reads && self.script.writes.len() == writes {
            self.named_paths(name, words, command);
        }
        self.named_secrets(name, words, command);
        let uses = self.script.reads[reads..].iter_mut().chain(self.script.writes[writes..].iter_mut());
        for path in uses {
            path.command = command;
        }
        // A loop reports the same use again.
        if self.repeats {
            distinct(&mut self.script.reads, reads);
            distinct(&mut self.script.writes, writes);
        }
    }

    pub(super) fn by_row(&mut self, name: &str, words: &[String]) {
        let Some(row) = ROWS.iter().find(|row| row.names.contains(&name)) else { return };
        let (split, operands) = options::anywhere(words, 1, &row.options);
        let targets = split.may_values(row.writes_at);
        for path in split.may_values(row.reads_at) {
            self.reads(&path, name);
        }
        // If the target is given as an option, all operands are sources.
        let (reads, writes) = match row.writes {
            OperandRange::Last if !targets.is_empty() => (OperandRange::All, OperandRange::None),
            writes => (row.reads, writes),
        };
        // `yq eval '.a' f` has a verb.
        let operands = match operands.split_first() {
            Some((verb, rest))
                if name == "yq" && matches!(verb.as_str(), "e" | "eval" | "ea" | "eval-all") =>
            {
                rest.to_vec()
            }
            _ => operands,
        };
        // Data from a file: `curl -d @file`.
        if name == "curl" {
            for given in &split.given {
                let sends = matches!(
                    given.name.as_str(),
                    "-d" | "--data"
                        | "--data-binary"
                        | "--data-raw"
                        | "--data-urlencode"
                        | "-F"
                        | "--form"
                        | "--json"
                );
                if let Some(value) = given.value.as_deref().filter(|_| sends)
                    && let Some(path) =
                        value.strip_prefix('@').or_else(|| value.split_once("=@").map(|(_, path)| path))
                {
                    self.reads(path, name);
                }
            }
            if split.has(&["-O", "--remote-name"]) {
                for operand in &operands {
                    let file = unknown::base_name(operand).to_owned();
                    self.write_file(&file, &unknown::HOLE.to_string());
                    self.writes(&file, name);
                }
            }
        }
        for path in targets {
            // The same text may run the downloaded file unread.
            if matches!(name, "curl" | "wget" | "aria2c" | "axel" | "fetch" | "http" | "https" | "xh" | "xhs")
            {
                self.write_file(&path, &unknown::HOLE.to_string());
            }
            self.writes(&path, name);
        }
        if name == "curl" {
            for path in operands.iter().filter_map(|word| word.strip_prefix("file://")) {
                self.reads(path, name);
            }
        }
        for path in chosen(&operands, reads) {
            self.reads(path, name);
        }
        if (row.only_with.is_empty() || split.may_have(row.only_with)) && !split.has(row.not_with) {
            for path in chosen(&operands, writes) {
                self.writes(path, name);
            }
        }
    }
}

/// Removes uses from `from` on that are already listed.
fn distinct(uses: &mut Vec<PathUse>, from: usize) {
    let mut at = from;
    while at < uses.len() {
        if uses[..at].contains(&uses[at]) {
            uses.remove(at);
        } else {
            at += 1;
        }
    }
}

fn chosen(operands: &[String], which: OperandRange) -> &[String] {
    match which {
        OperandRange::None => &[],
        OperandRange::All => operands,
        OperandRange::First => operands.get(..1).unwrap_or_default(),
        OperandRange::Last => operands.last().map_or(&[], std::slice::from_ref),
        OperandRange::ButLast => operands.split_last().map_or(&[], |(_, rest)| rest),
        OperandRange::ButFirst => operands.get(1..).unwrap_or_default(),
    }
}
