//! Runs commands of a plan in a sandbox. Checks and `setup` run code that an agent wrote. They get at most
//! the agent's access, and less of git and of runs. If the sandbox is required and fails, nothing runs.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use sprag_base::result::Discard as _;
use sprag_host::checks;
use sprag_host::sys::disk::Disk;
use sprag_host::sys::env::Env;
use sprag_host::sys::exec::{self, ProcessOutput, ProcessSpec};
use sprag_host::sys::locations;
use sprag_plan::ids::EffectKey;
use sprag_plan::sandbox::{
    NetworkAccess, SandboxBackend, SandboxChoice, SandboxPolicy, ScratchPaths, choose, choose_for_check,
};
use sprag_plan::spec::checks::CheckSandbox;
use sprag_plan::spec::client::{ClientName, StageClient};
use sprag_plan::spec::{CacheSpec, SandboxSettings};

use super::stage_rules;
use crate::launchers::{self, environment};
use crate::layout::RunLayout;
use crate::sandbox::{self, last_words, proxy, steps};
use crate::session_dir::{SandboxRequest, SessionDir};

/// Writes a file before it becomes the command. A missing file means that the sandbox failed, not the
/// command.
const SCRIPT: &str = "echo up >\"$0\" && exec \"$@\"";
const UP: &str = "up";
/// The folder of running checks.
const LOOKS: &str = "looks";

/// Runs the commands of one check. The sandbox is set up with the first command.
pub(crate) struct SandboxedRunner<'a> {
    ground: &'a RunLayout,
    of: CommandOwner<'a>,
    /// The folder of this check: sandbox policy and temporary files.
    site: SessionDir,
    disk: &'a dyn Disk,
    /// A reviewer instead of a command of the plan.
    reader: Option<ReviewerProcess<'a>>,
    raised: OnceCell<Result<Raised, String>>,
}

/// The worktree and the settings of the commands.
#[derive(Clone, Copy)]
pub(crate) struct CommandOwner<'a> {
    pub worktree: &'a Path,
    /// The working directory in the worktree.
    pub dir: &'a Path,
    pub sandbox: &'a SandboxSettings,
    pub caches: &'a [CacheSpec],
}

/// A client that reviews work.
#[derive(Clone, Copy)]
pub(crate) struct ReviewerProcess<'a> {
    pub client: ClientName,
    pub program: &'a Path,
}

/// A command and its limits.
pub(crate) struct SandboxedCommand<'a> {
    pub argv: &'a [&'a OsStr],
    pub walls: CheckSandbox,
    pub env: &'a [(&'a str, &'a OsStr)],
    pub deadline: Duration,
    /// Maximum bytes of each output stream.
    pub cap: usize,
}

enum Raised {
    /// The plan turns the sandbox off, or none works and none is required.
    Bare,
    Within {
        port: Option<u16>,
        env: Vec<(String, String)>,
    },
}

