//! Tests of the server on the level of bytes on a socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::Model;
use super::script::{Call, Part, Script, Step, Turn};

struct Talk {
    model: Model,
    reader: BufReader<TcpStream>,
    folder: TempDir,
}

struct Answer {
    status: u16,
    headers: String,
    body: String,
}

impl Talk {
    fn about(script: Script) -> Talk {
        let folder = TempDir::new().unwrap();
        let model = Model::start(&folder.path().join("model.jsonl")).unwrap();
        model.play(script);
        let reader = BufReader::new(TcpStream::connect(model.address).unwrap());
        Talk { model, reader, folder }
    }

    /// Sends a request over the one connection, so that each test also tests kept connections.
    fn raw(&mut self, request: &str) -> Answer {
        self.reader.get_mut().write_all(request.as_bytes()).unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(self.reader.read_line(&mut head).unwrap(), 0, "closed inside the head: {head}");
        }
        let status = head[9..12].parse().unwrap();
        let mut body = Vec::new();
        if head.contains("transfer-encoding: chunked") {
            loop {
                let mut size = String::new();
                self.reader.read_line(&mut size).unwrap();
                let size = usize::from_str_radix(size.trim(), 16).unwrap();
                let mut chunk = vec![0; size + 2];
                self.reader.read_exact(&mut chunk).unwrap();
                if size == 0 {
                    break;
                }
                body.extend_from_slice(&chunk[..size]);
            }
        } else if !request.starts_with("HEAD") {
            let length = head.lines().find_map(|l| l.strip_prefix("content-length: ")).unwrap();
            body.resize(length.parse().unwrap(), 0);
            self.reader.read_exact(&mut body).unwrap();
        }
        Answer { status, headers: head, body: String::from_utf8(body).unwrap() }
    }

    fn post(&mut self, path: &str, body: &Value) -> Answer {
        let body = body.to_string();
        self.raw(&format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
    }

    fn parts(&self) -> Vec<Part> {
        self.model.take_requests().iter().map(|request| request.part).collect()
    }
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    fn events(&self) -> Vec<(String, Value)> {
        assert!(self.headers.contains("content-type: text/event-stream"), "{}", self.headers);
        let blocks = self.body.split_terminator("\n\n").map(|block| {
            let (name, data) = block.split_once('\n').unwrap();
            let name = name.strip_prefix("event: ").unwrap().to_owned();
            let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(data["type"], name.as_str());
            (name, data)
        });
        blocks.collect()
    }

    fn event_names(&self) -> Vec<String> {
        self.events().into_iter().map(|(name, _)| name).collect()
    }
}

fn shell() -> Call {
    Call { tool: "Bash", namespace: None, input: json!({"command": "echo \"a\nb\""}) }
}

fn streamed(text: &str) -> Value {
    let mut message = message(text);
    message["stream"] = json!(true);
    message
}

fn message(text: &str) -> Value {
    json!({
        "model": "m", "stream": false, "tools": [{"name": "Bash"}],
        "messages": [{"role": "user", "content": text}],
    })
}

fn response(text: &str) -> Value {
    json!({
        "model": "m", "stream": true, "tools": [{"name": "exec_command"}],
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<place>"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]},
        ],
    })
}

