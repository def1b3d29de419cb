//! Lines as the clients print them, and odd lines.

use proptest::prelude::*;
use serde_json::{Value, json};

use sprag_base::time::Timestamp;

use super::{LINE, StreamReader, StreamSource};
use crate::agent::activity::{AgentActivity, AgentTrouble, ContextUsage, WaitTarget};
use crate::spec::client::StreamFormat;

fn now() -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000)
}

fn read(stream: StreamFormat, lines: &[Value]) -> AgentActivity {
    let mut reader = StreamReader::new(stream, None);
    for line in lines.iter() {
        reader.feed(StreamSource::Printed, format!("{line}\n").as_bytes(), now());
    }
    reader.seen().clone()
}

fn claude(lines: &[Value]) -> AgentActivity {
    read(StreamFormat::Claude, lines)
}

fn init(model: &str) -> Value {
    json!({"type": "system", "subtype": "init", "session_id": "s-1", "model": model})
}

fn said(id: &str, input: u64, blocks: Value) -> Value {
    json!({
        "type": "assistant", "parent_tool_use_id": null, "session_id": "s-1",
        "message": {
            "id": id, "model": "claude-sonnet-4-5", "content": blocks,
            "usage": {
                "input_tokens": input, "output_tokens": 10,
                "cache_creation_input_tokens": 200, "cache_read_input_tokens": 3000,
            },
        },
    })
}

fn failed(fields: Value) -> Value {
    let mut line = json!({
        "type": "assistant", "is_api_error_message": true,
        "message": {"model": "<synthetic>", "usage": {"input_tokens": 0}, "content": [{"type": "text", "text": "429 401 529"}]},
    });
    fields.as_object().unwrap().iter().for_each(|(name, value)| line[name] = value.clone());
    line
}

#[test]
fn a_talk_with_claude_is_counted_once_for_each_message() {
    let bash = json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]);
    let seen = claude(&[
        init("claude-sonnet-4-5"),
        said("m1", 50_000, json!([{"type": "text", "text": "so"}])),
        said("m1", 50_000, bash),
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1"}]}}),
        said("m2", 60_000, json!([])),
    ]);
    assert_eq!(seen.client_session.as_ref().unwrap().as_str(), "s-1");
    assert_eq!((seen.turns, seen.last_tool.as_ref().unwrap().as_str()), (2, "Bash"));
    assert_eq!(seen.context, Some(ContextUsage { tokens: 63_210, window: 200_000 }));
    assert_eq!(seen.context.unwrap().percent(), 31);
    assert_eq!(seen.used.unwrap().tokens, 50_210 + 60_210, "tokens from the cache are not counted again");
    assert_eq!(seen.wait.unwrap().on, WaitTarget::Model);
}

#[test]
fn a_tool_without_a_result_is_waited_for_as_long_as_it_says() {
    let call = |id: &str, millis: u64| json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"timeout": millis}}]);
    let lines = [init("x"), said("m1", 1, call("t1", 1_800_000)), said("m1", 1, call("t2", 5))];
    let seen = claude(&lines);
    assert_eq!(
        (seen.wait.unwrap().on, seen.wait.unwrap().until),
        (WaitTarget::Tool, now().plus_seconds(1860))
    );
    let mut lines = lines.to_vec();
    lines.push(json!({"type": "result", "is_error": false}));
    assert_eq!(claude(&lines).wait, None, "an ended agent waits for nothing");
}

#[test]
fn a_helper_fills_its_own_context() {
    let mut helper = said("m2", 190_000, json!([]));
    helper["parent_tool_use_id"] = json!("t1");
    let seen = claude(&[init("claude-sonnet-4-5"), said("m1", 1000, json!([])), helper]);
    assert_eq!(seen.context.unwrap().tokens, 4210);
    assert_eq!(seen.used.unwrap().tokens, 1210 + 190_210);
}

#[test]
fn how_much_fits_is_known_or_not_known() {
    let window = |model: &str| {
        let mut line = said("m1", 1, json!([]));
        line["message"]["model"] = json!(model);
        claude(&[init(model), line]).context.map(|context| context.window)
    };
    for (model, fits) in [
        ("claude-sonnet-4-5", Some(200_000)),
        ("claude-opus-4-5-20251101", Some(200_000)),
        ("claude-opus-4-20250514", Some(200_000)),
        ("claude-3-5-haiku-latest", Some(200_000)),
        ("claude-sonnet-4-5[1m]", Some(1_000_000)),
        ("claude-sonnet-4-6", None),
        ("claude-sonnet-40", None),
        ("another", None),
    ] {
        assert_eq!(window(model), fits, "{model}");
    }
    let result = json!({"type": "result", "modelUsage": {"claude-sonnet-4-5": {"contextWindow": 400_000}}});
    let seen = claude(&[init("claude-sonnet-4-5"), said("m1", 96_790, json!([])), result]);
    assert_eq!(seen.context.unwrap().percent(), 25, "the report of the client counts more");
    let mut line = said("m1", 96_790, json!([]));
    line["message"]["model"] = json!("another");
    let result = json!({"type": "result", "modelUsage": {"another": {"contextWindow": 400_000}}});
    assert_eq!(claude(&[init("another"), line.clone(), result]).context.unwrap().percent(), 25);
    let mut told = StreamReader::new(StreamFormat::Claude, Some(1_000_000));
    told.feed(StreamSource::Printed, format!("{}\n{line}\n", init("another")).as_bytes(), now());
    assert_eq!(told.seen().context.unwrap().percent(), 10, "an earlier session reported the size");
}

