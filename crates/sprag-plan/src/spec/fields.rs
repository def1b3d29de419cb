//! The fields of a plan in one table, for the detection of unknown fields and for the documentation.

use super::checks::CheckSandbox;
use super::client::{ClientName, StreamFormat};
use super::{AgentMode, BudgetAction, Caching, Effort, SandboxLevel, StageKind};

/// One field of a map.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: &'static str,
    /// The kind of value, in a word or two.
    pub takes: &'static str,
    /// The default; `required` if the field has none.
    pub default: &'static str,
    pub about: &'static str,
}

/// A map in a plan: its name in sentences, and its fields.
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
    version "1" "required" "version of the file format",
    name "id" "required" "part of the refs and branches of the run",
    target "branch" "the one checked out" "branch for merged work, by fast-forward only",
    gates "checks" "none" "run on every merge candidate",
    slots "1-64" "4" "agents that work at the same time",
    backoff "time" "30s" "wait before a failed stage starts again; doubled each time, at most ten times this value",
    budget "budget" "unbounded" "budget of the whole run",
    sandbox "sandbox" "auto" "sandbox of all stages; a stage may only be stricter",
    auto_merge "true, false" "true" "`false`: a person approves the merge of every stage",
    stages "stages" "required" "at least one",
}

table! { STAGE "stage":
    id "id" "required" "`[a-z0-9][a-z0-9-]{0,62}`, in one active plan only",
    name "text" "the id" "for people",
    description "text" "empty" "assignment for the agent; up to 8000 characters",
    dependencies "ids" "none" "stages that must be merged before it starts",
    parallel_group "id or group" "none" "stages that share a limit",
    type "kind" "standard" "`standard`, `knowledge` (reads, commits nothing), `integration-verify`, `knowledge-distill` (renders knowledge with commands of Sprag)",
    intents "ids" "none" "its intents: their scope is its scope",
    files "patterns" "none" "more files of its scope",
    working_dir "path" "required" "directory of its commands, relative to the worktree",
    setup "commands" "none" "run once per worktree and state of lock files",
    acceptance "checks" "none" "must pass, each within 300 s",
    artifacts "patterns" "none" "up to 100; each must exist and be neither empty nor a stub",
    wiring "wirings" "none" "names that must occur where they are used",
    wiring_tests "checks" "none" "prove by behaviour that the parts are connected",
    truths "checks" "none" "prove by behaviour that the goal is reached",
    dead_code_check "dead code" "none" "finds unused code",
    before_stage "checks" "none" "run before the first agent starts, 30 s each",
    after_stage "checks" "none" "run on a claim, 30 s each",
    bug_fix "true, false" "false" "needs a `regression_test`",
    regression_test "regression" "none" "the test that fails without the fix",
    tasks "tasks" "none" "steps that the agent reports with `sprag stage task ID`; the stage is not done while one is open",
    context_budget "10-75" "75" "percent of the context after which the next agent takes over",
    client "client" "claude" "`claude`, `codex`, `gemini`, `copilot`, `opencode`, `cursor`, or `{command: [program, argument]}`",
    mode "mode" "headless" "`headless` or `tmux`; `cursor` supports only `tmux`",
    model "name" "the client's" "passed to the client",
    effort "effort" "the client's" "`low`, `medium`, `high`, `xhigh`, `max`",
    sandbox "sandbox" "the plan's" "the same as the plan's, or stricter",
    budget "budget" "unbounded" "budget of this stage",
    retries "0-10" "3" "new attempts after a failure",
    auto_merge "true, false" "the plan's" "`false`: a person approves the merge",
    allow_empty "true, false" "false" "the stage may end without a change",
    exclusive "true, false" "false" "no other stage runs at the same time",
    outputs "outputs" "none" "values for dependent stages (`sprag stage output`)",
    verify "depth" "standard" "`quick`: never reviewed, `standard`: reviewed if it is large or changes security code, `deep`: always ([how](#reviews))",
    copy "paths" "none" "uncommitted files of your checkout, such as `.env`, that are copied into its worktree and never committed",
    caches "caches" "none" "directories that are slow to rebuild, taken from your checkout",
}

table! { CHECK "check":
    command "command" "required" "for `sh -c`; a check may also be only this text",
    exit_code "0-255" "0" "expected exit code",
    stdout_contains "texts" "none" "texts that it must print",
    stdout_not_contains "texts" "none" "texts that it must not print",
    stderr_contains "texts" "none" "texts that it must print to stderr",
    stderr_empty "true, false" "false" "it must print nothing to stderr",
    timeout "time" "300 s, 30 s before and after a stage" "up to 7 days",
    cache "true, false" "true" "a pass counts for every run on the same tree",
    walls "walls" "up" "`up`: in the sandbox of the stage's agent; `off`: outside of it, for example to use a container daemon",
}

table! { WIRING "wiring":
    source "path" "required" "the file that must match",
    pattern "pattern" "required" "up to 500 characters; it must not match the empty text",
    description "text" "required" "the connection that this proves",
}

table! { DEAD_CODE "dead code":
    command "command" "required" "a program that lists unused code",
    fail_patterns "patterns" "required" "lines that report unused code",
    ignore_patterns "patterns" "none" "exceptions among those lines",
    timeout "time" "120 s" "",
}

table! { REGRESSION "regression":
    file "path" "required" "the file with the test",
    must_contain "texts" "required" "texts that the file must contain",
}

table! { TASK "task":
    id "id" "required" "name of the task in `sprag stage task ID`",
    text "text" "required" "the step to do",
    check "check" "none" "must pass before the task counts as done",
}

table! { BUDGET "budget":
    tokens "number" "unbounded" "`500000`, `500k` or `2M`",
    cost "amount" "unbounded" "`12.50`, in the currency of the price list",
    time "time" "unbounded" "working time of agents",
    on_exceed "action" "pause" "`pause` and ask, or `stop`",
}

table! { SANDBOX "sandbox":
    confine "how" "auto" "`off`, `auto` (if the machine supports one), `required`; a sandbox may also be only this word",
    network "hosts" "open" "`open`, `none`, or a list of hosts",
}

table! { GROUP "group":
    name "id" "required" "a group may also be only this id",
    max "1-64" "unbounded" "stages of the group at the same time; the same value everywhere",
}

table! { OUTPUT "output":
    name "id" "required" "an output may also be only this id",
    description "text" "empty" "meaning of the value",
}

table! { CACHE "cache":
    path "path" "required" "a directory that git ignores, such as `target`",
    how "how" "none" "`none`, `share` (one directory for both) or `reflink` (a copy without cost, if the file system supports it)",
}

table! { CLIENT "client":
    command "texts" "required" "a program and its arguments; `SPRAG_BRIEF` holds the path of the brief",
    stream "stream" "none" "`claude` or `codex`: the program prints in the format of that client, and Sprag reads it",
}

/// All tables, the outermost first.
pub const TABLES: &[FieldTable] =
    &[ROOT, STAGE, CHECK, WIRING, DEAD_CODE, REGRESSION, TASK, BUDGET, SANDBOX, GROUP, OUTPUT, CLIENT, CACHE];

/// Names that the tables mention in prose; a test compares them.
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