#[test]
fn messages_stream_words_and_a_call() {
    let turn = Turn { text: "now".into(), calls: vec![shell()], ..Turn::default() };
    let mut talk = Talk::about(Script::ending("done").then(turn));
    let answer = talk.post("/v1/messages?beta=true", &streamed("go"));
    let expected = [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(answer.event_names(), expected);
    let events = answer.events();
    assert_eq!(events[0].1["message"]["content"], json!([]));
    assert_eq!(events[2].1["delta"], json!({"type": "text_delta", "text": "now"}));
    assert_eq!(events[4].1["content_block"]["name"], "Bash");
    assert_eq!(events[4].1["content_block"]["input"], json!({}));
    let input = events[5].1["delta"]["partial_json"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(input).unwrap(), shell().input);
    assert_eq!(events[7].1["delta"]["stop_reason"], "tool_use");
}

#[test]
fn messages_whole() {
    let mut talk = Talk::about(Script::ending("done").then(Turn::call(shell()).having_read(5000)));
    let first = talk.post("/v1/messages", &message("go")).json();
    assert_eq!(first["stop_reason"], "tool_use");
    assert_eq!(first["usage"]["input_tokens"], 5000);
    assert_eq!(first["content"][0]["input"], shell().input);
    let second = talk.post("/v1/messages", &message("go")).json();
    assert_eq!(second["stop_reason"], "end_turn");
    assert_eq!(second["content"], json!([{"type": "text", "text": "done"}]));
    assert_ne!(first["id"], second["id"]);
}

#[test]
fn responses_stream_words_and_a_call() {
    let call =
        Call { tool: "spawn_agent", namespace: Some("multi_agent_v1"), input: json!({"message": "go"}) };
    let turn = Turn { text: "now".into(), calls: vec![call], ..Turn::default() };
    let mut talk = Talk::about(Script::ending("done").then(turn));
    let answer = talk.post("/v1/responses", &response("go"));
    let expected = [
        "response.created",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(answer.event_names(), expected);
    let events = answer.events();
    for (i, (_, data)) in events.iter().enumerate() {
        assert_eq!(data["sequence_number"], i);
    }
    assert_eq!(events[3].1["delta"], "now");
    assert_eq!(events[10].1["item"]["namespace"], "multi_agent_v1");
    assert_eq!(events[10].1["item"]["arguments"], r#"{"message":"go"}"#);
    assert_eq!(events[11].1["response"]["output"].as_array().unwrap().len(), 2);
}

#[test]
fn responses_whole() {
    let mut talk = Talk::about(Script::ending("done"));
    let answer = talk.post("/v1/responses", &json!({"input": "go", "tools": [{"name": "x"}]})).json();
    assert_eq!(answer["status"], "completed");
    assert_eq!(answer["output"][0]["content"][0]["text"], "done");
}

#[test]
fn the_end_is_repeated_and_a_title_takes_no_turn() {
    let mut talk = Talk::about(Script::ending("done").then(Turn::say("one")));
    let title = json!({"model": "m", "messages": [{"role": "user", "content": "a title for this"}]});
    let mut said = Vec::new();
    for body in [&title, &message("go"), &message("go"), &title, &message("go")] {
        let answer = talk.post("/v1/messages", body).json();
        said.push(answer["content"][0]["text"].as_str().unwrap().to_owned());
    }
    assert_eq!(said, ["ok", "one", "done", "ok", "done"]);
    assert_eq!(talk.parts(), [Part::Aside, Part::Main, Part::Main, Part::Aside, Part::Main]);
}

#[test]
fn a_sub_agent_reads_its_own_track() {
    let script = Script::ending("done").then(Turn::say("main")).track("sub", "SUBTASK", [Turn::say("sub")]);
    let mut talk = Talk::about(script);
    talk.post("/v1/responses", &response("please SUBTASK"));
    talk.post("/v1/responses", &response("go"));
    assert_eq!(talk.parts(), [Part::Track("sub"), Part::Main]);

    // The mark counts only in the opening of the conversation, not in a later tool result.
    let mut later = message("go");
    later["messages"] = json!([
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Agent", "input": {}}]},
        {"role": "user", "content": "SUBTASK was done"},
    ]);
    talk.post("/v1/messages", &later);
    talk.post("/v1/messages", &message("SUBTASK"));
    assert_eq!(talk.parts(), [Part::Main, Part::Track("sub")]);
}

#[test]
fn a_drawn_step_sees_the_latest_tool_result() {
    let echo = Step::Drawn(|asked| Turn::say(&asked.last_result));
    let mut talk = Talk::about(Script::ending("done").then(echo.clone()).then(echo));
    let mut body = message("go");
    body["messages"] = json!([{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "a", "content": "first"},
        {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "second"}]},
    ]}]);
    assert_eq!(talk.post("/v1/messages", &body).json()["content"][0]["text"], "second");
    let body = json!({"tools": [{"name": "x"}], "input": [
        {"type": "function_call_output", "call_id": "a", "output": "third"},
    ]});
    let answer = talk.post("/v1/responses", &body).json();
    assert_eq!(answer["output"][0]["content"][0]["text"], "third");
}

#[test]
fn bodies_come_in_chunks_too() {
    let mut talk = Talk::about(Script::ending("done"));
    let body = message("in pieces").to_string();
    let (a, b) = body.split_at(20);
    let answer = talk.raw(&format!(
        "POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\
         {:x}\r\n{a}\r\n{:X};note=1\r\n{b}\r\n0\r\n\r\n",
        a.len(),
        b.len(),
    ));
    assert_eq!(answer.status, 200);
    assert!(talk.model.take_requests()[0].contains("in pieces"));
}

#[test]
fn side_questions() {
    let mut talk = Talk::about(Script::ending("done"));
    let counted = talk.post("/v1/messages/count_tokens", &message("go")).json();
    assert!(counted["input_tokens"].as_u64().unwrap() > 0);
    assert_eq!(talk.raw("HEAD / HTTP/1.1\r\n\r\n").status, 200);
    assert_eq!(talk.raw("GET /v1/models HTTP/1.1\r\n\r\n").status, 200);
    assert_eq!(talk.raw("GET /elsewhere HTTP/1.1\r\n\r\n").status, 404);
    assert_eq!(talk.raw("POST /v1/messages HTTP/1.1\r\nContent-Length: 3\r\n\r\n{,}").status, 400);
    let packed = "POST /v1/messages HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx";
    assert_eq!(talk.raw(packed).status, 415);
    assert_eq!(talk.parts(), [Part::Aside; 6]);
}

#[test]
fn requests_are_kept_in_memory_and_in_the_file() {
    let mut talk = Talk::about(Script::ending("done"));
    talk.post("/v1/messages", &streamed("say \"hi\"\nplease"));
    let seen = talk.model.take_requests();
    assert_eq!(seen.len(), 1);
    assert!(seen[0].contains("say \"hi\"\nplease"));
    assert_eq!(seen[0].count("hi"), 1);
    assert_eq!(seen[0].text_from("hi").as_deref(), Some("hi\"\nplease"));
    let file = std::fs::read_to_string(talk.folder.path().join("model.jsonl")).unwrap();
    let line: Value = serde_json::from_str(file.trim_end()).unwrap();
    assert_eq!(line["body"], seen[0].body);
}

#[test]
fn a_dropped_model_leaves_no_thread() {
    let folder = TempDir::new().unwrap();
    let model = Model::start(&folder.path().join("model.jsonl")).unwrap();
    let shared = Arc::clone(&model.shared);
    drop(model);
    assert_eq!(Arc::strong_count(&shared), 1);
}
