//! GitHub: closed issues and merged pull requests, by `gh` and its MCP servers. An id is a number, prefixed
//! with the repository (`owner/repo#7`) if one is named. A pull request may also be named by its branch.

use serde_json::Value;

use sprag_shell::paths::options::{ProgramOptions, Split, anywhere, leading};

use super::{Tracker, TrackerQueries, TrackerSign, id_of, rows};

pub const TRACKER: Tracker = Tracker {
    name: "github",
    mark: TrackerSign::Remote("github.com"),
    programs: &["gh"],
    closes,
    closes_by_tool,
    asks: Some(TrackerQueries {
        active: &["issue", "list", "--assignee", "@me", "--state", "open", "--json", "number,title"],
        items: |answer| rows(answer, "number"),
        closed,
        state: |answer| Some(matches!(answer.get("state")?.as_str()?, "CLOSED" | "MERGED")),
    }),
};

/// The pull request of the branch that is checked out.
const CURRENT: &str = "current";

const GLOBAL: ProgramOptions = ProgramOptions { letters: "R", long: &["--repo", "--hostname"] };
const CLOSE: ProgramOptions = ProgramOptions {
    letters: "Rcr",
    long: &["--comment", "--reason", "--duplicate-of", "--repo", "--hostname"],
};
const MERGE: ProgramOptions = ProgramOptions {
    letters: "RAbFt",
    long: &[
        "--author-email",
        "--body",
        "--body-file",
        "--match-head-commit",
        "--subject",
        "--repo",
        "--hostname",
    ],
};
const API: ProgramOptions = ProgramOptions {
    letters: "XfFHqtpR",
    long: &[
        "--method",
        "--raw-field",
        "--field",
        "--header",
        "--input",
        "--jq",
        "--template",
        "--preview",
        "--cache",
        "--hostname",
    ],
};

fn closes(words: &[String]) -> Vec<String> {
    let first = leading(words, 0, &GLOBAL);
    let Some(group) = words.get(first.operands) else { return Vec::new() };
    let is_api = group == "api";
    let second = leading(words, first.operands + 1, &GLOBAL);
    let verb = words.get(second.operands).filter(|_| !is_api);
    let options = match (group.as_str(), verb.map(String::as_str)) {
        ("issue", Some("close")) => &CLOSE,
        ("pr", Some("merge")) => &MERGE,
        ("api", None) => &API,
        _ => return Vec::new(),
    };
    let from = if is_api { first.operands } else { second.operands };
    let (given, operands) = anywhere(words, from + 1, options);
    let splits = if is_api { vec![&first, &given] } else { vec![&first, &second, &given] };
    if splits.iter().any(|split| split.has(&["--help", "-h"])) {
        return Vec::new();
    }
    let operand = operands.first().map(String::as_str);
    let id = match group.as_str() {
        "api" => operand.and_then(|endpoint| by_endpoint(endpoint, &given)),
        // The pull request is merged later, or no longer automatically.
        "pr" if is_on(&given, "--auto") || is_on(&given, "--disable-auto") => None,
        "pr" => Some(operand.unwrap_or(CURRENT).to_owned()),
        _ => operand.map(str::to_owned),
    };
    let repo = splits.iter().rev().find_map(|split| split.value(&["-R", "--repo"]));
    id.map(|id| qualified(&id, repo)).into_iter().collect()
}

fn is_on(given: &Split, flag: &str) -> bool {
    given.has(&[flag]) && given.value(&[flag]) != Some("false")
}

/// Returns the ticket that `PATCH repos/o/r/issues/7` with `state=closed`, or `PUT repos/o/r/pulls/7/merge`,
/// closes.
fn by_endpoint(endpoint: &str, given: &Split) -> Option<String> {
    let method = given.value(&["-X", "--method"])?.to_ascii_uppercase();
    let closes = given.given.iter().any(|option| {
        matches!(option.name.as_str(), "-f" | "--raw-field" | "-F" | "--field")
            && option.value.as_deref() == Some("state=closed")
    });
    let path = &endpoint[endpoint.find("repos/")?..];
    let parts: Vec<&str> = path.split('?').next().unwrap_or(path).split('/').collect();
    let (owner, repo, number) = match (parts.as_slice(), method.as_str()) {
        (["repos", owner, repo, "issues", number], "PATCH") if closes => (owner, repo, number),
        (["repos", owner, repo, "pulls", number, "merge"], "PUT") => (owner, repo, number),
        _ => return None,
    };
    // `gh` fills in `{owner}` and `{repo}`.
    let is_here = owner.starts_with(['{', ':']);
    Some(if is_here { (*number).to_owned() } else { format!("{owner}/{repo}#{number}") })
}

/// Returns one spelling for `7`, `#7` and the address of a ticket, with the repository if one is named.
fn qualified(id: &str, repo: Option<&str>) -> String {
    if let Some((_, path)) = id.split_once("://") {
        let parts: Vec<&str> = path.split(['/', '?', '#']).collect();
        return match parts.as_slice() {
            ["github.com", owner, repo, "issues" | "pull", number, ..] => format!("{owner}/{repo}#{number}"),
            [host, owner, repo, "issues" | "pull", number, ..] => format!("{host}/{owner}/{repo}#{number}"),
            _ => id.to_owned(),
        };
    }
    let number = id.strip_prefix('#').filter(|number| is_number(number)).unwrap_or(id);
    match repo {
        Some(repo) if is_number(number) => format!("{repo}#{number}"),
        Some(_) | None => number.to_owned(),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn closes_by_tool(tool: &str, input: &Value) -> Vec<String> {
    let text = |member: &str| input.get(member).and_then(Value::as_str);
    let is_closing = || text("state").is_some_and(|state| state.eq_ignore_ascii_case("closed"));
    let numbers: &[&str] = match tool {
        "close_issue" => &["issue_number", "number"],
        "update_issue" | "issue_write" | "update_issue_state" if is_closing() => &["issue_number", "number"],
        "merge_pull_request" => &["pullNumber", "pull_number", "number"],
        _ => return Vec::new(),
    };
    let Some(number) = numbers.iter().find_map(|member| id_of(input.get(member)?)) else { return Vec::new() };
    let repo = text("owner").zip(text("repo")).map(|(owner, repo)| format!("{owner}/{repo}"));
    vec![qualified(&number, repo.as_deref())]
}

/// Returns the query for the state of a ticket. GitHub treats a pull request as an issue too; only a branch
/// needs `gh pr view`.
fn closed(id: &str) -> Vec<String> {
    let named = id.rsplit_once('#').filter(|(repo, number)| !repo.is_empty() && is_number(number));
    let repo = named.map(|(repo, _)| repo);
    let mut words = match named.map_or(id, |(_, number)| number) {
        CURRENT => vec!["pr", "view"],
        number if is_number(number) => vec!["issue", "view", number],
        branch => vec!["pr", "view", branch],
    };
    words.extend(repo.iter().flat_map(|repo| ["--repo", *repo]));
    words.extend(["--json", "state"]);
    words.into_iter().map(str::to_owned).collect()
}