#[test]
fn the_end_tells_all_that_was_used() {
    let result = json!({
        "type": "result", "subtype": "success", "is_error": false, "total_cost_usd": 0.33375,
        "modelUsage": {"a": {"inputTokens": 111_000, "outputTokens": 50}, "b": {"cacheCreationInputTokens": 7}},
    });
    let used = claude(&[said("m1", 5, json!([])), result]).used.unwrap();
    assert_eq!((used.tokens, used.micros), (111_057, Some(333_750)));
}

#[test]
fn trouble_is_told_by_fields_and_not_by_words() {
    for (fields, trouble) in [
        (
            json!({"error": "rate_limit", "api_error_status": 429}),
            Some(AgentTrouble::RateLimit { until: None }),
        ),
        (json!({"api_error_type": "authentication_error"}), Some(AgentTrouble::Auth)),
        (json!({"error": "server_error", "api_error_status": 529}), Some(AgentTrouble::Overload)),
        (json!({"error": "unknown", "api_error_status": 400}), None),
        (json!({}), None),
    ] {
        assert_eq!(claude(&[failed(fields.clone())]).trouble, trouble, "{fields}");
    }
    let ended = |fields: Value| {
        let mut line = json!({"type": "result", "is_error": true, "result": "API Error: 429"});
        fields.as_object().unwrap().iter().for_each(|(name, value)| line[name] = value.clone());
        claude(&[line]).trouble
    };
    assert_eq!(ended(json!({"terminal_reason": "prompt_too_long"})), Some(AgentTrouble::ContextFull));
    assert_eq!(ended(json!({"subtype": "error_max_budget_usd"})), Some(AgentTrouble::Budget));
    assert_eq!(ended(json!({"api_error_status": 529})), Some(AgentTrouble::Overload));
    assert_eq!(ended(json!({})), None);
}

#[test]
fn trouble_that_was_got_over_is_none() {
    let limit = failed(json!({"error": "rate_limit"}));
    assert_eq!(claude(&[limit.clone(), said("m1", 1, json!([]))]).trouble, None);
    let well = json!({"type": "result", "is_error": false});
    assert_eq!(claude(&[limit, well]).trouble, None);
    let again =
        json!({"type": "system", "subtype": "api_retry", "retry_delay_ms": 30_000, "error": "rate_limit"});
    let seen = claude(&[again]);
    assert_eq!(
        (seen.trouble, seen.wait.unwrap().on),
        (None, WaitTarget::Limit),
        "the client retries automatically"
    );
}

#[test]
fn a_limit_ends_when_it_is_said_to_in_whatever_unit() {
    let seconds = now().millis() / 1000;
    let until = |value: Value| {
        let event =
            json!({"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": value}});
        claude(&[event, failed(json!({"error": "rate_limit"}))]).trouble
    };
    let at = |until| Some(AgentTrouble::RateLimit { until });
    assert_eq!(until(json!(seconds + 3600)), at(Some(now().plus_seconds(3600))));
    assert_eq!(until(json!((seconds + 3600) * 1000)), at(Some(now().plus_seconds(3600))));
    for odd in
        [json!(3600), json!(-5), json!("soon"), json!(seconds + 30 * 86_400), json!(1e300), json!(null)]
    {
        assert_eq!(until(odd.clone()), at(None), "{odd}");
    }
}

