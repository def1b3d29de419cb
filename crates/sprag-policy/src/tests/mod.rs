//! Tests of patterns and rules with hand-made scripts: in a word `?` is a hole, `?*` is any number of words.

#[cfg(test)]
mod laws;

use serde_json::json;

use sprag_base::text::Text;
use sprag_shell::{Carrier, Command, Doubt, DoubtKind, Host, PathUse, Script, StdinSource, Word, WorkingDir};

use super::*;
use crate::call::{InputCompleteness, ToolCall, ToolEffect, ToolRow};
use crate::pattern::subject::Exemptions;

/// Makes a word: `?` is a hole, `?*` is any number of words.
pub(super) fn word(text: &str) -> Word {
    match text {
        "?*" => Word::Many,
        text if text.contains('?') => {
            let mut parts = Vec::new();
            for (i, part) in text.split('?').enumerate() {
                if i > 0 {
                    parts.push(None);
                }
                if !part.is_empty() {
                    parts.push(Some(part.to_owned()));
                }
            }
            Word::Partly(parts)
        }
        text => Word::Known(text.to_owned()),
    }
}

fn command(text: &str) -> Command {
    Command {
        argv: text.split_whitespace().map(word).collect(),
        assigns: Vec::new(),
        stdin: StdinSource::Inherited,
        cwd: WorkingDir::At(String::new()),
        via: Vec::new(),
        host: Host::Local,
        span: (0, text.len()),
    }
}

/// Makes a script of commands, separated by `;`.
pub(super) fn script(text: &str) -> Script {
    Script { commands: text.split(';').map(command).collect(), ..Script::default() }
}

fn doubt(kind: DoubtKind, command: Option<usize>) -> Doubt {
    Doubt { kind, about: Text::from("a doubt"), command }
}

pub(super) fn path(text: &str) -> PathUse {
    PathUse { path: word(text), cwd: WorkingDir::At(String::new()), by: ">".to_owned(), command: None }
}

pub(super) fn ground() -> KnownPaths {
    KnownPaths::new(Some("/home/ann/app"), Some("/home/ann"))
}

fn outcome(pattern: &str, script: &Script) -> MatchLevel {
    match_script(&Pattern::parse(pattern).unwrap(), script, &ground())
}

pub(super) fn rule(id: &str, decision: Decision, any: &[&str]) -> Rule {
    Rule {
        id: id.to_owned(),
        any: any.iter().map(|&pattern| pattern.to_owned()).collect(),
        decision,
        reason: "because".to_owned(),
        ..Rule::gate("")
    }
}

pub(super) fn judge(rules: &[Rule], script: &Script) -> RuleVerdict {
    let ground = ground();
    RuleSet::new(rules, Strictness::Usual).unwrap().judge(&Subject::script(script, &ground))
}

use MatchLevel::{Match, No, OpaqueOnly, Uncertain};

