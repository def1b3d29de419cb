//! `sprag memory stats`: shows the use of the memory and suggests settings.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use sprag_base::record::RecordAuthor;
use sprag_host::config::{self, Layer, Resolved};
use sprag_host::store::{new_record, projections};
use sprag_host::sys::disk::RealDisk;
use sprag_host::world::World;
use sprag_memory::episode::{FailurePattern, FailurePatterns};
use sprag_memory::learning::{Category, LearningStatus};
use sprag_memory::learnings::Learnings;
use sprag_memory::recall::floor::{FloorAudience, FloorVersion, FloorVersions};
use sprag_memory::records::MemoryRecord;
use sprag_memory::stats::insight::{self, CurrentSettings, Insight, SuggestedSetting};
use sprag_memory::stats::{Stats, Week};
use sprag_memory::usage::Uses;

use crate::commands::{CommandCx, CommandEnd, CommandResult, check_not_agent, check_person, show, warn};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

mod text;

/// Show how learnings are used, and suggest settings
///
/// Prints counts by week and category, compares sessions with and without learnings, and lists insights.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of weeks to show
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u8).range(1..=52))]
    weeks: u8,
    /// Show suggested settings, and change them after a confirmation (people only)
    #[arg(long)]
    apply: bool,
    /// Revert the last automatic change of how many learnings Sprag shows (people only)
    #[arg(long, conflicts_with = "apply")]
    revert: bool,
    #[command(flatten)]
    format: OutputFormat,
}

/// Maximum number of failures to list.
const EPISODES: usize = 5;

/// The content of the report.
struct StatsReport {
    learnings: Learnings,
    stats: Stats,
    weeks: Vec<Week>,
    insights: Vec<Insight>,
    /// Failures that happened several times.
    episodes: Vec<FailurePattern>,
}

/// The counts of one category.
#[derive(Clone, Copy, Default)]
struct Row {
    count: u32,
    shown: u32,
    used: u32,
    implied: u32,
    dismissed: u32,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    warn(&world);
    if args.revert {
        return revert(&world, args.format, cx);
    }
    let resolved = config::load(&world.places, &cx.env);
    let report = gather(&world, &resolved, args.weeks, cx)?;
    if args.apply {
        return apply(&report, &resolved, args.format, cx);
    }
    show(args.format, || data(&report), || text::tell(&report))
}

fn gather(world: &World<'_>, resolved: &Resolved, weeks: u8, cx: &CommandCx) -> Result<StatsReport, Failure> {
    let store = world.store();
    let learnings = projections::load::<Learnings>(&store)?.state;
    let stats: Stats = projections::load_all(&store)?;
    let insights = insight::insights(&learnings, &stats, &resolved.typed.decay, &settings(resolved), cx.now);
    let patterns = projections::load::<FailurePatterns>(&store)?.state;
    let episodes = patterns.candidates().into_iter().take(EPISODES).cloned().collect();
    Ok(StatsReport { weeks: stats.weeks(i64::from(weeks), cx.now), learnings, stats, insights, episodes })
}

fn settings(resolved: &Resolved) -> CurrentSettings {
    let text = |key: &str| {
        let value = resolved.settings.get(key).map(|setting| &setting.value);
        value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).unwrap_or_default()
    };
    CurrentSettings {
        strategy: text("retrieval.strategy"),
        line_threshold: text("gate.auto_skip.line_threshold").parse().unwrap_or(0),
        decider: text("gate.auto_skip.decider"),
    }
}

impl StatsReport {
    fn by_status(&self) -> BTreeMap<&'static str, u32> {
        let mut counts: BTreeMap<&'static str, u32> =
            LearningStatus::ALL.iter().map(|status| (status.name(), 0)).collect();
        for entry in self.learnings.all() {
            *counts.entry(entry.status().name()).or_default() += 1;
        }
        counts
    }

    fn by_category(&self) -> Vec<(Category, Row)> {
        let row = |category: &Category| {
            let of = self.learnings.all().filter(|entry| entry.learning.candidate.category == *category);
            of.fold(Row::default(), |row, entry| row.with(&entry.uses))
        };
        let rows = Category::ALL.iter().map(|category| (*category, row(category)));
        rows.filter(|(_, row)| row.count > 0).collect()
    }
}

impl Row {
    fn with(self, uses: &Uses) -> Row {
        Row {
            count: self.count + 1,
            shown: self.shown + u32::from(uses.surfaced),
            used: self.used + u32::from(uses.referred) + u32::from(uses.rated_up),
            implied: self.implied + u32::from(uses.implied),
            dismissed: self.dismissed + u32::from(uses.dismissed) + u32::from(uses.rated_down),
        }
    }

