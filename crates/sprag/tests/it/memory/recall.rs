//! Recall through the program: a session sees learnings of others at the right time, once, and none from
//! elsewhere.

use serde_json::{Value, json};

use crate::memory::learnings::{good, hand_in, id, personal, records, sandbox, with};
use crate::support::Sandbox;

fn prompt(sandbox: &Sandbox, session: &str, text: &str) -> String {
    let told = sandbox.event(session, "UserPromptSubmit", json!({ "prompt": text }));
    told["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

fn end(sandbox: &Sandbox, session: &str) {
    sandbox.event(session, "SessionEnd", json!({"reason": "other"}));
}

const UPLOADS: &str = "the upload worker drops chunks above 8 MB unless retry_budget is raised";

fn uploads() -> Value {
    let detail = "retry_budget defaults to 3 in upload.toml and backpressure eats it; set it to 10 before testing large files";
    with(with(good(UPLOADS), "detail", json!(detail)), "tags", json!(["upload", "worker"]))
}

#[test]
fn a_learning_that_was_shown_in_vain_is_still_found() {
    let sandbox = sandbox();
    hand_in(
        &sandbox,
        &json!([uploads(), good("idle sockets are dropped by the load balancer after 10 minutes")]),
    );
    for session in 1..=10 {
        let session = format!("s-{session}");
        let told = prompt(&sandbox, &session, "large uploads lose chunks: why does the worker give up?");
        assert!(told.contains(UPLOADS), "{session}: {told}");
        assert!(!told.contains("sockets"), "{session}: {told}");
        assert_eq!(prompt(&sandbox, &session, "and the upload worker's chunks?"), "", "it was said already");
        end(&sandbox, &session);
    }
    assert_eq!(records(&sandbox.store(), "learning.dismissed").len(), 10, "once for each session");
}

#[test]
fn citing_a_learning_counts_also_where_nothing_was_done() {
    let sandbox = sandbox();
    let id = id(&hand_in(&sandbox, &json!([uploads()])));
    assert!(prompt(&sandbox, "t", "why does the upload worker drop chunks?").contains(UPLOADS));
    let answer = format!("Its budget is too small, see {id}.");
    assert_eq!(sandbox.event("t", "Stop", json!({ "last_assistant_message": answer })), json!({}));
    assert_eq!(records(&sandbox.store(), "learning.referred")[0]["body"]["ids"], json!([id]));
    end(&sandbox, "t");
    assert_eq!(records(&sandbox.store(), "learning.dismissed").len(), 0);
}

#[test]
fn a_clients_own_words_and_other_agents_are_shown_nothing() {
    let sandbox = sandbox();
    hand_in(&sandbox, &json!([uploads()]));
    let asked = json!({"prompt": "why does the upload worker drop chunks?", "agent_id": "a1", "agent_type": "Explore"});
    assert_eq!(sandbox.event("s", "UserPromptSubmit", asked), json!({}));
}

#[test]
fn what_became_of_a_learning_is_told_to_who_has_seen_it() {
    let sandbox = sandbox();
    let told = hand_in(&sandbox, &json!([uploads()]));
    let id = id(&told);
    let question = "why does the upload worker drop chunks?";
    for session in ["a", "b"] {
        assert!(prompt(&sandbox, session, question).contains(UPLOADS));
    }
    let correction = "the upload worker drops chunks above 16 MB since release 2.4";
    let ran =
        sandbox.run_with(&["memory", "edit", &id], json!({ "summary": correction }).to_string().as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let told = prompt(&sandbox, "a", "go on");
    assert!(told.contains("was corrected") && told.contains(correction), "{told}");
    assert_eq!(prompt(&sandbox, "a", "go on"), "", "once");
    let again = "the upload worker drops chunks above 32 MB since release 2.5";
    sandbox.run_with(&["memory", "edit", &id], json!({ "summary": again }).to_string().as_bytes());
    let told = prompt(&sandbox, "a", "go on");
    assert!(told.contains("was corrected") && told.contains(again), "{told}");
    assert_eq!(prompt(&sandbox, "a", "go on"), "", "once for each correction");
    assert!(prompt(&sandbox, "new", question).contains(again));
    assert_eq!(sandbox.run(&["memory", "archive", &id, "--why", "wrong"]).code, 0);
    for session in ["a", "b"] {
        let told = prompt(&sandbox, session, "go on");
        assert!(told.contains("was withdrawn"), "{session}: {told}");
        assert_eq!(prompt(&sandbox, session, "go on"), "", "once");
    }
    assert_eq!(prompt(&sandbox, "newer", question), "");
}

#[test]
fn what_a_learning_is_not_for_keeps_it_away() {
    let sandbox = sandbox();
    let trigger = json!({"when_not": "the legacy uploader"});
    hand_in(&sandbox, &json!([with(uploads(), "trigger", trigger)]));
    assert!(prompt(&sandbox, "a", "why does the upload worker drop chunks?").contains(UPLOADS));
    let told = prompt(&sandbox, "b", "why does the upload worker of the legacy uploader drop chunks?");
    assert_eq!(told, "");
}

#[test]
fn what_it_rests_on_has_changed() {
    let sandbox = sandbox();
    sandbox.write("src/upload.rs", "const RETRY_BUDGET: u32 = 3;\n");
    hand_in(&sandbox, &json!([with(uploads(), "evidence", json!(["src/upload.rs"]))]));
    let question = "why does the upload worker drop chunks?";
    assert!(!prompt(&sandbox, "a", question).contains("out of date"));
    sandbox.write("src/upload.rs", "const RETRY_BUDGET: u32 = 10;\n");
    assert!(prompt(&sandbox, "b", question).contains("may be out of date"));
    assert_eq!(records(&sandbox.store(), "learning.stale").len(), 1);
    std::fs::remove_file(sandbox.project.join("src/upload.rs")).unwrap();
    assert_eq!(prompt(&sandbox, "c", question), "", "nothing is left of it");
}

#[test]
fn the_first_file_that_is_touched_brings_what_is_known_of_it() {
    let sandbox = sandbox();
    hand_in(&sandbox, &json!([with(uploads(), "context_files", json!(["src/upload.rs"]))]));
    prompt(&sandbox, "s", "make the colours of the login page nicer");
    let read = |file: &str| {
        let path = sandbox.project.join(file);
        sandbox.event(
            "s",
            "PreToolUse",
            json!({"tool_name": "Read", "tool_input": {"file_path": path}, "tool_use_id": file}),
        )
    };
    assert!(read("src/upload.rs").to_string().contains(UPLOADS));
    assert_eq!(read("src/upload.rs"), json!({}));
}

#[test]
fn what_is_the_users_own_is_counted_where_it_is_kept() {
    let sandbox = sandbox();
    let own = with(with(uploads(), "scope", json!("personal")), "kind", json!("preference"));
    hand_in(&sandbox, &json!([own]));
    assert!(prompt(&sandbox, "t", "why does the upload worker drop chunks?").contains(UPLOADS));
    assert_eq!(records(&sandbox.store(), "learning.surfaced").len(), 0);
    assert_eq!(records(&personal(&sandbox), "learning.surfaced").len(), 1);
}

/// Project, its learning, and a question that the learning answers.
const PROJECTS: &[(&str, &str, &str)] = &[
    (
        "shop",
        "refunds above 500 euro need a second approval in the ledger service",
        "why is a big refund stuck waiting for approval",
    ),
    (
        "shop",
        "the tax table for Norway is cached for a day, so rate changes show late",
        "norwegian tax rate is still the old one after the change",
    ),
    (
        "shop",
        "checkout retries a declined card once with the same idempotency key",
        "customer was charged twice after a declined card",
    ),
    (
        "shop",
        "invoice numbers come from a sequence per legal entity, never from the order id",
        "gaps in invoice numbers of the german entity",
    ),
    (
        "shop",
        "gift vouchers are booked as liabilities until they are redeemed",
        "voucher revenue shows up too early in the report",
    ),
    (
        "shop",
        "the product feed truncates titles at 150 characters for the marketplace",
        "titles in the marketplace feed are cut off",
    ),
    (
        "engine",
        "shadow cascades flicker when the camera's near plane is below 0.05",
        "shadows flicker when the camera gets close",
    ),
    (
        "engine",
        "skinned meshes must be baked before instancing, the vertex shader reads 4 bones",
        "instanced characters have broken skinning",
    ),
    (
        "engine",
        "the particle system allocates from the frame arena and must not keep pointers",
        "crash in particles one frame after they spawn",
    ),
    (
        "engine",
        "texture streaming waits for mip 4 before a material is shown",
        "materials pop in blurry after a level loads",
    ),
    (
        "engine",
        "physics steps at 60 Hz and interpolates, so raycasts hit the previous pose",
        "raycast misses a fast moving body",
    ),
    (
        "engine",
        "the audio mixer ducks music by 6 dB while dialogue plays",
        "music gets quieter when somebody talks",
    ),
    (
        "sensor",
        "the humidity chip needs 80 ms after wake-up before the first i2c read",
        "first humidity reading after sleep is garbage",
    ),
    (
        "sensor",
        "battery voltage is sampled under load, idle readings are 200 mV too high",
        "battery level jumps when the radio transmits",
    ),
    (
        "sensor",
        "the watchdog is fed only from the radio task, long flash erases reset the board",
        "device reboots while erasing flash",
    ),
    (
        "sensor",
        "LoRa duty cycle leaves 36 seconds of airtime per hour on channel 3",
        "uplinks are dropped by the lora modem at noon",
    ),
    (
        "sensor",
        "firmware images are signed with the key slot 2 of the secure element",
        "bootloader refuses the new firmware signature",
    ),
    (
        "sensor",
        "the temperature calibration polynomial lives in page 63 of the flash",
        "calibration is lost after a firmware update",
    ),
    (
        "pipeline",
        "the nightly spark job skews on customer 0, salt the join key with 16 buckets",
        "one spark executor runs for hours in the nightly join",
    ),
    (
        "pipeline",
        "embeddings are recomputed when the tokenizer hash changes, about 9 hours",
        "why are all embeddings computed again this night",
    ),
    (
        "pipeline",
        "the feature store returns stale values for entities updated in the last 5 minutes",
        "online features lag behind the batch features",
    ),
    (
        "pipeline",
        "parquet files below 32 MB slow the trainer's reader, compact them first",
        "training input reading is slow with many small parquet files",
    ),
    (
        "pipeline",
        "label leakage: the churn column is derived from cancellation_date",
        "churn model is suspiciously accurate",
    ),
    (
        "pipeline",
        "gpu workers lose the cuda context after a preemption and need a restart",
        "cuda errors after a spot instance was preempted",
    ),
];

#[test]
fn a_project_answers_its_own_questions_and_no_others() {
    let sandbox = Sandbox::without_git();
    let store = sandbox.home.join("scratch");
    let store = store.to_str().unwrap();
    let lines = |rows: Vec<Value>| rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    let documents = PROJECTS.iter().enumerate().map(|(at, (project, learned, _))| {
        json!({"id": at.to_string(), "pool": project, "summary": learned, "detail": ""})
    });
    let loaded = sandbox
        .run_with(&["memory", "load", "--store", store, "--jsonl"], lines(documents.collect()).as_bytes());
    assert_eq!(loaded.code, 0, "{}", loaded.stdout);
    let pools = ["shop", "engine", "sensor", "pipeline"];
    let asked = PROJECTS.iter().enumerate().flat_map(|(at, (_, _, question))| {
        pools.map(|pool| json!({"query_id": format!("{at}/{pool}"), "pool": pool, "text": question}))
    });
    let found = sandbox.run_with(&["search", "--store", store, "--jsonl"], lines(asked.collect()).as_bytes());
    assert_eq!(found.code, 0, "{}", found.stderr);
    let (mut right, mut wrong, mut elsewhere) = (0, Vec::new(), 0);
    for line in found.stdout.lines() {
        let answer: Value = serde_json::from_str(line).unwrap();
        let (at, pool) = answer["query_id"].as_str().unwrap().split_once('/').unwrap();
        let is_own = PROJECTS[at.parse::<usize>().unwrap()].0 == pool;
        elsewhere += usize::from(!is_own);
        match answer["ids"][0].as_str() {
            Some(id) if is_own => right += usize::from(id == at),
            Some(_) => wrong.push(line.to_owned()),
            None => {}
        }
    }
    assert!(right * 3 >= PROJECTS.len() * 2, "{right} of {} are answered", PROJECTS.len());
    assert!(
        wrong.len() * 50 <= elsewhere,
        "{} of {elsewhere} are answered elsewhere: {wrong:#?}",
        wrong.len()
    );
}

#[test]
fn to_say_again_that_a_learning_helped_is_no_other_use() {
    let sandbox = sandbox();
    let id = id(&hand_in(&sandbox, &json!([uploads()])));
    for _ in 0..3 {
        assert_eq!(sandbox.run(&["ref", &id, "--how", "it helped", "--session", "s"]).code, 0);
    }
    assert_eq!(records(&sandbox.store(), "learning.referred").len(), 1);
    sandbox.event("t", "SessionStart", json!({"source": "startup"}));
    sandbox.run(&["ref", &id, "--how", "it helped", "--session", "t"]);
    assert_eq!(records(&sandbox.store(), "learning.referred").len(), 2, "once for each session");
}
