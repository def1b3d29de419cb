//! Paths that programs read and write, from a table of their operands. It reports only certain uses; a
//! program that is not listed may still read or write.

mod named;
pub mod options;
mod read_only;
mod rows;
mod tools;
mod verbs;

use super::PathUse;
use super::eval::Evaluator;
use super::expand::unknown;
use super::paths::rows::{OperandRange, ROWS};

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
            "chmod" | "chown" | "chgrp" => self.modes(name, words),
            "vim" | "vi" | "nvim" | "gvim" | "rvim" => self.batch_editor(name, words),
            "exiftool" => self.exiftool(words),
            "sqlite3" => self.sqlite(words),
            "ssh-keygen" => self.key_files(words),
            "jq" | "gojq" | "jaq" => self.jq(words),
            "cmake" => self.cmake(words),
            "aria2c" => self.downloads_to(words),
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
            self.curl_settings(&split);
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
        // A copy from another machine: `scp host:x /tmp/x`.
        if matches!(name, "scp" | "rsync")
            && let Some((target, sources)) = operands.split_last()
            && sources.iter().any(|source| is_remote(source))
        {
            self.write_file(target, &unknown::HOLE.to_string());
            self.fetches(target);
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

/// Reports whether a source of a copy is on another machine: `host:path`, `rsync://host/path`.
fn is_remote(source: &str) -> bool {
    let host = source.split('/').next().unwrap_or_default();
    host.len() > 2 && host.contains(':')
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
