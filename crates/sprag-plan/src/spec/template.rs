//! The text of a new plan: it is complete, has no problems, and explains its fields.

use super::values::Slug;

/// Returns the text of a new file.
pub fn template(name: &Slug) -> String {
    TEXT.replace("NAME", name.as_str())
}

const TEXT: &str = r#"# NAME

Write here the goal and the facts that all agents need: every agent gets this text.

```yaml sprag
version: 1
name: NAME
# target: main            # branch for merged work; default: the branch that is checked out
slots: 2                  # agents that work at the same time
gates:                    # run on every merge candidate before it lands
  - git diff --check HEAD^ HEAD

stages:
  - id: first
    name: First step
    description: |
      The assignment, complete without other texts.
    working_dir: .
    files: ['first/**']   # files that it may change; or `intents: [ID]`
    acceptance:           # Sprag runs these and merges nothing before they pass
      - test -s first/README.md
    artifacts: [first/README.md]

  - id: second
    name: Second step, beside the first
    description: |
      Stages that do not wait for each other run at the same time, each in a separate worktree.
    working_dir: .
    files: ['second/**']
    acceptance:
      - command: test -s second/README.md
        timeout: 30s
    tasks:
      - {id: readme, text: write second/README.md, check: test -s second/README.md}

  - id: verify
    name: Both together
    type: integration-verify
    dependencies: [first, second]
    working_dir: .
    truths:
      - test -s first/README.md && test -s second/README.md
```

`sprag plan check FILE` lists problems, `sprag plan graph FILE` shows the dependencies.
"#;
