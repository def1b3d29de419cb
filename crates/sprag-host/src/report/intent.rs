//! Records the decisions of people about intents.

use std::io;

use sprag_base::record::RecordAuthor;
use sprag_base::time::Timestamp;
use sprag_intent::IntentRecord;

use crate::store::new_record;
use crate::world::World;

/// Writes the decision of a person about an intent.
pub fn record(world: &World<'_>, record: &IntentRecord, now: Timestamp) -> io::Result<()> {
    let by = RecordAuthor::reporter();
    world.store().log(world.disk, &[new_record::record(record, now, None, Some(by))])
}
