//! A plan to begin with: it is whole, has no problem, and says beside the fields what they are for.

use super::values::Slug;

/// The text of a new file.
pub fn template(name: &Slug) -> String {
    TEXT.replace("NAME", name.as_str())
}

const TEXT: &str = r#"# NAME

Say here what is to be reached and what everybody has to know: all of it is told to every agent.

```yaml sprag
version: 1
name: NAME
# target: main            # where merged work goes; else the branch that is checked out
slots: 2                  # agents at work at once
gates:                    # run on every candidate before it lands
  - git diff --check HEAD^ HEAD

stages:
  - id: first
    name: First step
    description: |
      What is to be done, in words that stand by themselves.
    working_dir: .
    files: ['first/**']   # where it may change something; or `intents: [ID]`
    acceptance:           # Sprag runs these, and nothing is merged before they pass
      - test -s first/README.md
    artifacts: [first/README.md]

  - id: second
    name: Second step, beside the first
    description: |
      Stages that do not wait for each other run at once, each in a worktree of its own.
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

`sprag plan check FILE` tells what is wrong, `sprag plan graph FILE` what waits for what.
"#;
