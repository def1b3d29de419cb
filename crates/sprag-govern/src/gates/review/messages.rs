//! What is said about a review, all in one place.

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::text::{ContextNote, Text, one_line, quoted, shell_word};
use sprag_policy::RuleVerdict;

use crate::event::Input;
use crate::gates::review::case::{GatedCall, ReviewCase, ReviewFinding, ReviewerSeat};
use crate::gates::review::settings::Settings;
use crate::gates::review::template::{self, Values};
use crate::obligation::{Duty, Obligation};
use crate::reason::Reason;

/// Mark of an item that names the tree a review is owed for.
const TREE: &str = "tree ";

pub(crate) fn tree_item(tree: &Text<64>) -> Text<200> {
    Text::new(format!("{TREE}{tree}"))
}

pub(crate) fn owe(
    case: &ReviewCase,
    verdict: Option<&ReviewFinding>,
    tree: Option<&Text<64>>,
    reason: Reason,
) -> Obligation {
    Obligation {
        duty: Duty::Review,
        digest: case.digest(verdict.map(|verdict| verdict.id.as_str())),
        reason,
        items: tree.map(tree_item).into_iter().collect(),
    }
}

/// The hold of a stop. Its first line is what a debt would say.
pub(crate) fn due(
    case: &ReviewCase,
    late: Option<&ReviewerSeat>,
    text: &str,
    policy: &Settings,
    input: &Input,
) -> Reason {
    let trigger = case.trigger();
    let values = Values { session_id: input.session.as_str(), agent: policy.agent(), trigger: &trigger };
    let asked = template::fill(text, &values);
    let again = match late {
        Some(_) => "; the last reviewer ended without a verdict",
        None => "",
    };
    Reason::new("review_due", format!("a review is due: {trigger}{again}\n{asked}"), start(policy, input))
}

/// How to get a review: an agent of that name, and where a client has none, a process.
fn start(policy: &Settings, input: &Input) -> String {
    let client = if input.client.is_empty() { "NAME" } else { input.client.as_str() };
    let session = shell_word(input.session.as_str());
    format!(
        "start the agent `{}`; where there is none: sprag review run --client {client} --session {session}",
        policy.agent()
    )
}

/// The same, in short, for whoever looks before any stop.
pub(crate) fn open(case: &ReviewCase, session: &SessionId) -> Reason {
    Reason::new(
        "review_due",
        format!("a review is due: {}", case.trigger()),
        format!(
            "start the agent `sprag-reviewer`, or: sprag review run --client NAME --session {}",
            shell_word(session.as_str())
        ),
    )
}

pub(crate) fn under_way(seat: &ReviewerSeat) -> Reason {
    Reason::new(
        "review_running",
        format!("a review is under way (`{}`)", quoted(&seat.reviewer.name())),
        "wait for its verdict, then stop again",
    )
}

/// Returns the reason with all issues, for the first hold.
pub(crate) fn issues_in_full(finding: &ReviewFinding, agent: &str, session: &SessionId) -> Reason {
    if finding.message.is_empty() {
        return issues(finding.summary.as_str(), agent, session);
    }
    let told = format!(
        "{}
{}",
        one_line(finding.summary.as_str()),
        finding.message
    );
    issues(&told, agent, session)
}

/// Returns the reason in short, for every later hold.
pub(crate) fn issues_in_short(finding: &ReviewFinding, agent: &str, session: &SessionId) -> Reason {
    issues(&one_line(finding.summary.as_str()), agent, session)
}

fn issues(told: &str, agent: &str, session: &SessionId) -> Reason {
    let next = format!(
        "mend them, then start the agent `{agent}` again; the whole verdict: sprag review context --session {}",
        shell_word(session.as_str())
    );
    Reason::new("review_issues", format!("the review found issues: {told}"), next)
}

pub(crate) fn unconfirmed() -> Reason {
    Reason::new(
        "no_tree",
        "the work was approved, but git does not tell whether it is still the same",
        "git status",
    )
}

pub(crate) fn gated(
    gated: &GatedCall,
    judged: &RuleVerdict,
    asked: &str,
    policy: &Settings,
    input: &Input,
) -> Reason {
    let reason = quoted(judged.reason.as_deref().unwrap_or_default());
    Reason::new(
        "review_required",
        format!("rule `{}` wants a review first: {reason}\n{asked}", quoted(gated.rule.as_str())),
        format!("{}; then make this call again", start(policy, input)),
    )
}

