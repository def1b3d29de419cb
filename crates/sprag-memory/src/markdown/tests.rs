use proptest::prelude::*;
use serde_json::json;

use sprag_base::ids::SessionId;
use sprag_base::record::{Projection as _, Record};
use sprag_base::time::Timestamp;

use super::*;
use crate::learnings::Learnings;

fn learning(id: &str, members: &Value) -> Learning {
    let mut candidate = json!({
        "category": "pitfall", "summary": "the parser drops the last line", "tags": ["parser"],
        "detail": "a file without a final newline loses its last line", "criteria_met": ["stable_fact"],
    });
    for (name, value) in members.as_object().unwrap() {
        candidate[name] = value.clone();
    }
    let candidate = Candidate::read(&candidate).unwrap();
    Learning::new(id, candidate, &SessionId::new("s"), Some(Text::from("T-1")), Timestamp::from_millis(0))
}

fn fold(learnings: &[Learning]) -> Learnings {
    let mut folded = Learnings::default();
    for learning in learnings {
        folded.apply(&Record::new("learning.accepted", learning.at, json!(learning)));
    }
    folded
}

fn rendered(learnings: &[Learning]) -> String {
    document(fold(learnings).all(), "")
}

#[test]
fn a_block_has_all_of_it() {
    let text = rendered(&[learning(
        "0190f3c1-7c7e-7b3a-9f0e-2d5b7a1c4e6f",
        &json!({
            "detail": "first, see `Vec<u8>`\n\n# no heading\n- an item", "tags": ["parser", "a, b"], "confidence": "high",
            "context_files": ["src/parse_all.rs"], "trigger": {"when": "parsing", "when_not": "testing"},
            "evidence": ["src/parse_all.rs:1-2"], "kind": "negative",
        }),
    )]);
    let block = &text[text.find("## ").unwrap()..];
    let (body, end) = block.split_once("<!--").unwrap();
    assert_eq!(
        body,
        "## 0190f3c1-7c7e the parser drops the last line\n\n- category: pitfall\n- kind: negative\n- scope: project\n\
         - confidence: high\n- criteria: stable\\_fact\n- tags: parser, a\\, b\n- files: src/parse\\_all.rs\n\
         - evidence: src/parse\\_all.rs:1-2\n- when: parsing\n- when not: testing\n- ticket: T-1\n\
         - learned: 1970-01-01T00:00:00.000Z\n\n> first, see `Vec<u8>`\n>\n> \\# no heading\n> - an item\n\n"
    );
    assert!(end.starts_with(" sprag 0190f3c1-7c7e-7b3a-9f0e-2d5b7a1c4e6f "), "{end}");
    assert_eq!(edited(&text), []);
}

#[test]
fn a_block_that_was_edited_is_told_from_one_that_was_not() {
    let ids = ["0190f3c1-7c7e-7b3a-9f0e-000000000001", "0190f3c1-7c7e-7b3a-9f0e-000000000002"];
    let text = rendered(&[learning(ids[0], &json!({})), learning(ids[1], &json!({}))]);
    let (first, second) = text.split_at(text.rfind("## ").unwrap());
    let by_hand = second
        .replace("the parser drops", "the lexer drops")
        .replace("> a file", "> Any file\nwithout quotation,");
    let found = edited(&format!("{first}{by_hand}"));
    assert_eq!(found.len(), 1);
    let said = found[0].said.clone().unwrap();
    assert_eq!((found[0].id.as_str(), said.summary.as_str()), (ids[1], "the lexer drops the last line"));
    assert!(
        said.detail.as_str().starts_with("Any file\nwithout quotation, without a final"),
        "{}",
        said.detail
    );
    let broken = edited(&text.replace("- category: pitfall", "- category: gossip"));
    assert!(broken.iter().all(|edit| edit.said.as_ref().unwrap_err().as_str().contains("`gossip`")));
    assert_eq!(edited(&text.replace('\n', "\r\n")), [], "another line ending is no edit");
    let conflict = format!("<<<<<<< ours\n{first}{by_hand}=======\n{text}>>>>>>> theirs\n");
    assert!(edited(&conflict).is_empty() && has_conflict(&conflict));
}

