//! Reads one stage of a draft. A problem is reported and the default is used, so that the rest can be
//! checked, too.

use sprag_base::document::{DocumentNode, Position};
use sprag_base::text::Text;
use sprag_check::Profile;
use sprag_intent::{IntentSet, IntentSharing, Ownership};

use super::check::{self, SHORT, USUAL};
use super::{PlanIntents, setting};
use crate::ids::StageId;
use crate::spec::problem::{ProblemCode, did_you_mean};
use crate::spec::reader::{FieldReader, PlanReader, shown};
use crate::spec::values::{FileGlob, Label, Readable, RelPath, ShellLine, Slug, no_choice};
use crate::spec::{
    EmptyWork, MergeMode, SandboxSettings, StageKind, StageScope, StageSpec, StageTask, fields,
};

/// Defaults for stages.
pub(crate) struct StageDefaults<'a> {
    pub sandbox: &'a SandboxSettings,
    pub merge: MergeMode,
    pub intents: PlanIntents<'a>,
}

/// A stage, with the positions of the parts that other stages depend on.
pub(crate) struct StageDraft {
    pub at: Position,
    /// The id, if it is valid; other stages refer to it.
    pub id: Option<Slug>,
    pub dependencies: Vec<(Position, Slug)>,
    pub group_at: Position,
    pub spec: StageSpec,
}

pub(crate) fn stage(
    reader: &mut PlanReader,
    item: &DocumentNode,
    usual: &StageDefaults<'_>,
) -> Option<StageDraft> {
    reader.whose.clear();
    let fields = reader.fields(item, &fields::STAGE)?;
    let at = fields.get("id").map_or(item.at, |node| node.at);
    let id: Option<Slug> = reader.required(&fields, "id").and_then(|node| reader.value(node, "id"));
    if let Some(id) = &id {
        reader.whose = format!("stage `{id}`: ");
    }
    let stage_id = id.as_ref().map_or_else(|| StageId::new(""), Slug::stage);
    let dependencies: Vec<(Position, Slug)> = reader.values(&fields, "dependencies");
    reader.once(&dependencies, "dependencies");
    let kind = reader.optional(&fields, "type").unwrap_or(StageKind::Standard);
    let scope = scope(reader, &fields, usual.intents);
    let name = fields.get("name").and_then(|node| reader.capped(node, "name"));
    let description = fields.get("description").and_then(|node| reader.capped(node, "description"));
    let working_dir =
        reader.required(&fields, "working_dir").and_then(|node| reader.value(node, "working_dir"));
    let sandbox = setting::sandbox(reader, &fields);
    let mut spec = StageSpec {
        name: name.unwrap_or_else(|| Text::new(stage_id.as_str())),
        id: stage_id,
        description: description.unwrap_or_default(),
        dependencies: dependencies.iter().map(|(_, id)| id.stage()).collect(),
        parallel_group: setting::group(reader, &fields),
        kind,
        scope,
        working_dir: working_dir.unwrap_or_else(RelPath::root),
        setup: reader.values::<ShellLine>(&fields, "setup").into_iter().map(|(_, command)| command).collect(),
        before_stage: check::checks(reader, &fields, "before_stage", SHORT),
        checks: check::all(reader, &fields),
        tasks: tasks(reader, &fields),
        context_budget: u8::try_from(reader.number(&fields, "context_budget", (10, 75), 75)).unwrap_or(75),
        agent: setting::agent(reader, &fields),
        sandbox: sandbox.clone().unwrap_or_else(|| usual.sandbox.clone()),
        budget: setting::budget(reader, &fields),
        retries: u8::try_from(reader.number(&fields, "retries", (0, 10), 3)).unwrap_or(3),
        merge: match reader.flag(&fields, "auto_merge") {
            None => usual.merge,
            Some(true) => MergeMode::Auto,
            Some(false) => MergeMode::Person,
        },
        empty: match reader.flag(&fields, "allow_empty") {
            Some(true) => EmptyWork::Allowed,
            Some(false) | None => EmptyWork::Refused,
        },
        sharing: match reader.flag(&fields, "exclusive") {
            Some(true) => IntentSharing::Exclusive,
            Some(false) | None => IntentSharing::Shared,
        },
        outputs: setting::outputs(reader, &fields),
        verify: reader.optional(&fields, "verify").unwrap_or_default(),
        copy: setting::copy(reader, &fields),
        caches: setting::caches(reader, &fields),
    };
    // If the plan says that a person merges, no stage can change that.
    if usual.merge == MergeMode::Person && spec.merge == MergeMode::Auto {
        let at = fields.get("auto_merge").map_or(at, |node| node.at);
        let what = "`auto_merge: true` contradicts `auto_merge: false` of the plan";
        reader.say(at, ProblemCode::Contradiction, what, "remove it here, or in the plan");
        spec.merge = MergeMode::Person;
    }
    if let Some(sandbox) = &sandbox
        && !sandbox.is_within(usual.sandbox)
    {
        let at = fields.get("sandbox").map_or(at, |node| node.at);
        let what = "its sandbox is looser than that of the plan";
        reader.say(at, ProblemCode::LooserSandbox, what, "make it stricter, or loosen the plan's");
    }
    unlooked(reader, &spec, at);
    let group_at = fields.get("parallel_group").map_or(at, |node| node.at);
    Some(StageDraft { at, id, dependencies, group_at, spec })
}

