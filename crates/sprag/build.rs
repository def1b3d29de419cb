//! Places the functions of a hook call next to each other in the program. Otherwise they lie spread over the file, and each
//! piece costs a page fault. `hot.txt` names functions as one compiler and profile mangle them; others find fewer of them.
//!
//! Also links `posix_spawn_file_actions_addchdir_np`. The standard library uses it only if a static program contains it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=hot.txt");
    let hot = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("hot.txt");
    let order =
        [format!("-Wl,--symbol-ordering-file={}", hot.display()), "-Wl,--no-warn-symbol-ordering".into()];
    if variable("PROFILE") == "release" && is_understood(&order) {
        pass_on(&order);
    }
    let spawn = ["-Wl,--undefined=posix_spawn_file_actions_addchdir_np".to_owned()];
    if variable("CARGO_CFG_TARGET_OS") == "linux" && is_understood(&spawn) {
        pass_on(&spawn);
    }
}

fn pass_on(arguments: &[String]) {
    for argument in arguments.iter() {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}

/// Reports whether the linker knows these arguments, by linking an empty program.
#[expect(clippy::disallowed_methods, reason = "a build has no hook that could hang")]
fn is_understood(arguments: &[String]) -> bool {
    let out = PathBuf::from(variable("OUT_DIR"));
    let source = out.join("nothing.rs");
    if std::fs::write(&source, "fn main() {}\n").is_err() {
        return false;
    }
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.arg("--target").arg(variable("TARGET")).arg("-o").arg(out.join("nothing")).arg(Path::new(&source));
    rustc.args(variable("CARGO_ENCODED_RUSTFLAGS").split('\x1f').filter(|flag| !flag.is_empty()));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    rustc.args(arguments.iter().map(|argument| format!("-Clink-arg={argument}")));
    rustc.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
