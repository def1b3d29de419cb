//! Checks that rooms of a crate import lower rooms only. A table gives the order of rooms; crates without a
//! row must have no cycle between their rooms. Test code is exempt.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::modules::{Meaning, ModulePath, Modules};
use crate::tidy::source::Place;
use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};

pub const CHECK: Check =
    Check { name: "layers", about: "rooms of a crate import lower rooms only, without a cycle", find };

/// The rooms of a crate from low to high. Rooms in the same string may import each other: they form one
/// recursive algorithm.
const ORDER: &[(&str, &[&str])] = &[
    (
        "sprag_base",
        &[
            "result",
            "text",
            "time",
            "digest",
            "sha256",
            "base64",
            "glob",
            "path",
            "unified_diff",
            "document",
            "ids",
            "redact",
            "settings",
            "record",
            "record_kinds",
        ],
    ),
    ("sprag_shell", &["parse", "expand paths languages carriers eval"]),
    ("sprag_policy", &["call", "pattern", "rule", "prefilter", "rule_set", "packs", "examples", "import"]),
    ("sprag_intent", &["ownership", "ignore", "records", "status", "set", "served", "context"]),
    ("sprag_trace", &["records", "blocks", "finding", "chain", "uncommitted", "anchor", "export"]),
    (
        "sprag_memory",
        &[
            "settings",
            "learning",
            // The list of records names the bodies of these rooms, and their folds read it.
            "records destination document episode usage learnings answers lesson markdown recall lifecycle mirror backfill",
            "write_gate",
            "stats",
            "shared_log",
            "import",
            "index",
        ],
    ),
    (
        "sprag_plan",
        &[
            "ids",
            "settings",
            "spec",
            "agent",
            "sandbox",
            "merge",
            "stage",
            "accept",
            // Sentences about a run read it, and the fold of a run writes sentences into its states.
            "run sentences",
            "reconcile",
            "handoff",
            "notes",
            "brief",
            "view",
            "otel",
        ],
    ),
    (
        "sprag_govern",
        &[
            "reason",
            "obligation",
            "verdict",
            "report",
            "event",
            "event_records",
            "breaker",
            "approval",
            "judge",
            "trackers",
            "session_facts",
            "facts",
            "gates",
            "session",
            "settings",
            "decide",
            "history",
        ],
    ),
    (
        "sprag_host",
        &[
            "sys",
            "git",
            "store",
            "intent_files",
            "clients",
            "config",
            "world",
            "purpose",
            "worktree",
            "checks",
            "trackers",
            "intents",
            "trace",
            "memory",
            "answers",
            "pipeline",
            "report",
            "upkeep",
            "mcp",
            "setup",
        ],
    ),
    (
        "sprag_orchestrator",
        &[
            "layout",
            "daemon_log",
            "lock",
            "session_dir",
            "coordination",
            "run_log",
            "plan_file",
            "launchers",
            "sandbox",
            "agent",
            "stage_env",
            "stage_session",
            "observe",
            "jobs",
            "view",
            "socket",
            "daemon",
        ],
    ),
    ("sprag", &["input", "hook", "output failure advice commands"]),
];

/// The imports of one room by another: the two rooms, and the first place.
type Edges = BTreeMap<(String, String), (String, usize)>;

fn find(tree: &Tree) -> Vec<Finding> {
    let modules = tree.modules();
    let mut findings = Vec::new();
    for (root, edges) in edges(modules) {
        match ORDER.iter().find(|(name, _)| *name == root) {
            Some((_, order)) => findings.extend(against(&edges, order)),
            None => findings.extend(cycles(&root, &edges)),
        }
    }
    findings
}

fn edges(modules: &Modules) -> BTreeMap<String, Edges> {
    let mut found: BTreeMap<String, Edges> = BTreeMap::new();
    for (path, module) in modules.modules.iter().filter(|(path, module)| is_checked(path) && !module.is_test)
    {
        let source = &modules.sources[module.file];
        let mut targets: Vec<(ModulePath, usize)> = Vec::new();
        for import in &module.imports {
            if source.tokens[import.statement.start].place == Place::Test {
                continue;
            }
            let resolved = modules.resolve_import(path, import, &mut BTreeSet::new());
            targets.extend(resolved.steps.iter().filter_map(room_of).map(|target| (target, import.line)));
        }
        for (target, line) in targets {
            note(&mut found, path, &target, &source.path, line);
        }
    }
    for (file, source) in modules.sources.iter().enumerate() {
        for used in modules.paths_of(file) {
            let first = used.names[0];
            let token = &source.tokens[first];
            let is_test = token.place == Place::Test || modules.modules[&used.module].is_test;
            if is_test || !is_checked(&used.module) {
                continue;
            }
            let segments: Vec<String> = used.names.iter().map(|at| source.tokens[*at].text.clone()).collect();
            let resolved = modules.resolve(&used.module, first, &segments);
            for target in resolved.steps.iter().filter_map(room_of) {
                note(&mut found, &used.module, &target, &source.path, token.line);
            }
        }
    }
    found
}

