//! The table of carriers: the options and operands of each.

use crate::paths::options::{self, ProgramOptions};

/// One carrier.
#[derive(Clone, Copy)]
pub(super) struct CarrierRow {
    names: &'static [&'static str],
    /// One of these words must come first (`uv run`); any word if empty.
    pub(super) verbs: &'static [&'static str],
    pub(super) options: ProgramOptions,
    /// The number of words between its options and the inner command: `timeout 5 …`.
    pub(super) operands: usize,
    /// Whether `NAME=value` may precede the inner command.
    pub(super) assigns: bool,
    /// Options whose value is shell text.
    pub(super) code: &'static [&'static str],
    /// Options with which the carrier runs nothing.
    pub(super) inert: &'static [&'static str],
    /// Options whose value is the directory of the inner command.
    pub(super) enter: &'static [&'static str],
    /// Whether the inner words are joined and passed to a shell.
    pub(super) joined: bool,
}

/// More operands than any command has: only the options contain commands.
const ONLY_OPTIONS: usize = 99;

const ROW: CarrierRow = CarrierRow {
    names: &[],
    verbs: &[],
    options: ProgramOptions { letters: "", long: &[] },
    operands: 0,
    assigns: false,
    code: &[],
    inert: &[],
    enter: &[],
    joined: false,
};

