//! Facts that several gates need.

use sprag_base::text::Text;
use sprag_govern::event::{Event, Input};
use sprag_govern::facts::{SharedFacts, SharedNeeds};
use sprag_govern::gates::permission;
use sprag_govern::obligation::Debts;
use sprag_govern::session_facts::SessionFacts;
use sprag_policy::RuleConcern;

use crate::answers::AnswerCx;
use crate::store::{Store, projections};
use crate::worktree::changes::changes;
use crate::worktree::tree_hash;
use crate::world::World;

/// Finds the facts that the gates need.
pub(crate) fn find(needs: SharedNeeds, cx: &AnswerCx<'_>) -> SharedFacts {
    let world = cx.world();
    let mut facts = SharedFacts::default();
    if needs.has(SharedNeeds::RULES) {
        facts.rules = world.config.restricting(&concern(world, cx.input));
    }
    if needs.has(SharedNeeds::ALLOWS) {
        facts.allows = world.config.allowing();
    }
    if needs.has(SharedNeeds::HEAD) {
        facts.head = world.places.head().map(Text::new);
    }
    if needs.has(SharedNeeds::DEBTS) {
        let debts = projections::load::<Debts>(&Store::at(&world.places.store));
        facts.debts = debts.ok().map(|folded| folded.state.open().to_vec());
    }
    if needs.has(SharedNeeds::CHANGES) {
        facts.changes = changes(&cx.session_world().places, cx.session);
    }
    if needs.has(SharedNeeds::TREE) {
        facts.tree = tree(cx.session_world(), cx.session);
    }
    facts
}

/// Returns the rules that the call of this event concerns.
fn concern(world: &World<'_>, input: &Input) -> RuleConcern {
    match &input.event {
        Event::ToolRequested { call } | Event::PermissionAsked { call } => {
            permission::concern(&world.config.settings.govern.gates.permission, input, call)
        }
        _ => RuleConcern::None,
    }
}

fn tree(world: &World<'_>, session: &SessionFacts) -> Option<Text<64>> {
    match &world.places.worktree {
        Some(_) => tree_hash::hash(&world.places, world.disk).map(Text::new),
        None => {
            let touched: Vec<String> = session.touched.iter().map(Text::to_string).collect();
            Some(Text::new(tree_hash::hash_of_files(&touched)))
        }
    }
}
