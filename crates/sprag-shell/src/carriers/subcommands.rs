//! Programs with subcommands. Options before a subcommand say where and how it runs, so they are removed from
//! the effective words. Code that git itself runs is handled here too.

use super::settings;
use crate::eval::Evaluator;
use crate::expand::unknown;
use crate::paths::options::{self, ProgramOptions};
use crate::{Carrier, carriers};

struct SubcommandRow {
    names: &'static [&'static str],
    options: ProgramOptions,
    /// The number of words in the subcommand: `git push`, `gh issue close`.
    verbs: usize,
    /// Options whose value is the working directory.
    enter: &'static [&'static str],
}

const fn row(
    names: &'static [&'static str],
    verbs: usize,
    letters: &'static str,
    long: &'static [&'static str],
) -> SubcommandRow {
    SubcommandRow { names, options: ProgramOptions { letters, long }, verbs, enter: &[] }
}

const ROWS: &[SubcommandRow] = &[
    SubcommandRow {
        enter: &["-C"],
        ..row(
            &["git"],
            1,
            "Cc",
            &[
                "--git-dir",
                "--work-tree",
                "--namespace",
                "--super-prefix",
                "--config-env",
                "--attr-source",
                "--list-cmds",
            ],
        )
    },
    row(&["gh", "glab"], 2, "R", &["--repo", "--hostname"]),
    SubcommandRow {
        enter: &["-C", "--directory"],
        ..row(
            &["bd", "br", "beads"],
            1,
            "C",
            &["--db", "--actor", "--directory", "--format", "--lock-timeout", "--dolt-auto-commit"],
        )
    },
    row(
        &["kubectl", "oc"],
        1,
        "nsv",
        &[
            "--namespace",
            "--context",
            "--cluster",
            "--kubeconfig",
            "--user",
            "--server",
            "--token",
            "--as",
            "--as-group",
            "--request-timeout",
            "--certificate-authority",
            "--client-key",
            "--client-certificate",
            "--cache-dir",
            "--password",
            "--username",
            "--tls-server-name",
            "--log-file",
        ],
    ),
    row(
        &["helm"],
        1,
        "n",
        &["--namespace", "--kube-context", "--kubeconfig", "--registry-config", "--repository-config"],
    ),
    SubcommandRow {
        enter: &["-chdir"],
        ..row(&["terraform", "tofu", "terragrunt"], 1, "", &["--terragrunt-config", "--working-dir"])
    },
    SubcommandRow {
        enter: &["--prefix", "-C", "--dir", "--cwd"],
        ..row(
            &["npm", "pnpm", "yarn", "bun"],
            1,
            "wCF",
            &[
                "--prefix",
                "--workspace",
                "--dir",
                "--cwd",
                "--filter",
                "--registry",
                "--userconfig",
                "--loglevel",
                "--cache",
                "--otp",
            ],
        )
    },
    row(
        &["aws"],
        2,
        "",
        &[
            "--profile",
            "--region",
            "--endpoint-url",
            "--output",
            "--query",
            "--ca-bundle",
            "--color",
            "--cli-read-timeout",
            "--cli-connect-timeout",
            "--cli-binary-format",
        ],
    ),
    row(
        &["gcloud", "gsutil", "bq"],
        3,
        "oh",
        &["--project", "--account", "--configuration", "--format", "--verbosity", "--region", "--zone"],
    ),
    row(&["az"], 3, "o", &["--output", "--query", "--subscription"]),
    row(
        &["docker", "podman", "nerdctl", "docker-compose", "podman-compose"],
        2,
        "Hcflp",
        &[
            "--host",
            "--context",
            "--config",
            "--log-level",
            "--file",
            "--project-name",
            "--project-directory",
            "--profile",
            "--env-file",
            "--tlscacert",
            "--tlscert",
            "--tlskey",
            "--ansi",
            "--parallel",
        ],
    ),
    SubcommandRow { enter: &["-C"], ..row(&["cargo"], 1, "CZ", &["--config", "--color"]) },
    row(&["pip", "pip3"], 1, "", &["--python", "--proxy", "--log", "--cache-dir", "--timeout", "--retries"]),
    row(&["poetry"], 1, "CP", &["--directory", "--project"]),
    row(
        &["flyctl", "fly", "heroku", "vercel", "netlify", "wrangler", "doctl", "supabase"],
        1,
        "actSA",
        &["--app", "--org", "--access-token", "--token", "--cwd", "--scope"],
    ),
    row(&["sprag"], 1, "", &["--config", "--repo"]),
];

