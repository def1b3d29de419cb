//! Settings that plans and stages share: budgets, sandboxes, agents, copies, caches, groups and outputs.

use sprag_base::document::{DocumentNode, NodeValue, Position};

use crate::spec::client::{ClientName, StageClient};
use crate::spec::problem::{ProblemCode, ValueProblem, did_you_mean};
use crate::spec::reader::{FieldReader, PlanReader, shown};
use crate::spec::values::{Label, Readable, RelPath};
use crate::spec::{
    AgentMode, BudgetAction, CacheSpec, Caching, Network, RunBudget, SandboxLevel, SandboxSettings,
    StageAgent, StageGroup, StageOutput, fields,
};

pub(crate) fn budget(reader: &mut PlanReader, fields: &FieldReader<'_>) -> RunBudget {
    let read = fields.get("budget").and_then(|node| reader.fields(node, &fields::BUDGET));
    let Some(fields) = read else { return RunBudget::UNBOUNDED };
    RunBudget {
        tokens: reader.optional::<TokenBudget>(&fields, "tokens").map(|tokens| tokens.0),
        cost: reader.optional(&fields, "cost"),
        time: reader.optional(&fields, "time"),
        on_exceed: reader.optional(&fields, "on_exceed").unwrap_or(BudgetAction::Pause),
    }
}

struct TokenBudget(u64);

impl Readable for TokenBudget {
    fn read(text: &str) -> Result<TokenBudget, ValueProblem> {
        let wrong = || {
            ValueProblem::value(
                format!("`{}` is not a number of tokens", shown(text)),
                "write `500k` or `2M`",
            )
        };
        let (digits, times) = match text.trim() {
            text if text.ends_with('k') => (text.trim_end_matches('k'), 1_000),
            text if text.ends_with('M') => (text.trim_end_matches('M'), 1_000_000),
            text => (text, 1),
        };
        let number: u64 = digits.replace('_', "").parse().map_err(|_| wrong())?;
        match number.checked_mul(times) {
            Some(tokens @ 1..=1_000_000_000_000) => Ok(TokenBudget(tokens)),
            Some(_) | None => Err(wrong()),
        }
    }
}

pub(crate) fn sandbox(reader: &mut PlanReader, fields: &FieldReader<'_>) -> Option<SandboxSettings> {
    let node = fields.get("sandbox")?;
    if let NodeValue::Text { .. } = &node.what {
        let confine: SandboxLevel = reader.value(node, "sandbox")?;
        return Some(SandboxSettings { confine, ..SandboxSettings::USUAL });
    }
    let fields = reader.fields(node, &fields::SANDBOX)?;
    let confine = reader.optional(&fields, "confine").unwrap_or(SandboxLevel::Auto);
    let network =
        fields.get("network").and_then(|node| network(reader, node, &fields)).unwrap_or(Network::Open);
    if confine == SandboxLevel::Off && network != Network::Open {
        let at = fields.get("network").map_or(node.at, |node| node.at);
        let what = "`network` is restricted, but there is no sandbox";
        reader.say(at, ProblemCode::Contradiction, what, "write `confine: required`, or remove `network`");
    }
    Some(SandboxSettings { confine, network })
}

fn network(reader: &mut PlanReader, node: &DocumentNode, fields: &FieldReader<'_>) -> Option<Network> {
    match &node.what {
        NodeValue::Text { text, .. } if text == "open" => Some(Network::Open),
        NodeValue::Text { text, .. } if text == "none" => Some(Network::None),
        NodeValue::Text { text, .. } => {
            let what = format!("`network`: unknown value `{}`", shown(text));
            reader.say(node.at, ProblemCode::BadValue, what, "write `open`, `none` or a list of hosts");
            None
        }
        NodeValue::List(_) | NodeValue::Map(_) => {
            let hosts: Vec<Label> =
                reader.values(fields, "network").into_iter().map(|(_, host)| host).collect();
            Some(if hosts.is_empty() { Network::None } else { Network::Hosts(hosts) })
        }
    }
}

pub(crate) fn agent(reader: &mut PlanReader, fields: &FieldReader<'_>) -> StageAgent {
    let node = fields.get("client");
    let client = node.and_then(|node| client(reader, node)).unwrap_or(StageClient::Known(ClientName::Claude));
    let mode: Option<AgentMode> = reader.optional(fields, "mode");
    let only_tmux = client == StageClient::Known(ClientName::Cursor);
    if let (Some(AgentMode::Headless), true) = (mode, only_tmux) {
        let at = fields.get("mode").map_or(fields.at, |node| node.at);
        reader.say(
            at,
            ProblemCode::Contradiction,
            "`cursor` does not support `headless`",
            "write `mode: tmux`",
        );
    }
    let usual = if only_tmux { AgentMode::Tmux } else { AgentMode::Headless };
    StageAgent {
        client,
        mode: mode.unwrap_or(usual),
        model: reader.optional(fields, "model"),
        effort: reader.optional(fields, "effort"),
    }
}

