//! Messages of the scope gate. Each refusal names the next step.

use sprag_base::text::{ContextNote, Text, quoted, quoted_list, shell_word};
use sprag_intent::{
    Criterion, Holder, Intent, IntentFileError, IntentHistories, IntentSet, IntentStatus, Ownership,
    ScopeFacts, SelectedIntent,
};

use super::check::{ScopeLocation, ScopeViolation};
use crate::event::Input;
use crate::reason::Reason;

/// Maximum characters of the note at a session start.
const PROTOCOL: usize = 1000;

pub(crate) fn bad_intents(bad: &[IntentFileError]) -> Reason {
    let first = bad.first().map(ToString::to_string).unwrap_or_default();
    let more = match bad.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    Reason::new(
        "bad_intents",
        format!("cannot read the intents: {}{more}", quoted(&first)),
        "ask the user to fix the file; `sprag intent check` shows all errors",
    )
}

pub(crate) fn bad_at_start(bad: &[IntentFileError]) -> ContextNote {
    let Reason { why, next, .. } = bad_intents(bad);
    Text::new(format!("{why}; Sprag refuses every change or asks the user about it; next: {next}"))
}

pub(crate) fn none_here() -> Reason {
    Reason::new("intent_not_found", "this repository has no intents", "sprag intent new ID --name TEXT")
}

pub(crate) fn intent_required(
    paths: &[String],
    set: &IntentSet,
    intents: &ScopeFacts,
    input: &Input,
) -> Reason {
    let owning = set.owning(paths, &intents.standings, intents.folding);
    let next = match owning.as_slice() {
        [] => match open(set, &intents.standings).as_slice() {
            [] => "ask the user to create an intent: `sprag intent new ID --name TEXT`".to_owned(),
            open => format!("select one of {}: `{}`", ids(open), select("ID", input)),
        },
        [one] => format!("`{}` (this intent owns the file)", select(one.id.as_str(), input)),
        several => format!("select one of {} (each owns the file): `{}`", ids(several), select("ID", input)),
    };
    Reason::new(
        "intent_required",
        "You must cite a valid active Intent ID. Call select_active_intent(intent_id) first to load context and \
         then retry.",
        next,
    )
}

pub(crate) fn not_found(id: &str, set: &IntentSet, input: &Input) -> Reason {
    let near = set.nearest(id);
    let next = match near.as_slice() {
        [] => "sprag intent new ID --name TEXT".to_owned(),
        [first, ..] => format!("`{}`; similar intents: {}", select(first.id.as_str(), input), ids(&near)),
    };
    Reason::new("intent_not_found", format!("intent `{}` does not exist", quoted(id)), next)
}

pub(crate) fn closed(intent: &Intent) -> Reason {
    Reason::new(
        "intent_closed",
        format!("intent `{}` is done", intent.id),
        format!("select another intent, or ask the user to run `sprag intent reopen {}`", intent.id),
    )
}

pub(crate) fn changed(intent: &Intent, input: &Input) -> Reason {
    Reason::new(
        "intent_changed",
        format!("intent `{}` changed after it was selected", intent.id),
        format!("select it again and read it: `{}`", select(intent.id.as_str(), input)),
    )
}

pub(crate) fn busy(intent: &Intent, holder: &Holder) -> Reason {
    Reason::new(
        "intent_busy",
        format!(
            "intent `{}` is exclusive, and session `{}` in `{}` holds it",
            intent.id,
            quoted(holder.session.as_str()),
            quoted(&holder.root),
        ),
        "select another intent, or retry after that session ends",
    )
}

pub(crate) fn outside(
    fault: &ScopeViolation<'_>,
    intent: &Intent,
    set: &IntentSet,
    intents: &ScopeFacts,
    input: &Input,
) -> Reason {
    let (named, at) = match fault {
        ScopeViolation::Protected { named } => {
            return Reason::new(
                "protected_path",
                format!("`{}` defines scopes; agents cannot change it", quoted(named)),
                "ask the user to change it",
            );
        }
        ScopeViolation::Outside { named, at } => (quoted(named), at),
    };
    let id = &intent.id;
    let (why, next) = match at {
        ScopeLocation::Special => {
            (format!("`{named}` is not a regular file"), "write to a regular file".to_owned())
        }
        ScopeLocation::Elsewhere(path) => {
            let leads = if quoted(path) == named { String::new() } else { format!(" (`{}`)", quoted(path)) };
            (
                format!("`{named}`{leads} is outside the repository. Request scope expansion."),
                "write inside the repository or the system's temporary directory, or ask the user".to_owned(),
            )
        }
        ScopeLocation::Here(path) => {
            let owning = set.owning(std::slice::from_ref(path), &intents.standings, intents.folding);
            let other = match owning.as_slice() {
                [] => String::new(),
                [one, ..] => format!("`{}` (this intent owns the file), or ", select(one.id.as_str(), input)),
            };
            let leads = if path == &named { String::new() } else { format!(" (`{}`)", quoted(path)) };
            (
                format!("`{named}`{leads} is outside the scope of intent `{id}`. Request scope expansion."),
                format!("{other}ask the user to run `sprag intent expand {id} {}`", shell_word(path)),
            )
        }
    };
    Reason::new("scope_violation", why, next)
}