fn is_checked(path: &ModulePath) -> bool {
    path.0[0].starts_with("sprag") && !path.0[0].contains('/')
}

fn room_of(meaning: &Meaning) -> Option<ModulePath> {
    match meaning {
        Meaning::Module(path) | Meaning::Item(path, _) => Some(path.clone()),
        Meaning::Variant => None,
    }
}

fn note(
    found: &mut BTreeMap<String, Edges>,
    user: &ModulePath,
    target: &ModulePath,
    file: &str,
    line: usize,
) {
    // The root lists and re-exports its rooms, and its own items are the lowest.
    let (Some(from), Some(to)) = (user.room(), target.room()) else { return };
    if user.root() == target.root() && from != to {
        let edges = found.entry(user.0[0].clone()).or_default();
        edges.entry((from.to_owned(), to.to_owned())).or_insert_with(|| (file.to_owned(), line));
    }
}

fn against(edges: &Edges, order: &[&str]) -> Vec<Finding> {
    let level = |room: &str| order.iter().position(|names| names.split(' ').any(|name| name == room));
    let mut findings = Vec::new();
    for ((from, to), (file, line)) in edges {
        let what = match (level(from), level(to)) {
            (None, _) => format!("room `{from}` is missing in the order of rooms"),
            (_, None) => format!("room `{to}` is missing in the order of rooms"),
            (Some(from_level), Some(to_level)) if to_level > from_level => {
                format!("room `{from}` imports the higher room `{to}`")
            }
            _ => continue,
        };
        findings.push(Finding::new(file, *line, what));
    }
    findings
}

/// Finds edges between rooms that reach each other.
fn cycles(root: &str, edges: &Edges) -> Vec<Finding> {
    let reaches = |from: &str, to: &str| {
        let mut seen = BTreeSet::from([from]);
        let mut open = vec![from];
        while let Some(room) = open.pop() {
            for (_, next) in edges.keys().filter(|(start, _)| start == room) {
                if next == to {
                    return true;
                }
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    };
    let is_cyclic = |edge: &&(String, String)| reaches(&edge.1, &edge.0);
    edges
        .keys()
        .filter(is_cyclic)
        .map(|edge| {
            let (file, line) = &edges[edge];
            let what =
                format!("rooms `{}` and `{}` of `{root}` import each other in a cycle", edge.0, edge.1);
            Finding::new(file, *line, what)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_of_rooms_is_found() {
        let tree = Tree::of(&[
            ("crates/sprag-x/src/lib.rs", "pub mod a;\npub mod b;\npub mod c;\n"),
            ("crates/sprag-x/src/a.rs", "use crate::b::B;\npub struct A;\n"),
            ("crates/sprag-x/src/b.rs", "pub struct B;\nfn f() { crate::c::g(); }\n"),
            (
                "crates/sprag-x/src/c.rs",
                "pub fn g() {}\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
            ),
        ]);
        assert_eq!(find(&tree), []);
        let tree = Tree::of(&[
            ("crates/sprag-x/src/lib.rs", "pub mod a;\npub mod b;\n"),
            ("crates/sprag-x/src/a.rs", "use crate::b::B;\npub struct A;\n"),
            ("crates/sprag-x/src/b.rs", "pub struct B;\nfn f(_: crate::a::A) {}\n"),
        ]);
        let found: Vec<String> = find(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "crates/sprag-x/src/a.rs:1: rooms `a` and `b` of `sprag_x` import each other in a cycle",
                "crates/sprag-x/src/b.rs:2: rooms `b` and `a` of `sprag_x` import each other in a cycle",
            ]
        );
    }

    #[test]
    fn an_import_against_the_order_is_found() {
        let edges = Edges::from([
            (("a".to_owned(), "b".to_owned()), ("a.rs".to_owned(), 1)),
            (("b".to_owned(), "c".to_owned()), ("b.rs".to_owned(), 2)),
            (("c".to_owned(), "d".to_owned()), ("c.rs".to_owned(), 3)),
            (("d".to_owned(), "x".to_owned()), ("d.rs".to_owned(), 4)),
        ]);
        let found: Vec<String> =
            against(&edges, &["b", "a", "c d"]).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "b.rs:2: room `b` imports the higher room `c`",
                "d.rs:4: room `x` is missing in the order of rooms",
            ]
        );
    }
}
