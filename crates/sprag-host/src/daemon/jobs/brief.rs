//! What an agent is told when it starts.

use sprag_core::plan::stage::{Stage, StageId};

use super::super::confine;
use super::Job;

impl Job {
    pub(super) fn brief(&self, stage: &StageId) -> String {
        let mut text = format!("# Stage `{}`\n\n", stage.as_str());
        if let Some(spec) = &self.spec {
            text.push_str(&format!("{}\n\n{}\n", spec.name, spec.description));
            for check in spec.checks.commands() {
                text.push_str(&format!("- has to end well: `{check}`\n"));
            }
        }
        if let Some(spec) = &self.spec {
            text.push_str(&format!("\n{}\n", confine::told(spec, &self.ground.root)));
        }
        if let Some(Stage::Failing { report, .. }) = &self.stage {
            text.push_str(&format!("\n## What is to be mended\n\n{report}\n"));
        }
        if let Some(Stage::Conflicted { against, paths, .. }) = &self.stage {
            text.push_str(&format!(
                "\n## Conflict\n\nMerge `{}` into this branch. Both changed:\n",
                against.0
            ));
            paths.iter().for_each(|path| text.push_str(&format!("- `{path}`\n")));
        }
        text.push_str(&format!("\n## The plan\n\n{}\n", self.overview));
        text
    }
}