/// Options without a value that mean the same before and after a verb.
const GLOBAL: &[&str] = &[
    "--debug",
    "--verbose",
    "--quiet",
    "--no-cli-pager",
    "--no-paginate",
    "--no-sign-request",
    "--no-verify-ssl",
    "--only-show-errors",
    "--no-user-output-enabled",
    "--help",
];

impl Evaluator {
    /// Returns the words without global options, or `None` if there are none or the program has no
    /// subcommands.
    pub(crate) fn subcommand(&mut self, name: &str, words: &[String]) -> Option<Vec<String>> {
        let row = ROWS.iter().find(|row| row.names.contains(&name))?;
        // `bun -e CODE` has no verb.
        if name == "bun" && words.get(1).is_some_and(|word| matches!(word.as_str(), "-e" | "--eval" | "-p")) {
            return None;
        }
        let mut short = vec![words[0].clone()];
        let mut given = Vec::new();
        let mut at = 1;
        for _ in 0..row.verbs {
            // `cargo +nightly`.
            while name == "cargo" && words.get(at).is_some_and(|word| word.starts_with('+')) {
                at += 1;
            }
            // In docker only `compose` has options before the next verb.
            let docker = matches!(name, "docker" | "podman" | "nerdctl") && short.len() > 1;
            let compose = matches!(name, "docker-compose" | "podman-compose") && short.len() > 1;
            if docker && short[1] != "compose" || compose {
                break;
            }
            let split = options::leading(words, at, &row.options);
            // Options after the last word are arguments of a subcommand. Without a subcommand they concern
            // the program itself.
            if split.operands >= words.len() {
                break;
            }
            // After the first verb a non-global option belongs to the verb, and so may the next word.
            let global = |given: &options::FoundOption| {
                let letter = given.name.strip_prefix('-').filter(|name| name.chars().count() == 1);
                row.options.long.contains(&given.name.as_str())
                    || GLOBAL.contains(&given.name.as_str())
                    || letter.is_some_and(|letter| row.options.letters.contains(letter))
            };
            if short.len() > 1 && !split.given.iter().all(global) {
                break;
            }
            given.extend(split.given);
            at = split.operands;
            short.push(words[at].clone());
            at += 1;
        }
        short.extend(words[at.min(words.len())..].iter().cloned());
        for option in &given {
            if row.enter.contains(&option.name.as_str())
                && let Some(to) = &option.value
            {
                self.state.change_dir(to);
            }
        }
        if name == "git" {
            self.git(&given, &mut short);
        }
        (short.as_slice() != words).then_some(short)
    }

    fn git(&mut self, given: &[options::FoundOption], short: &mut Vec<String>) {
        let mut settings: Vec<(String, String)> = given
            .iter()
            .filter(|option| option.name == "-c")
            .filter_map(|option| option.value.as_deref())
            .map(|setting| {
                let (key, value) = setting.split_once('=').unwrap_or((setting, "true"));
                (key.to_ascii_lowercase(), value.to_owned())
            })
            .collect();
        // `--config-env=KEY=NAME`: the value comes from a variable.
        for setting in given.iter().filter(|option| option.name == "--config-env") {
            if let Some((key, name)) = setting.value.as_deref().and_then(|setting| setting.split_once('=')) {
                let value = self.state.value(name).map_or_else(|| unknown::HOLE.to_string(), str::to_owned);
                settings.push((key.to_ascii_lowercase(), value));
            }
        }
        for (key, value) in &settings {
            self.git_setting(key, value);
        }
        settings.splice(0..0, self.git_variables());
        settings.splice(0..0, self.git_settings.iter().cloned());
        // An alias may name another alias, but cannot replace a builtin.
        for _ in 0..4 {
            let Some(verb) = short.get(1).filter(|verb| !settings::is_git_builtin(verb)) else { break };
            let key = format!("alias.{}", verb.to_ascii_lowercase());
            let Some((_, value)) = settings.iter().rev().find(|(name, _)| *name == key) else { break };
            let arguments = short[2..].to_vec();
            if let Some(code) = value.strip_prefix('!') {
                let code = format!("{code} \"$@\"");
                self.via.push(Carrier::Program("git".to_owned()));
                self.shell_text("git", &code, arguments);
                self.via.pop();
                break;
            }
            let mut words = vec!["git".to_owned()];
            for word in carriers::split_words(value) {
                words.extend(self.fields(&word));
            }
            words.extend(arguments);
            *short = words;
        }
        self.git_code(short);
    }

