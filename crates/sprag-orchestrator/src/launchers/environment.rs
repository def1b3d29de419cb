//! The environment variables that an agent gets. All others are dropped, because they may be secrets.

use sprag_host::sys::env::Env;

use super::Launcher;

/// Passed to every agent: paths, locale, network settings, and `SPRAG_HOME` for the hooks.
const EVERYBODY: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_*",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "XDG_*",
    "SPRAG_HOME",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    // Without toolchain paths, a build that works for the user fails for agents and checks.
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "JAVA_HOME",
    "GOPATH",
    "GOROOT",
    "GOMODCACHE",
    "NVM_DIR",
    "VOLTA_HOME",
    "PNPM_HOME",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "VIRTUAL_ENV",
    "CI",
];

/// Returns the variables for a launcher; `None` is a program that is not a known client.
pub fn passed_on(launcher: Option<&Launcher>, env: &Env) -> Vec<(String, String)> {
    let own = launcher.map_or(&[][..], |launcher| launcher.env);
    let mut found = Vec::new();
    for name in EVERYBODY.iter().chain(own) {
        match name.strip_suffix('*') {
            Some(prefix) => found.extend(env.starting_with(prefix)),
            None => found.extend(env.text(name).map(|value| ((*name).to_owned(), value))),
        }
    }
    found.sort();
    found.dedup_by(|later, first| later.0 == first.0);
    found
}