pub(crate) const fn opts(letters: &'static str, long: &'static [&'static str]) -> ProgramOptions {
    ProgramOptions { letters, long }
}

const ROWS: &[CarrierRow] = &[
    CarrierRow {
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
    CarrierRow { names: &["doas"], options: opts("Cu", &[]), assigns: true, inert: &["-L"], ..ROW },
    CarrierRow { names: &["pkexec", "gksudo", "gksu"], options: opts("u", &["--user"]), ..ROW },
    CarrierRow {
        names: &["runuser"],
        options: opts(
            "ugGcsw",
            &["--user", "--group", "--supp-group", "--command", "--shell", "--session-command"],
        ),
        code: &["-c", "--command", "--session-command"],
        ..ROW
    },
    CarrierRow { names: &["nice"], options: opts("n", &["--adjustment"]), ..ROW },
    CarrierRow {
        names: &["ionice"],
        options: opts("cnpPu", &["--class", "--classdata", "--pid", "--pgid", "--uid"]),
        inert: &["-p", "--pid", "-P", "-u"],
        ..ROW
    },
    CarrierRow {
        names: &["nohup", "setsid", "builtin", "busybox", "toybox", "catchsegv", "unbuffer", "torsocks"],
        ..ROW
    },
    CarrierRow {
        names: &["timeout", "gtimeout"],
        options: opts("ks", &["--kill-after", "--signal"]),
        operands: 1,
        ..ROW
    },
    CarrierRow { names: &["time", "gtime"], options: opts("fo", &["--format", "--output"]), ..ROW },
    CarrierRow {
        names: &["stdbuf", "gstdbuf"],
        options: opts("ioe", &["--input", "--output", "--error"]),
        ..ROW
    },
    CarrierRow {
        names: &["unshare"],
        options: opts(
            "GRSw",
            &["--setgid", "--root", "--setuid", "--wd", "--map-user", "--map-group", "--propagation"],
        ),
        enter: &["-w", "--wd"],
        ..ROW
    },
    CarrierRow { names: &["nsenter"], options: opts("tSGr", &["--target", "--setuid", "--setgid"]), ..ROW },
    CarrierRow { names: &["chroot"], options: opts("", &["--userspec", "--groups"]), operands: 1, ..ROW },
    CarrierRow {
        names: &["flock"],
        options: opts("wEc", &["--timeout", "--wait", "--conflict-exit-code", "--command"]),
        operands: 1,
        code: &["-c", "--command"],
        ..ROW
    },
    CarrierRow {
        names: &["strace", "ltrace", "dtruss"],
        options: opts("aAbeEIonOpPsSuUX", &["--trace", "--output"]),
        ..ROW
    },
    CarrierRow {
        names: &["valgrind", "heaptrack", "perf-trace", "rlwrap", "proxychains", "proxychains4", "xvfb-run"],
        ..ROW
    },
    CarrierRow {
        names: &["perf"],
        verbs: &["stat", "record", "trace"],
        options: opts("eopF", &["--output"]),
        ..ROW
    },
    CarrierRow {
        names: &["script"],
        options: opts("cEIoBOTm", &["--command"]),
        operands: 1,
        code: &["-c", "--command"],
        ..ROW
    },
    CarrierRow {
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
    CarrierRow {
        names: &["systemd-inhibit"],
        options: opts("", &["--what", "--who", "--why", "--mode"]),
        ..ROW
    },
    CarrierRow { names: &["command"], inert: &["-v", "-V"], ..ROW },
    CarrierRow { names: &["exec"], options: opts("a", &[]), ..ROW },
    CarrierRow {
        names: &["taskset"],
        options: opts("p", &["--pid"]),
        operands: 1,
        inert: &["-p", "--pid"],
        ..ROW
    },
    CarrierRow { names: &["chrt"], options: opts("TPD", &[]), operands: 1, inert: &["-p", "--pid"], ..ROW },
    CarrierRow { names: &["numactl"], options: opts("NmCip", &["--cpunodebind", "--membind"]), ..ROW },
    CarrierRow { names: &["setpriv"], options: opts("", &["--reuid", "--regid", "--groups"]), ..ROW },
    CarrierRow { names: &["prlimit"], inert: &["-p", "--pid"], ..ROW },
    CarrierRow { names: &["caffeinate"], options: opts("tw", &[]), ..ROW },
    CarrierRow { names: &["arch"], options: opts("", &["-arch"]), ..ROW },
    CarrierRow { names: &["dbus-run-session", "dbus-launch", "firejail"], ..ROW },
    CarrierRow { names: &["sg"], options: opts("c", &[]), operands: 1, code: &["-c"], joined: true, ..ROW },
    CarrierRow {
        names: &["watchexec"],
        options: opts("wefisd", &["--watch", "--exts", "--filter", "--ignore"]),
        joined: true,
        ..ROW
    },
    CarrierRow { names: &["entr"], options: opts("s", &[]), code: &["-s"], ..ROW },
    CarrierRow {
        names: &["nodemon"],
        options: opts("xwe", &["--exec", "--watch", "--ext"]),
        code: &["-x", "--exec"],
        operands: ONLY_OPTIONS,
        ..ROW
    },
    CarrierRow {
        names: &["hyperfine"],
        options: opts(
            "wmMrpcnSu",
            &["--warmup", "--runs", "--prepare", "--cleanup", "--setup", "--export-json"],
        ),
        code: &["-p", "--prepare", "-c", "--cleanup", "--setup", "-s"],
        joined: true,
        ..ROW
    },
    CarrierRow {
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
    CarrierRow { names: &["gosu", "su-exec", "s6-setuidgid", "setuidgid", "setarch"], operands: 1, ..ROW },
    CarrierRow {
        names: &["proot"],
        options: opts(
            "rbqwvRSk",
            &["--rootfs", "--bind", "--mount", "--qemu", "--pwd", "--cwd", "--kernel-release"],
        ),
        enter: &["-w", "--pwd", "--cwd"],
        ..ROW
    },
    CarrierRow {
        names: &["systemd-nspawn"],
        options: opts("DiMuEp", &["--directory", "--image", "--machine", "--user", "--setenv", "--bind"]),
        ..ROW
    },
    CarrierRow { names: &["schroot"], options: opts("cdpu", &["--chroot", "--directory", "--user"]), ..ROW },
    CarrierRow { names: &["arch-chroot"], options: opts("u", &[]), operands: 1, ..ROW },
    CarrierRow {
        names: &["runcon"],
        options: opts("turl", &["--type", "--user", "--role", "--range"]),
        ..ROW
    },
    CarrierRow { names: &["choom"], options: opts("np", &["--adjust", "--pid"]), ..ROW },
    CarrierRow { names: &["cgexec"], options: opts("g", &[]), ..ROW },
    CarrierRow { names: &["aa-exec"], options: opts("pn", &["--profile", "--namespace"]), ..ROW },
    CarrierRow { names: &["chpst", "softlimit"], options: opts("uUebCndlLPmotpfcra", &[]), ..ROW },
    CarrierRow { names: &["schedtool"], options: opts("nap", &[]), ..ROW },
    CarrierRow { names: &["trickle"], options: opts("duwtls", &[]), ..ROW },
    CarrierRow { names: &["faketime", "datefudge"], options: opts("f", &[]), operands: 1, ..ROW },
    CarrierRow {
        names: &["cpulimit"],
        options: opts("lpePcm", &["--limit", "--pid", "--exe", "--path"]),
        ..ROW
    },
    CarrierRow { names: &["sandbox-exec"], options: opts("pfnD", &[]), ..ROW },
    CarrierRow { names: &["rr"], verbs: &["record"], options: opts("n", &[]), ..ROW },
    CarrierRow { names: &["flatpak-spawn"], options: opts("", &["--directory", "--env"]), ..ROW },
    CarrierRow {
        names: &["toolbox"],
        verbs: &["run"],
        options: opts("cdr", &["--container", "--distro", "--release"]),
        ..ROW
    },
    CarrierRow { names: &["dtach", "abduco"], options: opts("ncAaeE", &[]), ..ROW },
    CarrierRow { names: &["sshpass"], options: opts("pfdP", &[]), ..ROW },
    CarrierRow {
        names: &["xterm", "rxvt", "urxvt", "konsole", "alacritty", "st", "terminator", "xfce4-terminal"],
        options: opts("Tfgbn", &["-geometry", "-title", "--command", "--working-directory"]),
        code: &["--command"],
        joined: true,
        ..ROW
    },
    CarrierRow { names: &["gnome-terminal"], options: opts("", &["--working-directory", "--title"]), ..ROW },
    CarrierRow { names: &["wezterm"], verbs: &["start"], options: opts("", &["--cwd", "--class"]), ..ROW },
    CarrierRow { names: &["zellij"], verbs: &["run"], options: opts("dn", &["--cwd", "--name"]), ..ROW },
    CarrierRow { names: &["cross-env", "env-cmd"], options: opts("fer", &[]), assigns: true, ..ROW },
    CarrierRow { names: &["cross-env-shell"], assigns: true, joined: true, ..ROW },
    CarrierRow {
        names: &["concurrently", "conc"],
        options: opts("nckmp", &["--names"]),
        joined: true,
        ..ROW
    },
    CarrierRow {
        names: &["dockerize"],
        options: opts("", &["-wait", "-timeout", "-template", "-stdout"]),
        ..ROW
    },
    CarrierRow { names: &["foreman", "honcho"], verbs: &["run"], options: opts("edf", &["--env"]), ..ROW },
    CarrierRow { names: &["nvm", "n"], verbs: &["exec", "run"], operands: 1, ..ROW },
    CarrierRow { names: &["fnm"], verbs: &["exec"], options: opts("", &["--using"]), ..ROW },
    CarrierRow {
        names: &["volta"],
        verbs: &["run"],
        options: opts("", &["--node", "--npm", "--yarn"]),
        ..ROW
    },
    CarrierRow { names: &["rbenv", "pyenv", "nodenv", "goenv", "jenv"], verbs: &["exec"], ..ROW },
    CarrierRow {
        names: &["pipx"],
        verbs: &["run"],
        options: opts("", &["--spec", "--python", "--pip-args"]),
        ..ROW
    },
    CarrierRow { names: &["sem"], options: opts("jST", &["--jobs", "--id", "--semaphore-name"]), ..ROW },
    // Package runners and environments.
    CarrierRow {
        names: &["npx", "bunx", "pnpx"],
        options: opts("pcw", &["--package", "--call", "--workspace", "--prefix"]),
        code: &["-c", "--call"],
        ..ROW
    },
    CarrierRow {
        names: &["npm", "pnpm"],
        verbs: &["exec", "x", "dlx"],
        options: opts("cwC", &["--package", "--call", "--workspace", "--prefix", "--filter", "--dir"]),
        code: &["-c", "--call"],
        ..ROW
    },
    CarrierRow {
        names: &["yarn"],
        verbs: &["exec", "dlx"],
        options: opts("p", &["--cwd", "--package"]),
        ..ROW
    },
    CarrierRow { names: &["bun"], verbs: &["x"], options: opts("", &["--cwd"]), ..ROW },
    CarrierRow {
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
    CarrierRow { names: &["uvx"], options: opts("p", &["--from", "--with", "--python"]), ..ROW },
    CarrierRow {
        names: &["poetry", "pipenv", "rye", "pdm", "hatch", "pixi"],
        verbs: &["run"],
        options: opts("CPe", &["--directory"]),
        ..ROW
    },
    CarrierRow { names: &["bundle", "bundler"], verbs: &["exec"], options: opts("", &["--gemfile"]), ..ROW },
    CarrierRow {
        names: &["conda", "mamba", "micromamba"],
        verbs: &["run"],
        options: opts("np", &["--name", "--prefix", "--cwd"]),
        enter: &["--cwd"],
        ..ROW
    },
    CarrierRow {
        names: &["mise", "rtx"],
        verbs: &["exec", "x"],
        options: opts("cCj", &["--command", "--cd"]),
        code: &["-c", "--command"],
        enter: &["-C", "--cd"],
        ..ROW
    },
    CarrierRow { names: &["asdf"], verbs: &["exec"], ..ROW },
    CarrierRow { names: &["rustup"], verbs: &["run"], operands: 1, ..ROW },
    CarrierRow { names: &["direnv"], verbs: &["exec"], operands: 1, ..ROW },
    CarrierRow {
        names: &["aws-vault"],
        verbs: &["exec"],
        options: opts("d", &["--duration", "--region"]),
        operands: 1,
        ..ROW
    },
    CarrierRow {
        names: &["op", "doppler", "infisical", "chamber", "dotenvx", "teller"],
        verbs: &["run", "exec"],
        options: opts("pcef", &["--env-file", "--project", "--config", "--env", "--command"]),
        code: &["--command"],
        ..ROW
    },
    CarrierRow { names: &["dotenv"], options: opts("ef", &["--file"]), verbs: &[], ..ROW },
    CarrierRow { names: &["devbox"], verbs: &["run"], options: opts("c", &["--config"]), ..ROW },
    CarrierRow {
        names: &["nix-shell"],
        options: opts("pIAE", &["--run", "--command", "--packages", "--arg", "--argstr"]),
        code: &["--run", "--command"],
        operands: ONLY_OPTIONS,
        ..ROW
    },
];

/// Returns the row of a program, by its name and verb.
pub(crate) fn row(name: &str, words: &[String]) -> Option<&'static CarrierRow> {
    ROWS.iter().find(|row| {
        row.names.contains(&name)
            && (row.verbs.is_empty() || {
                let split = options::leading(words, 1, &row.options);
                words.get(split.operands).is_some_and(|verb| row.verbs.contains(&verb.as_str()))
            })
    })
}