fn client(reader: &mut PlanReader, node: &DocumentNode) -> Option<StageClient> {
    if let NodeValue::Text { text, .. } = &node.what {
        return match ClientName::read(text) {
            Ok(known) => Some(StageClient::Known(known)),
            Err(_) => {
                let what = format!("unknown client `{}`", shown(text));
                let fix = match text.as_str() {
                    "command" => "write `client: {command: [program, argument]}`".to_owned(),
                    text => did_you_mean(text, ClientName::NAMES),
                };
                reader.say(node.at, ProblemCode::BadValue, what, fix);
                None
            }
        };
    }
    let fields = reader.fields(node, &fields::CLIENT)?;
    reader.required(&fields, "command")?;
    let command = reader.texts::<1000>(&fields, "command");
    let stream = reader.optional(&fields, "stream");
    (!command.is_empty()).then_some(StageClient::Command { command, stream })
}

/// Reads the files to copy unchanged. Files of git and of Sprag are refused.
pub(crate) fn copy(reader: &mut PlanReader, fields: &FieldReader<'_>) -> Vec<RelPath> {
    let found: Vec<(Position, RelPath)> = reader.values(fields, "copy");
    reader.once(&found, "copy");
    let is_taken = |path: &RelPath| [".git", ".sprag", ".worktrees", "."].contains(&first(path));
    for (at, path) in found.iter().filter(|(_, path)| is_taken(path)) {
        let what = format!("`copy`: `{}` is not a file that can be copied", shown(path.as_str()));
        reader.say(*at, ProblemCode::BadValue, what, "name a file such as `.env`");
    }
    found.into_iter().map(|(_, path)| path).collect()
}

fn first(path: &RelPath) -> &str {
    path.as_str().split('/').next().unwrap_or_default()
}

pub(crate) fn caches(reader: &mut PlanReader, fields: &FieldReader<'_>) -> Vec<CacheSpec> {
    let mut found = Vec::new();
    for item in reader.items(fields, "caches") {
        let Some(fields) = reader.fields(item, &fields::CACHE) else { continue };
        let path: Option<RelPath> =
            reader.required(&fields, "path").and_then(|node| reader.value(node, "path"));
        let how = reader.optional(&fields, "how").unwrap_or(Caching::None);
        let Some(path) = path else { continue };
        if [".git", ".sprag", ".worktrees", "."].contains(&first(&path)) {
            let what = format!("`caches`: `{}` cannot be a cache", shown(path.as_str()));
            reader.say(item.at, ProblemCode::BadValue, what, "name a directory such as `target`");
        }
        found.push((item.at, CacheSpec { path, how }));
    }
    let paths: Vec<_> = found.iter().map(|(at, cached)| (*at, cached.path.as_str())).collect();
    reader.once(&paths, "caches");
    found.into_iter().map(|(_, cached)| cached).collect()
}

pub(crate) fn group(reader: &mut PlanReader, fields: &FieldReader<'_>) -> Option<StageGroup> {
    let node = fields.get("parallel_group")?;
    if let NodeValue::Text { .. } = &node.what {
        return Some(StageGroup { name: reader.value(node, "parallel_group")?, max: None });
    }
    let fields = reader.fields(node, &fields::GROUP)?;
    let max = fields.get("max").map(|_| reader.number(&fields, "max", (1, 64), 64));
    let name = reader.required(&fields, "name").and_then(|node| reader.value(node, "name"))?;
    Some(StageGroup { name, max })
}

pub(crate) fn outputs(reader: &mut PlanReader, fields: &FieldReader<'_>) -> Vec<StageOutput> {
    let items = reader.items(fields, "outputs");
    let mut found = Vec::new();
    for item in items {
        if let NodeValue::Text { .. } = &item.what {
            let name = reader.value(item, "outputs");
            found.extend(name.map(|name| (item.at, StageOutput { name, description: "".into() })));
            continue;
        }
        let Some(fields) = reader.fields(item, &fields::OUTPUT) else { continue };
        let name = reader.required(&fields, "name").and_then(|node| reader.value(node, "name"));
        let description = fields.get("description").and_then(|node| reader.capped(node, "description"));
        found.extend(
            name.map(|name| (item.at, StageOutput { name, description: description.unwrap_or_default() })),
        );
    }
    let names: Vec<_> = found.iter().map(|(at, output)| (*at, output.name.as_str())).collect();
    reader.once(&names, "outputs");
    found.into_iter().map(|(_, output)| output).collect()
}