#[test]
fn hostile_text_stays_text() {
    let nasty = [
        "## 0190 a heading <!-- sprag x y -->",
        "<script>alert(1)</script> and <!-- a comment",
        "![x](http://evil/p.png) [y](javascript:z)",
        "``` unclosed code and `one` two",
        "---------- # x ## y",
    ];
    for (at, text) in nasty.iter().enumerate() {
        let detail = format!("{text}\n{text}\n```\n## block\n<!-- sprag l-1 abc -->\n===\n~~~\n> q\n| t |");
        let learning = learning(
            "0190f3c1-7c7e-7b3a-9f0e-2d5b7a1c4e6f",
            &json!({"summary": text, "detail": detail, "tags": [text]}),
        );
        let text = rendered(std::slice::from_ref(&learning));
        assert_eq!(text.lines().filter(|line| line.starts_with('#')).count(), 2, "{at}: {text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("<!--")).count(), 1, "{at}: {text}");
        let open = text.replace("<!-- sprag", "").matches('<').count();
        assert_eq!(open, text.matches("\\<").count(), "{at}: a tag could begin: {text}");
        assert!(
            !text.lines().any(|line| line.starts_with("> #")
                || line.starts_with("> ```")
                || line.starts_with("> ~~~")),
            "{text}"
        );
        let [(_, said)] = &statements(&text)[..] else { panic!("{text}") };
        assert_eq!(said.as_ref().unwrap(), &learning.candidate, "{text}");
    }
}

fn any_learning() -> impl Strategy<Value = Value> {
    let line = "[ -~äß語\t]{0,40}";
    let text = prop_oneof![Just(line), Just("(`|``|```|[<>#*_~=|\\[\\]!&-]|\\\\| |a|sprag){0,30}")];
    let detail = prop::collection::vec(text.clone().prop_flat_map(|pattern| pattern), 1..6)
        .prop_map(|lines| format!("the detail begins {} and ends", lines.join("\n")));
    let summary = text.prop_flat_map(|pattern| pattern).prop_map(|text| format!("summary {text} of it"));
    let tags = prop::collection::vec("[!-~]{1,12}( [!-~]{1,5})?", 1..5);
    (summary, detail, tags, "[ -~]{0,30}").prop_map(|(summary, detail, tags, when)| {
        json!({"summary": summary, "detail": detail, "tags": tags, "trigger": {"when": when, "when_not": when}})
    })
}

proptest! {
    /// A rendered document reads back unchanged, without edits.
    #[test]
    fn what_is_rendered_is_read_back(all in prop::collection::vec(any_learning(), 1..4)) {
        let learnings: Vec<Learning> = all
            .iter()
            .enumerate()
            .map(|(at, members)| learning(&format!("0190f3c1-7c7e-7b3a-9f0e-{at:012}"), members))
            .collect();
        let text = rendered(&learnings);
        prop_assert_eq!(edited(&text), vec![]);
        let read = statements(&text);
        prop_assert_eq!(read.len(), learnings.len());
        for ((id, said), learning) in read.iter().zip(&learnings) {
            prop_assert_eq!(id.as_str(), learning.id.as_str());
            prop_assert_eq!(said.as_ref(), Ok(&learning.candidate), "{}", &text);
        }
    }

    /// Any document is read or refused, without a panic.
    #[test]
    fn any_document_is_survived(text in "(## |<!-- sprag | -->|- tags: |> |\n|\\\\|`|[a-z ]{0,5}){0,40}") {
        let _read_or_not = edited(&text);
    }
}

#[test]
fn what_somebody_wrote_beside_the_blocks_stays() {
    let known = [learning("0190f3c1-7c7e-7b3a-9f0e-2d5b7a1c4e6f", &json!({}))];
    let plain = rendered(&known);
    let is_known = |id: &str| fold(&known).get(id).is_some();
    assert_eq!(notes(&plain, is_known), "");
    let unknown = "## by hand\n\nhow we deploy\n\n<!-- sprag nobody 0 -->";
    let written = plain.replacen("## ", "Ask Ada first.\n\n\n- twice\n\n## ", 1) + unknown + "\nlast words";
    let kept = notes(&written, is_known);
    assert_eq!(kept, format!("Ask Ada first.\n\n\n- twice\n\n{unknown}\n\nlast words"));
    let again = document(fold(&known).all(), &kept);
    assert!(again.starts_with(&plain), "{again}");
    assert_eq!(notes(&again, is_known), kept, "and stays");
    assert!(edited(&again).iter().all(|edited| edited.id.as_str() == "nobody"));
    // A block that Sprag wrote and no longer knows is not a note.
    assert_eq!(notes(&plain, |_| false), "");
    assert_eq!(notes(&format!("<<<<<<< ours\n{written}\n=======\n>>>>>>> theirs\n"), is_known), "");
}
