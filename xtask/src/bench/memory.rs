//! The most memory a hook process ever had in use, as the kernel tells whoever waits for it.
//!
//! That number starts with what the process that started it had in use: until it runs its own
//! program, a new process shares ours. So a value is an upper bound and never too small, and the
//! empty program, measured alike, shows where the bound begins.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use anyhow::ensure;
use serde::Serialize;
use wait4::Wait4 as _;

use super::saved::Saved;
use super::scene::Scene;

pub const MOST: u64 = 16 * 1024 * 1024;

#[derive(Serialize)]
pub struct Row {
    pub case: String,
    pub peak_bytes: u64,
}

impl Row {
    pub fn breaks_contract(&self) -> bool {
        self.peak_bytes > MOST
    }
}

pub fn measure(empty: &Path, scenes: &mut [(Scene, Saved)]) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    if let Some((scene, _)) = scenes.first() {
        let peak_bytes = peak(&mut scene.command_of(empty, &[])?)?;
        rows.push(Row { case: "(empty static program)".to_owned(), peak_bytes });
    }
    for (scene, saved) in scenes {
        let peak_bytes = peak(&mut scene.command()?)?;
        saved.restore()?;
        rows.push(Row { case: scene.case.name.to_owned(), peak_bytes });
    }
    Ok(rows)
}

fn peak(command: &mut Command) -> anyhow::Result<u64> {
    let mut child = command.spawn().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    let used = child.wait4()?;
    ensure!(used.status.success(), "{:?} ended with {}", command.get_program(), used.status);
    Ok(used.rusage.maxrss)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_uses_memory_shows_it() {
        let of = |bytes: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", "x=$(head -c $0 /dev/zero | tr '\\0' x); test -n \"$x\"", bytes]);
            peak(&mut command).unwrap()
        };
        assert!(of("64000000") >= 64_000_000);
        assert!(of("64") < 64_000_000);
    }
}
