//! Stories: pairs of small sources. Changes below `kept/` must be proved, changes below `changed/` must not.
//! Each story tests one rule and fails without it.

use sprag_syntax::{ChangeSet, ChangedFile, Classification, NodeBudget, check, classify};

struct Story {
    name: String,
    before: String,
    after: String,
    path_after: Option<String>,
}

fn stories(text: &str) -> Vec<Story> {
    format!("\n{text}")
        .split("\n== ")
        .skip(1)
        .map(|story| {
            let (name, rest) = story.split_once('\n').expect("a story has a name and a text");
            let (before, rest) = rest.split_once("\n-- after").expect("a story has two sides");
            let (path, after) = rest.split_once('\n').expect("a side has a text");
            let path_after = Some(path.trim().to_owned()).filter(|path| !path.is_empty());
            Story {
                name: name.to_owned(),
                before: format!("{before}\n"),
                after: format!("{after}\n"),
                path_after,
            }
        })
        .collect()
}

const CHANGED: &[(&str, &str)] = &[
    ("unit.py", include_str!("changed/python.txt")),
    ("unit.js", include_str!("changed/javascript.txt")),
    ("unit.ts", include_str!("changed/typescript.txt")),
    ("unit.rs", include_str!("changed/rust.txt")),
    ("unit.go", include_str!("changed/go.txt")),
    ("Unit.java", include_str!("changed/java.txt")),
    ("unit.py", include_str!("changed/names/python.txt")),
    ("unit.js", include_str!("changed/names/javascript.txt")),
    ("unit.ts", include_str!("changed/names/typescript.txt")),
    ("unit.rs", include_str!("changed/names/rust.txt")),
    ("unit.go", include_str!("changed/names/go.txt")),
    ("Unit.java", include_str!("changed/names/java.txt")),
];

const KEPT: &[(&str, &str)] = &[
    ("unit.py", include_str!("kept/python.txt")),
    ("unit.js", include_str!("kept/javascript.txt")),
    ("unit.ts", include_str!("kept/typescript.txt")),
    ("unit.rs", include_str!("kept/rust.txt")),
    ("unit.go", include_str!("kept/go.txt")),
    ("Unit.java", include_str!("kept/java.txt")),
    ("unit.py", include_str!("kept/names/python.txt")),
    ("unit.js", include_str!("kept/names/javascript.txt")),
    ("unit.ts", include_str!("kept/names/typescript.txt")),
    ("unit.rs", include_str!("kept/names/rust.txt")),
    ("unit.go", include_str!("kept/names/go.txt")),
    ("Unit.java", include_str!("kept/names/java.txt")),
];

fn change<'a>(path: &'a str, story: &'a Story) -> ChangeSet<'a> {
    ChangeSet {
        files: vec![ChangedFile {
            path_before: Some(path),
            path_after: Some(story.path_after.as_deref().unwrap_or(path)),
            before: Some(story.before.as_bytes()),
            after: Some(story.after.as_bytes()),
        }],
    }
}

#[test]
fn what_changes_behaviour_is_never_proved() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (path, text) in CHANGED {
        for story in stories(text) {
            count += 1;
            let judged = classify(&change(path, &story), NodeBudget::COMMIT);
            if matches!(judged.verdict, Classification::Proved(_)) {
                wrong.push(format!("{path}: {}", story.name));
            }
        }
    }
    assert!(wrong.is_empty(), "proved, and false:\n{}", wrong.join("\n"));
    assert!(count >= 60, "{count} stories");
}

#[test]
fn what_keeps_behaviour_is_proved_and_the_proof_replays() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (path, text) in KEPT {
        for story in stories(text) {
            count += 1;
            let change = change(path, &story);
            let judged = classify(&change, NodeBudget::COMMIT);
            match &judged.verdict {
                Classification::Proved(proof) => {
                    assert_eq!(check(&change, proof), Ok(judged.claims.clone()), "{}", story.name)
                }
                other => wrong.push(format!("{path}: {}: {other:?}", story.name)),
            }
        }
    }
    assert!(wrong.is_empty(), "not proved:\n{}", wrong.join("\n"));
    assert!(count >= 60, "{count} stories");
}

/// A story with a syntax error would only be unproven and test nothing.
#[test]
fn both_sides_of_every_story_can_be_parsed() {
    for (path, text) in CHANGED.iter().chain(KEPT) {
        for story in stories(text) {
            for source in [&story.before, &story.after] {
                let same = ChangeSet {
                    files: vec![ChangedFile {
                        path_before: Some(path),
                        path_after: Some(path),
                        before: Some(source.as_bytes()),
                        after: Some(source.as_bytes()),
                    }],
                };
                let judged = classify(&same, NodeBudget::COMMIT);
                assert!(
                    matches!(judged.verdict, Classification::Proved(_)),
                    "{path}: {}: {:?}\n{source}",
                    story.name,
                    judged.verdict
                );
            }
        }
    }
}
