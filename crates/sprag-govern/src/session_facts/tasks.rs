//! The client's own task list, as its tool calls show it: the number of tasks and the finished ones.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;
use sprag_policy::call::ToolCall;

/// Maximum number of finished tasks that are remembered by id.
const KEPT: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tasks {
    created: u32,
    done: Vec<Text<64>>,
}

impl Tasks {
    pub fn is_unused(&self) -> bool {
        *self == Tasks::default()
    }

    pub fn open(&self) -> u32 {
        self.created.saturating_sub(u32::try_from(self.done.len()).unwrap_or(u32::MAX))
    }

    /// Reports whether no other task is open once this one is done.
    pub fn is_last(&self, id: &str) -> bool {
        self.open() <= u32::from(!self.is_done(id))
    }

    fn is_done(&self, id: &str) -> bool {
        self.done.iter().any(|done| done.as_str() == id)
    }

    /// Notes a tool call that succeeded.
    pub fn note(&mut self, call: &ToolCall) {
        match call.name.as_str() {
            "TaskCreate" => self.created = self.created.saturating_add(1),
            "TaskUpdate" => {
                let (Some(id), Some(status)) = (call.input["taskId"].as_str(), call.input["status"].as_str())
                else {
                    return;
                };
                match status {
                    "completed" | "deleted" if !self.is_done(id) && self.done.len() < KEPT => {
                        self.done.push(Text::from(id));
                    }
                    "completed" | "deleted" => {}
                    _ => self.done.retain(|done| done.as_str() != id),
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use sprag_policy::call::InputCompleteness;

    use super::*;

    #[test]
    fn the_last_open_task_is_known() {
        let mut tasks = Tasks::default();
        let mut call = |name: &str, input: Value| {
            tasks.note(&ToolCall::new(&[], name, input, None, InputCompleteness::Yes))
        };
        call("TaskCreate", json!({"subject": "a"}));
        call("TaskCreate", json!({"subject": "b"}));
        call("TaskUpdate", json!({"taskId": "1", "status": "in_progress"}));
        assert!(!tasks.is_last("1"));
        let mut call = |name: &str, input: Value| {
            tasks.note(&ToolCall::new(&[], name, input, None, InputCompleteness::Yes))
        };
        call("TaskUpdate", json!({"taskId": "1", "status": "completed"}));
        call("TaskUpdate", json!({"taskId": "1", "status": "completed"}));
        assert_eq!(tasks.open(), 1);
        assert!(tasks.is_last("2"));
        tasks.note(&ToolCall::new(
            &[],
            "TaskUpdate",
            json!({"taskId": "1", "status": "pending"}),
            None,
            InputCompleteness::Yes,
        ));
        assert!(!tasks.is_last("2"));
    }

    #[test]
    fn a_list_nobody_saw_being_made_ends_with_any_task() {
        assert!(Tasks::default().is_last("7"));
    }
}