#[test]
fn words_stand_in_order() {
    for (pattern, text, expected) in [
        ("Bash:gh issue close*", "gh issue close 1", Match),
        ("Bash:gh issue close*", "gh issue close", Match),
        ("Bash:gh issue close*", "gh issue closed", Match),
        ("Bash:gh issue close*", "gh issue list", No),
        ("Bash:gh issue close*", "ghx issue close", No),
        ("Bash:gh issue close*", "gh close issue", No),
        ("Bash:gh issue close*", "echo gh issue close", No),
        ("Bash:gh issue close*", "/usr/local/bin/gh issue close", Match),
        ("Bash:gh issue close*", "gh.exe issue close", Match),
        ("Bash:gh issue close*", "?/gh issue close", Match),
        ("Bash:gh issue close*", "ls ; gh issue close 1", Match),
        ("Bash:rm *", "rm", Match),
        ("Bash:rm *", "rm a b", Match),
        ("Bash:rm *", "rmdir a", No),
        ("Bash:git status", "git status", Match),
        ("Bash:git status", "git status -s", No),
        ("Bash:git status", "git status .", No),
        ("Bash:git * main", "git push main", Match),
        ("Bash:git * main", "git main", No),
        ("Bash:{bd,beads} close*", "beads close 3", Match),
        ("Bash:{bd,beads} close*", "bead close 3", No),
        ("Bash:{bd,beads} close*", "bd -C sub --lock-timeout 5s close 3", Match),
        ("Bash:git push ** main", "git push origin main", Match),
        ("Bash:git push ** main", "git push main", Match),
        ("Bash:git push ** main", "git push origin main x", No),
        ("Bash:git push ** +*", "git push origin a +main", Match),
        ("Bash:git stash !list *", "git stash drop", Match),
        ("Bash:git stash !list *", "git stash list", No),
        ("Bash:git stash !{list,show} *", "git stash show 1", No),
        ("Bash:./tool *", "./tool x", Match),
        ("Bash:./tool *", "tool x", No),
        ("Bash:*", "anything at all", Match),
        ("Bash:mkfs* ** /dev/{sd,nvme}*", "mkfs.ext4 -q /dev/sda1", Match),
        ("Bash:[ *", "[ -f x ]", Match),
    ] {
        assert_eq!(outcome(pattern, &script(text)), expected, "{pattern} | {text}");
    }
}

#[test]
fn options_before_a_word_are_passed_over() {
    for (pattern, text, expected) in [
        ("Bash:gh issue close*", "gh issue -R o/r close 1", Match),
        ("Bash:gh issue close*", "gh --repo=o/r issue close 1", Match),
        ("Bash:kubectl delete*", "kubectl --context prod -n x delete pod", Match),
        ("Bash:gh issue close*", "gh issue list --search close", No),
        ("Bash:git push*", "git commit -m push", No),
    ] {
        assert_eq!(outcome(pattern, &script(text)), expected, "{pattern} | {text}");
    }
}

#[test]
fn options_stand_anywhere() {
    for (pattern, text, expected) in [
        ("Bash:git push --force *", "git push origin main --force", Match),
        ("Bash:git push --force *", "git push --force=true", Match),
        ("Bash:git push --force *", "git push --forc", Match),
        ("Bash:git push --force *", "git push --force-with-lease", No),
        ("Bash:git push --force-with-lease *", "git push --force", No),
        ("Bash:git push --force *", "git push -- --force", No),
        ("Bash:git push {-f,--force} *", "git push -uf origin", Match),
        ("Bash:git push {-f,--force} *", "git push origin", No),
        ("Bash:git clean -f *", "git clean -xdf", Match),
        ("Bash:git clean -f *", "git clean -d -f", Match),
        ("Bash:rm -rf *", "rm -fr x", Match),
        ("Bash:rm -rf *", "rm -r -v -f x", Match),
        ("Bash:rm -rf *", "rm -r x", No),
        ("Bash:kill -9 -1", "kill -9 -1", Match),
        ("Bash:kill -9 -1", "kill -19 4", No),
        ("Bash:kill ** -- -1", "kill -9 -- -1", Match),
        ("Bash:find ** -delete *", "find . -name x -delete", Match),
        ("Bash:find ** -delete *", "find . -type l -depth -daystart -empty", No),
        ("Bash:find ** -exec* *", "find . -execdir ls", Match),
        ("Bash:curl -X=DELETE *", "curl -s -X DELETE u", Match),
        ("Bash:curl -X=DELETE *", "curl -XDELETE u", Match),
        ("Bash:curl -X=DELETE *", "curl -sXDELETE u", Match),
        ("Bash:curl -X=DELETE *", "curl -X GET u", No),
        ("Bash:curl --request=DELETE *", "curl u --request=DELETE", Match),
        ("Bash:curl --request=DELETE *", "curl u --request DELETE", Match),
        ("Bash:sed !-i *", "sed -n p x", Match),
        ("Bash:sed !-i *", "sed -ni p x", No),
        ("Bash:sed !-i *", "sed -i.bak p x", No),
        ("Bash:sort ?{-n,-r,-k,--key} *", "sort -nr -k2,3 --key=4 x", Match),
        ("Bash:sort ?{-n,-r,-k,--key} *", "sort -no x", No),
        ("Bash:sort ?{-n,-r,-k,--key} *", "sort --output x", No),
        ("Bash:sort ?{-n,-r,-k,--key} *", "sort --ke 2", No),
        ("Bash:sort ?{-n,-r,-k,--key} *", "sort -n1o", No),
        ("Bash:sort ?{-n,-r,-k,--key} *", "sort -- -o", Match),
        ("Bash:sort ?{-n,-r,-k,--key} *", "sort ?*", Uncertain),
        ("Bash:sort ?-n *", "sort x", Match),
        ("Bash:sed *\\{*", "sed 1{p", Match),
        ("Bash:git checkout -- *", "git checkout -- x", Match),
        ("Bash:git checkout -- *", "git checkout x", No),
        ("Bash:git checkout -- *", "git checkout HEAD -- x", No),
        ("Bash:git checkout ** -- *", "git checkout HEAD -- x", Match),
        ("Bash:git commit --no-verify", "git commit --no-verify", Match),
    ] {
        assert_eq!(outcome(pattern, &script(text)), expected, "{pattern} | {text}");
    }
}

