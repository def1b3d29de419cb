//! Reports whether the work for an intent still counts for its current text.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;

use super::set::IntentSet;
use super::status::IntentHistories;

/// A link from the record of a change to its intent, with the fingerprint of the intent at that time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedLink {
    pub intent: Text<64>,
    pub fingerprint: Text<64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkState {
    /// No change was made for the intent.
    Uncovered,
    /// Changes were made, and the intent is unchanged since then.
    Covered,
    /// The intent changed after the work, and no person accepted the work for the new text.
    Suspect,
    /// The intent no longer exists.
    Orphaned,
}

sprag_base::names! {
    pub fn name(LinkState):
    Uncovered = "uncovered", Covered = "covered", Suspect = "suspect", Orphaned = "orphaned"
}

/// An intent, and the worst state of its links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linked {
    pub intent: Text<64>,
    pub state: LinkState,
    pub links: usize,
}

/// Returns the state of one link.
pub fn link_state(intents: &IntentSet, standings: &IntentHistories, link: &ServedLink) -> LinkState {
    match intents.find(link.intent.as_str()) {
        None => LinkState::Orphaned,
        Some(intent)
            if standings.carries(
                link.intent.as_str(),
                link.fingerprint.as_str(),
                intent.fingerprint.as_str(),
            ) =>
        {
            LinkState::Covered
        }
        Some(_) => LinkState::Suspect,
    }
}

/// Returns the state of every intent, deleted intents last. One suspect link makes an intent suspect.
pub fn links<'a>(
    intents: &IntentSet,
    standings: &IntentHistories,
    links: impl IntoIterator<Item = &'a ServedLink>,
) -> Vec<Linked> {
    let mut found: BTreeMap<&str, (LinkState, usize)> = BTreeMap::new();
    for link in links {
        let state = link_state(intents, standings, link);
        let (worst, count) = found.entry(link.intent.as_str()).or_insert((state, 0));
        *worst = state.max(*worst);
        *count += 1;
    }
    let mut all: Vec<Linked> = intents
        .iter()
        .map(|intent| {
            let (state, links) = found.remove(intent.id.as_str()).unwrap_or((LinkState::Uncovered, 0));
            Linked { intent: intent.id.clone(), state, links }
        })
        .collect();
    all.extend(found.into_iter().map(|(id, (state, links))| Linked { intent: Text::from(id), state, links }));
    all
}
