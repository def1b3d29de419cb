//! The compiled configuration for hooks: one small file instead of three parsed files. The file is valid
//! until one of its source files changes.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use sprag_base::result::Discard as _;
use sprag_govern::gates::scope::StrayMode;
use sprag_policy::packs::PACKS;
use sprag_policy::{Decision, RuleConcern, RuleFilter, RuleSet, Strictness};

use crate::config::rule_cache::{RuleCache, Sorted};
use crate::config::rule_files::Sourced;
use crate::config::{self, Good, Settings, rule_layers, switches, templates};
use crate::intent_files;
use crate::sys::disk::{self, Disk};
use crate::sys::env::Env;
use crate::sys::locations::Locations;

/// Another build may read the same bytes differently.
const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "/19");

/// Maximum number of intent warnings; `sprag intent check` shows all.
const SHOWN: usize = 3;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Compiled {
    build: String,
    /// Total bytes of the built-in rules, because they change more often than the version.
    packs: usize,
    made_from: Vec<(PathBuf, Option<FileStamp>)>,
    pub settings: Settings,
    pub off: switches::Off,
    /// Warnings about the layers, for `sprag status` and the user.
    pub warnings: Vec<String>,
    /// The file with the rules. It is separate because most calls need no rules.
    rules: PathBuf,
    /// The file with the intents, if the repository has any.
    intents: Option<PathBuf>,
    #[serde(skip)]
    fresh: Option<Rc<RuleCache>>,
    #[serde(skip)]
    fresh_intents: Option<intent_files::LoadedIntents>,
}

impl Compiled {
    /// Returns the restricting rules that a call concerns; `None` if they cannot be read.
    pub fn restricting(&self, concern: &RuleConcern) -> Option<RuleSet> {
        self.kept()?.restricting(concern)
    }

    pub fn allowing(&self) -> Option<RuleSet> {
        self.kept()?.allowing()
    }

    /// Returns the intents of the repository. The cached intents are up to date, because the check of this
    /// cache covered all intent files.
    pub fn intents(&self, worktree: &Path) -> Option<intent_files::LoadedIntents> {
        if let Some(fresh) = &self.fresh_intents {
            return Some(fresh.clone());
        }
        let kept = fs::read(self.intents.as_ref()?).ok();
        kept.and_then(|bytes| postcard::from_bytes(&bytes).ok()).or_else(|| intent_files::load(worktree))
    }

    fn kept(&self) -> Option<Rc<RuleCache>> {
        match &self.fresh {
            Some(fresh) => Some(Rc::clone(fresh)),
            None => RuleCache::open(&self.rules).map(Rc::new),
        }
    }
}

/// The metadata that changes when a file changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileStamp {
    modified: (i64, i64),
    changed: (i64, i64),
    size: u64,
    inode: u64,
}

/// Returns the configuration for a hook call. A layer with a mistake never takes effect; its last good text
/// stays in force.
pub fn for_hook(places: &Locations, env: &Env, disk: &dyn Disk) -> Compiled {
    let Some(path) = cache_path(places, env) else {
        return compile(places, env, &Good::default(), PathBuf::new());
    };
    let cached = bounded(&path).and_then(|bytes| postcard::from_bytes::<Compiled>(&bytes).ok());
    let cached = cached.filter(|cached| cached.build == BUILD && cached.packs == packs_size());
    let is_valid =
        |cached: &Compiled| cached.made_from.iter().all(|(path, stamp)| read_stamp(path) == *stamp);
    match cached {
        Some(cached) if is_valid(&cached) => cached,
        last_good => {
            let last_good = last_good.and_then(|last_good| last_good.kept()?.good()).unwrap_or_default();
            let rules = path.with_extension("rules");
            let mut compiled = compile(places, env, &last_good, rules);
            store(disk, &path, &mut compiled).discard("a cache that is not written costs time only");
            compiled
        }
    }
}