pub(crate) fn not_a_reviewers(rule: &str) -> Reason {
    Reason::new(
        "review_required",
        format!("rule `{}` wants a review first, and a reviewer changes nothing", quoted(rule)),
        "leave it to the author, and decide",
    )
}

pub(crate) fn reviewer_writes() -> Reason {
    Reason::new(
        "reviewer_writes",
        "a reviewer changes nothing: whoever changes the work is its author",
        "tell the author what to change with `sprag decide ISSUES`",
    )
}

pub(crate) fn no_tree() -> Reason {
    Reason::new(
        "no_tree",
        "git does not tell what the work is like now, and a verdict is bound to that",
        "git status",
    )
}

pub(crate) fn not_reviewer(agent: &str) -> Reason {
    Reason::new(
        "not_reviewer",
        "the author cannot approve its own work",
        format!("start the agent `{agent}`; it decides"),
    )
}

/// The token is the reviewer's, but nobody saw the reviewer use it.
pub(crate) fn unseen(agent: &str) -> Reason {
    Reason::new(
        "not_reviewer",
        "no hook saw the reviewer run this just now: the author cannot approve its own work",
        format!("the agent `{agent}` runs `sprag decide` itself; `sprag doctor` tells whether the hooks run"),
    )
}

pub(crate) fn not_a_person() -> Reason {
    Reason::new(
        "not_reviewer",
        "`sprag decide --human` is for a person at a terminal",
        "ask the user to run it",
    )
}

pub(crate) fn bad_token(session: &SessionId) -> Reason {
    Reason::new(
        "bad_token",
        "this is not the token of the review that is open",
        format!("sprag review context --session {}", shell_word(session.as_str())),
    )
}

pub(crate) fn stale(session: &SessionId) -> Reason {
    Reason::new(
        "stale_tree",
        "the work has changed since the review began; nothing is decided",
        format!(
            "look at it as it is now, then decide again: sprag review context --session {}",
            shell_word(session.as_str())
        ),
    )
}

pub(crate) fn no_review() -> Reason {
    Reason::new("no_review", "no review is open in this session", "sprag review list")
}

pub(crate) fn busy() -> Reason {
    Reason::new("busy", "the session's journal is locked by another process; nothing is decided", "try again")
}

/// What a reviewer has to have before it may end.
pub(crate) fn no_verdict(seat: &ReviewerSeat, session: &SessionId) -> Obligation {
    Obligation {
        duty: Duty::Review,
        digest: seat.digest(),
        reason: Reason::new(
            "no_verdict",
            "the review has no verdict yet: neither COMPLETE nor ISSUES, with the token that was given for it",
            format!(
                "sprag decide COMPLETE|ISSUES --summary TEXT --message TEXT --session {} --token TOKEN",
                shell_word(session.as_str())
            ),
        ),
        items: Vec::new(),
    }
}

/// For the reviewer alone.
pub(crate) fn brief(token: &str, session: &SessionId, peers: &[Text<32>]) -> ContextNote {
    let (id, named) = (shell_word(session.as_str()), quoted(session.as_str()));
    let peers = match peers {
        [] => String::new(),
        peers => {
            let names: Vec<String> =
                peers.iter().map(|peer| format!("`{}`", quoted(peer.as_str()))).collect();
            format!(
                "\nother agents on this machine, for a second opinion (`--opinion TEXT`): {}",
                names.join(", ")
            )
        }
    };
    Text::new(format!(
        "you review the work of session `{named}`\nwhat it is about: sprag review context --session {id}\nwhen you have looked, decide, once, with a token that only you have:\nsprag decide COMPLETE --summary TEXT --session {id} --token {token}\nor, if something has to change:\nsprag decide ISSUES --summary TEXT --message TEXT --session {id} --token {token}{peers}"
    ))
}

pub(crate) fn not_begun() -> ContextNote {
    Text::from(
        "the session's journal is locked by another process, and no review was begun: end, and be started again",
    )
}

/// Seen apart from others: an unconfirmed approval is no open case.
pub(crate) fn unconfirmed_digest(approval: &str) -> Digest {
    Digest::hash_parts(["unconfirmed", approval])
}
