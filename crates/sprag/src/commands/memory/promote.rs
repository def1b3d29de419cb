//! `sprag memory promote`: moves a learning to another scope.

use serde_json::json;

use sprag_base::ids::SessionId;
use sprag_base::text::Text;
use sprag_host::memory::candidates::{self, PromotionResult};
use sprag_host::store::new_record;
use sprag_memory::destination::place;
use sprag_memory::learning::{Learning, LearningScope};
use sprag_memory::lifecycle::promote;
use sprag_memory::records::{MemoryRecord, Superseded};

use super::learnings::{LearningsContext, PromoteArgs, scope};
use crate::commands::{CommandCx, CommandResult, show};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &PromoteArgs, cx: &CommandCx) -> CommandResult {
    let to = scope(Some(&args.to))?.unwrap_or(LearningScope::Project);
    let desk = LearningsContext::open(cx)?;
    let (from, entry) = desk.find(&args.id)?;
    let old = &entry.learning;
    let refused = |why: &str| Failure::not_promoted(old.id.as_str(), to.name(), why);
    if let Some(why) = promote::refusal(entry, to, desk.asker()) {
        return Err(refused(&why));
    }
    let mut said = old.candidate.clone();
    said.scope = to;
    if to == LearningScope::Personal {
        // Other projects do not have these files.
        if let Some(path) = candidates::paths_here(&desk.world, &said).first() {
            return Err(refused(&format!(
                "the text names `{path}` of this project; remove it with `sprag memory edit`"
            )));
        }
        said.context_files.clear();
        said.evidence.clear();
    }
    let said = match candidates::judge_alone(&desk.world, said, old.id.as_str()) {
        PromotionResult::Kept(said) => said,
        PromotionResult::Refused(why) => return Err(refused(why.as_str())),
    };
    let id = new_record::new_id(cx.now);
    let session = SessionId::new(old.session.as_str());
    let new = Learning {
        promoted_from: Some(old.id.clone()),
        origin: old.origin.clone(),
        seen: if to == LearningScope::Personal { Vec::new() } else { old.seen.clone() },
        ..Learning::new(&id, *said, &session, old.ticket.clone(), cx.now)
    };
    desk.write(place(to), &[desk.record(&MemoryRecord::Accepted(Box::new(new.clone())))])?;
    // Otherwise a search in this store would find both copies.
    if from == place(to) {
        let superseded = Superseded { id: old.id.clone(), by: new.id.clone(), why: Text::from("promoted") };
        desk.write(from, &[desk.record(&MemoryRecord::Superseded(superseded))])?;
    }
    show(
        args.format,
        || json!({"promoted": new.id, "from": old.id, "scope": to}),
        || output::line(format!("promoted `{}` to {} as `{}`", old.id, to.name(), new.id)),
    )
}
