//! Finds the tracker of a worktree and queries it. The search reads a few directory entries, so any hook can
//! do it. A query starts a program and runs after the reply.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use sprag_base::digest::Digest;
use sprag_base::settings::SettingName;
use sprag_govern::trackers::{ActiveTicket, Tracker, TrackerSign, find, is_plain};

use crate::git::ELSEWHERE;
use crate::sys::disk::{self, read_small};
use crate::sys::env::Env;
use crate::sys::exec::{self, ProcessSpec};
use crate::sys::locations::{self, Locations};
use crate::world::World;

/// Time limit of a tracker query.
const DEADLINE: Duration = Duration::from_secs(2);
/// Maximum bytes of an answer. A cut answer is not valid JSON and counts as none.
const CAP: usize = 256 * 1024;
/// Maximum bytes of a cached answer.
const TOLD: u64 = 4096;
/// Maximum bytes of the configuration of a clone.
const CONFIG: u64 = 1024 * 1024;

/// Turns off prompts, update notices and colours, because no person reads the output.
const QUIET: &[(&str, &str)] = &[
    ("GH_PROMPT_DISABLED", "1"),
    ("GH_NO_UPDATE_NOTIFIER", "1"),
    ("NO_COLOR", "1"),
    ("CLICOLOR_FORCE", "0"),
];

/// Returns the first tracker of the order that this worktree uses. Ignores unknown names.
pub fn found(
    worktree: &Path,
    order: &[SettingName],
    enabled: impl Fn(&str) -> bool,
) -> Option<&'static Tracker> {
    let is_used = |tracker: &&Tracker| match tracker.mark {
        // A dangling link is a sign too.
        TrackerSign::Path(path) => fs::symlink_metadata(worktree.join(path)).is_ok(),
        TrackerSign::Remote(host) => has_remote(worktree, host),
        TrackerSign::Always => true,
        TrackerSign::Never => false,
    };
    let known = order.iter().filter(|name| enabled(name)).filter_map(|name| find(name));
    // Trackers that are always there come last, in any order of the settings.
    let (last, first): (Vec<_>, Vec<_>) = known.partition(|tracker| tracker.mark == TrackerSign::Always);
    first.into_iter().chain(last).find(is_used)
}

/// Reports whether the tickets are in the worktree. Sprag asks a tracker over the network only about a ticket
/// that an agent closes.
pub fn is_here(tracker: &Tracker) -> bool {
    matches!(tracker.mark, TrackerSign::Path(_))
}

/// Asks for the active ticket and caches the answer for the next event. Runs after a reply.
pub fn ask_active(world: &World<'_>) -> io::Result<()> {
    let policy = &world.config.settings.govern.gates.reflection;
    let order = &policy.ticketing.discovery;
    let Some(worktree) = &world.places.worktree else {
        return Ok(());
    };
    let tracker =
        found(worktree, order, |name| policy.overrides.is_on(name)).filter(|tracker| is_here(tracker));
    let item = tracker.and_then(|tracker| active(tracker, worktree, world.env)?.into_iter().next());
    let Some(path) = tracker.and_then(|_| told_path(&world.places)) else {
        return Ok(());
    };
    let bytes = serde_json::to_vec(&item).map_err(io::Error::other)?;
    disk::make_parent(world.disk, &path)?;
    disk::replace_derived(world.disk, &path, &bytes)
}

/// Returns the active ticket of the last query.
pub fn read_cached_ticket(places: &Locations) -> Option<ActiveTicket> {
    let text = read_small(&told_path(places)?, TOLD).ok()?;
    serde_json::from_str(&text).ok()?
}

/// Returns the path of the cached answer, one for each worktree of a clone.
fn told_path(places: &Locations) -> Option<PathBuf> {
    let worktree = places.worktree.as_ref()?.to_string_lossy().into_owned();
    Some(places.store.join("cache").join(format!("active-{}.json", Digest::hash_parts([worktree]).short())))
}

/// Returns the active tickets. `None` if the tracker is not available or its answer is unknown.
pub fn active(tracker: &Tracker, worktree: &Path, env: &Env) -> Option<Vec<ActiveTicket>> {
    let words: Vec<String> = tracker.asks.as_ref()?.active.iter().map(|word| (*word).to_owned()).collect();
    tracker.read_active(&answer(tracker, &words, worktree, env)?)
}