    /// Returns the settings in `GIT_CONFIG_KEY_0`, `GIT_CONFIG_VALUE_0` and so on.
    fn git_variables(&self) -> Vec<(String, String)> {
        let variables = &self.state.variables;
        let first = |name: &str| variables.get(name).and_then(|variable| variable.values.first()).cloned();
        let keys = variables.keys().filter_map(|name| name.strip_prefix("GIT_CONFIG_KEY_"));
        keys.take(64)
            .filter_map(|number| {
                let key = first(&format!("GIT_CONFIG_KEY_{number}"))?.to_ascii_lowercase();
                let value = first(&format!("GIT_CONFIG_VALUE_{number}"));
                Some((key, value.unwrap_or_else(|| unknown::HOLE.to_string())))
            })
            .collect()
    }

    /// Walks subcommands that run code that they are given.
    fn git_code(&mut self, words: &[String]) {
        let verb = words.get(1).map_or("", String::as_str);
        let rest = words.get(2..).unwrap_or_default();
        self.via.push(Carrier::Program("git".to_owned()));
        match verb {
            "submodule" => {
                if let Some(at) = rest.iter().position(|word| word == "foreach") {
                    let code: Vec<String> =
                        rest[at + 1..].iter().skip_while(|word| word.starts_with('-')).cloned().collect();
                    self.shell_text("git", &code.join(" "), Vec::new());
                }
            }
            // The same text may use a newly set alias later.
            "config" => {
                let words = rest.iter().filter(|word| !word.starts_with('-'));
                let words: Vec<&String> = words.skip_while(|word| *word == "set").collect();
                if let [key, value, ..] = words.as_slice()
                    && self.git_settings.len() < 64
                {
                    let (key, value) = (key.to_ascii_lowercase(), (*value).clone());
                    // A later call may use the alias, and nothing shows its value there.
                    if key.starts_with("alias.") {
                        let code = value.strip_prefix('!').map_or(format!("git {value}"), str::to_owned);
                        self.shell_text("git", &code, vec![unknown::MANY.to_string()]);
                    }
                    self.git_settings.push((key, value));
                }
            }
            "grep" | "clone" => {
                const OPTIONS: ProgramOptions = ProgramOptions {
                    letters: "Ocub",
                    long: &["--config", "--upload-pack", "--open-files-in-pager"],
                };
                let (split, operands) = options::anywhere(rest, 0, &OPTIONS);
                for option in split.given {
                    let value = option.value.unwrap_or_default();
                    match option.name.as_str() {
                        "-O" | "--open-files-in-pager" if verb == "grep" => {
                            self.shell_text("git", &value, Vec::new());
                        }
                        "-u" | "--upload-pack" if verb == "clone" => {
                            self.shell_text("git", &value, Vec::new());
                        }
                        "-c" | "--config" if verb == "clone" => {
                            if let Some((key, value)) = value.split_once('=') {
                                self.git_setting(&key.to_ascii_lowercase(), value);
                            }
                        }
                        _ => {}
                    }
                }
                for address in operands.iter().filter_map(|word| word.strip_prefix("ext::")) {
                    self.shell_text("git", address, Vec::new());
                }
            }
            "bisect" if rest.first().is_some_and(|word| word == "run") => {
                self.run(rest[1..].to_vec(), Vec::new())
            }
            "rebase" | "difftool" | "filter-branch" | "fetch" | "ls-remote" | "push" | "archive"
            | "send-email" | "remote" | "pull" => {
                for address in rest.iter().filter_map(|word| word.strip_prefix("ext::")) {
                    self.shell_text("git", address, Vec::new());
                }
                const OPTIONS: ProgramOptions = ProgramOptions {
                    letters: "xu",
                    long: &[
                        "--exec",
                        "--extcmd",
                        "--tree-filter",
                        "--index-filter",
                        "--msg-filter",
                        "--env-filter",
                        "--commit-filter",
                        "--parent-filter",
                        "--tag-name-filter",
                        "--setup",
                        "--sendmail-cmd",
                        "--to-cmd",
                        "--cc-cmd",
                        "--upload-pack",
                        "--receive-pack",
                    ],
                };
                let (split, _) = options::anywhere(rest, 0, &OPTIONS);
                for option in split.given {
                    let letters = match verb {
                        "rebase" | "difftool" => option.name == "-x",
                        _ => false,
                    };
                    if letters || OPTIONS.long.contains(&option.name.as_str()) {
                        let code = option.value.unwrap_or_default();
                        if unknown::is_known(&code) || code.contains(|c: char| !unknown::is_hole(c)) {
                            self.shell_text("git", &code, Vec::new());
                        }
                    }
                }
            }
            _ => {}
        }
        self.via.pop();
    }
}
