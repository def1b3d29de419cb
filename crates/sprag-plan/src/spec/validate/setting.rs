//! Settings that plans and stages share: money and time, sandboxes, who does the work.

use sprag_base::document::{At, Node, What};

use crate::spec::client::{Client, Known};
use crate::spec::problem::{Code, Wrong, did_you_mean};
use crate::spec::reader::{Fields, Reader, shown};
use crate::spec::values::{Label, Readable, RelPath};
use crate::spec::{
    Agent, Budget, Cached, Caching, Confine, Group, Mode, Network, OnExceed, Output, Sandbox, fields,
};

pub fn budget(reader: &mut Reader, fields: &Fields<'_>) -> Budget {
    let read = fields.get("budget").and_then(|node| reader.fields(node, &fields::BUDGET));
    let Some(fields) = read else { return Budget::UNBOUNDED };
    Budget {
        tokens: reader.optional::<Tokens>(&fields, "tokens").map(|tokens| tokens.0),
        cost: reader.optional(&fields, "cost"),
        time: reader.optional(&fields, "time"),
        on_exceed: reader.optional(&fields, "on_exceed").unwrap_or(OnExceed::Pause),
    }
}

struct Tokens(u64);

impl Readable for Tokens {
    fn read(text: &str) -> Result<Tokens, Wrong> {
        let wrong =
            || Wrong::value(format!("`{}` is no number of tokens", shown(text)), "write `500k` or `2M`");
        let (digits, times) = match text.trim() {
            text if text.ends_with('k') => (text.trim_end_matches('k'), 1_000),
            text if text.ends_with('M') => (text.trim_end_matches('M'), 1_000_000),
            text => (text, 1),
        };
        let number: u64 = digits.replace('_', "").parse().map_err(|_| wrong())?;
        match number.checked_mul(times) {
            Some(tokens @ 1..=1_000_000_000_000) => Ok(Tokens(tokens)),
            Some(_) | None => Err(wrong()),
        }
    }
}

pub fn sandbox(reader: &mut Reader, fields: &Fields<'_>) -> Option<Sandbox> {
    let node = fields.get("sandbox")?;
    if let What::Text { .. } = &node.what {
        let confine: Confine = reader.value(node, "sandbox")?;
        return Some(Sandbox { confine, ..Sandbox::USUAL });
    }
    let fields = reader.fields(node, &fields::SANDBOX)?;
    let confine = reader.optional(&fields, "confine").unwrap_or(Confine::Auto);
    let network =
        fields.get("network").and_then(|node| network(reader, node, &fields)).unwrap_or(Network::Open);
    if confine == Confine::Off && network != Network::Open {
        let at = fields.get("network").map_or(node.at, |node| node.at);
        let what = "a network that is narrowed, and no sandbox to narrow it";
        reader.say(at, Code::Contradiction, what, "write `confine: required`, or leave `network` out");
    }
    Some(Sandbox { confine, network })
}

fn network(reader: &mut Reader, node: &Node, fields: &Fields<'_>) -> Option<Network> {
    match &node.what {
        What::Text { text, .. } if text == "open" => Some(Network::Open),
        What::Text { text, .. } if text == "none" => Some(Network::None),
        What::Text { text, .. } => {
            let what = format!("`network`: `{}` is none of its values", shown(text));
            reader.say(node.at, Code::BadValue, what, "write `open`, `none` or a list of hosts");
            None
        }
        What::List(_) | What::Map(_) => {
            let hosts: Vec<Label> =
                reader.values(fields, "network").into_iter().map(|(_, host)| host).collect();
            Some(if hosts.is_empty() { Network::None } else { Network::Hosts(hosts) })
        }
    }
}

pub fn agent(reader: &mut Reader, fields: &Fields<'_>) -> Agent {
    let node = fields.get("client");
    let client = node.and_then(|node| client(reader, node)).unwrap_or(Client::Known(Known::Claude));
    let mode: Option<Mode> = reader.optional(fields, "mode");
    let only_tmux = client == Client::Known(Known::Cursor);
    if let (Some(Mode::Headless), true) = (mode, only_tmux) {
        let at = fields.get("mode").map_or(fields.at, |node| node.at);
        reader.say(at, Code::Contradiction, "`cursor` does not run `headless`", "write `mode: tmux`");
    }
    let usual = if only_tmux { Mode::Tmux } else { Mode::Headless };
    Agent {
        client,
        mode: mode.unwrap_or(usual),
        model: reader.optional(fields, "model"),
        effort: reader.optional(fields, "effort"),
    }
}