/// Reports whether a ticket is closed. `None` as for `active`, or if the id is not a plain word.
pub fn is_closed(tracker: &Tracker, id: &str, worktree: &Path, env: &Env) -> Option<bool> {
    let asks = tracker.asks.as_ref().filter(|_| is_plain(id))?;
    tracker.read_closed(&answer(tracker, &(asks.closed)(id), worktree, env)?)
}

fn answer(tracker: &Tracker, words: &[String], worktree: &Path, env: &Env) -> Option<Vec<u8>> {
    let path = env.get("PATH")?;
    let mut programs = tracker.programs.iter();
    let program = programs.find_map(|name| exec::on_foreign_path(name, &path, Some(worktree)))?;
    let args: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
    let quiet = QUIET.iter().map(|(name, value)| (*name, OsStr::new(*value)));
    let vars: Vec<(&str, &OsStr)> = quiet.chain([("PATH", path.as_os_str())]).collect();
    let ran = exec::run(&ProcessSpec {
        dir: worktree,
        env: &vars,
        unset: ELSEWHERE,
        stdin: &[],
        cap: CAP,
        ..ProcessSpec::new(program.as_os_str(), &args, DEADLINE)
    });
    ran.ok().filter(exec::ProcessOutput::succeeded).map(|ran| ran.stdout)
}

/// Reports whether a remote of the clone is on this host. Reads the configuration of the clone only, without
/// its includes.
fn has_remote(worktree: &Path, host: &str) -> bool {
    let config = locations::common_dir(worktree).and_then(|dir| read_small(&dir.join("config"), CONFIG).ok());
    config
        .is_some_and(|config| remotes(&config).any(|url| host_of(url).is_some_and(|of| is_within(of, host))))
}

/// Returns the URLs of remotes in the text of a git configuration.
fn remotes(config: &str) -> impl Iterator<Item = &str> {
    let mut is_remote = false;
    config.lines().filter_map(move |line| {
        let line = line.trim();
        if line.starts_with('[') {
            let section = line.to_ascii_lowercase();
            is_remote = section.starts_with("[remote ") || section.starts_with("[remote\t");
            return None;
        }
        let (key, value) = line.split_once('=').filter(|_| is_remote)?;
        key.trim().eq_ignore_ascii_case("url").then(|| value.trim().trim_matches('"'))
    })
}

/// Returns the host in `https://me@host:443/path` or `git@host:path`. A path has no host.
fn host_of(url: &str) -> Option<&str> {
    let authority = match url.split_once("://") {
        Some((_, rest)) => rest.split('/').next()?,
        None => url.split_once(':').map(|(before, _)| before).filter(|before| !before.contains('/'))?,
    };
    authority.rsplit('@').next()?.split(':').next()
}

