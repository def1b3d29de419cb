//! What an agent sees of our environment: a list, and nothing that is not on it. Whatever else is set here may be a
//! secret that no agent needs.

use sprag_host::sys::env::Env;

use super::Launcher;

/// For everybody: where things are, how to reach the network, and our own places, so that hooks find them.
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
    // Where toolchains are: without them a build that works for the user works for no agent and no check.
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

/// `None`: a program that is no client of ours gets what everybody gets.
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