fn client(reader: &mut Reader, node: &Node) -> Option<Client> {
    if let What::Text { text, .. } = &node.what {
        return match Known::read(text) {
            Ok(known) => Some(Client::Known(known)),
            Err(_) => {
                let what = format!("there is no client `{}`", shown(text));
                let fix = match text.as_str() {
                    "command" => "write `client: {command: [program, argument]}`".to_owned(),
                    text => did_you_mean(text, Known::NAMES),
                };
                reader.say(node.at, Code::BadValue, what, fix);
                None
            }
        };
    }
    let fields = reader.fields(node, &fields::CLIENT)?;
    reader.required(&fields, "command")?;
    let command = reader.texts::<1000>(&fields, "command");
    let stream = reader.optional(&fields, "stream");
    (!command.is_empty()).then_some(Client::Command { command, stream })
}

/// Files that are taken over as they are. What git, we or a client keep is not among them.
pub fn copy(reader: &mut Reader, fields: &Fields<'_>) -> Vec<RelPath> {
    let found: Vec<(At, RelPath)> = reader.values(fields, "copy");
    reader.once(&found, "copy");
    let is_taken = |path: &RelPath| [".git", ".sprag", ".worktrees", "."].contains(&first(path));
    for (at, path) in found.iter().filter(|(_, path)| is_taken(path)) {
        let what = format!("`copy`: `{}` is no file of yours", shown(path.as_str()));
        reader.say(*at, Code::BadValue, what, "name a file such as `.env`");
    }
    found.into_iter().map(|(_, path)| path).collect()
}

fn first(path: &RelPath) -> &str {
    path.as_str().split('/').next().unwrap_or_default()
}

pub fn caches(reader: &mut Reader, fields: &Fields<'_>) -> Vec<Cached> {
    let mut found = Vec::new();
    for item in reader.items(fields, "caches") {
        let Some(fields) = reader.fields(item, &fields::CACHE) else { continue };
        let path: Option<RelPath> =
            reader.required(&fields, "path").and_then(|node| reader.value(node, "path"));
        let how = reader.optional(&fields, "how").unwrap_or(Caching::None);
        let Some(path) = path else { continue };
        if [".git", ".sprag", ".worktrees", "."].contains(&first(&path)) {
            let what = format!("`caches`: `{}` is no cache", shown(path.as_str()));
            reader.say(item.at, Code::BadValue, what, "name a directory such as `target`");
        }
        found.push((item.at, Cached { path, how }));
    }
    let paths: Vec<_> = found.iter().map(|(at, cached)| (*at, cached.path.as_str())).collect();
    reader.once(&paths, "caches");
    found.into_iter().map(|(_, cached)| cached).collect()
}

pub fn group(reader: &mut Reader, fields: &Fields<'_>) -> Option<Group> {
    let node = fields.get("parallel_group")?;
    if let What::Text { .. } = &node.what {
        return Some(Group { name: reader.value(node, "parallel_group")?, max: None });
    }
    let fields = reader.fields(node, &fields::GROUP)?;
    let max = fields.get("max").map(|_| reader.number(&fields, "max", (1, 64), 64));
    let name = reader.required(&fields, "name").and_then(|node| reader.value(node, "name"))?;
    Some(Group { name, max })
}

pub fn outputs(reader: &mut Reader, fields: &Fields<'_>) -> Vec<Output> {
    let items = reader.items(fields, "outputs");
    let mut found = Vec::new();
    for item in items {
        if let What::Text { .. } = &item.what {
            let name = reader.value(item, "outputs");
            found.extend(name.map(|name| (item.at, Output { name, description: "".into() })));
            continue;
        }
        let Some(fields) = reader.fields(item, &fields::OUTPUT) else { continue };
        let name = reader.required(&fields, "name").and_then(|node| reader.value(node, "name"));
        let description = fields.get("description").and_then(|node| reader.capped(node, "description"));
        found.extend(
            name.map(|name| (item.at, Output { name, description: description.unwrap_or_default() })),
        );
    }
    let names: Vec<_> = found.iter().map(|(at, output)| (*at, output.name.as_str())).collect();
    reader.once(&names, "outputs");
    found.into_iter().map(|(_, output)| output).collect()
}
