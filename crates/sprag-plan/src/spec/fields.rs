//! The fields of a plan, as one table: what is unknown is told by it, and the document is made from it.

use super::checks::CheckSandbox;
use super::client::{ClientName, StreamFormat};
use super::{AgentMode, BudgetAction, Caching, Effort, SandboxLevel, StageKind};

/// One field of a map.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: &'static str,
    /// What it takes, in a word or two.
    pub takes: &'static str,
    /// What holds where it is left out; `required` if it may not be.
    pub default: &'static str,
    pub about: &'static str,
}

/// A map of a plan: what it is called in sentences, and what may stand in it.
#[derive(Clone, Copy, Debug)]
pub struct FieldTable {
    pub name: &'static str,
    pub fields: &'static [Field],
}

impl FieldTable {
    pub fn names(&self) -> Vec<&'static str> {
        self.fields.iter().map(|field| field.name).collect()
    }
}

macro_rules! table {
    ($const:ident $name:literal: $($field:ident $takes:literal $default:literal $about:literal,)+) => {
        pub const $const: FieldTable = FieldTable {
            name: $name,
            fields: &[$(Field { name: stringify!($field), takes: $takes, default: $default, about: $about }),+],
        };
    };
}

table! { ROOT "plan":
    version "1" "required" "the form of the file",
    name "id" "required" "part of refs and branches of the run",
    target "branch" "the one checked out" "where merged work goes, by fast-forward only",
    gates "checks" "none" "run on every candidate, whatever its stage",
    slots "1-64" "4" "agents at work at once",
    backoff "time" "30s" "before a stage that failed is started again; doubled each time, ten times that at most",
    budget "budget" "unbounded" "of the whole run",
    sandbox "sandbox" "auto" "of all stages; a stage may only be stricter",
    auto_merge "true, false" "true" "false: a person says so for every stage",
    stages "stages" "required" "at least one",
}

table! { STAGE "stage":
    id "id" "required" "`[a-z0-9][a-z0-9-]{0,62}`, in one active plan only",
    name "text" "the id" "for people",
    description "text" "empty" "what is to be done, for the agent; up to 8000 characters",
    dependencies "ids" "none" "stages that have to be merged before it starts",
    parallel_group "id or group" "none" "stages that share a bound",
    type "kind" "standard" "`standard`, `knowledge` (looks, commits nothing), `integration-verify`, `knowledge-distill` (renders by commands of Sprag)",
    intents "ids" "none" "what it is for: their scope is its scope",
    files "patterns" "none" "more of its scope",
    working_dir "path" "required" "where its commands run, relative to the worktree",
    setup "commands" "none" "once per worktree and lock files",
    acceptance "checks" "none" "have to pass, each within 300 s",
    artifacts "patterns" "none" "up to 100; there, not empty, and no stub",
    wiring "wirings" "none" "names that have to stand where they are used",
    wiring_tests "checks" "none" "that it is connected, by behaviour",
    truths "checks" "none" "what has to hold afterwards, by behaviour",
    dead_code_check "dead code" "none" "what nobody calls",
    before_stage "checks" "none" "30 s each, before the first agent starts",
    after_stage "checks" "none" "30 s each, when it says that it is done",
    bug_fix "true, false" "false" "wants a `regression_test`",
    regression_test "regression" "none" "the test that would have shown it",
    tasks "tasks" "none" "steps that are ticked off by `sprag stage task ID`; open ones hold the end",
    context_budget "10-75" "75" "per cent of the context before the next agent takes over",
    client "client" "claude" "`claude`, `codex`, `gemini`, `copilot`, `opencode`, `cursor`, or `{command: [program, argument]}`",
    mode "mode" "headless" "`headless` or `tmux`; `cursor` has only the latter",
    model "name" "the client's" "handed to the client",
    effort "effort" "the client's" "`low`, `medium`, `high`, `xhigh`, `max`",
    sandbox "sandbox" "the plan's" "stricter than the plan's, or the same",
    budget "budget" "unbounded" "of this stage",
    retries "0-10" "3" "starts after a failure",
    auto_merge "true, false" "the plan's" "false: a person says so",
    allow_empty "true, false" "false" "it may end without a change",
    exclusive "true, false" "false" "no other stage runs beside it",
    outputs "outputs" "none" "what it leaves for those that build on it (`sprag stage output`)",
    verify "depth" "standard" "`quick`: never reviewed, `standard`: if it is large or guards others, `deep`: always ([how](#reviews))",
    copy "paths" "none" "files of your checkout that no commit has, such as `.env`: its worktree gets them, and they are never committed",
    caches "caches" "none" "what takes long to make again, taken over from your checkout",
}

