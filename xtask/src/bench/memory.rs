//! The peak memory of a hook process, as the kernel reports it to the waiting parent.
//!
//! The number starts with the memory of the parent, because a new process shares it until it runs its own
//! program. So a fresh, small copy of this program starts the hook. A value is an upper bound and never too
//! small. The empty program, measured in the same way, shows the minimum of the bound.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde::Serialize;
use wait4::Wait4 as _;

use super::options::PEAK_OF;
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
        let peak_bytes = peak_of(scene, empty, &[])?;
        rows.push(Row { case: "(empty static program)".to_owned(), peak_bytes });
    }
    for (scene, saved) in scenes {
        let peak_bytes = peak_of(scene, scene.program(), &["hook", "claude"])?;
        saved.restore()?;
        rows.push(Row { case: scene.case.name.to_owned(), peak_bytes });
    }
    Ok(rows)
}

/// Measures the peak memory of a program in the scene through a fresh copy of this program.
fn peak_of(scene: &Scene, program: &Path, arguments: &[&str]) -> anyhow::Result<u64> {
    let us = std::env::current_exe().context("cannot find this program")?;
    let program = program.display().to_string();
    let asked: Vec<&str> = ["bench", PEAK_OF, &program].iter().chain(arguments).copied().collect();
    let output = scene.command_of(&us, &asked)?.stdout(Stdio::piped()).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "cannot measure the peak memory of `{program}`");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().with_context(|| format!("`{}` is not a number of bytes", text.trim()))
}

/// Measures the peak memory of any command.
pub fn peak_of_command(command: &Command) -> anyhow::Result<u64> {
    let us = std::env::current_exe().context("cannot find this program")?;
    let mut asked = Command::new(us);
    asked.args(["bench", PEAK_OF]).arg(command.get_program()).args(command.get_args());
    let output = asked.env_clear().stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "cannot measure the peak memory of {:?}", command.get_program());
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().with_context(|| format!("`{}` is not a number of bytes", text.trim()))
}

/// Measures the peak memory of a command with its own folder and environment.
pub fn peak_in_place(command: &Command) -> anyhow::Result<u64> {
    let us = std::env::current_exe().context("cannot find this program")?;
    let mut asked = Command::new(us);
    asked.args(["bench", PEAK_OF]).arg(command.get_program()).args(command.get_args()).env_clear();
    asked.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(dir) = command.get_current_dir() {
        asked.current_dir(dir);
    }
    let output = asked.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "cannot measure the peak memory of {:?}", command.get_program());
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().with_context(|| format!("`{}` is not a number of bytes", text.trim()))
}

/// Runs a program with the input of this process and prints its peak memory in bytes. The fresh copy runs
/// this.
pub fn print_peak(command: &[String]) -> anyhow::Result<()> {
    let (program, arguments) = command.split_first().context("no program to run")?;
    println!("{}", peak(Command::new(program).args(arguments).stdout(Stdio::null()))?);
    Ok(())
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
