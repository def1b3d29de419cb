//! The table of carriers: how to step over what is a carrier's own.

use crate::paths::options::{self, Options};

/// One carrier.
#[derive(Clone, Copy)]
pub(super) struct Row {
    names: &'static [&'static str],
    /// One of these words must come first (`uv run`); none if empty.
    pub(super) verbs: &'static [&'static str],
    pub(super) options: Options,
    /// Words between its options and the inner command: `timeout 5 …`.
    pub(super) operands: usize,
    /// `NAME=value` may stand before the inner command.
    pub(super) assigns: bool,
    /// Options whose value is shell text.
    pub(super) code: &'static [&'static str],
    /// Options with which it runs nothing.
    pub(super) inert: &'static [&'static str],
    /// Options whose value is where the inner command runs.
    pub(super) enter: &'static [&'static str],
    /// The inner words are joined and given to a shell.
    pub(super) joined: bool,
}

/// More operands than there ever are: only the options hold commands.
const ONLY_OPTIONS: usize = 99;

const ROW: Row = Row {
    names: &[],
    verbs: &[],
    options: Options { letters: "", long: &[] },
    operands: 0,
    assigns: false,
    code: &[],
    inert: &[],
    enter: &[],
    joined: false,
};

pub(crate) const fn opts(letters: &'static str, long: &'static [&'static str]) -> Options {
    Options { letters, long }
}

const ROWS: &[Row] = &[
    Row {
        names: &["sudo"],
        options: opts(
            "CDghpRrTtUu",
            &[
                "--user",
                "--group",
                "--prompt",
                "--close-from",
                "--chdir",
                "--host",
                "--chroot",
                "--role",
                "--type",
                "--other-user",
                "--command-timeout",
            ],
        ),
        assigns: true,
        inert: &["-l", "--list", "-v", "--validate", "-K", "--remove-timestamp", "-V", "--version"],
        enter: &["-D", "--chdir"],
        ..ROW
    },
    Row { names: &["doas"], options: opts("Cu", &[]), assigns: true, inert: &["-L"], ..ROW },
    Row { names: &["pkexec", "gksudo", "gksu"], options: opts("u", &["--user"]), ..ROW },
    Row {
        names: &["runuser"],
        options: opts(
            "ugGcsw",
            &["--user", "--group", "--supp-group", "--command", "--shell", "--session-command"],
        ),
        code: &["-c", "--command", "--session-command"],
        ..ROW
    },
    Row { names: &["nice"], options: opts("n", &["--adjustment"]), ..ROW },
    Row {
        names: &["ionice"],
        options: opts("cnpPu", &["--class", "--classdata", "--pid", "--pgid", "--uid"]),
        inert: &["-p", "--pid", "-P", "-u"],
        ..ROW
    },
    Row {
        names: &["nohup", "setsid", "builtin", "busybox", "toybox", "catchsegv", "unbuffer", "torsocks"],
        ..ROW
    },
    Row {
        names: &["timeout", "gtimeout"],
        options: opts("ks", &["--kill-after", "--signal"]),
        operands: 1,
        ..ROW
    },
    Row { names: &["time", "gtime"], options: opts("fo", &["--format", "--output"]), ..ROW },
    Row { names: &["stdbuf", "gstdbuf"], options: opts("ioe", &["--input", "--output", "--error"]), ..ROW },
    Row {
        names: &["unshare"],
        options: opts(
            "GRSw",
            &["--setgid", "--root", "--setuid", "--wd", "--map-user", "--map-group", "--propagation"],
        ),
        enter: &["-w", "--wd"],
        ..ROW
    },
    Row { names: &["nsenter"], options: opts("tSGr", &["--target", "--setuid", "--setgid"]), ..ROW },
    Row { names: &["chroot"], options: opts("", &["--userspec", "--groups"]), operands: 1, ..ROW },
    Row {
        names: &["flock"],
        options: opts("wEc", &["--timeout", "--wait", "--conflict-exit-code", "--command"]),
        operands: 1,
        code: &["-c", "--command"],
        ..ROW
    },
    Row {
        names: &["strace", "ltrace", "dtruss"],
        options: opts("aAbeEIonOpPsSuUX", &["--trace", "--output"]),
        ..ROW
    },
    Row {
        names: &["valgrind", "heaptrack", "perf-trace", "rlwrap", "proxychains", "proxychains4", "xvfb-run"],
        ..ROW
    },
    Row {
        names: &["perf"],
        verbs: &["stat", "record", "trace"],
        options: opts("eopF", &["--output"]),
        ..ROW
    },
    Row {
        names: &["script"],
        options: opts("cEIoBOTm", &["--command"]),
        operands: 1,
        code: &["-c", "--command"],
        ..ROW
    },
    Row {
        names: &["systemd-run"],
        options: opts(
            "pEutHMGr",
            &[
                "--property",
                "--setenv",
                "--unit",
                "--uid",
                "--gid",
                "--working-directory",
                "--machine",
                "--slice",
                "--host",
            ],
        ),
        enter: &["--working-directory"],
        ..ROW
    },
    Row { names: &["systemd-inhibit"], options: opts("", &["--what", "--who", "--why", "--mode"]), ..ROW },
    Row { names: &["command"], inert: &["-v", "-V"], ..ROW },
    Row { names: &["exec"], options: opts("a", &[]), ..ROW },
    Row { names: &["taskset"], options: opts("p", &["--pid"]), operands: 1, inert: &["-p", "--pid"], ..ROW },
    Row { names: &["chrt"], options: opts("TPD", &[]), operands: 1, inert: &["-p", "--pid"], ..ROW },
    Row { names: &["numactl"], options: opts("NmCip", &["--cpunodebind", "--membind"]), ..ROW },
    Row { names: &["setpriv"], options: opts("", &["--reuid", "--regid", "--groups"]), ..ROW },
    Row { names: &["prlimit"], inert: &["-p", "--pid"], ..ROW },
    Row { names: &["caffeinate"], options: opts("tw", &[]), ..ROW },
    Row { names: &["arch"], options: opts("", &["-arch"]), ..ROW },
    Row { names: &["dbus-run-session", "dbus-launch", "firejail"], ..ROW },
    Row { names: &["sg"], options: opts("c", &[]), operands: 1, code: &["-c"], joined: true, ..ROW },
    Row {
        names: &["watchexec"],
        options: opts("wefisd", &["--watch", "--exts", "--filter", "--ignore"]),
        joined: true,
        ..ROW
    },
    Row { names: &["entr"], options: opts("s", &[]), code: &["-s"], ..ROW },
    Row {
        names: &["nodemon"],
        options: opts("xwe", &["--exec", "--watch", "--ext"]),
        code: &["-x", "--exec"],
        operands: ONLY_OPTIONS,
        ..ROW
    },
    Row {
        names: &["hyperfine"],
        options: opts(
            "wmMrpcnSu",
            &["--warmup", "--runs", "--prepare", "--cleanup", "--setup", "--export-json"],
        ),
        code: &["-p", "--prepare", "-c", "--cleanup", "--setup", "-s"],
        joined: true,
        ..ROW
    },
    Row {
        names: &[
            "fakeroot",
            "fakechroot",
            "chronic",
            "ifne",
            "eatmydata",
            "tini",
            "dumb-init",
            "linux64",
            "linux32",
            "i386",
            "x86_64",
            "tsocks",
            "socksify",
            "run0",
            "daemonize",
            "optirun",
            "primusrun",
            "gamemoderun",
            "mangohud",
            "lima",
            "pasuspender",
            "kitty",
            "foot",
            "!",
        ],
        options: opts("lsbu", &["--library"]),
        ..ROW
    },
    Row { names: &["gosu", "su-exec", "s6-setuidgid", "setuidgid", "setarch"], operands: 1, ..ROW },
    Row {
        names: &["proot"],
        options: opts(
            "rbqwvRSk",
            &["--rootfs", "--bind", "--mount", "--qemu", "--pwd", "--cwd", "--kernel-release"],
        ),
        enter: &["-w", "--pwd", "--cwd"],
        ..ROW
    },
    Row {
        names: &["systemd-nspawn"],
        options: opts("DiMuEp", &["--directory", "--image", "--machine", "--user", "--setenv", "--bind"]),
        ..ROW
    },
    Row { names: &["schroot"], options: opts("cdpu", &["--chroot", "--directory", "--user"]), ..ROW },
    Row { names: &["arch-chroot"], options: opts("u", &[]), operands: 1, ..ROW },
    Row { names: &["runcon"], options: opts("turl", &["--type", "--user", "--role", "--range"]), ..ROW },
    Row { names: &["choom"], options: opts("np", &["--adjust", "--pid"]), ..ROW },
    Row { names: &["cgexec"], options: opts("g", &[]), ..ROW },
    Row { names: &["aa-exec"], options: opts("pn", &["--profile", "--namespace"]), ..ROW },
    Row { names: &["chpst", "softlimit"], options: opts("uUebCndlLPmotpfcra", &[]), ..ROW },
    Row { names: &["schedtool"], options: opts("nap", &[]), ..ROW },
    Row { names: &["trickle"], options: opts("duwtls", &[]), ..ROW },
    Row { names: &["faketime", "datefudge"], options: opts("f", &[]), operands: 1, ..ROW },
    Row { names: &["cpulimit"], options: opts("lpePcm", &["--limit", "--pid", "--exe", "--path"]), ..ROW },
    Row { names: &["sandbox-exec"], options: opts("pfnD", &[]), ..ROW },
    Row { names: &["rr"], verbs: &["record"], options: opts("n", &[]), ..ROW },
    Row { names: &["flatpak-spawn"], options: opts("", &["--directory", "--env"]), ..ROW },
    Row {
        names: &["toolbox"],
        verbs: &["run"],
        options: opts("cdr", &["--container", "--distro", "--release"]),
        ..ROW
    },
    Row { names: &["dtach", "abduco"], options: opts("ncAaeE", &[]), ..ROW },
    Row { names: &["sshpass"], options: opts("pfdP", &[]), ..ROW },
    Row {
        names: &["xterm", "rxvt", "urxvt", "konsole", "alacritty", "st", "terminator", "xfce4-terminal"],
        options: opts("Tfgbn", &["-geometry", "-title", "--command", "--working-directory"]),
        code: &["--command"],
        joined: true,
        ..ROW
    },
    Row { names: &["gnome-terminal"], options: opts("", &["--working-directory", "--title"]), ..ROW },
    Row { names: &["wezterm"], verbs: &["start"], options: opts("", &["--cwd", "--class"]), ..ROW },
    Row { names: &["zellij"], verbs: &["run"], options: opts("dn", &["--cwd", "--name"]), ..ROW },
    Row { names: &["cross-env", "env-cmd"], options: opts("fer", &[]), assigns: true, ..ROW },
    Row { names: &["cross-env-shell"], assigns: true, joined: true, ..ROW },
    Row { names: &["concurrently", "conc"], options: opts("nckmp", &["--names"]), joined: true, ..ROW },
    Row { names: &["dockerize"], options: opts("", &["-wait", "-timeout", "-template", "-stdout"]), ..ROW },
    Row { names: &["foreman", "honcho"], verbs: &["run"], options: opts("edf", &["--env"]), ..ROW },
    Row { names: &["nvm", "n"], verbs: &["exec", "run"], operands: 1, ..ROW },
    Row { names: &["fnm"], verbs: &["exec"], options: opts("", &["--using"]), ..ROW },
    Row { names: &["volta"], verbs: &["run"], options: opts("", &["--node", "--npm", "--yarn"]), ..ROW },
    Row { names: &["rbenv", "pyenv", "nodenv", "goenv", "jenv"], verbs: &["exec"], ..ROW },
    Row {
        names: &["pipx"],
        verbs: &["run"],
        options: opts("", &["--spec", "--python", "--pip-args"]),
        ..ROW
    },
    Row { names: &["sem"], options: opts("jST", &["--jobs", "--id", "--semaphore-name"]), ..ROW },
    // Package runners and environments.
    Row {
        names: &["npx", "bunx", "pnpx"],
        options: opts("pcw", &["--package", "--call", "--workspace", "--prefix"]),
        code: &["-c", "--call"],
        ..ROW
    },
    Row {
        names: &["npm", "pnpm"],
        verbs: &["exec", "x", "dlx"],
        options: opts("cwC", &["--package", "--call", "--workspace", "--prefix", "--filter", "--dir"]),
        code: &["-c", "--call"],
        ..ROW
    },
    Row { names: &["yarn"], verbs: &["exec", "dlx"], options: opts("p", &["--cwd", "--package"]), ..ROW },
    Row { names: &["bun"], verbs: &["x"], options: opts("", &["--cwd"]), ..ROW },
    Row {
        names: &["uv"],
        verbs: &["run"],
        options: opts(
            "pmP",
            &[
                "--with",
                "--extra",
                "--group",
                "--package",
                "--python",
                "--project",
                "--directory",
                "--env-file",
                "--with-requirements",
                "--with-editable",
                "--index",
                "--only-group",
                "--no-group",
            ],
        ),
        enter: &["--directory"],
        ..ROW
    },
    Row { names: &["uvx"], options: opts("p", &["--from", "--with", "--python"]), ..ROW },
    Row {
        names: &["poetry", "pipenv", "rye", "pdm", "hatch", "pixi"],
        verbs: &["run"],
        options: opts("CPe", &["--directory"]),
        ..ROW
    },
    Row { names: &["bundle", "bundler"], verbs: &["exec"], options: opts("", &["--gemfile"]), ..ROW },
    Row {
        names: &["conda", "mamba", "micromamba"],
        verbs: &["run"],
        options: opts("np", &["--name", "--prefix", "--cwd"]),
        enter: &["--cwd"],
        ..ROW
    },
    Row {
        names: &["mise", "rtx"],
        verbs: &["exec", "x"],
        options: opts("cCj", &["--command", "--cd"]),
        code: &["-c", "--command"],
        enter: &["-C", "--cd"],
        ..ROW
    },
    Row { names: &["asdf"], verbs: &["exec"], ..ROW },
    Row { names: &["rustup"], verbs: &["run"], operands: 1, ..ROW },
    Row { names: &["direnv"], verbs: &["exec"], operands: 1, ..ROW },
    Row {
        names: &["aws-vault"],
        verbs: &["exec"],
        options: opts("d", &["--duration", "--region"]),
        operands: 1,
        ..ROW
    },
    Row {
        names: &["op", "doppler", "infisical", "chamber", "dotenvx", "teller"],
        verbs: &["run", "exec"],
        options: opts("pcef", &["--env-file", "--project", "--config", "--env", "--command"]),
        code: &["--command"],
        ..ROW
    },
    Row { names: &["dotenv"], options: opts("ef", &["--file"]), verbs: &[], ..ROW },
    Row { names: &["devbox"], verbs: &["run"], options: opts("c", &["--config"]), ..ROW },
    Row {
        names: &["nix-shell"],
        options: opts("pIAE", &["--run", "--command", "--packages", "--arg", "--argstr"]),
        code: &["--run", "--command"],
        operands: ONLY_OPTIONS,
        ..ROW
    },
];

/// The row of a program, by its name and verb.
pub(crate) fn row(name: &str, words: &[String]) -> Option<&'static Row> {
    ROWS.iter().find(|row| {
        row.names.contains(&name)
            && (row.verbs.is_empty() || {
                let split = options::leading(words, 1, &row.options);
                words.get(split.operands).is_some_and(|verb| row.verbs.contains(&verb.as_str()))
            })
    })
}
