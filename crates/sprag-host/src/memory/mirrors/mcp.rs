//! A memory server that Sprag calls over the Model Context Protocol. The user configures the program; Sprag
//! starts it for a delivery and ends its whole process group. A learning is an entity named by its id, its
//! fields are observations, and `supersedes` is a relation.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock};
use rmcp::service::{RoleClient, RunningService, serve_client};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::net::unix::pipe;
use tokio::runtime::Runtime;

use sprag_base::result::Discard as _;
use sprag_base::text::{Text, one_line};
use sprag_memory::learning::Learning;

use super::{Backend, BackendHit, Mirror, MirrorContext};
use crate::git::ELSEWHERE;
use crate::sys::exec::{self, ServerProcess};

pub const BACKEND: Backend = Backend {
    name: "mcp",
    about: "the server of `backends.mcp.command`",
    probe: |site| !site.policy.mcp.command.is_empty(),
    open,
};

/// Most bytes of one answer.
const LINE: usize = 16 * 1024 * 1024;
/// Longest deadline, in seconds.
const LONGEST: u32 = 60;
/// Tools that a memory server must have.
const NEEDED: [&str; 5] =
    ["create_entities", "add_observations", "delete_observations", "search_nodes", "open_nodes"];

fn open(site: &MirrorContext<'_>) -> io::Result<Box<dyn Mirror>> {
    let settings = &site.policy.mcp;
    let (program, args) = settings.command.split_first().ok_or(io::ErrorKind::NotFound)?;
    let path = site.env.get("PATH").unwrap_or_default();
    // The user configured the command; a program of that name in the project is not trusted.
    let found = if program.contains('/') {
        Path::new(program).is_absolute().then(|| program.into())
    } else {
        exec::on_foreign_path(program, &path, site.worktree.as_deref())
    };
    let found = found.ok_or_else(|| io::Error::other(format!("`{}` is not on PATH", one_line(program))))?;
    let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
    let dir = site.worktree.as_deref().unwrap_or(Path::new("/"));
    let server = exec::serve(found.as_os_str(), &args, dir, ELSEWHERE)?;
    let deadline = Duration::from_secs(u64::from(settings.seconds.clamp(1, LONGEST)));
    Ok(Box::new(Remote::begin(server, deadline)?))
}

struct Remote {
    runtime: Runtime,
    /// Dropped before the process, so that the connection closes first.
    service: Option<RunningService<RoleClient, ()>>,
    _server: ServerProcess,
    deadline: Duration,
}

impl Remote {
    fn begin(mut server: ServerProcess, deadline: Duration) -> io::Result<Remote> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stdin, stdout) = server.take_pipes()?;
        let service = runtime.block_on(async {
            let sender = pipe::Sender::from_owned_fd(stdin)?;
            let receiver = pipe::Receiver::from_owned_fd(stdout)?;
            let transport = AsyncRwTransport::new_client(receiver, sender).with_max_line_length(LINE);
            match tokio::time::timeout(deadline, serve_client((), transport)).await {
                Ok(begun) => begun.map_err(io::Error::other),
                Err(_) => Err(io::ErrorKind::TimedOut.into()),
            }
        })?;
        let mut remote = Remote { runtime, service: Some(service), _server: server, deadline };
        remote.check()?;
        Ok(remote)
    }

    fn service(&self) -> io::Result<&RunningService<RoleClient, ()>> {
        self.service.as_ref().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Checks that the server has the required tools.
    fn check(&mut self) -> io::Result<()> {
        let service = self.service()?;
        let listed = self
            .runtime
            .block_on(async { tokio::time::timeout(self.deadline, service.list_all_tools()).await })
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
            .map_err(io::Error::other)?;
        match NEEDED.iter().find(|name| !listed.iter().any(|tool| tool.name == **name)) {
            Some(missing) => Err(io::Error::other(format!("the server has no tool `{missing}`"))),
            None => Ok(()),
        }
    }

    fn call(&mut self, tool: &'static str, arguments: Value) -> io::Result<Value> {
        let Value::Object(arguments) = arguments else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let service = self.service()?;
        let params = CallToolRequestParams::new(tool).with_arguments(arguments);
        let answer = self
            .runtime
            .block_on(async { tokio::time::timeout(self.deadline, service.call_tool(params)).await })
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
            .map_err(io::Error::other)?;
        read(tool, answer)
    }

    fn node(&mut self, id: &str) -> io::Result<Option<McpEntity>> {
        let graph = self.call("open_nodes", json!({ "names": [id] }))?;
        Ok(entities(graph).into_iter().find(|entity| entity.name == id))
    }

    /// Sets the observations of an entity. Foreign observations stay.
    fn observe(&mut self, id: &str, has: &[String], wanted: &[String]) -> io::Result<()> {
        let is_ours = |text: &str| FIELDS.iter().any(|field| text.starts_with(&format!("{field}: ")));
        let old: Vec<&String> = has.iter().filter(|text| is_ours(text) && !wanted.contains(text)).collect();
        let new: Vec<&String> = wanted.iter().filter(|text| !has.contains(text)).collect();
        if !new.is_empty() {
            self.call("add_observations", json!({"observations": [{"entityName": id, "contents": new}]}))?;
        }
        if !old.is_empty() {
            self.call(
                "delete_observations",
                json!({"deletions": [{"entityName": id, "observations": old}]}),
            )?;
        }
        Ok(())
    }

    fn mark(&mut self, id: &str, status: &str) -> io::Result<()> {
        let Some(entity) = self.node(id)? else {
            return Ok(());
        };
        let others = entity.observations.iter().filter(|text| !text.starts_with("status: ")).cloned();
        let wanted: Vec<String> = others.chain([format!("status: {status}")]).collect();
        self.observe(id, &entity.observations, &wanted)
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // Closing stdin asks the server to end. A server that does not end is killed with its group.
        if let Some(mut service) = self.service.take() {
            let goodbye = service.close_with_timeout(Duration::from_millis(200));
            self.runtime.block_on(goodbye).discard("a server that does not end is killed with its group");
        }
    }
}