/// Reports a stage without checks, and one without a scope.
fn unlooked(reader: &mut PlanReader, spec: &StageSpec, at: Position) {
    match spec.kind {
        // These stages change nothing that could be checked.
        StageKind::Knowledge | StageKind::KnowledgeDistill => return,
        StageKind::Standard | StageKind::IntegrationVerify => {}
    }
    if spec.checks.is_empty() {
        let fix = "add `acceptance`, `truths`, `artifacts`, `wiring` or another check";
        reader.say(at, ProblemCode::UncheckedStage, "no check of its result", fix);
    }
    if spec.scope.is_open() && spec.kind == StageKind::Standard {
        let what = "`intents` and `files` are missing, so every change is in scope";
        reader.say(at, ProblemCode::NoScope, what, "add its files, for example `files: ['src/**']`");
    }
}

fn scope(reader: &mut PlanReader, fields: &FieldReader<'_>, known: PlanIntents<'_>) -> StageScope {
    let intents: Vec<(Position, Label)> = reader.values(fields, "intents");
    reader.once(&intents, "intents");
    let files: Vec<FileGlob> = reader.values(fields, "files").into_iter().map(|(_, glob)| glob).collect();
    let mut globs = Vec::new();
    for (at, id) in &intents {
        match known {
            PlanIntents::Known(set) => globs.extend(owned(reader, set, *at, id)),
            PlanIntents::Unreadable => {
                let what = format!("the scope of intent `{id}` is not known");
                reader.say(*at, ProblemCode::UnreadIntents, what, "run `sprag intent check`");
            }
        }
    }
    globs.extend(files.iter().cloned());
    let intents = intents.into_iter().map(|(_, id)| Text::new(id.as_str())).collect();
    StageScope { intents, files, globs }
}

/// Returns the patterns of an intent.
fn owned(reader: &mut PlanReader, set: &IntentSet, at: Position, id: &Label) -> Vec<FileGlob> {
    let Some(intent) = set.find(id.as_str()) else {
        let ids: Vec<&str> = set.iter().map(|intent| intent.id.as_str()).collect();
        let what = format!("there is no intent `{}`", shown(id.as_str()));
        reader.say(at, ProblemCode::UnknownIntent, what, did_you_mean(id.as_str(), &ids));
        return Vec::new();
    };
    let globs: &[String] = match &intent.owned {
        Ownership::Nothing => &[],
        Ownership::Everything => &["**".to_owned()],
        Ownership::Globs(globs) => globs,
    };
    globs.iter().filter_map(|glob| FileGlob::read(glob).ok()).collect()
}

fn tasks(reader: &mut PlanReader, fields: &FieldReader<'_>) -> Vec<StageTask> {
    let read = |reader: &mut PlanReader, fields: &FieldReader<'_>| {
        let id: Option<Slug> = reader.required(fields, "id").and_then(|node| reader.value(node, "id"));
        let text = reader.required(fields, "text").and_then(|node| reader.capped(node, "text"));
        let check = fields.get("check").and_then(|node| check::check(reader, node, "check", USUAL));
        Some((fields.at, StageTask { id: id?, text: text?, check }))
    };
    let tasks = check::each(reader, fields, "tasks", &fields::TASK, read);
    let ids: Vec<(Position, &str)> = tasks.iter().map(|(at, task)| (*at, task.id.as_str())).collect();
    reader.once(&ids, "tasks");
    tasks.into_iter().map(|(_, task)| task).collect()
}

impl Readable for Profile {
    fn read(text: &str) -> Result<Profile, crate::spec::problem::ValueProblem> {
        let all = [Profile::Quick, Profile::Standard, Profile::Deep];
        let names: Vec<&str> = all.iter().map(|profile| profile.name()).collect();
        all.into_iter().find(|profile| profile.name() == text).ok_or_else(|| no_choice(text, &names))
    }
}