impl<'a> SandboxedRunner<'a> {
    /// Creates a runner. `name` must be unique among running checks.
    pub(crate) fn new(
        ground: &'a RunLayout,
        name: &EffectKey,
        of: CommandOwner<'a>,
        disk: &'a dyn Disk,
    ) -> SandboxedRunner<'a> {
        let folder = ground.run.join(LOOKS).join(name.0.as_str().replace('/', "."));
        SandboxedRunner {
            ground,
            of,
            site: SessionDir::at(&folder),
            disk,
            reader: None,
            raised: OnceCell::new(),
        }
    }

    /// Creates a runner for a reviewer. It starts in a separate folder, so that it does not load settings
    /// from the reviewed work.
    pub(crate) fn of_reviewer(
        ground: &'a RunLayout,
        name: &EffectKey,
        of: CommandOwner<'a>,
        reader: ReviewerProcess<'a>,
        disk: &'a dyn Disk,
    ) -> SandboxedRunner<'a> {
        let mut behind = SandboxedRunner::new(ground, name, of, disk);
        behind.reader = Some(reader);
        behind
    }

    /// Returns the writable folder of the runner, emptied.
    pub(crate) fn own_place(&self) -> io::Result<PathBuf> {
        let temporary = self.temporary();
        if temporary.exists() {
            fs::remove_dir_all(&temporary)?;
        }
        self.disk.make_dirs(&temporary)?;
        Ok(temporary)
    }

    /// Reports whether commands run in a sandbox.
    pub(crate) fn is_walled(&self) -> bool {
        matches!(self.raised.get_or_init(|| self.raise()), Ok(Raised::Within { .. }))
    }

    fn dir(&self) -> PathBuf {
        if self.reader.is_some() { self.temporary() } else { self.of.dir.to_path_buf() }
    }

    fn environment(&self) -> Vec<(String, String)> {
        environment::passed_on(self.reader.map(|reader| launchers::find(reader.client)), &Env::Real)
    }

    /// Runs a command. The error says why nothing was run.
    pub(crate) fn run(&self, order: &SandboxedCommand<'_>) -> Result<ProcessOutput, String> {
        if order.walls == CheckSandbox::Off {
            return self.bare(order);
        }
        let raised = self.raised.get_or_init(|| self.raise());
        match raised {
            Ok(Raised::Bare) => self.bare(order),
            Ok(Raised::Within { port, env }) => self.within(order, *port, env),
            Err(why) => Err(unraised(why)),
        }
    }

    fn bare(&self, order: &SandboxedCommand<'_>) -> Result<ProcessOutput, String> {
        let (program, args) = order.argv.split_first().ok_or("no command given")?;
        let (unset, dir, passed_on) = (checks::unset(), self.dir(), self.environment());
        let run = ProcessSpec {
            dir: &dir,
            env: order.env,
            unset: &unset,
            cap: order.cap,
            ..ProcessSpec::new(program, args, order.deadline)
        };
        let ran = match self.reader {
            None => exec::run_for_end(&run),
            // A reviewer is an agent and gets an agent's environment.
            Some(_) => exec::run_apart(&ProcessSpec { env: &with(&passed_on, order.env), unset: &[], ..run }),
        };
        ran.map_err(|error| error.to_string())
    }

    fn within(
        &self,
        order: &SandboxedCommand<'_>,
        port: Option<u16>,
        env: &[(String, String)],
    ) -> Result<ProcessOutput, String> {
        let told = |error: io::Error| unraised(&error.to_string());
        let us = std::env::current_exe().map_err(told)?;
        let up = self.temporary().join(UP);
        self.disk.remove(&up).map_err(told)?;
        let steps = steps(Some(self.site.dir()), port);
        let mut args: Vec<&OsStr> = steps.iter().map(OsStr::new).collect();
        args.extend(["sh", "-c", SCRIPT].map(OsStr::new));
        args.push(up.as_os_str());
        args.extend(order.argv);
        let dir = self.dir();
        let run = ProcessSpec {
            dir: &dir,
            env: &with(env, order.env),
            cap: order.cap,
            ..ProcessSpec::new(us.as_os_str(), &args, order.deadline)
        };
        let ran = exec::run_apart(&run).map_err(told)?;
        if fs::symlink_metadata(&up).is_ok() { Ok(ran) } else { Err(unraised(&last_words(&ran.stderr))) }
    }

    fn temporary(&self) -> PathBuf {
        self.site.dir().join("tmp")
    }

    /// Records the sandbox policy for the step that enters the sandbox.
    fn raise(&self) -> Result<Raised, String> {
        let offer = sandbox::offer(&Env::Real, Some(&self.ground.root));
        let choice = match self.reader {
            None => choose_for_check(self.of.sandbox, &offer),
            Some(reader) => choose(self.of.sandbox, &StageClient::Known(reader.client), &offer),
        };
        let wall = match choice {
            SandboxChoice::Off | SandboxChoice::Bare { .. } => return Ok(Raised::Bare),
            SandboxChoice::Within(wall) => wall,
            SandboxChoice::Refused { why } => return Err(why),
        };
        let confined = self.walls(wall)?;
        let told = |error: io::Error| error.to_string();
        let port = match &confined.reach {
            NetworkAccess::Hosts(hosts) => Some(proxy::listen_once(hosts).map_err(told)?),
            NetworkAccess::Anybody | NetworkAccess::Nobody => None,
        };
        let (worktree, dir) = (self.of.worktree.to_path_buf(), self.dir());
        self.site
            .wall_in(self.disk, &SandboxRequest { worktree, dir, confined: Some(confined) })
            .map_err(told)?;
        let mut env = stage_rules::told_within(self.environment(), &self.temporary());
        env.extend(port.into_iter().flat_map(proxy::env));
        Ok(Raised::Within { port, env })
    }

    fn walls(&self, wall: SandboxBackend) -> Result<SandboxPolicy, String> {
        let whole =
            |path: &Path| fs::canonicalize(path).map_err(|error| format!("`{}`: {error}", path.display()));
        let temporary = self.temporary();
        self.disk.make_dirs(&temporary).map_err(|error| format!("`{}`: {error}", temporary.display()))?;
        let common = locations::common_dir(&self.ground.root).ok_or("no git repository")?;
        let home = locations::home(&Env::Real).map(|home| whole(&home)).transpose()?;
        let store = self.ground.run.parent().unwrap_or(&self.ground.run);
        let (root, common, store) = (whole(&self.ground.root)?, whole(&common)?, whole(store)?);
        // Both paths lie below canonical paths. A different result means that a link is on the way.
        let placed = |path: &Path| {
            let below = path.strip_prefix(&self.ground.run).map(|rest| store.join("run").join(rest));
            let below = below.or_else(|_| path.strip_prefix(&self.ground.root).map(|rest| root.join(rest)));
            match below {
                Ok(expected) if whole(path)? == expected => Ok(expected),
                Ok(_) | Err(_) => Err(format!("`{}` is reached by a link", path.display())),
            }
        };
        let (worktree, temporary) = (placed(self.of.worktree)?, placed(&temporary)?);
        let bench = ScratchPaths {
            root: &root,
            worktree: &worktree,
            common: &common,
            store: &store,
            temporary: &temporary,
            home: home.as_deref(),
            shared: &stage_rules::shared(self.of.caches, &root, &common),
        };
        let network = &self.of.sandbox.network;
        let confined = match self.reader {
            None => SandboxPolicy::of_check(wall, &bench, network),
            Some(reader) => {
                home.as_deref()
                    .map_or(Ok(()), |home| stage_rules::make_homes(reader.client, home, self.disk))?;
                let us = std::env::current_exe().map_err(|error| error.to_string())?;
                let tools = [whole(&us)?, whole(reader.program)?];
                SandboxPolicy::of_review(wall, &bench, reader.client, &tools, network)
            }
        };
        stage_rules::settled(confined, &[&common, &worktree])
    }
}

impl Drop for SandboxedRunner<'_> {
    fn drop(&mut self) {
        if self.reader.is_some() || matches!(self.raised.get(), Some(Ok(Raised::Within { .. }))) {
            fs::remove_dir_all(self.site.dir()).discard("the next start of the daemon removes the rest");
        }
    }
}

fn with<'e>(env: &'e [(String, String)], more: &[(&'e str, &'e OsStr)]) -> Vec<(&'e str, &'e OsStr)> {
    let env = env.iter().map(|(name, value)| (name.as_str(), OsStr::new(value)));
    env.chain(more.iter().copied()).collect()
}

/// Removes folders of interrupted checks.
pub(crate) fn forget(run: &Path) {
    fs::remove_dir_all(run.join(LOOKS)).discard("old folders do no harm");
}

fn unraised(why: &str) -> String {
    format!("cannot set up the sandbox: {why}")
}