/// Reports whether a name is the host or below it: `ssh.github.com` is below `github.com`, `notgithub.com` is
/// not.
fn is_within(name: &str, host: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.strip_suffix(host).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::sys::exec;

    fn order(names: &[&str]) -> Vec<SettingName> {
        names.iter().map(|name| SettingName::Owned((*name).to_owned())).collect()
    }

    const ALL: &[&str] = &["tissue", "beads", "github", "tasks", "session"];

    fn found_in(worktree: &Path, names: &[&str], off: &str) -> Option<&'static str> {
        found(worktree, &order(names), |name| name != off).map(|tracker| tracker.name)
    }

    fn repository(dir: &Path, config: &str) {
        fs::create_dir_all(dir.join(".git/objects")).unwrap();
        fs::write(dir.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(dir.join(".git/config"), config).unwrap();
    }

    #[test]
    fn the_first_mark_in_the_order_counts() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        assert_eq!(found_in(root, ALL, ""), Some("session"));
        assert_eq!(found_in(root, ALL, "session"), None);
        fs::create_dir(root.join(".beads")).unwrap();
        assert_eq!(found_in(root, ALL, ""), Some("beads"));
        assert_eq!(found_in(root, &["session", "nobody", "beads"], ""), Some("beads"));
        assert_eq!(found_in(root, ALL, "beads"), Some("session"));
        symlink("nowhere", root.join(".tissue")).unwrap();
        assert_eq!(found_in(root, ALL, ""), Some("tissue"));
        assert_eq!(found_in(root, &["beads", "tissue"], ""), Some("beads"));
        assert_eq!(found_in(root, &["tasks"], ""), None);
        // A mark in a parent directory belongs to another project.
        fs::create_dir(root.join("sub")).unwrap();
        assert_eq!(found_in(&root.join("sub"), ALL, ""), Some("session"));
    }

    #[test]
    fn a_remote_is_found_in_the_configuration_of_the_clone() {
        for (config, is_found) in [
            ("[remote \"origin\"]\n\turl = https://github.com/o/r.git\n", true),
            ("[remote \"origin\"]\n\turl = git@github.com:o/r.git\n", true),
            (
                "[core]\n\tbare = false\n[Remote \"up\"]\n\tfetch = x\n\tURL=\"ssh://git@ssh.GitHub.com:443/o/r\"\n",
                true,
            ),
            ("[remote \"origin\"]\n\turl = https://me:secret@github.com/o/r\n", true),
            ("[remote \"origin\"]\n\turl = https://notgithub.com/o/r\n", false),
            ("[remote \"origin\"]\n\turl = https://example.com/github.com/r\n", false),
            ("[remote \"origin\"]\n\turl = /srv/github.com:x\n", false),
            ("[remote \"origin\"]\n\tpushurl = https://github.com/o/r\n", false),
            ("[submodule \"x\"]\n\turl = https://github.com/o/r\n", false),
            ("", false),
        ] {
            let temp = tempfile::tempdir().unwrap();
            repository(temp.path(), config);
            let expected = if is_found { "github" } else { "session" };
            assert_eq!(found_in(temp.path(), ALL, ""), Some(expected), "{config}");
        }
    }

    #[test]
    fn a_linked_worktree_has_the_remotes_of_its_clone() {
        let temp = tempfile::tempdir().unwrap();
        let (main, other) = (temp.path().join("main"), temp.path().join("other"));
        repository(&main, "[remote \"origin\"]\n\turl = https://github.com/o/r\n");
        let linked = main.join(".git/worktrees/other");
        fs::create_dir_all(&linked).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(linked.join("HEAD"), "ref: refs/heads/other\n").unwrap();
        fs::write(linked.join("commondir"), "../..\n").unwrap();
        fs::write(other.join(".git"), format!("gitdir: {}\n", linked.display())).unwrap();
        assert_eq!(found_in(&other, ALL, ""), Some("github"));
    }

    /// Writes a script that stands in for the program of a tracker. It answers the documented commands and
    /// refuses all others.
    fn stand_in(dir: &Path, name: &str, cases: &str) -> Env {
        let script = format!("#!/bin/sh\ncase \"$*\" in\n{cases}\n*) exit 64;;\nesac\n");
        let program = dir.join(name);
        // Another process writes the script. If this process wrote it, a fork in another test could keep it
        // open for writing, and then it could not start.
        let write = ["-c", "cat > \"$0\" && chmod 755 \"$0\""].map(OsStr::new);
        let ran = exec::run(&ProcessSpec {
            dir,
            stdin: script.as_bytes(),
            cap: 0,
            ..ProcessSpec::new(
                OsStr::new("/bin/sh"),
                &[write[0], write[1], program.as_os_str()],
                Duration::from_secs(20),
            )
        });
        assert!(ran.unwrap().succeeded());
        path_of(dir)
    }

    fn path_of(dir: &Path) -> Env {
        let path = std::env::join_paths([dir, Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
        Env::Given(BTreeMap::from([("PATH".to_owned(), path)]))
    }

    /// Creates the worktree next to the programs.
    fn work(dir: &Path) -> PathBuf {
        let work = dir.join("work");
        fs::create_dir_all(&work).unwrap();
        work
    }

    fn titles(name: &str, dir: &Path, env: &Env) -> Option<Vec<String>> {
        let items = active(find(name).unwrap(), &work(dir), env)?;
        Some(items.iter().map(|item| format!("{} {}", item.ticket.id, item.title)).collect())
    }

    #[test]
    fn trackers_are_asked_in_their_own_words() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        let env = stand_in(
            dir,
            "tissue",
            r#"'list --status in_progress --json') echo '[{"id":"t-1","title":"one"}]';;
'show t-1 --json') echo '{"issue":{"id":"t-1","status":"closed"},"comments":[]}';;"#,
        );
        assert_eq!(titles("tissue", dir, &env), Some(vec!["t-1 one".to_owned()]));
        assert_eq!(is_closed(find("tissue").unwrap(), "t-1", &work(dir), &env), Some(true));
        assert_eq!(is_closed(find("tissue").unwrap(), "t-2", &work(dir), &env), None);

        // Any of the programs will do.
        let env = stand_in(
            dir,
            "br",
            r#"'list --status in_progress --json') echo '[{"id":"bd-1","title":"one"},{"id":"bd-2","title":"two"}]';;
'show bd-1 --json') echo '[{"id":"bd-1","status":"in_progress"}]';;"#,
        );
        assert_eq!(titles("beads", dir, &env), Some(vec!["bd-1 one".to_owned(), "bd-2 two".to_owned()]));
        assert_eq!(is_closed(find("beads").unwrap(), "bd-1", &work(dir), &env), Some(false));

        let env = stand_in(
            dir,
            "gh",
            r#"'issue list --assignee @me --state open --json number,title') echo '[{"number":5,"title":"one"}]';;
'issue view 5 --repo o/r --json state') echo '{"state":"CLOSED"}';;
'pr view --json state') echo '{"state":"OPEN"}';;"#,
        );
        assert_eq!(titles("github", dir, &env), Some(vec!["5 one".to_owned()]));
        assert_eq!(is_closed(find("github").unwrap(), "o/r#5", &work(dir), &env), Some(true));
        assert_eq!(is_closed(find("github").unwrap(), "current", &work(dir), &env), Some(false));
    }

    #[test]
    fn what_is_no_answer_is_none() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        assert_eq!(titles("beads", dir, &path_of(dir)), None);
        assert_eq!(titles("beads", dir, &Env::Given(BTreeMap::new())), None);
        assert_eq!(titles("session", dir, &path_of(dir)), None);
        for cases in [
            "*) echo nothing here;;",
            "*) echo '[]'; exit 1;;",
            "*) echo '[]'; kill -9 $$;;",
            "*) printf '['; head -c 300000 /dev/zero | tr '\\0' ' '; echo ']';;",
        ] {
            assert_eq!(titles("beads", dir, &stand_in(dir, "bd", cases)), None, "{cases}");
        }
        assert_eq!(titles("beads", dir, &stand_in(dir, "bd", "*) read line; echo '[]';;")), Some(Vec::new()));
    }

    #[test]
    fn an_odd_id_is_not_asked_for() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        let env = stand_in(dir, "bd", r#"*) touch asked; echo '[{"status":"closed"}]';;"#);
        let beads = find("beads").unwrap();
        for id in ["--db=x", "-f", "a b", "$(x)", "a;b", "", "unknown", "a\nb"] {
            assert_eq!(is_closed(beads, id, &work(dir), &env), None, "{id}");
        }
        assert!(!work(dir).join("asked").exists());
        assert_eq!(is_closed(beads, "bd-1.2", &work(dir), &env), Some(true));
    }

    #[test]
    fn a_program_of_the_project_is_not_run() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        stand_in(dir, "bd", "*) echo '[]';;");
        // A relative path from the directory of the tests.
        let depth = Path::new(env!("CARGO_MANIFEST_DIR")).components().count();
        let way = format!("{}{}", "../".repeat(depth), dir.strip_prefix("/").unwrap().display());
        assert!(Path::new(&way).join("bd").is_file());
        let relative = Env::Given(BTreeMap::from([("PATH".to_owned(), format!("{way}:.").into())]));
        assert_eq!(titles("beads", dir, &relative), None);
        assert_eq!(titles("beads", dir, &path_of(dir)), Some(Vec::new()));
        assert_eq!(active(find("beads").unwrap(), dir, &path_of(dir)), None, "below the worktree");
    }
}