#[test]
fn holes_are_wildcards() {
    for (pattern, text, expected) in [
        ("Bash:gh issue*", "gh ? 1", Uncertain),
        ("Bash:gh issue close*", "gh ? 1", No),
        ("Bash:gh issue close*", "echo ?", No),
        ("Bash:gh issue close*", "? issue close 1", Uncertain),
        ("Bash:gh issue close*", "? list", No),
        ("Bash:gh issue close*", "gh ?*", Uncertain),
        ("Bash:gh issue close*", "?*", Uncertain),
        ("Bash:gh issue close*", "g? issue close", Uncertain),
        ("Bash:gh issue close*", "gh issue close ?", Match),
        ("Bash:rm *", "rm ?", Match),
        ("Bash:rm *", "ls ?*", No),
        ("Bash:git push --force *", "git push --? origin", Uncertain),
        ("Bash:git push --force *", "git push ?*", Uncertain),
        ("Bash:git push --force *", "git push origin ?", No),
        ("Bash:git push -f *", "git push -?", Uncertain),
        ("Bash:git reset --hard *", "git reset --ha?", Uncertain),
        ("Bash:rm -r ** <root> *", "rm -r ?/etc", Uncertain),
        ("Bash:rm -r ** <unknown> *", "rm -r ?*", Match),
        ("Bash:curl --output=x *", "curl --output=? u", Uncertain),
    ] {
        assert_eq!(outcome(pattern, &script(text)), expected, "{pattern} | {text}");
    }
}

#[test]
fn doubt_hides_what_it_can() {
    let mut plain = script("ls a");
    for (kind, at, expected) in [
        (DoubtKind::Parse, None, Uncertain),
        (DoubtKind::Limit, None, Uncertain),
        (DoubtKind::OddChar, Some(0), Uncertain),
        (DoubtKind::Dynamic, Some(0), Uncertain),
        (DoubtKind::Dynamic, None, Uncertain),
        (DoubtKind::Opaque, Some(0), OpaqueOnly),
    ] {
        plain.doubts = vec![doubt(kind, at)];
        assert_eq!(outcome("Bash:gh issue close*", &plain), expected, "{kind:?}");
        assert_eq!(outcome("Write:x", &plain), expected, "{kind:?}");
        assert_eq!(outcome("Bash:ls*", &plain), Match);
    }
    let mut program = script("? list");
    program.doubts = vec![doubt(DoubtKind::Dynamic, Some(0))];
    assert_eq!(outcome("Bash:gh issue close*", &program), No, "its words are known");
}

