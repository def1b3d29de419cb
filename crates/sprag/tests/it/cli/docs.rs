//! Documents that the tests generate from the code. `SPRAG_BLESS=1 cargo test` writes them again.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use sprag_govern::event::EventKind;
use sprag_govern::gates::{self, OnFault};
use sprag_host::clients::{CLIENTS, Client};
use sprag_host::config::sections;
use sprag_plan::spec::fields::{self, Field};
use sprag_plan::spec::problem::{ProblemCode, Severity};

use crate::support::Sandbox;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub(crate) fn is_up_to_date(path: &str, text: &str) {
    let path = root().join(path);
    if std::env::var_os("SPRAG_BLESS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == text, "{} is out of date; SPRAG_BLESS=1 cargo test --package sprag", path.display());
}

#[test]
fn the_reference_of_the_configuration() {
    let mut text = "# Configuration\n\nThe tests generate this page from the code. `sprag config show --defaults` prints the same text.\n\nA higher layer overrides a lower one. Layers, lowest first: these defaults, the user's `config.toml`, the project's\n`.sprag/config.toml`, `.sprag/local.toml`, and the environment (`SPRAG_CIRCUIT_BREAKER__MAX_BLOCKS=2`).\n`sprag config show` prints the layer of each value.\n\n```toml\n".to_owned();
    text.push_str(&sprag_host::config::defaults());
    text.push_str("```\n\n## Settings of an untrusted project\n\nA project file can tighten settings before you trust it with `sprag trust`.\n\n| key | allowed before trust |\n|---|---|\n");
    for section in sections() {
        for key in section.keys {
            text.push_str(&format!("| `{}.{}` | {} |\n", section.name, key.name, key.tighten.sentence()));
        }
    }
    is_up_to_date("docs/reference/configuration.md", &text);
}

#[test]
fn the_reference_of_the_commands() {
    let sandbox = Sandbox::new();
    let mut text = "# Commands\n\nThe tests generate this page from the output of `--help`.\n\n| exit code | meaning |\n|---|---|\n| 0 | done; `sprag hook` always exits with 0 |\n| 1 | the answer is no: refused, failed, not found, on hold |\n| 2 | wrong usage or configuration; Sprag did nothing |\n| 3 | done, but some input lines were bad |\n| 4 | Sprag failed: disk, lock or child process |\n| 128 + N | signal N stopped `sprag run --foreground`, for example 130 after Ctrl-C (signal 2) |\n".to_owned();
    describe(&sandbox, &[], &mut text);
    is_up_to_date("docs/reference/commands.md", &text);
}

fn describe(sandbox: &Sandbox, path: &[&str], text: &mut String) {
    let mut args = path.to_vec();
    args.push("--help");
    let ran = sandbox.run(&args);
    assert_eq!(ran.code, 0);
    let name = std::iter::once("sprag").chain(path.iter().copied()).collect::<Vec<_>>().join(" ");
    text.push_str(&format!("\n## {name}\n\n```text\n{}\n```\n", ran.stdout.trim_end()));
    if path.len() == 2 {
        return;
    }
    let names = if path.is_empty() {
        [listed(&ran.stdout), listed(&sandbox.run(&["help", "agents"]).stdout), vec!["on".to_owned()]]
            .concat()
    } else {
        listed(ran.stdout.split("\nCommands:\n").nth(1).unwrap_or_default())
    };
    for name in names {
        let deeper: Vec<&str> = path.iter().copied().chain([name.as_str()]).collect();
        describe(sandbox, &deeper, text);
    }
}

/// Returns the commands that a help lists, up to its arguments and options.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().take_while(|line| !matches!(*line, "Options:" | "Arguments:"));
    let rows = lines.filter_map(|line| line.strip_prefix("  ")).filter(|row| !row.starts_with(' '));
    let names = rows.filter_map(|row| row.split_whitespace().next());
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_lowercase())).map(str::to_owned).collect()
}

