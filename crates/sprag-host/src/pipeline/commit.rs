//! Writes the records and the state of one event.

use std::io;

use sprag_base::record::Record;
use sprag_govern::event::Input;
use sprag_govern::gates::RecordEffect;
use sprag_govern::gates::records::{GateRecord, WarningRecord};
use sprag_govern::session::Session;
use sprag_memory::destination::Destination;

use crate::memory::{self};
use crate::pipeline::session_handle::SessionHandle;
use crate::store::new_record;
use crate::world::World;

#[derive(Default)]
pub(crate) struct PendingRecords {
    pub(crate) records: Vec<Record>,
    pub(crate) effects: Vec<RecordEffect>,
    pub(crate) is_binding: bool,
}

/// Writes the records, the effects and the state. Returns the records that backends mirror.
pub(crate) fn commit(
    world: &World<'_>,
    mut handle: SessionHandle<'_>,
    mut steps: PendingRecords,
    input: &Input,
    after: &Session,
) -> io::Result<Vec<Record>> {
    let mut mirrors = Vec::new();
    if handle.is_locked() {
        let mut places = [
            (Destination::Project, Vec::new()),
            (Destination::Personal, Vec::new()),
            (Destination::Session, Vec::new()),
        ];
        for RecordEffect { destination, record } in steps.effects {
            let by = Some(new_record::by(input));
            let (kind, body) = (record.kind(), record.body());
            let record = new_record::from_parts(kind, input.at, Some(&input.session), by, body);
            if let Some((_, records)) = places.iter_mut().find(|(at, _)| *at == destination) {
                records.push(record);
            }
        }
        let [(_, project), (_, personal), (_, own)] = places;
        // Records that outlive the session go first: a journal must not name a debt that the log does not
        // hold.
        if !project.is_empty() {
            handle.store.log(world.disk, &project)?;
        }
        if !personal.is_empty() {
            let home = memory::personal(&world.places).ok_or(io::ErrorKind::NotFound)?;
            home.log(world.disk, &personal)?;
        }
        steps.records.splice(0..0, own);
        mirrors.extend(project.into_iter().filter(sprag_memory::mirror::concerns));
    }
    handle.append(steps.records, after)?;
    if steps.is_binding {
        handle.sync()?
    } else {
        handle.close()?
    }
    Ok(mirrors)
}

pub(crate) fn warned(input: &Input, what: &str) -> Record {
    let warning = GateRecord::Warned(WarningRecord { what: what.to_owned() });
    new_record::record(&warning, input.at, Some(&input.session), Some(new_record::by(input)))
}
