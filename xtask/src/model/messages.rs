//! Anthropic Messages, as Claude Code speaks it: `POST /v1/messages`.

use serde_json::{Value, json};

use super::script::Turn;
use super::{Api, Asked, Reply, text_of};

pub const API: Api = Api { path: "/v1/messages", read, reply };

fn read(body: &Value) -> Asked {
    let mut asked = Asked::new(body);
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let opening = messages.iter().take_while(|message| message["role"] != "assistant");
    asked.opening = opening.map(|message| text_of(&message["content"])).collect::<Vec<_>>().join("\n");
    let mut blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    asked.last_result = blocks
        .rfind(|block| block["type"] == "tool_result")
        .map(|block| text_of(&block["content"]))
        .unwrap_or_default();
    asked
}

fn reply(model: &str, turn: &Turn, serial: u64) -> Reply {
    let mut blocks = Vec::new();
    if !turn.text.is_empty() || turn.calls.is_empty() {
        blocks.push(json!({"type": "text", "text": turn.text}));
    }
    for (i, call) in turn.calls.iter().enumerate() {
        let id = format!("toolu_{serial:06}_{i}");
        blocks.push(json!({"type": "tool_use", "id": id, "name": call.tool, "input": call.input}));
    }
    let stop_reason = if turn.calls.is_empty() { "end_turn" } else { "tool_use" };
    let usage = json!({
        "input_tokens": turn.input_tokens.unwrap_or(100), "output_tokens": 10,
        "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
    });
    let whole = json!({
        "id": format!("msg_{serial:06}"), "type": "message", "role": "assistant", "model": model,
        "content": blocks, "stop_reason": stop_reason, "stop_sequence": null, "usage": usage,
    });

    let mut events = Vec::new();
    let mut emit = |name: &'static str, mut data: Value| {
        data["type"] = name.into();
        events.push((name, data));
    };
    let mut opened = whole.clone();
    opened["content"] = json!([]);
    opened["stop_reason"] = Value::Null;
    emit("message_start", json!({"message": opened}));
    for (index, block) in blocks.iter().enumerate() {
        let (empty, delta) = if block["type"] == "text" {
            (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": block["text"]}))
        } else {
            let mut empty = block.clone();
            empty["input"] = json!({});
            let input = block["input"].to_string();
            (empty, json!({"type": "input_json_delta", "partial_json": input}))
        };
        emit("content_block_start", json!({"index": index, "content_block": empty}));
        emit("content_block_delta", json!({"index": index, "delta": delta}));
        emit("content_block_stop", json!({"index": index}));
    }
    let delta = json!({"stop_reason": stop_reason, "stop_sequence": null});
    emit("message_delta", json!({"delta": delta, "usage": usage}));
    emit("message_stop", json!({}));
    Reply { whole, events }
}
