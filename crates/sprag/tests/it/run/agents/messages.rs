//! Messages to agents and people during a run.

use super::*;

/// A script that calls hooks until one of them returns a message, and leaves the message in this file.
const HEAR: &str = r#"
hear() {
    for i in $(seq 2000); do
        echo '{"session_id":"s-1","hook_event_name":"PostToolUse","cwd":"'$PWD'","tool_name":"Read","tool_use_id":"t'$i'","tool_input":{"file_path":"README"},"tool_response":{}}' | "$SPRAG" hook claude >"$1"
        if grep -q 'context is' "$1"; then return; fi
    done
    exit 7
}
"#;

#[test]
fn an_agent_whose_context_fills_is_asked_for_notes_and_then_hands_over_itself() {
    let mut desk = Desk::new();
    let (count, home) = (desk.home("a.ran"), desk.sandbox.home.display().to_string());
    let script = format!(
        "SPRAG={SPRAG}\ncat >{home}/brief\necho x >>{0}\nRUN=$(grep -c x {0})\n{SPEECH}{HEAR}
        init
        if [ $RUN = 1 ]; then
            said m1 84000; hear {home}/notes; $SPRAG note 'the door is red'
            said m2 104000; hear {home}/handoff; $SPRAG handoff --next 'make a' </dev/null
            exit 0
        fi
        said m3 1000; echo a >a; git add -A; git commit -qm a",
        count.display()
    );
    desk.sandbox.with_program("claude", &script);
    desk.plan(&["client: claude", "context_budget: 50", "retries: 0"]);
    desk.assert_merged(&desk.run());
    assert_eq!(desk.times(), 2);
    let told = |name: &str| fs::read_to_string(desk.home(name)).unwrap();
    assert!(told("notes").contains("42% full") && told("notes").contains("sprag note"), "{}", told("notes"));
    assert!(told("handoff").contains("52% full") && told("handoff").contains("sprag handoff"));
    let brief = told("brief");
    assert!(brief.contains("the door is red") && brief.contains("make a"), "{brief}");
    assert_eq!(desk.ends()[0]["ended"], "well", "nobody had to end it");
}

#[test]
fn a_person_is_told_by_their_own_program_when_a_stage_needs_them() {
    let desk = Desk::new();
    let (told, config) = (desk.home("told"), desk.home(".config/sprag/config.toml"));
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    let script = format!("printf '%s\\n' \"$SPRAG_STAGE $1\" >>{}", told.display());
    fs::write(config, format!("[notify]\ncommand = [\"sh\", \"-c\", {script:?}, \"-\"]\n")).unwrap();
    desk.speaks("init; failed 401", &[]);
    desk.assert_blocked(&desk.run());
    let told = fs::read_to_string(told).unwrap();
    assert_eq!(told, "a sprag: plan `p`: stage `a` is blocked: `sprag stage review a`\n", "once");
}

#[test]
fn a_program_that_tells_nobody_holds_nothing_and_is_named_where_a_daemon_speaks() {
    let desk = Desk::new();
    let config = desk.home(".config/sprag/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(config, "[notify]\ncommand = [\"false\"]\n").unwrap();
    desk.speaks("init; failed 401", &[]);
    desk.assert_blocked(&desk.run());
    let said = fs::read_to_string(desk.sandbox.store().join("run/daemon.log")).unwrap();
    assert!(said.contains("`notify.command` failed"), "{said}");
}