#[test]
fn classes_say_what_words_cannot() {
    for (pattern, text, expected) in [
        ("Bash:rm -r ** <root> *", "rm -r build /", Match),
        ("Bash:rm -r ** <root> *", "rm -r ~ build", Match),
        ("Bash:rm -r ** <root> *", "rm -r build", No),
        ("Bash:mv ** <root> * *", "mv /etc /tmp/x", Match),
        ("Bash:mv ** <root> * *", "mv x /etc", No),
        ("Bash:rm ** !<root> *", "rm /", No),
    ] {
        assert_eq!(outcome(pattern, &script(text)), expected, "{pattern} | {text}");
    }
    let mut fed = script("curl u ; sh");
    assert_eq!(outcome("Bash:<fed> *", &fed), No);
    fed.doubts = vec![doubt(DoubtKind::Dynamic, Some(1))];
    assert_eq!(outcome("Bash:<fed> *", &fed), Match);
    assert_eq!(outcome("Bash:<fed> {sh,bash} *", &fed), Match);
    let mut again = script("f");
    assert_eq!(outcome("Bash:<again> *", &again), No);
    again.commands[0].via = vec![Carrier::Function("f".to_owned())];
    assert_eq!(outcome("Bash:<again> *", &again), Match);
}

#[test]
fn paths_are_places() {
    let mut written = Script::default();
    for (pattern, written_path, expected) in [
        ("Write:src/**", "src/a/b", Match),
        ("Write:src/**", "src", Match),
        ("Write:src/**", "./src/../src/a", Match),
        ("Write:src/**", "/home/ann/app/src/a", Match),
        ("Write:src/**", "srcs/a", No),
        ("Write:src/*", "src/a/b", No),
        ("Write:*.rs", "a.rs", Match),
        ("Write:*.rs", "a/b.rs", No),
        ("Write:**/*.rs", "a/b.rs", Match),
        ("Write:**/.env", ".env", Match),
        ("Write:~/.ssh/**", "/home/ann/.ssh/id", Match),
        ("Write:~/.ssh/**", "~/.ssh/id", Match),
        ("Write:~/.ssh/**", "../.ssh/id", Match),
        ("Write:{.sprag,.claude}/**", ".claude/x", Match),
        ("Write:/dev/sd*", "/dev/sda", Match),
        ("Write:src/**", "?", Uncertain),
        ("Write:**/.env", "?/.env", Match),
        ("Write:src/**", "?/src/a", Uncertain),
        ("Write:src/**", "src/?", Match),
        ("Write:src/**", "doc/?", No),
        ("Read:src/**", "src/a", No),
    ] {
        written.writes = vec![path(written_path)];
        assert_eq!(outcome(pattern, &written), expected, "{pattern} | {written_path}");
    }
}

const TOOLS: &[ToolRow] = &[
    ToolRow { name: "Write", effect: ToolEffect::Write, paths: &["file_path"], command: None },
    ToolRow { name: "Read", effect: ToolEffect::Read, paths: &["file_path"], command: None },
];

#[test]
fn tools_are_known_by_name_and_input() {
    for (pattern, name, input, expected) in [
        ("mcp__*__close_issue", "mcp__tissue__close_issue", json!({}), Match),
        ("mcp__*__close_issue", "mcp__tissue__open_issue", json!({}), No),
        ("Task", "Task", json!({}), Match),
        ("Task", "TaskOutput", json!({}), No),
        ("Task(subagent_type=review*)", "Task", json!({"subagent_type": "reviewer"}), Match),
        ("Task(subagent_type=review*)", "Task", json!({"subagent_type": "coder"}), No),
        ("Task(subagent_type=review*)", "Task", json!({}), No),
        ("x(n={1,2},b=true)", "x", json!({"n": 2, "b": true}), Match),
        ("x(n={1,2},b=true)", "x", json!({"n": 2, "b": false}), No),
        ("Write:src/**", "Write", json!({"file_path": "/home/ann/app/src/a"}), Match),
        ("Write:src/**", "Read", json!({"file_path": "src/a"}), No),
        ("Read:src/**", "Read", json!({"file_path": "src/a"}), Match),
        ("Bash:ls*", "Write", json!({"file_path": "ls"}), No),
    ] {
        let call = ToolCall::new(TOOLS, name, input, None, InputCompleteness::Yes);
        let ground = ground();
        let found = Subject::call(&call, None, &ground)
            .outcome(&Pattern::parse(pattern).unwrap(), Exemptions::default());
        assert_eq!(found, expected, "{pattern} | {name}");
    }
}

