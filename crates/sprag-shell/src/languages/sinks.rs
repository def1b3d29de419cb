//! Calls of other languages that start a program, delete files or run more code, by name.

use super::lexer::Language;

/// The effect of a call on its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallSink {
    /// Runs a text for the shell, a list of words, or separate words.
    Command,
    /// Runs the program in the first argument with the following words.
    Exec,
    /// Like `Exec`, after a mode.
    Spawn,
    /// Deletes files, or directory trees.
    Remove { tree: bool },
    /// Runs code of the same language.
    Code,
    /// Writes a file.
    Write,
    /// Writes its second argument.
    Copy,
}

/// The calls of one language; `with` lists words of which one must occur in the code, because the name alone
/// is ambiguous.
struct SinkRow {
    language: Language,
    names: &'static [&'static str],
    with: &'static [&'static str],
    sink: CallSink,
}

const fn row(
    language: Language,
    sink: CallSink,
    with: &'static [&'static str],
    names: &'static [&'static str],
) -> SinkRow {
    SinkRow { language, names, with, sink }
}

const TREE: CallSink = CallSink::Remove { tree: true };
const FILE: CallSink = CallSink::Remove { tree: false };

const ROWS: &[SinkRow] = &[
    row(
        Language::Python,
        CallSink::Command,
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
        CallSink::Command,
        &["subprocess", "sh.", "invoke", "fabric", "pty", "pexpect"],
        &["run", "call", "spawn"],
    ),
    row(
        Language::Python,
        CallSink::Exec,
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
        CallSink::Spawn,
        &[],
        &["spawnl", "spawnlp", "spawnv", "spawnvp", "spawnve", "spawnle", "spawnvpe", "spawnlpe"],
    ),
    row(Language::Python, TREE, &[], &["rmtree", "removedirs"]),
    row(Language::Python, FILE, &["os", "pathlib", "Path"], &["remove", "unlink", "rmdir"]),
    row(Language::Python, CallSink::Code, &[], &["exec", "eval"]),
    row(Language::Python, CallSink::Write, &["Path"], &["write_text", "write_bytes"]),
    row(Language::Python, CallSink::Copy, &["shutil"], &["copy", "copy2", "copyfile", "copytree", "move"]),
    row(Language::Python, CallSink::Copy, &["os", "Path"], &["rename", "renames", "symlink", "link"]),
    row(
        Language::JavaScript,
        CallSink::Copy,
        &["fs", "Deno"],
        &["renameSync", "copyFileSync", "copyFile", "cpSync", "symlinkSync", "linkSync"],
    ),
    row(
        Language::JavaScript,
        CallSink::Write,
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
    row(Language::Ruby, CallSink::Write, &["File", "IO"], &["write", "binwrite", "truncate"]),
    row(Language::Php, CallSink::Write, &[], &["file_put_contents"]),
    row(
        Language::JavaScript,
        CallSink::Command,
        &["child_process", "execa", "shelljs", "zx"],
        &["exec", "execSync", "spawn", "spawnSync", "execFile", "execFileSync", "execa", "execaSync"],
    ),
    row(Language::JavaScript, CallSink::Command, &["Deno", "Bun"], &["run", "Command", "spawn", "spawnSync"]),
    row(
        Language::JavaScript,
        TREE,
        &["fs", "rimraf", "Deno"],
        &["rm", "rmSync", "rimraf", "rimrafSync", "removeSync", "emptyDirSync", "remove"],
    ),
    row(Language::JavaScript, FILE, &["fs"], &["unlink", "unlinkSync", "rmdir", "rmdirSync"]),
    row(
        Language::JavaScript,
        CallSink::Code,
        &[],
        &["eval", "Function", "runInNewContext", "runInThisContext"],
    ),
    row(Language::Perl, CallSink::Command, &[], &["system", "exec"]),
    row(Language::Perl, TREE, &[], &["rmtree", "remove_tree"]),
    row(Language::Perl, FILE, &[], &["unlink", "rmdir"]),
    row(Language::Perl, CallSink::Code, &[], &["eval"]),
    row(
        Language::Ruby,
        CallSink::Command,
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
    row(Language::Ruby, CallSink::Code, &[], &["eval", "instance_eval", "class_eval"]),
    row(
        Language::Php,
        CallSink::Command,
        &[],
        &["exec", "shell_exec", "system", "passthru", "popen", "proc_open", "pcntl_exec"],
    ),
    row(Language::Php, FILE, &[], &["unlink", "rmdir"]),
    row(Language::Php, CallSink::Code, &[], &["eval", "assert"]),
    row(Language::Ruby, CallSink::Command, &["System", ":os"], &["shell", "cmd"]),
    row(Language::R, CallSink::Command, &[], &["system", "system2", "shell", "pipe"]),
    row(Language::R, TREE, &["recursive"], &["unlink"]),
    row(Language::R, FILE, &["file", "fs"], &["remove", "unlink"]),
    row(Language::Awk, CallSink::Command, &[], &["system"]),
    row(Language::Lua, CallSink::Command, &[], &["execute", "popen"]),
    row(Language::Lua, FILE, &["os"], &["remove"]),
    row(Language::Lua, CallSink::Code, &[], &["load", "loadstring", "dostring"]),
];

/// Returns the sink of that name, if the code contains a required word.
pub(crate) fn find(language: Language, name: &str, code: &str) -> Option<CallSink> {
    let row = ROWS.iter().find(|row| {
        row.language == language
            && row.names.contains(&name)
            && (row.with.is_empty() || row.with.iter().any(|word| code.contains(word)))
    });
    row.map(|row| row.sink)
}

/// Returns the sink of that name for any code.
pub(crate) fn by_name(language: Language, name: &str) -> Option<CallSink> {
    ROWS.iter().find(|row| row.language == language && row.names.contains(&name)).map(|row| row.sink)
}
