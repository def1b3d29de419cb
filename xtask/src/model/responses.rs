//! OpenAI Responses, as Codex speaks it: `POST /v1/responses`.

use serde_json::{Value, json};

use super::script::{Call, Turn};
use super::{Api, Asked, Reply, text_of};

pub const API: Api = Api { path: "/v1/responses", read, reply };

fn read(body: &Value) -> Asked {
    let mut asked = Asked::new(body);
    let Some(items) = body["input"].as_array() else {
        asked.opening = text_of(&body["input"]);
        return asked;
    };
    // The first user message is the client's description of its environment; the prompt follows.
    let opening = items.iter().take_while(|item| !by_model(item)).filter(|item| item["role"] == "user");
    asked.opening = opening.map(|item| text_of(&item["content"])).collect::<Vec<_>>().join("\n");
    asked.last_result = items
        .iter()
        .rfind(|item| item["type"].as_str().is_some_and(|kind| kind.ends_with("_output")))
        .map(|item| text_of(&item["output"]))
        .unwrap_or_default();
    asked
}

fn by_model(item: &Value) -> bool {
    item["role"] == "assistant" || item["type"].as_str().is_some_and(|kind| kind.ends_with("_call"))
}

fn reply(model: &str, turn: &Turn, serial: u64) -> Reply {
    let mut items = Vec::new();
    if !turn.text.is_empty() || turn.calls.is_empty() {
        items.push(json!({
            "type": "message", "id": format!("msg_{serial:06}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": turn.text, "annotations": []}],
        }));
    }
    items.extend(turn.calls.iter().enumerate().map(|(i, call)| call_item(call, serial, i)));
    let input = turn.input_tokens.unwrap_or(100);
    let whole = json!({
        "id": format!("resp_{serial:06}"), "object": "response", "created_at": 0, "model": model,
        "status": "completed", "output": items,
        "usage": {
            "input_tokens": input, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": input + 10,
        },
    });

    let mut events: Vec<(&'static str, Value)> = Vec::new();
    let mut emit = |name: &'static str, mut data: Value| {
        data["type"] = name.into();
        data["sequence_number"] = events.len().into();
        events.push((name, data));
    };
    let mut opened = whole.clone();
    opened["status"] = "in_progress".into();
    opened["output"] = json!([]);
    opened["usage"] = Value::Null;
    emit("response.created", json!({"response": opened}));
    for (index, item) in items.iter().enumerate() {
        let at = |mut data: Value| {
            data["output_index"] = index.into();
            data["item_id"] = item["id"].clone();
            data
        };
        let mut started = item.clone();
        started["status"] = "in_progress".into();
        if item["type"] == "message" {
            let part = &item["content"][0];
            started["content"] = json!([]);
            emit("response.output_item.added", json!({"output_index": index, "item": started}));
            let empty = json!({"type": "output_text", "text": "", "annotations": []});
            emit("response.content_part.added", at(json!({"content_index": 0, "part": empty})));
            emit("response.output_text.delta", at(json!({"content_index": 0, "delta": part["text"]})));
            emit("response.output_text.done", at(json!({"content_index": 0, "text": part["text"]})));
            emit("response.content_part.done", at(json!({"content_index": 0, "part": part})));
        } else {
            started["arguments"] = "".into();
            emit("response.output_item.added", json!({"output_index": index, "item": started}));
            emit("response.function_call_arguments.delta", at(json!({"delta": item["arguments"]})));
            emit("response.function_call_arguments.done", at(json!({"arguments": item["arguments"]})));
        }
        emit("response.output_item.done", json!({"output_index": index, "item": item}));
    }
    emit("response.completed", json!({"response": whole}));
    Reply { whole, events }
}

fn call_item(call: &Call, serial: u64, i: usize) -> Value {
    let mut item = json!({
        "type": "function_call", "id": format!("fc_{serial:06}_{i}"),
        "call_id": format!("call_{serial:06}_{i}"), "name": call.tool, "arguments": call.input.to_string(), "status": "completed",
    });
    if let Some(namespace) = call.namespace {
        item["namespace"] = namespace.into();
    }
    item
}