#[test]
fn what_means_nothing_is_an_error() {
    for pattern in [
        "",
        "Bash:",
        "Bash:  ",
        "Bash:-f",
        "Bash:{a",
        "Bash:a}",
        "Bash:{a,{b,c}}",
        "Bash:[ab]c",
        "Bash:git {-f,x}",
        "Bash:rm <nowhere>",
        "Bash:rm ?{a,-b}",
        "Bash:?-n",
        "Via:",
        "Bash:<root> x",
        "Write:",
        "Read:  ",
        "x(",
        "x(a)",
        "x(=b)",
        "two words",
        "Edit:src",
    ] {
        assert!(Pattern::parse(pattern).is_err(), "{pattern}");
    }
    let many = format!("Bash:{}", "{a,b}".repeat(20));
    assert!(Pattern::parse(&many).is_err());
    assert_eq!(
        Pattern::parse("Bash:{a").unwrap_err().to_string(),
        "bad pattern `Bash:{a`: the `}` is missing"
    );
}

#[test]
fn the_strictest_rule_decides() {
    let rules = [
        rule("allow", Decision::Allow, &["Bash:git*"]),
        rule("ask", Decision::Ask, &["Bash:git push*"]),
        rule("review", Decision::Review, &["Bash:git push ** main*"]),
        rule("deny", Decision::Deny, &["Bash:git push --force *"]),
    ];
    for (text, verdict, id) in [
        ("git log", RuleDecision::Allow, Some("allow")),
        ("git push", RuleDecision::Ask, Some("ask")),
        ("git push origin main", RuleDecision::Deny, Some("review")),
        ("git push origin main --force", RuleDecision::Deny, Some("deny")),
        ("git log ; ls", RuleDecision::None, None),
        ("ls", RuleDecision::None, None),
        ("git push ?*", RuleDecision::Ask, Some("ask")),
    ] {
        let judged = judge(&rules, &script(text));
        assert_eq!((judged.verdict, judged.rule.as_deref()), (verdict, id), "{text}");
        assert_eq!(judged.matched, id.is_some(), "{text}");
    }
}

#[test]
fn doubt_asks_and_files_are_let_pass() {
    let gate = [Rule::gate("Bash:gh issue close*")];
    let told = |script: &Script| {
        let judged = judge(&gate, script);
        (judged.verdict, judged.decision, judged.matched, judged.uncertain)
    };
    assert_eq!(told(&script("gh issue close 1")), (RuleDecision::Deny, Some(Decision::Review), true, false));
    assert_eq!(told(&script("? issue close 1")), (RuleDecision::Ask, Some(Decision::Ask), false, true));
    let mut file = script("bash x.sh");
    file.doubts = vec![doubt(DoubtKind::Opaque, Some(0))];
    assert_eq!(told(&file), (RuleDecision::None, None, false, true));
    let ground = ground();
    let strict = RuleSet::new(&gate, Strictness::Strict).unwrap();
    assert_eq!(strict.judge(&Subject::script(&file, &ground)).verdict, RuleDecision::Ask);
    file.doubts = vec![doubt(DoubtKind::Parse, None)];
    let judged = judge(&gate, &file);
    assert_eq!(judged.verdict, RuleDecision::Ask);
    assert!(judged.reason.unwrap().contains("a doubt"));
}