#[test]
fn the_table_of_the_clients() {
    let mut text = "# Clients\n\nThe tests generate this page from the code. *tested*: the tests saw it on the real client, in this version. *read*: found in the\nshipped program. *unusable*: works only with a feature that Sprag never uses.\n\n".to_owned();
    let cells = |cell: &dyn Fn(&Client) -> String| {
        CLIENTS.iter().map(|client| format!(" {} |", cell(client))).collect::<String>()
    };
    text.push_str(&format!(
        "| |{}\n|---|{}\n",
        cells(&|client| client.title.to_owned()),
        "---|".repeat(CLIENTS.len())
    ));
    text.push_str(&format!("| version |{}\n", cells(&|client| client.tested.to_owned())));
    for (can, _) in CLIENTS[0].can {
        let told = |client: &Client| {
            let found = client.can.iter().find(|(other, _)| other == can);
            found.map_or("?", |(_, support)| support.name()).to_owned()
        };
        text.push_str(&format!("| {} |{}\n", can.name(), cells(&told)));
    }
    text.push_str(&format!("| user settings |{}\n", cells(&|client| format!("`{}`", user_file(client)))));
    text.push_str(&format!(
        "| project settings |{}\n",
        cells(&|client| format!("`{}`", client.install.project_file))
    ));
    text.push_str(&format!("| after `sprag init` |{}\n", cells(&|client| client.install.after.to_owned())));
    is_up_to_date("docs/reference/clients.md", &text);
}

fn user_file(client: &Client) -> String {
    let env = sprag_host::sys::env::Env::Given([("HOME".to_owned(), "/~".into())].into());
    (client.install.user_file)(&env).unwrap().display().to_string().replace("/~", "~")
}

#[test]
fn the_list_of_the_gates() {
    let mut text = "# Gates\n\nThe tests generate this page from the code. Sprag asks the gates in this order. A gate that fails closed refuses the call\nwhen Sprag itself fails at that event.\n\n| gate | purpose | configuration | fails closed at |\n|---|---|---|---|\n".to_owned();
    for gate in gates::ALL {
        let closed: Vec<&str> = EventKind::ALL
            .into_iter()
            .filter(|event| (gate.on_fault)(*event, "sprag") != OnFault::Pass)
            .map(EventKind::name)
            .collect();
        let closed = if closed.is_empty() { "-".to_owned() } else { closed.join(", ") };
        text.push_str(&format!("| {} | {} | `{}` | {closed} |\n", gate.name, gate.about, gate.section.name));
    }
    is_up_to_date("docs/reference/gates.md", &text);
}

#[test]
fn the_fields_of_a_plan() {
    let mut tables = "# Plan files\n\nThe tests generate this page from the code. [Plans](../guides/plans.md) explains how to write one.\n".to_owned();
    for table in fields::TABLES {
        tables
            .push_str(&format!("\n## {}\n\n| field | takes | default | |\n|---|---|---|---|\n", table.name));
        for field in table.fields {
            let Field { name, takes, default, about } = field;
            tables.push_str(&format!("| `{name}` | {takes} | {default} | {about} |\n"));
        }
    }
    for (field, names) in fields::CHOICES {
        let of = fields::TABLES.iter().flat_map(|table| table.fields).find(|of| of.name == *field).unwrap();
        assert!(names.iter().all(|name| of.about.contains(&format!("`{name}`"))), "{field}: {}", of.about);
    }
    tables.push_str("\n## Problems\n\n`sprag plan check` reports all problems of a plan at once.\n\n| code | | when |\n|---|---|---|\n");
    for code in ProblemCode::ALL {
        let weight = if code.weight() == Severity::Error { "error" } else { "warning" };
        tables.push_str(&format!("| `{}` | {weight} | {} |\n", code.name(), code.about()));
    }
    is_up_to_date("docs/reference/plan-files.md", &tables);
}

#[test]
fn the_hooks_of_the_plugin() {
    let install = &sprag_host::clients::claude::CLIENT.install;
    let hooks: serde_json::Map<String, Value> = install
        .events
        .iter()
        .map(|(event, timeout)| ((*event).to_owned(), json!([(install.entry)("sprag", *timeout)])))
        .collect();
    let text = serde_json::to_string_pretty(&json!({ "hooks": hooks })).unwrap();
    is_up_to_date("plugin/hooks/hooks.json", &format!("{text}\n"));
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(root().join("plugin/.claude-plugin/plugin.json")).unwrap())
            .unwrap();
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
}
