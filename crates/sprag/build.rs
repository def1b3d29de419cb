//! Lays the functions of a hook call side by side in the program. The linker follows the order of objects
//! otherwise, and the few hundred kilobytes a hook needs lie spread over all of it, a page fault for each
//! piece. `hot.txt` names functions as one compiler mangles them: with another it has less effect or none.
//!
//! And links in what starts a program in another folder without copying us first: the standard library takes it where it
//! is there, and asks for it so weakly that a static program is linked without.

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

/// Not every linker can: links a program that does nothing, and looks whether that went well.
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
