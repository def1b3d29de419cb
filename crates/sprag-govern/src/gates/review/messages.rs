//! Messages of the review gate.

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::text::{ContextNote, Text, one_line, quoted, quoted_list, shell_word};
use sprag_policy::RuleVerdict;

use crate::event::Input;
use crate::gates::review::case::{GatedCall, ReviewCase, ReviewFinding, ReviewerSeat};
use crate::gates::review::settings::Settings;
use crate::gates::review::template::{self, Values};
use crate::obligation::{Duty, Obligation};
use crate::reason::Reason;

/// Prefix of an item that names the tree of a due review.
const TREE: &str = "tree ";

pub(crate) fn tree_item(tree: &Text<64>) -> Text<200> {
    Text::new(format!("{TREE}{tree}"))
}

/// Returns the obligation that names two reviewers who disagree about one tree.
pub(crate) fn disputed(objector: &str, approver: &str, tree: &Text<64>) -> Obligation {
    let why = format!(
        "reviewer `{}` found issues and reviewer `{}` approved the same tree",
        quoted(objector),
        quoted(approver)
    );
    let items = vec![
        tree_item(tree),
        Text::new(format!("ISSUES by {objector}")),
        Text::new(format!("COMPLETE by {approver}")),
    ];
    Obligation {
        duty: Duty::Review,
        digest: Digest::hash_parts(["dispute", tree.as_str(), objector, approver]),
        reason: Reason::new("review_disputed", why, "sprag review list"),
        items,
    }
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

/// Returns the reason for holding a stop. Its first line becomes the text of a debt.
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
        Some(_) => "; the last reviewer ended without a decision",
        None => "",
    };
    Reason::new("review_due", format!("a review is due: {trigger}{again}\n{asked}"), start(policy, input))
}

/// Returns how to get a review: from an agent of that name, or from a process.
fn start(policy: &Settings, input: &Input) -> String {
    let client = if input.client.is_empty() { "NAME" } else { input.client.as_str() };
    let session = shell_word(input.session.as_str());
    format!(
        "start the agent `{}`, or run `sprag review run --client {client} --session {session}`",
        policy.agent()
    )
}

/// Returns the short reason, for commands that read it before any stop.
pub(crate) fn open(case: &ReviewCase, session: &SessionId) -> Reason {
    Reason::new(
        "review_due",
        format!("a review is due: {}", case.trigger()),
        format!(
            "start the agent `sprag-reviewer`, or run `sprag review run --client NAME --session {}`",
            shell_word(session.as_str())
        ),
    )
}

pub(crate) fn under_way(seat: &ReviewerSeat) -> Reason {
    Reason::new(
        "review_running",
        format!("a review is running (`{}`)", quoted(&seat.reviewer.name())),
        "wait for its decision, then stop again",
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
        "fix them, then start the agent `{agent}` again; all issues: `sprag review context --session {}`",
        shell_word(session.as_str())
    );
    Reason::new("review_issues", format!("the review found issues: {told}"), next)
}

pub(crate) fn unconfirmed() -> Reason {
    Reason::new(
        "no_tree",
        "git failed, so Sprag cannot confirm that the approved work is unchanged",
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
        format!("rule `{}` requires a review first: {reason}\n{asked}", quoted(gated.rule.as_str())),
        format!("{}; then make this call again", start(policy, input)),
    )
}

pub(crate) fn not_a_reviewers(rule: &str) -> Reason {
    Reason::new(
        "review_required",
        format!("rule `{}` requires a review first, and a reviewer cannot change anything", quoted(rule)),
        "leave the call to the author, and decide",
    )
}

pub(crate) fn reviewer_writes() -> Reason {
    Reason::new(
        "reviewer_writes",
        "a reviewer cannot change files",
        "report the change to the author with `sprag decide ISSUES`",
    )
}

pub(crate) fn no_tree() -> Reason {
    Reason::new("no_tree", "git failed, so Sprag cannot identify the reviewed tree", "git status")
}

pub(crate) fn not_reviewer(agent: &str) -> Reason {
    Reason::new(
        "not_reviewer",
        "the author cannot approve its own work",
        format!("start the agent `{agent}`; it decides"),
    )
}

/// Returns the refusal of a correct token, if no hook saw the reviewer use it.
pub(crate) fn unseen(agent: &str) -> Reason {
    Reason::new(
        "not_reviewer",
        "no hook saw the reviewer run this command; the author cannot approve its own work",
        format!("let the agent `{agent}` run `sprag decide`; `sprag doctor` checks the hooks"),
    )
}

pub(crate) fn not_a_person() -> Reason {
    Reason::new(
        "not_reviewer",
        "`sprag decide --human` is for people only, at a terminal",
        "ask the user to run it",
    )
}

pub(crate) fn bad_token(session: &SessionId) -> Reason {
    Reason::new(
        "bad_token",
        "this is not the token of the open review",
        format!("sprag review context --session {}", shell_word(session.as_str())),
    )
}

pub(crate) fn stale(session: &SessionId) -> Reason {
    Reason::new(
        "stale_tree",
        "the work changed since the review began; no decision was recorded",
        format!(
            "review the new state, then decide again: `sprag review context --session {}`",
            shell_word(session.as_str())
        ),
    )
}

pub(crate) fn no_review() -> Reason {
    Reason::new("no_review", "no review is open in this session", "sprag review list")
}

pub(crate) fn busy() -> Reason {
    Reason::new(
        "busy",
        "another process holds the session's journal; nothing was recorded",
        "run the command again",
    )
}

/// Returns the obligation of a reviewer that stops without a decision.
pub(crate) fn no_verdict(seat: &ReviewerSeat, session: &SessionId) -> Obligation {
    Obligation {
        duty: Duty::Review,
        digest: seat.digest(),
        reason: Reason::new(
            "no_verdict",
            "the review has no decision yet: neither COMPLETE nor ISSUES with your token",
            format!(
                "sprag decide COMPLETE|ISSUES --summary TEXT --message TEXT --session {} --token TOKEN",
                shell_word(session.as_str())
            ),
        ),
        items: Vec::new(),
    }
}

/// Returns the note for the reviewer only.
pub(crate) fn brief(token: &str, session: &SessionId, peers: &[Text<32>]) -> ContextNote {
    let (id, named) = (shell_word(session.as_str()), quoted(session.as_str()));
    let peers = match peers {
        [] => String::new(),
        peers => format!(
            "\nother agents on this machine, for a second opinion (`--opinion TEXT`): {}",
            quoted_list(peers.iter().map(|peer| quoted(peer.as_str())))
        ),
    };
    Text::new(format!(
        "you review the work of session `{named}`\n\
         read it: sprag review context --session {id}\n\
         then decide once, with your secret token:\n\
         sprag decide COMPLETE --summary TEXT --session {id} --token {token}\n\
         or, if something must change:\n\
         sprag decide ISSUES --summary TEXT --message TEXT --session {id} --token {token}{peers}"
    ))
}

pub(crate) fn not_begun() -> ContextNote {
    Text::from(
        "another process holds the session's journal, so no review started; stop and ask for a new start",
    )
}

/// Returns a digest of its own, because an unconfirmed approval is not an open case.
pub(crate) fn unconfirmed_digest(approval: &str) -> Digest {
    Digest::hash_parts(["unconfirmed", approval])
}