#[test]
fn a_talk_with_codex_is_read_from_both_of_its_streams() {
    let count = |total: u64, last: u64| {
        json!({"type": "event_msg", "payload": {"type": "token_count",
            "info": {
                "total_token_usage": {"input_tokens": total, "cached_input_tokens": 1000, "output_tokens": 50},
                "last_token_usage": {"total_tokens": last}, "model_context_window": 258_400,
            },
            "rate_limits": {"primary": {"used_percent": 100.0, "resets_at": now().millis() / 1000 + 60}, "secondary": null}}})
    };
    let lines = [
        json!({"type": "thread.started", "thread_id": "t-1"}),
        json!({"type": "turn.started"}),
        json!({"type": "turn_context", "payload": {"model": "gpt-5.1-codex"}}),
        json!({"type": "item.started", "item": {"type": "command_execution"}}),
        json!({"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 1}}),
        count(50_000, 50_020),
        json!({"type": "item.completed", "item": {"type": "command_execution"}}),
        count(111_000, 61_030),
    ];
    let seen = read(StreamFormat::Codex, &lines);
    assert_eq!(seen.client_session.as_ref().unwrap().as_str(), "t-1");
    assert_eq!(seen.model.as_ref().unwrap().as_str(), "gpt-5.1-codex");
    assert_eq!(seen.context, Some(ContextUsage { tokens: 61_030, window: 258_400 }));
    assert_eq!((seen.used.unwrap().tokens, seen.turns), (110_050, 2));
    assert_eq!(seen.last_tool.as_ref().unwrap().as_str(), "command_execution");
    for (info, trouble) in [
        (
            json!("usage_limit_exceeded"),
            Some(AgentTrouble::RateLimit { until: Some(now().plus_seconds(60)) }),
        ),
        (json!({"http_connection_failed": {"http_status_code": 401}}), Some(AgentTrouble::Auth)),
        (json!({"response_stream_disconnected": {"http_status_code": 503}}), Some(AgentTrouble::Overload)),
        (json!("context_window_exceeded"), Some(AgentTrouble::ContextFull)),
        (json!("other"), None),
        (json!(null), None),
    ] {
        let mut lines = lines.to_vec();
        let error = json!({"message": "429 Too Many Requests", "codex_error_info": info});
        lines.push(json!({"type": "event_msg", "payload": {"type": "task_complete", "error": error}}));
        assert_eq!(read(StreamFormat::Codex, &lines).trouble, trouble, "{info}");
    }
}

#[test]
fn an_endless_line_is_dropped_and_the_next_one_read() {
    let mut reader = StreamReader::new(StreamFormat::Claude, None);
    let chunk = vec![b'x'; 1024 * 1024];
    (0..20).for_each(|_| reader.feed(StreamSource::Printed, &chunk, now()));
    assert!(reader.printed.text.capacity() <= LINE);
    reader.feed(StreamSource::Printed, format!("\n{}", init("m")).as_bytes(), now());
    assert_eq!(reader.seen().model, None, "the line has not ended yet");
    reader.finish(now());
    assert_eq!(reader.seen().model.as_ref().unwrap().as_str(), "m");
}

#[test]
fn two_sources_do_not_cut_into_each_other() {
    let mut reader = StreamReader::new(StreamFormat::Codex, None);
    let written = json!({"type": "turn_context", "payload": {"model": "m"}}).to_string();
    reader.feed(StreamSource::Printed, b"{\"type\": \"thread.started\", ", now());
    reader.feed(StreamSource::Written, format!("{written}\n").as_bytes(), now());
    reader.feed(StreamSource::Printed, b"\"thread_id\": \"t-1\"}\n", now());
    let seen = reader.seen();
    assert_eq!((seen.model.is_some(), seen.client_session.is_some()), (true, true));
}

fn any_json() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "type",
        "subtype",
        "message",
        "usage",
        "assistant",
        "user",
        "result",
        "system",
        "init",
        "model",
        "content",
        "tool_use",
        "id",
        "name",
        "input",
        "timeout",
        "event_msg",
        "payload",
        "token_count",
        "info",
        "item",
        "rate_limit_info",
        "resetsAt",
        "status",
        "rejected",
        "codex_error_info",
        "error",
        "input_tokens",
        "modelUsage",
        "total_cost_usd",
        "rate_limit_event",
        "item.started",
        "turn.completed",
        "task_complete",
        "is_error",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((words.clone(), inner), 0..8).prop_map(|members| members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_line_is_too_odd(lines in prop::collection::vec(any_json(), 0..6), noise: Vec<u8>) {
        for stream in [StreamFormat::Claude, StreamFormat::Codex] {
            let mut reader = StreamReader::new(stream, None);
            for line in &lines {
                reader.feed(StreamSource::Printed, &noise, now());
                reader.feed(StreamSource::Printed, format!("\n{line}\n").as_bytes(), now());
            }
            prop_assert!(reader.seen().context.is_none_or(|context| context.percent() <= 100));
        }
    }

    #[test]
    fn how_it_is_cut_into_pieces_changes_nothing(cuts in prop::collection::vec(0usize..400, 0..6)) {
        let lines = [init("claude-sonnet-4-5"), said("m1", 5, json!([])), json!({"type": "result", "is_error": false})];
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let mut reader = StreamReader::new(StreamFormat::Claude, None);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % text.len()).collect();
        cuts.sort_unstable();
        let mut from = 0;
        for cut in cuts {
            reader.feed(StreamSource::Printed, &text.as_bytes()[from..cut], now());
            from = cut;
        }
        reader.feed(StreamSource::Printed, &text.as_bytes()[from..], now());
        prop_assert_eq!(reader.seen(), &claude(&lines));
    }
}