fn compile(places: &Locations, env: &Env, last_good: &Good, rules: PathBuf) -> Compiled {
    // Take the stamps first. If a file changes during the read, the next call reads it again.
    let made_from = sources(places).into_iter().map(|path| (path.clone(), read_stamp(&path))).collect();
    let resolved = config::load_with(places, env, last_good);
    let mut warnings: Vec<String> = resolved.problems.iter().map(ToString::to_string).collect();
    warnings.extend(
        resolved
            .ignored
            .iter()
            .map(|ignored| format!("`{}` in `{}` is ignored", ignored.key, ignored.path.display())),
    );
    let mut settings = resolved.typed;
    settings.govern.gates.review.watch = review_watch(&resolved.rules);
    let is_strict = settings.govern.gates.permission.strict;
    let strictness = if is_strict { Strictness::Strict } else { Strictness::Usual };
    let fresh = match Sorted::new(&resolved.rules, strictness) {
        Ok(sorted) => {
            settings.govern.gates.permission.watch = sorted.restricting.watch();
            RuleCache::new(&sorted, &resolved.good).ok().map(Rc::new)
        }
        // The layers checked each rule when they read it.
        Err(bad) => {
            warnings.push(format!("no rules are in force: {bad}"));
            None
        }
    };
    let off = places.user.as_ref().map(switches::read_off).unwrap_or_default();
    let fresh_intents = places.worktree.as_deref().and_then(intent_files::load);
    if let Some(loaded) = &fresh_intents {
        settings.govern.gates.scope.found = StrayMode::Intents;
        warnings.extend(loaded.warnings.iter().take(SHOWN).map(ToString::to_string));
    }
    Compiled {
        build: BUILD.to_owned(),
        packs: packs_size(),
        made_from,
        settings,
        off,
        warnings,
        intents: fresh_intents.as_ref().map(|_| rules.with_extension("intents")),
        rules,
        fresh,
        fresh_intents,
    }
}

/// Returns a filter for calls that rules with a review concern. Most projects have none.
fn review_watch(rules: &[Sourced]) -> Option<RuleFilter> {
    let mut wanting =
        rules.iter().map(|sourced| &sourced.rule).filter(|rule| rule.decision == Decision::Review).peekable();
    wanting.peek()?;
    RuleSet::new(wanting, Strictness::Usual).ok().map(|rules| rules.watch())
}

fn packs_size() -> usize {
    PACKS.iter().map(|pack| pack.toml.len()).sum()
}

/// Returns the paths that show whether the configuration changed. If the directory of a layer is missing, the
/// directory itself is watched.
fn sources(places: &Locations) -> Vec<PathBuf> {
    let rules = rule_layers::dirs(places).into_iter().chain(rule_layers::files(places));
    let rules = rules.chain(templates::dirs(places)).chain(templates::files(places));
    let layers = config::files(places).into_iter().chain(rules).map(|(_, path)| path);
    let layers = layers.chain(places.worktree.iter().flat_map(|worktree| intent_files::files(worktree)));
    let mut watched: Vec<PathBuf> = Vec::new();
    for path in layers {
        let missing = path.parent().filter(|parent| !parent.exists()).map(Path::to_path_buf);
        let path = missing.unwrap_or(path);
        if !watched.contains(&path) {
            watched.push(path);
        }
    }
    // Ignore files count only in a repository with intents.
    if let Some(worktree) = &places.worktree
        && intent_files::files(worktree).any(|path| fs::symlink_metadata(path).is_ok())
    {
        watched.extend(intent_files::ignore_files(worktree));
    }
    // These files are in Sprag's own state directory.
    watched
        .extend(places.user.iter().flat_map(|user| [switches::off_path(user), switches::trust_path(user)]));
    watched
}

fn read_stamp(path: &Path) -> Option<FileStamp> {
    let found = fs::metadata(path).ok()?;
    Some(FileStamp {
        modified: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
        size: found.size(),
        inode: found.ino(),
    })
}

/// Returns the cache path, one for each combination of worktree, store, user configuration and environment
/// settings. It is in the user's state directory, because a git directory may come from an archive and bring
/// its own policy.
fn cache_path(places: &Locations, env: &Env) -> Option<PathBuf> {
    let user = places.user.as_ref()?;
    let mut hash = DefaultHasher::new();
    (&places.worktree, &places.store, &user.config).hash(&mut hash);
    config::settings_in(env).hash(&mut hash);
    Some(user.state.join("cache").join(format!("cfg-{:016x}.bin", hash.finish())))
}

fn bounded(path: &Path) -> Option<Vec<u8>> {
    let found = fs::metadata(path).ok().filter(|found| found.is_file() && found.len() < 1024 * 1024);
    found.and_then(|_| fs::read(path).ok())
}

fn store(disk: &dyn Disk, path: &Path, compiled: &mut Compiled) -> std::io::Result<()> {
    disk::make_parent(disk, path)?;
    if let Some(made) = compiled.fresh.as_deref().and_then(RuleCache::made) {
        disk::replace_derived(disk, &compiled.rules, made)?;
    }
    compiled.made_from.push((compiled.rules.clone(), read_stamp(&compiled.rules)));
    if let (Some(path), Some(loaded)) = (&compiled.intents, &compiled.fresh_intents) {
        disk::replace_derived(disk, path, &postcard::to_allocvec(loaded).map_err(std::io::Error::other)?)?;
        compiled.made_from.push((path.clone(), read_stamp(path)));
    }
    let bytes = postcard::to_allocvec(compiled).map_err(std::io::Error::other)?;
    disk::replace_derived(disk, path, &bytes)
}
