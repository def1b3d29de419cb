//! Calls of other languages that start a program, delete files or run more code, by name.

use super::lexer::Language;

/// What a call does with its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sink {
    /// A text for the shell, a list of words, or words one by one.
    Command,
    /// The program first, then all of its words.
    Exec,
    /// As `Exec`, behind a mode.
    Spawn,
    /// Deletes files, or trees.
    Remove { tree: bool },
    /// Runs code of the same language.
    Code,
    /// Writes a file.
    Write,
    /// Writes its second argument.
    Copy,
}

/// The calls of one language; `with` is a word that must be in the code, because the name alone
/// says too little.
struct Row {
    language: Language,
    names: &'static [&'static str],
    with: &'static [&'static str],
    sink: Sink,
}

const fn row(
    language: Language,
    sink: Sink,
    with: &'static [&'static str],
    names: &'static [&'static str],
) -> Row {
    Row { language, names, with, sink }
}

const TREE: Sink = Sink::Remove { tree: true };
const FILE: Sink = Sink::Remove { tree: false };

const ROWS: &[Row] = &[
    row(
        Language::Python,
        Sink::Command,
        &[],
        &[
            "system",
            "popen",
            "Popen",
            "check_call",
            "check_output",
            "getoutput",
            "getstatusoutput",
            "create_subprocess_shell",
            "create_subprocess_exec",
            "startfile",
        ],
    ),
    row(
        Language::Python,
        Sink::Command,
        &["subprocess", "sh.", "invoke", "fabric", "pty", "pexpect"],
        &["run", "call", "spawn"],
    ),
    row(
        Language::Python,
        Sink::Exec,
        &[],
        &[
            "execl",
            "execlp",
            "execv",
            "execvp",
            "execle",
            "execlpe",
            "execve",
            "execvpe",
            "posix_spawn",
            "posix_spawnp",
        ],
    ),
    row(
        Language::Python,
        Sink::Spawn,
        &[],
        &["spawnl", "spawnlp", "spawnv", "spawnvp", "spawnve", "spawnle", "spawnvpe", "spawnlpe"],
    ),
    row(Language::Python, TREE, &[], &["rmtree", "removedirs"]),
    row(Language::Python, FILE, &["os", "pathlib", "Path"], &["remove", "unlink", "rmdir"]),
    row(Language::Python, Sink::Code, &[], &["exec", "eval"]),
    row(Language::Python, Sink::Write, &["Path"], &["write_text", "write_bytes"]),
    row(Language::Python, Sink::Copy, &["shutil"], &["copy", "copy2", "copyfile", "copytree", "move"]),
    row(Language::Python, Sink::Copy, &["os", "Path"], &["rename", "renames", "symlink", "link"]),
    row(
        Language::JavaScript,
        Sink::Copy,
        &["fs", "Deno"],
        &["renameSync", "copyFileSync", "copyFile", "cpSync", "symlinkSync", "linkSync"],
    ),
    row(
        Language::JavaScript,
        Sink::Write,
        &["fs", "Deno", "Bun"],
        &[
            "writeFile",
            "writeFileSync",
            "appendFile",
            "appendFileSync",
            "createWriteStream",
            "truncateSync",
            "writeTextFile",
            "writeTextFileSync",
        ],
    ),
    row(Language::Ruby, Sink::Write, &["File", "IO"], &["write", "binwrite", "truncate"]),
    row(Language::Php, Sink::Write, &[], &["file_put_contents"]),
    row(
        Language::JavaScript,
        Sink::Command,
        &["child_process", "execa", "shelljs", "zx"],
        &["exec", "execSync", "spawn", "spawnSync", "execFile", "execFileSync", "execa", "execaSync"],
    ),
    row(Language::JavaScript, Sink::Command, &["Deno", "Bun"], &["run", "Command", "spawn", "spawnSync"]),
    row(
        Language::JavaScript,
        TREE,
        &["fs", "rimraf", "Deno"],
        &["rm", "rmSync", "rimraf", "rimrafSync", "removeSync", "emptyDirSync", "remove"],
    ),
    row(Language::JavaScript, FILE, &["fs"], &["unlink", "unlinkSync", "rmdir", "rmdirSync"]),
    row(Language::JavaScript, Sink::Code, &[], &["eval", "Function", "runInNewContext", "runInThisContext"]),
    row(Language::Perl, Sink::Command, &[], &["system", "exec"]),
    row(Language::Perl, TREE, &[], &["rmtree", "remove_tree"]),
    row(Language::Perl, FILE, &[], &["unlink", "rmdir"]),
    row(Language::Perl, Sink::Code, &[], &["eval"]),
    row(
        Language::Ruby,
        Sink::Command,
        &[],
        &["system", "exec", "spawn", "popen", "capture2", "capture2e", "capture3", "popen3", "popen2", "sh"],
    ),
    row(
        Language::Ruby,
        TREE,
        &[],
        &["rm_rf", "rm_r", "remove_dir", "rmtree", "remove_entry", "remove_entry_secure"],
    ),
    row(
        Language::Ruby,
        FILE,
        &["File", "FileUtils", "Dir", "Pathname"],
        &["delete", "unlink", "rm", "rm_f", "rmdir"],
    ),
    row(Language::Ruby, Sink::Code, &[], &["eval", "instance_eval", "class_eval"]),
    row(
        Language::Php,
        Sink::Command,
        &[],
        &["exec", "shell_exec", "system", "passthru", "popen", "proc_open", "pcntl_exec"],
    ),
    row(Language::Php, FILE, &[], &["unlink", "rmdir"]),
    row(Language::Php, Sink::Code, &[], &["eval", "assert"]),
    row(Language::Ruby, Sink::Command, &["System", ":os"], &["shell", "cmd"]),
    row(Language::R, Sink::Command, &[], &["system", "system2", "shell", "pipe"]),
    row(Language::R, TREE, &["recursive"], &["unlink"]),
    row(Language::R, FILE, &["file", "fs"], &["remove", "unlink"]),
    row(Language::Awk, Sink::Command, &[], &["system"]),
    row(Language::Lua, Sink::Command, &[], &["execute", "popen"]),
    row(Language::Lua, FILE, &["os"], &["remove"]),
    row(Language::Lua, Sink::Code, &[], &["load", "loadstring", "dostring"]),
];

/// The call of that name, if the code is of a kind where it means that.
pub(crate) fn find(language: Language, name: &str, code: &str) -> Option<Sink> {
    let row = ROWS.iter().find(|row| {
        row.language == language
            && row.names.contains(&name)
            && (row.with.is_empty() || row.with.iter().any(|word| code.contains(word)))
    });
    row.map(|row| row.sink)
}

/// The call of that name, whatever the code is.
pub(crate) fn by_name(language: Language, name: &str) -> Option<Sink> {
    ROWS.iter().find(|row| row.language == language && row.names.contains(&name)).map(|row| row.sink)
}
