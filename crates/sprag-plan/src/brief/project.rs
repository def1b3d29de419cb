//! The second section: knowledge of this project and limits of the sandbox. It is the same for all sessions
//! of a stage unless the knowledge changed in between.

use sprag_base::text::{quoted, quoted_list};

use super::section::{SectionPart, fit, items, quote_agent};
use super::{BriefInput, BriefLearning, SEMI_STABLE};
use crate::spec::{Network, SandboxLevel, SandboxSettings};

/// Bytes of one knowledge file.
const FILE: usize = 4 * 1024;
/// Learnings that are shown with their details.
const DETAILED: usize = 5;
const SKILLS: usize = 30;

pub(crate) fn semi_stable(told: &BriefInput) -> String {
    let known = &told.known;
    let part = |rank, most, head, body| SectionPart { rank, most, head, body };
    let parts = vec![
        part(2, 7 * 1024, "## Knowledge files", knowledge(&known.knowledge)),
        part(1, 5 * 1024, "## Learnings", learnings(&known.learnings)),
        part(0, 2 * 1024, "## Sandbox", sandbox(&told.spec.sandbox, &known.sandbox)),
        part(3, 3 * 1024, "## Skills", skills(told)),
    ];
    fit("# Project\n", parts, SEMI_STABLE)
}

fn knowledge(files: &[(String, String)]) -> String {
    let told = files.iter().map(|(name, text)| {
        format!("From `{}`:\n\n{}", quoted(name), super::section::cut(&quote_agent(text), FILE))
    });
    told.collect::<Vec<_>>().join("\n\n")
}

fn learnings(all: &[BriefLearning]) -> String {
    let mut lines = Vec::new();
    for (at, it) in all.iter().enumerate() {
        let stale = if it.is_stale { " (its sources have changed since)" } else { "" };
        lines.push(quote_agent(&format!("{} [{}]{stale}", it.summary, quoted(it.id.as_str()))));
        if at < DETAILED {
            lines.push(quote_agent(&format!("  {}", it.detail)));
        }
    }
    if !lines.is_empty() {
        lines.push(
            "\nIf a learning helped, run `sprag ref ID`. For details run `sprag memory show ID`.".to_owned(),
        );
    }
    lines.join("\n")
}

/// Lists the limits of the plan and those of the machine.
fn sandbox(sandbox: &SandboxSettings, more: &[String]) -> String {
    let mut lines = Vec::new();
    lines.extend(match sandbox.confine {
        SandboxLevel::Off => None,
        SandboxLevel::Auto => {
            Some("A sandbox may be active: you can then write only in the worktree.".to_owned())
        }
        SandboxLevel::Required => Some("A sandbox is active: you can write only in the worktree.".to_owned()),
    });
    lines.extend(match &sandbox.network {
        Network::Open => None,
        Network::None => Some("The network is closed.".to_owned()),
        Network::Hosts(hosts) => {
            let hosts = quoted_list(hosts.iter().map(|host| quoted(host.as_str())));
            Some(format!("The network is closed except for {hosts}."))
        }
    });
    lines.extend(more.iter().cloned());
    items(lines.into_iter(), 20)
}

fn skills(told: &BriefInput) -> String {
    let line = |name: &str, about: &str| {
        quote_agent(&format!("{}: {}", quoted(name), sprag_base::text::one_line(about)))
    };
    let skills = told.known.skills.iter().take(SKILLS);
    skills.map(|skill| line(skill.name.as_str(), skill.description.as_str())).collect::<Vec<_>>().join("\n")
}