    /// Returns the share of rated uses that helped. Implied uses count half.
    fn rate(&self) -> Option<f32> {
        let judged = self.used + self.implied + self.dismissed;
        (judged > 0).then(|| (self.used as f32 + 0.5 * self.implied as f32) / judged as f32)
    }
}

fn data(report: &StatsReport) -> Value {
    let categories: Vec<Value> = report
        .by_category()
        .iter()
        .map(|(category, row)| {
            json!({
                "category": category, "count": row.count, "shown": row.shown, "used": row.used,
                "implied": row.implied, "dismissed": row.dismissed, "hit_rate": row.rate(),
            })
        })
        .collect();
    let stages: BTreeMap<&str, _> = report.stats.stages().collect();
    json!({
        "learnings": report.by_status(),
        "categories": categories,
        "weeks": report.weeks,
        "write_gate": {
            "accepted": report.stats.accepted, "rejected": report.stats.rejected(),
            "acceptance": report.stats.acceptance(), "stages": stages,
        },
        "skips": report.stats.skips(),
        "sessions": report.stats.compared(),
        "insights": report.insights,
        "episodes": report.episodes,
    })
}

/// Reverts the last version for every role and scope.
fn revert(world: &World<'_>, format: OutputFormat, cx: &CommandCx) -> CommandResult {
    check_not_agent(&world.places)?;
    let store = world.store();
    let versions = projections::load::<FloorVersions>(&store)?.state;
    let mut whom: Vec<&FloorAudience> = versions.all().map(|(_, version)| &version.whom).collect();
    whom.sort();
    whom.dedup();
    let reverted: Vec<FloorVersion> = whom.into_iter().filter_map(|whom| versions.reverted(whom)).collect();
    if reverted.is_empty() {
        return Err(Failure::nothing_to_revert());
    }
    let by = RecordAuthor::reporter();
    let record = |version: &FloorVersion| {
        new_record::record(&MemoryRecord::Floor(version.clone()), cx.now, None, Some(by.clone()))
    };
    store.log(&RealDisk, &reverted.iter().map(record).collect::<Vec<_>>())?;
    projections::refresh::<FloorVersions>(&store, &RealDisk)?;
    show(
        format,
        || json!({ "reverted": reverted }),
        || {
            for version in &reverted {
                let whom = &version.whom;
                output::line(format!(
                    "{} learnings for {}: {}; now the default floor times {:.2}",
                    whom.scope, whom.role, version.why, version.floor
                ));
            }
        },
    )
}

/// A suggested change of a setting, with its current value.
struct SettingEdit<'a> {
    setting: &'a SuggestedSetting,
    from: String,
}

fn apply(report: &StatsReport, resolved: &Resolved, format: OutputFormat, cx: &CommandCx) -> CommandResult {
    let mut edits: Vec<SettingEdit<'_>> = Vec::new();
    for setting in report.insights.iter().filter_map(|insight| insight.change.as_ref()) {
        // A value in a layer above the user layer would win.
        let now = resolved.settings.get(setting.key).filter(|now| now.layer <= Layer::User);
        if let Some(now) = now {
            edits.push(SettingEdit { setting, from: now.value.to_string() });
        }
    }
    let changes = || -> Vec<Value> {
        let change = |edit: &SettingEdit<'_>| json!({"key": edit.setting.key, "from": edit.from, "to": edit.setting.to});
        edits.iter().map(change).collect()
    };
    if edits.is_empty() {
        return show(
            format,
            || json!({"changes": [], "applied": false}),
            || output::line("no suggested settings\n  next: sprag memory stats"),
        );
    }
    let places = cx.places()?;
    check_person(&places)?;
    let path = config::files(&places).into_iter().find(|(layer, _)| *layer == Layer::User);
    let (_, path) = path.ok_or(sprag_host::sys::locations::NoHome)?;
    for edit in &edits {
        output::note(format!("- {} = {}", edit.setting.key, edit.from));
        output::note(format!("+ {} = {}", edit.setting.key, edit.setting.to));
    }
    if !output::confirm(&format!("write these settings to `{}`?", path.display())) {
        return Err(Failure::not_confirmed("sprag memory stats"));
    }
    for edit in &edits {
        config::edit::set(&RealDisk, Layer::User, &path, edit.setting.key, &edit.setting.to)?;
    }
    show(
        format,
        || json!({"changes": changes(), "applied": true, "path": path}),
        || output::line(format!("changed {} settings in `{}`", edits.len(), path.display())),
    )?;
    Ok(CommandEnd::Done)
}
