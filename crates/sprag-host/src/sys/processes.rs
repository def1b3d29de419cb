//! Reads the process table: parents, children and environment of processes.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use sprag_base::result::Discard as _;
use sprag_govern::session_facts::Process;

/// Returns a process and the id of its parent.
#[cfg(target_os = "linux")]
pub fn find_process(pid: u32) -> Option<(Process, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name is in brackets and may itself contain brackets.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let start = fields.get(19)?.parse().ok()?;
    Some((Process { pid, start }, fields.get(1)?.parse().ok()?))
}

#[cfg(not(target_os = "linux"))]
pub fn find_process(pid: u32) -> Option<(Process, u32)> {
    use crate::sys::exec;
    use crate::sys::exec::ProcessSpec;
    use std::ffi::OsStr;
    let pid_text = pid.to_string();
    let args = [OsStr::new("-o"), OsStr::new("ppid=,lstart="), OsStr::new("-p"), OsStr::new(&pid_text)];
    let ran = exec::run(&ProcessSpec {
        env: &[("LC_ALL", OsStr::new("C"))],
        cap: 4096,
        ..ProcessSpec::new(OsStr::new("ps"), &args, std::time::Duration::from_secs(1))
    })
    .ok()?;
    let text = String::from_utf8(ran.stdout).ok()?;
    let (parent, started) = text.trim().split_once(' ')?;
    // The value is only compared with earlier results of this function.
    let start = started.bytes().fold(0u64, |sum, byte| sum.wrapping_mul(131).wrapping_add(u64::from(byte)));
    Some((Process { pid, start }, parent.parse().ok()?))
}

pub fn this_process() -> Option<Process> {
    find_process(std::process::id()).map(|(process, _)| process)
}

pub fn is_alive(process: Process) -> bool {
    find_process(process.pid).is_some_and(|(now, _)| now == process)
}

/// Returns a variable from the start of a process, which its programs cannot change. `None`: the process is
/// gone or not readable.
pub fn variable_of(process: Process, name: &str) -> Option<OsString> {
    let (now, _) = find_process(process.pid)?;
    let all = fs::read(format!("/proc/{}/environ", process.pid)).ok().filter(|_| now == process)?;
    let of_name = |entry: &[u8]| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec);
    all.split(|&byte| byte == 0).find_map(of_name).map(OsString::from_vec)
}

/// Returns all descendants of a process.
pub fn below(pid: u32) -> Vec<Process> {
    let mut children: HashMap<u32, Vec<Process>> = HashMap::new();
    for (process, parent) in all() {
        children.entry(parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut open = vec![pid];
    while let Some(next) = open.pop() {
        let of = children.remove(&next).unwrap_or_default();
        open.extend(of.iter().map(|child| child.pid));
        found.extend(of);
    }
    found
}

/// Returns the milliseconds of processor time that all descendants of a process used, including ended ones.
pub fn cpu_below(pid: u32) -> u64 {
    let times = |pid: u32| -> Option<[u64; 4]> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let time = |at: usize| fields.get(at)?.parse().ok();
        // User and system time of the process, and of its awaited children.
        Some([time(11)?, time(12)?, time(13)?, time(14)?])
    };
    let [_, _, user, system] = times(pid).unwrap_or_default();
    let below = below(pid).into_iter().filter_map(|process| times(process.pid)).flatten();
    // The kernel reports hundredths of a second.
    below.chain([user, system]).fold(0, u64::saturating_add).saturating_mul(10)
}

/// Returns all processes that were started with this value of a variable.
pub fn with_variable(name: &str, value: &str) -> Vec<Process> {
    let has_it = |process: &Process| variable_of(*process, name).is_some_and(|found| found == value);
    all().map(|(process, _)| process).filter(has_it).collect()
}

/// Returns all processes that were started with a value that begins like this.
pub fn whose_variable_begins(name: &str, start: &str) -> Vec<Process> {
    let has_it = |process: &Process| {
        variable_of(*process, name)
            .is_some_and(|found| found.as_encoded_bytes().starts_with(start.as_bytes()))
    };
    all().map(|(process, _)| process).filter(has_it).collect()
}

/// Returns the name of a process.
pub fn name_of(process: Process) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{}/comm", process.pid)).ok()?;
    is_alive(process).then(|| name.trim_end().to_owned())
}

fn all() -> impl Iterator<Item = (Process, u32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| find_process(entry.file_name().to_str()?.parse().ok()?))
}

/// Sends a signal to a process, and never to a later one with the same id. Ignores an ended process.
pub fn signal(process: Process, signal: Signal) {
    let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw);
    if let Some(handle) = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
        && is_alive(process)
    {
        pidfd_send_signal(handle, signal).discard("an ended process needs no signal");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn what_was_computed_below_a_process_is_counted() {
        let us = std::process::id();
        let before = cpu_below(us);
        let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let args = [std::ffi::OsStr::new("-c"), std::ffi::OsStr::new(spin)];
        crate::sys::exec::run(&crate::sys::exec::ProcessSpec {
            cap: 10,
            ..crate::sys::exec::ProcessSpec::new(
                std::ffi::OsStr::new("sh"),
                &args,
                std::time::Duration::from_secs(60),
            )
        })
        .unwrap();
        assert!(cpu_below(us) > before);
    }
}
