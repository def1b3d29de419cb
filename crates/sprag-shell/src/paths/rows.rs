//! The table of the operands of programs.

use super::options::ProgramOptions;

/// A selection of operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OperandRange {
    None,
    All,
    First,
    Last,
    ButLast,
    ButFirst,
}

pub(super) struct PathRow {
    pub(super) names: &'static [&'static str],
    pub(super) options: ProgramOptions,
    pub(super) reads: OperandRange,
    pub(super) writes: OperandRange,
    /// Options whose value is a written path.
    pub(super) writes_at: &'static [&'static str],
    /// Options whose value is a read path.
    pub(super) reads_at: &'static [&'static str],
    /// If not empty, operands are written only with one of these options.
    pub(super) only_with: &'static [&'static str],
    /// With one of these options, operands are only read.
    pub(super) not_with: &'static [&'static str],
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

pub(super) const ROWS: &[PathRow] = &[
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
        ..row(&["shuf", "gshuf"], OperandRange::All, OperandRange::None, "ino", &["--output"])
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
            &["sort", "gsort"],
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
            &["gpg", "gpg2", "cc", "gcc", "clang", "g++", "rustc", "ld"],
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
    row(&["split", "gsplit"], OperandRange::First, OperandRange::ButFirst, "abCln", &[]),
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
            "pr",
            "expand",
            "tsort",
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
    // Editors that run commands from their input.
    row(&["ed", "red", "ex"], OperandRange::All, OperandRange::All, "cpGS", &["--prompt"]),
    PathRow {
        writes_at: &["-o", "--output"],
        ..row(
            &["iconv"],
            OperandRange::All,
            OperandRange::None,
            "fto",
            &["--output", "--from-code", "--to-code"],
        )
    },
    PathRow {
        writes_at: &["-path"],
        ..row(
            &["mogrify"],
            OperandRange::All,
            OperandRange::All,
            "",
            &["-resize", "-quality", "-format", "-path", "-crop", "-geometry", "-rotate", "-define", "-fill"],
        )
    },
    row(
        &["jpegoptim", "optipng", "pngquant", "dos2unix", "unix2dos", "recode", "eyeD3", "id3v2", "mid3v2"],
        OperandRange::All,
        OperandRange::All,
        "dmo",
        &[],
    ),
    row(&["ffmpeg"], OperandRange::None, OperandRange::Last, "", &["-i", "-f", "-t", "-c", "-vf", "-ss"]),
    row(&["convert"], OperandRange::ButLast, OperandRange::Last, "", &[]),
    PathRow {
        writes_at: &["-o", "--output"],
        ..row(
            &["age", "rage"],
            OperandRange::All,
            OperandRange::None,
            "oriR",
            &["--output", "--recipient", "--identity"],
        )
    },
    row(&["tmpreaper", "tmpwatch"], OperandRange::None, OperandRange::ButFirst, "", &["--protect"]),
    row(
        &["trash-put", "trash-rm", "gtrash", "rmtrash", "safe-rm"],
        OperandRange::None,
        OperandRange::All,
        "",
        &[],
    ),
    row(&["rename", "prename"], OperandRange::None, OperandRange::ButFirst, "", &[]),
    row(&["mmv", "detox", "fdupes", "rdfind"], OperandRange::None, OperandRange::All, "", &[]),
    row(&["setfattr", "xattr"], OperandRange::None, OperandRange::All, "nvxw", &[]),
    row(&["fallocate", "mkswap"], OperandRange::None, OperandRange::Last, "lonpc", &["--length", "--offset"]),
    row(&["logrotate", "newsyslog"], OperandRange::None, OperandRange::None, "s", &[]),
    PathRow {
        writes_at: &["-o", "--output", "-O"],
        ..row(
            &["pandoc", "yt-dlp", "youtube-dl", "objdump-out", "ar-out", "protoc", "dot", "sass"],
            OperandRange::None,
            OperandRange::None,
            "oOftrP",
            &["--output"],
        )
    },
];
