//! A memory server for tests without network and npm. It has the tools of the reference server and runs as a
//! second process of the test program.

use std::fs;
use std::path::{Path, PathBuf};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer, serve_server};
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Map, Value, json};

const FILE: &str = "SPRAG_STAND_IN_FILE";

/// Returns the command that starts the server, with its memory in this file.
pub(super) fn command(file: &Path) -> Vec<String> {
    let this = std::env::current_exe().unwrap().display().to_string();
    let (_, module) = module_path!().split_once("::").unwrap();
    let test = &format!("{module}::serves_when_asked_to");
    ["env", &format!("{FILE}={}", file.display()), &this, "--exact", test, "--nocapture"]
        .map(str::to_owned)
        .to_vec()
}

#[test]
fn serves_when_asked_to() {
    let Some(file) = std::env::var_os(FILE) else {
        // Without the variable, this tests that a search reads every field.
        let graph = json!({"entities": [{"name": "a", "entityType": "t", "observations": ["Blue sky"]}], "relations": []});
        assert_eq!(search(&graph, "blue")["entities"][0]["name"], "a");
        assert_eq!(search(&graph, "green")["entities"], json!([]));
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let transport = (tokio::io::stdin(), tokio::io::stdout());
        let running = serve_server(StandIn(PathBuf::from(file)), transport).await.unwrap();
        running.waiting().await.unwrap();
    });
    runtime.shutdown_background();
}

struct StandIn(PathBuf);

const TOOLS: [&str; 6] = [
    "create_entities",
    "create_relations",
    "add_observations",
    "delete_observations",
    "search_nodes",
    "open_nodes",
];

impl StandIn {
    fn call(&self, tool: &str, arguments: &Value) -> Result<Value, String> {
        let kept = fs::read_to_string(&self.0).ok().and_then(|text| serde_json::from_str(&text).ok());
        let mut graph: Value = kept.unwrap_or(json!({"entities": [], "relations": []}));
        let answer = match tool {
            "search_nodes" => return Ok(search(&graph, arguments["query"].as_str().unwrap())),
            "open_nodes" => {
                let names = arguments["names"].as_array().unwrap();
                return Ok(with(&graph, |entity| names.contains(&entity["name"])));
            }
            "create_entities" => {
                for entity in arguments["entities"].as_array().unwrap() {
                    let all = graph["entities"].as_array_mut().unwrap();
                    if !all.iter().any(|known| known["name"] == entity["name"]) {
                        all.push(entity.clone());
                    }
                }
                arguments["entities"].clone()
            }
            "create_relations" => {
                for relation in arguments["relations"].as_array().unwrap() {
                    let all = graph["relations"].as_array_mut().unwrap();
                    if !all.contains(relation) {
                        all.push(relation.clone());
                    }
                }
                arguments["relations"].clone()
            }
            "add_observations" => {
                for told in arguments["observations"].as_array().unwrap() {
                    let entity = entity(&mut graph, &told["entityName"])
                        .ok_or_else(|| format!("Entity with name {} not found", told["entityName"]))?;
                    let all = entity["observations"].as_array_mut().unwrap();
                    all.extend(told["contents"].as_array().unwrap().iter().cloned());
                }
                json!([])
            }
            _ => {
                for told in arguments["deletions"].as_array().unwrap() {
                    if let Some(entity) = entity(&mut graph, &told["entityName"]) {
                        let gone = told["observations"].as_array().unwrap();
                        entity["observations"].as_array_mut().unwrap().retain(|text| !gone.contains(text));
                    }
                }
                json!("Observations deleted successfully")
            }
        };
        fs::write(&self.0, graph.to_string()).unwrap();
        Ok(answer)
    }
}

fn entity<'a>(graph: &'a mut Value, name: &Value) -> Option<&'a mut Value> {
    graph["entities"].as_array_mut()?.iter_mut().find(|entity| entity["name"] == *name)
}

/// Searches the fields for the whole query, as the reference server does.
fn search(graph: &Value, query: &str) -> Value {
    let query = query.to_lowercase();
    with(graph, |entity| {
        let fields = [&entity["name"], &entity["entityType"]].into_iter();
        let mut fields = fields.chain(entity["observations"].as_array().unwrap());
        fields.any(|field| field.as_str().unwrap().to_lowercase().contains(&query))
    })
}

fn with(graph: &Value, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let all = graph["entities"].as_array().unwrap().iter();
    json!({"entities": all.filter(|entity| is_wanted(entity)).collect::<Vec<_>>(), "relations": []})
}

impl ServerHandler for StandIn {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = TOOLS.map(|name| Tool::new(name, name, Map::new())).to_vec();
        Ok(ListToolsResult { tools, ..ListToolsResult::default() })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        Ok(CallToolResponse::from(match self.call(&request.name, &arguments) {
            Ok(answer) => CallToolResult::success(vec![ContentBlock::text(answer.to_string())]),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(why)]),
        }))
    }
}