pub(crate) fn unknown(what: &Text<120>, intent: &Intent) -> Reason {
    Reason::new(
        "scope_unknown",
        question(&format!(
            "cannot tell which files `{}` changes, and intent `{}` owns only some files",
            quoted(what.as_str()),
            intent.id
        )),
        "write each path in full, without variables, or use a tool that names its file",
    )
}

pub(crate) fn approval(intent: &Intent, code: Option<&str>) -> Reason {
    let why = format!("every change for intent `{}` needs the user's approval (`.intentignore`)", intent.id);
    let (why, next) = match code {
        Some(code) => (
            why,
            format!(
                "ask the user to run `sprag approve {code}` in a terminal, then make the same call again"
            ),
        ),
        None => (question(&why), "allow or reject this call".to_owned()),
    };
    Reason::new("approval_required", why, next)
}

pub(crate) fn rejected(intent: &Intent) -> Reason {
    Reason::new(
        "user_rejected",
        format!("the user rejected this change for intent `{}`", intent.id),
        "try another solution, or ask the user",
    )
}

pub(crate) fn unmet(intent: &Intent, unmet: &[&Criterion]) -> Reason {
    let named = quoted_list(unmet.iter().take(5).map(|criterion| quoted(criterion.text.as_str())));
    Reason::new(
        "intent_unmet",
        format!("intent `{}` is not done: a person must accept {named} first", intent.id),
        format!("ask the user to run `sprag intent accept {}`", intent.id),
    )
}

pub(crate) fn inherited(chosen: &SelectedIntent) -> ContextNote {
    Text::new(format!(
        "this session works for intent `{}`: change only files that it owns (`sprag intent show {}`)",
        chosen.id, chosen.id
    ))
}

/// Returns the note at a session start: how to select an intent, and the open intents.
pub(crate) fn protocol(
    set: &IntentSet,
    standings: &IntentHistories,
    chosen: Option<&SelectedIntent>,
    input: &Input,
) -> ContextNote {
    let mut text = match chosen.and_then(|chosen| set.find(chosen.id.as_str())) {
        Some(intent) => format!(
            "this session works for intent `{}`: change only files that it owns. \
             To select another intent: `{}`. Open intents:",
            intent.id,
            select("ID", input)
        ),
        None => format!(
            "select an intent before any change: `{}` [--class AST_REFACTOR|INTENT_EVOLUTION]; \
             then change only files that it owns. Open intents:",
            select("ID", input)
        ),
    };
    const SPRAG: usize = "sprag: ".len();
    let more = |left: usize| format!("\n- and {left} more: `sprag intent list`");
    let open = open(set, standings);
    for (at, intent) in open.iter().enumerate() {
        let owned = match &intent.owned {
            Ownership::Nothing => "nothing".to_owned(),
            Ownership::Everything => "everything".to_owned(),
            Ownership::Globs(globs) => quoted(&Text::<80>::new(globs.join(" ")).to_string()),
        };
        let name = quoted(&Text::<80>::from(intent.name.as_str()).to_string());
        let line = format!("\n- {}: {name} ({owned})", intent.id);
        let left = open.len() - at - 1;
        let room = if left == 0 { 0 } else { more(left).chars().count() };
        if SPRAG + text.chars().count() + line.chars().count() + room > PROTOCOL {
            text.push_str(&more(left + 1));
            break;
        }
        text.push_str(&line);
    }
    if open.is_empty() {
        text.push_str(" none; ask the user to create one");
    }
    Text::new(text)
}

/// Returns a fact with the question that a present user answers.
fn question(fact: &str) -> String {
    format!("{fact}. Allow it once?")
}

fn open<'a>(set: &'a IntentSet, standings: &IntentHistories) -> Vec<&'a Intent> {
    set.iter().filter(|intent| standings.status(intent) != IntentStatus::Done).collect()
}

fn ids(intents: &[&Intent]) -> String {
    let more = if intents.len() > 5 { ", …" } else { "" };
    quoted_list(intents.iter().take(5).map(|intent| &intent.id)) + more
}

fn select(id: &str, input: &Input) -> String {
    format!("sprag intent select {id}{}", input.session_flag())
}
