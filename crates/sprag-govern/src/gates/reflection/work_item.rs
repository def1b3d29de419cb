//! The work items of a reflection.

use serde::{Deserialize, Serialize};

use sprag_base::text::{Text, quoted};

use crate::facts::Size;
use crate::trackers::Ticket;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorkItem {
    Ticket { ticket: Ticket, title: Text<200> },
    Tasks,
    Session { size: Size },
}

impl WorkItem {
    pub(super) fn name(&self) -> String {
        match self {
            WorkItem::Ticket { ticket, .. } => ticket.id.to_string(),
            WorkItem::Tasks => "tasks".to_owned(),
            WorkItem::Session { .. } => "session".to_owned(),
        }
    }

    pub(super) fn sentence(&self) -> String {
        match self {
            WorkItem::Ticket { ticket, .. } => format!("`{}` was closed", quoted(ticket.id.as_str())),
            WorkItem::Tasks => "the last open task is done".to_owned(),
            WorkItem::Session { size: Size::Lines(lines) } => format!("this session changed {lines} lines"),
            WorkItem::Session { size: Size::Unknown } => "this session may have changed something".to_owned(),
        }
    }
}