/// Names of the fields that Sprag writes.
const FIELDS: [&str; 9] =
    ["summary", "detail", "category", "scope", "confidence", "tag", "file", "when", "status"];
/// Type of the entities that Sprag writes.
const TYPE: &str = "learning";
/// Most words of a query; the server searches each word separately.
const WORDS: usize = 8;

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct McpEntity {
    name: String,
    #[serde(default)]
    entity_type: String,
    #[serde(default)]
    observations: Vec<String>,
}

impl Mirror for Remote {
    fn ping(&mut self) -> io::Result<()> {
        self.check()
    }

    fn write(&mut self, learning: &Learning) -> io::Result<()> {
        let id = learning.id.as_str();
        let wanted = observations(learning);
        match self.node(id)? {
            Some(entity) => self.observe(id, &entity.observations, &wanted)?,
            None => {
                let entity = json!({"name": id, "entityType": TYPE, "observations": wanted});
                self.call("create_entities", json!({ "entities": [entity] }))?;
            }
        }
        for old in &learning.supersedes {
            // Some servers refuse a relation to a missing entity.
            if self.node(old.as_str())?.is_some() {
                let relation = json!({"from": id, "to": old, "relationType": "supersedes"});
                self.call("create_relations", json!({ "relations": [relation] }))?;
                self.mark(old.as_str(), "superseded")?;
            }
        }
        Ok(())
    }

    fn archive(&mut self, id: &str) -> io::Result<()> {
        self.mark(id, "archived")
    }

    fn restore(&mut self, id: &str) -> io::Result<()> {
        self.mark(id, "active")
    }

    fn search(&mut self, query: &str, limit: usize) -> io::Result<Vec<BackendHit>> {
        let words = super::in_words(query);
        let mut found: Vec<BackendHit> = Vec::new();
        for word in words.iter().take(WORDS) {
            for entity in entities(self.call("search_nodes", json!({ "query": word }))?) {
                if !found.iter().any(|hit| hit.id == entity.name) && is_active(&entity) {
                    found.push(hit(entity));
                }
            }
        }
        found.retain(|hit| super::is_about(hit, &words));
        found.truncate(limit);
        Ok(found)
    }
}

fn observations(learning: &Learning) -> Vec<String> {
    let candidate = &learning.candidate;
    let mut fields = vec![
        format!("summary: {}", candidate.summary),
        format!("detail: {}", candidate.detail),
        format!("category: {}", candidate.category.name()),
        format!("scope: {}", candidate.scope.name()),
        format!("confidence: {}", candidate.confidence.name()),
        "status: active".to_owned(),
    ];
    fields.extend(candidate.tags.iter().map(|tag| format!("tag: {tag}")));
    fields.extend(candidate.context_files.iter().map(|file| format!("file: {file}")));
    if !candidate.trigger.when.is_empty() {
        fields.push(format!("when: {}", candidate.trigger.when));
    }
    fields
}

fn is_active(entity: &McpEntity) -> bool {
    let mut marks = entity.observations.iter().filter_map(|text| text.strip_prefix("status: "));
    marks.next_back().is_none_or(|status| status == "active")
}

fn hit(entity: McpEntity) -> BackendHit {
    let field = |name: &str| {
        let mark = format!("{name}: ");
        entity.observations.iter().find_map(|text| text.strip_prefix(&mark)).map(str::to_owned)
    };
    if entity.entity_type == TYPE
        && let (Some(summary), Some(detail)) = (field("summary"), field("detail"))
    {
        let tags = entity.observations.iter().filter_map(|text| text.strip_prefix("tag: "));
        return BackendHit {
            id: entity.name.clone(),
            summary,
            detail,
            tags: tags.map(str::to_owned).collect(),
        };
    }
    BackendHit {
        summary: Text::<200>::new(one_line(&entity.name)).to_string(),
        detail: Text::<2000>::new(entity.observations.join("\n")).to_string(),
        tags: vec![entity.entity_type],
        id: entity.name,
    }
}

fn entities(graph: Value) -> Vec<McpEntity> {
    let all = graph["entities"].as_array().cloned().unwrap_or_default();
    all.into_iter().filter_map(|entity| serde_json::from_value(entity).ok()).collect()
}

/// Returns the object of a tool's answer, or its error.
fn read(tool: &str, answer: CallToolResult) -> io::Result<Value> {
    let text: String =
        answer.content.iter().filter_map(ContentBlock::as_text).map(|it| it.text.as_str()).collect();
    if answer.is_error == Some(true) {
        let said = Text::<200>::new(one_line(&text));
        return Err(io::Error::other(format!("`{tool}` failed: {said}")));
    }
    let parsed = serde_json::from_str(&text).ok();
    Ok(answer.structured_content.or(parsed).unwrap_or(Value::Object(Map::new())))
}