table! { CHECK "check":
    command "command" "required" "for `sh -c`; a check may also be written as just this text",
    exit_code "0-255" "0" "what it has to end with",
    stdout_contains "texts" "none" "what it has to print",
    stdout_not_contains "texts" "none" "what it must not print",
    stderr_contains "texts" "none" "the same for its errors",
    stderr_empty "true, false" "false" "it must not print any",
    timeout "time" "300 s, 30 s before and after a stage" "up to 7 days",
    cache "true, false" "true" "a pass counts for every run on the same tree",
    walls "walls" "up" "`up`: behind the walls of the stage's agent; `off`: outside of them, for what needs a container daemon and the like",
}

table! { WIRING "wiring":
    source "path" "required" "the file it has to stand in",
    pattern "pattern" "required" "up to 500 characters; it must not fit the empty text",
    description "text" "required" "what is connected",
}

table! { DEAD_CODE "dead code":
    command "command" "required" "a program that lists it",
    fail_patterns "patterns" "required" "lines that count",
    ignore_patterns "patterns" "none" "lines that do not after all",
    timeout "time" "120 s" "",
}

table! { REGRESSION "regression":
    file "path" "required" "where the test is",
    must_contain "texts" "required" "what has to stand in it",
}

table! { TASK "task":
    id "id" "required" "by which it is ticked off",
    text "text" "required" "what is to be done",
    check "check" "none" "has to pass before it is ticked off",
}

table! { BUDGET "budget":
    tokens "number" "unbounded" "`500000`, `500k` or `2M`",
    cost "amount" "unbounded" "`12.50`, in the currency of the price list",
    time "time" "unbounded" "of agents at work",
    on_exceed "what then" "pause" "`pause` and ask, or `stop`",
}

table! { SANDBOX "sandbox":
    confine "how" "auto" "`off`, `auto` (where the machine has one), `required`; a sandbox may also be written as just this",
    network "hosts" "open" "`open`, `none`, or a list of hosts",
}

table! { GROUP "group":
    name "id" "required" "a group may also be written as just this",
    max "1-64" "unbounded" "stages of it at once; the same wherever it is given",
}

table! { OUTPUT "output":
    name "id" "required" "an output may also be written as just this",
    description "text" "empty" "what it is",
}

table! { CACHE "cache":
    path "path" "required" "a directory that git ignores, such as `target`",
    how "how" "none" "`none`, `share` (the same one for both) or `reflink` (a copy that costs nothing, where the disk can do that)",
}

table! { CLIENT "client":
    command "texts" "required" "a program and its arguments; the brief is named by `SPRAG_BRIEF`",
    stream "stream" "none" "`claude` or `codex`: it prints what that client prints, and is held to what it says",
}

/// All of them, the outermost first.
pub const TABLES: &[FieldTable] =
    &[ROOT, STAGE, CHECK, WIRING, DEAD_CODE, REGRESSION, TASK, BUDGET, SANDBOX, GROUP, OUTPUT, CLIENT, CACHE];

/// Names that stand in the tables as prose, so that a test can compare them.
pub const CHOICES: &[(&str, &[&str])] = &[
    ("type", StageKind::NAMES),
    ("client", ClientName::NAMES),
    ("mode", AgentMode::NAMES),
    ("effort", Effort::NAMES),
    ("on_exceed", BudgetAction::NAMES),
    ("confine", SandboxLevel::NAMES),
    ("stream", StreamFormat::NAMES),
    ("how", Caching::NAMES),
    ("walls", CheckSandbox::NAMES),
];