#[test]
fn to_allow_is_to_cover_everything() {
    let rules = [rule(
        "look",
        Decision::Allow,
        &["Bash:ls *", "Bash:sort !{-o,--output} *", "Write:out/**", "Via:timeout ?-s *"],
    )];
    let verdict = |script: &Script| judge(&rules, script).verdict;
    assert_eq!(verdict(&script("ls -la x ; sort -n x")), RuleDecision::Allow);
    assert_eq!(verdict(&script("/usr/bin/ls")), RuleDecision::Allow);
    for text in
        ["ls ; rm x", "sort -o x", "sort --out=x", "sort ?", "sort ?*", "? x", "/tmp/ls", "./ls", "?/ls"]
    {
        assert_eq!(verdict(&script(text)), RuleDecision::None, "{text}");
    }
    let with = |change: &dyn Fn(&mut Script)| {
        let mut script = script("ls");
        change(&mut script);
        verdict(&script)
    };
    assert_eq!(with(&|script| script.doubts = vec![doubt(DoubtKind::Opaque, None)]), RuleDecision::None);
    assert_eq!(with(&|script| script.commands.clear()), RuleDecision::None);
    for (name, expected) in
        [("LC_ALL", RuleDecision::Allow), ("CI", RuleDecision::Allow), ("LD_PRELOAD", RuleDecision::None)]
    {
        let assign = |script: &mut Script| script.commands[0].assigns = vec![(name.to_owned(), word("x"))];
        assert_eq!(with(&assign), expected, "{name}");
    }
    for (to, expected) in [
        ("/dev/null", RuleDecision::Allow),
        ("out/x", RuleDecision::Allow),
        ("x", RuleDecision::None),
        ("?", RuleDecision::None),
    ] {
        assert_eq!(with(&|script| script.writes = vec![path(to)]), expected, "{to}");
    }
    assert_eq!(with(&|script| script.commands[0].host = Host::Other("h".to_owned())), RuleDecision::None);
    let via = |text: &str| with(&|script| script.wrappers = vec![command(text)]);
    assert_eq!(
        (via("timeout 5 ls"), via("timeout -k 1 5 ls"), via("sudo ls")),
        (RuleDecision::Allow, RuleDecision::None, RuleDecision::None)
    );
    let foreign = Carrier::Interpreter("python".to_owned());
    assert_eq!(with(&|script| script.commands[0].via = vec![foreign.clone()]), RuleDecision::None);
}

#[test]
fn an_exemption_is_about_the_command_that_was_found() {
    let mut clean = rule("clean", Decision::Deny, &["Bash:git clean {-f,--force} *"]);
    clean.unless = vec!["{-n,--dry-run}".to_owned()];
    for (text, verdict) in [
        ("git clean -f", RuleDecision::Deny),
        ("git clean -fn", RuleDecision::None),
        ("git clean -f --dry-run", RuleDecision::None),
        ("git clean -f ; ls -n", RuleDecision::Deny),
        ("git clean -fn ; git clean -f", RuleDecision::Deny),
    ] {
        assert_eq!(judge(&[clean.clone()], &script(text)).verdict, verdict, "{text}");
    }
}

#[test]
fn with_is_what_two_commands_do_together() {
    let mut fetched = rule("fetched", Decision::Deny, &["Bash:{curl,wget} *"]);
    fetched.with = vec!["Bash:<fed> *".to_owned()];
    let mut fed = script("curl u ; sh");
    assert_eq!(judge(&[fetched.clone()], &fed).verdict, RuleDecision::None);
    fed.doubts = vec![doubt(DoubtKind::Dynamic, Some(1))];
    assert_eq!(judge(&[fetched.clone()], &fed).verdict, RuleDecision::Deny);
    fed.commands[0] = command("cat x");
    assert_eq!(judge(&[fetched], &fed).verdict, RuleDecision::Ask, "what runs may well fetch");
}

#[test]
fn what_a_stranger_may_not_say_is_named() {
    assert_eq!(rule("x", Decision::Deny, &["Bash:x"]).loosens(), None);
    assert!(rule("x", Decision::Allow, &["Bash:x"]).loosens().is_some());
    let exempting = Rule { unless: vec!["-n".to_owned()], ..rule("x", Decision::Deny, &["Bash:x"]) };
    assert_eq!(exempting.loosens(), Some("unless"));
}
