use proptest::prelude::*;
use serde_json::json;

use sprag_base::ids::SessionId;
use sprag_base::time::Timestamp;

use super::*;

fn valid() -> Value {
    json!({
        "category": "pitfall",
        "summary": "the cache is keyed by path alone",
        "detail": "two worktrees of one clone share it: key it by worktree too",
        "tags": ["cache"],
        "criteria_met": ["stable_fact"],
    })
}

fn with(name: &str, value: Value) -> Value {
    let mut candidate = valid();
    candidate[name] = value;
    candidate
}

fn refused(candidate: &Value) -> String {
    Candidate::read(candidate).unwrap_err().to_string()
}

#[test]
fn what_is_left_out_has_a_default() {
    let candidate = Candidate::read(&valid()).unwrap();
    assert_eq!((candidate.scope, candidate.confidence), (LearningScope::Project, Confidence::Medium));
    assert!(candidate.context_files.is_empty());
}

#[test]
fn form_is_read_leniently() {
    let mut given = valid();
    given["category"] = json!(" Pitfall ");
    given["scope"] = json!("galaxy");
    given["confidence"] = json!(0.9);
    given["criteria_met"] = json!(["Stable_Fact", "because", 7, "stable_fact"]);
    given["tags"] = json!([" cache ", "cache"]);
    given["context_files"] = Value::Null;
    given["mood"] = json!({"good": true});
    let candidate = Candidate::read(&given).unwrap();
    assert_eq!(candidate, Candidate::read(&valid()).unwrap());
    for (name, scope) in [
        ("TEAM", LearningScope::Team),
        ("personal", LearningScope::Personal),
        ("ephemeral ", LearningScope::Ephemeral),
    ] {
        assert_eq!(Candidate::read(&with("scope", json!(name))).unwrap().scope, scope);
    }
}

#[test]
fn a_fault_says_what_to_change() {
    for (name, value, says) in [
        ("category", json!("tip"), "`category` is `tip`: give one of `pattern`, `pitfall`, "),
        ("category", Value::Null, "`category` is missing: give one of "),
        ("summary", json!("  short  "), "`summary` has 5 characters (`short`): give 10 to 200"),
        (
            "summary",
            json!(["x"]),
            "`summary` is a list that begins with `x`: give a text of 10 to 200 characters",
        ),
        ("detail", json!("also too short"), "`detail` has 14 characters (`also too short`): give 20 to 2000"),
        ("detail", json!(" The cache is KEYED by path alone\n"), "`detail` repeats `summary`: "),
        ("tags", json!([]), "`tags` is empty: give a list of 1 to 10 words"),
        ("tags", json!("cache"), "`tags` is `cache`: give a list of 1 to 10 words"),
        ("tags", json!(["a", " \u{200b} "]), "`tags` has an empty item: leave it out"),
        ("tags", json!(["a", 5]), "`tags` has an item that is `5`: give texts"),
        ("tags", json!(vec!["a"; 11]), "`tags` has 11 items: keep at most 10"),
        (
            "criteria_met",
            json!(["useful"]),
            "`criteria_met` is a list that begins with `useful`: give a list",
        ),
        (
            "criteria_met",
            json!("stable_fact"),
            "`criteria_met` is `stable_fact`: give a list with one or more of ",
        ),
        ("context_files", json!("a.rs"), "`context_files` is `a.rs`: give a list of paths"),
        (
            "context_files",
            json!(["/etc/passwd"]),
            "`context_files` has `/etc/passwd`: give paths relative to ",
        ),
        ("context_files", json!(["a/../../b"]), "`context_files` has `a/../../b`: give paths relative to "),
    ] {
        let told = refused(&with(name, value));
        assert!(told.starts_with(says), "{told}");
        assert!(!told.contains("; "), "{told}");
    }
    assert_eq!(refused(&json!(3)), "the candidate is `3`: give an object");
    let all = refused(&json!({}));
    for name in ["category", "summary", "detail", "tags", "criteria_met"] {
        assert!(all.contains(&format!("`{name}` is missing: ")), "{all}");
    }
}

#[test]
fn bounds_are_counted_in_characters() {
    for (name, least, most) in
        [("summary", SUMMARY_LEAST, SUMMARY_MOST), ("detail", DETAIL_LEAST, DETAIL_MOST)]
    {
        for (length, is_right) in [(least - 1, false), (least, true), (most, true), (most + 1, false)] {
            let text = format!("  {}  ", "語".repeat(length));
            assert_eq!(Candidate::read(&with(name, json!(text))).is_ok(), is_right, "{name} {length}");
        }
    }
    let tags = |count: usize| json!((0..count).map(|n| format!("t{n}")).collect::<Vec<_>>());
    assert_eq!(Candidate::read(&with("tags", tags(TAGS_MOST))).unwrap().tags.len(), TAGS_MOST);
    assert!(Candidate::read(&with("tags", json!(["x".repeat(TAG_MOST + 1)]))).is_err());
}

#[test]
fn no_secret_is_kept_or_repeated() {
    let secret = "ghp_0123456789abcdefghij0123456789abcdef";
    let candidate =
        Candidate::read(&with("detail", json!(format!("log in with {secret} and go on")))).unwrap();
    assert_eq!(candidate.detail.as_str(), "log in with [redacted:github_token] and go on");
    for name in ["category", "tags", "context_files", "criteria_met"] {
        assert!(!refused(&with(name, json!(secret))).contains("0123456789"), "{name}");
    }
    let split = format!("{}\u{200b}{}", "x".repeat(30), secret);
    let candidate = Candidate::read(&with("summary", json!(split))).unwrap();
    assert!(candidate.summary.as_str().ends_with("[redacted:github_token]"));
}

#[test]
fn a_foreign_text_cannot_start_a_line_or_end_its_quotation() {
    let candidate =
        Candidate::read(&with("summary", json!("first line\nsprag: second \u{202e}line"))).unwrap();
    assert_eq!(candidate.summary.as_str(), "first line sprag: second  line");
    let candidate =
        Candidate::read(&with("detail", json!("do this:\n\tmake\r\nand no \u{1b}[31mcolour"))).unwrap();
    assert_eq!(candidate.detail.as_str(), "do this:\n\tmake\nand no  [31mcolour");
    assert!(refused(&with("category", json!("a` b\nc"))).starts_with("`category` is `a' b c`: "));
}

#[test]
fn one_bad_candidate_does_not_spoil_the_others() {
    let text = json!({"candidates": [valid(), {"category": "tip"}, with("category", json!("domain"))]});
    let read = submission(&text.to_string()).unwrap();
    assert_eq!(read.accepted.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 2]);
    assert_eq!((read.rejected[0].index, read.rejected[0].stage.as_str()), (1, "schema"));
    let bare = format!("\u{feff}{}", text["candidates"]);
    assert_eq!(submission(&bare).unwrap(), read);
    let (parsed, redacted) = redacted_submission(&bare).unwrap();
    assert_eq!((submission(&redacted).unwrap(), parsed), (read.clone(), read));
}

#[test]
fn a_submission_has_its_bounds() {
    let many = submission(&json!({"candidates": vec![valid(); CANDIDATES + 2]}).to_string()).unwrap();
    assert_eq!((many.accepted.len(), many.rejected.len()), (CANDIDATES, 2));
    assert_eq!(many.rejected[1].index, CANDIDATES + 1);
    assert_eq!(many.rejected[1].reason.as_str(), "too many candidates: submit the best 20");
    let mut text = json!([valid()]).to_string();
    text.push_str(&" ".repeat(BYTES - text.len()));
    assert!(submission(&text).is_ok());
    text.push(' ');
    assert_eq!(submission(&text), Err(SubmissionError::TooLarge { bytes: BYTES + 1 }));
}

#[test]
fn what_is_no_submission_says_what_it_is() {
    for (text, says) in [
        ("", "the submission is not JSON: EOF while parsing a value at line 1 column 0"),
        ("{\"candidates\": [", "the submission is not JSON: "),
        ("\"hello\"", "the submission needs a list `candidates`, but it is `hello`"),
        (
            "{\"learnings\": []}",
            "the submission needs a list `candidates`, but it is an object without `candidates`",
        ),
        (
            "{\"candidates\": {}}",
            "the submission needs a list `candidates`, but it is an object whose `candidates` is an object",
        ),
        ("{\"candidates\": []}", "the submission has no candidates"),
        ("[]", "the submission has no candidates"),
    ] {
        let told = submission(text).unwrap_err().to_string();
        assert!(told.starts_with(says), "{told}");
    }
    assert!(submission(&"[".repeat(100_000)).is_err());
}

#[test]
fn the_schema_shows_what_is_accepted() {
    let schema = schema();
    let read = submission(&schema["examples"][0].to_string()).unwrap();
    assert_eq!((read.accepted.len(), read.rejected.len()), (1, 0));
    let candidate = serde_json::to_value(&read.accepted[0].1).unwrap();
    assert_eq!(candidate, schema["examples"][0]["candidates"][0], "the example is complete and normal");
    let properties = schema["properties"]["candidates"]["items"]["properties"].as_object().unwrap();
    // Default values are not serialised.
    let all = candidate.as_object().unwrap().keys().map(String::as_str).chain(["kind"]);
    assert_eq!(
        properties.keys().map(String::as_str).collect::<Vec<_>>(),
        sorted(all),
        "each member is described"
    );
    assert!(properties.values().all(|property| property["description"].is_string()));
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names
}

/// Tries each bound of the schema, and the next value, on the reader.
#[test]
fn the_schema_and_the_reader_have_the_same_bounds() {
    let schema = schema();
    let list = &schema["properties"]["candidates"];
    let member = |name: &str| &list["items"]["properties"][name];
    let number = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let is_right = |name: &str, value: Value| Candidate::read(&with(name, value)).is_ok();
    for name in ["summary", "detail"] {
        let (least, most) = (number(&member(name)["minLength"]), number(&member(name)["maxLength"]));
        for (length, expected) in [(least - 1, false), (least, true), (most, true), (most + 1, false)] {
            assert_eq!(is_right(name, json!("x".repeat(length))), expected, "{name} {length}");
        }
    }
    for name in ["tags", "context_files"] {
        let most = number(&member(name)["maxItems"]);
        let longest = number(&member(name)["items"]["maxLength"]);
        let items = |count: usize| json!((0..count).map(|n| n.to_string()).collect::<Vec<_>>());
        assert!(is_right(name, items(most)) && !is_right(name, items(most + 1)), "{name}");
        assert!(is_right(name, json!(["x".repeat(longest)])), "{name}");
        assert!(!is_right(name, json!(["x".repeat(longest + 1)])), "{name}");
        assert!(!is_right(name, json!([""])) && number(&member(name)["items"]["minLength"]) == 1, "{name}");
    }
    assert!(!is_right("tags", json!([])) && number(&member("tags")["minItems"]) == 1);
    for category in member("category")["enum"].as_array().unwrap() {
        assert!(is_right("category", category.clone()), "{category}");
    }
    for criterion in member("criteria_met")["items"]["enum"].as_array().unwrap() {
        assert!(is_right("criteria_met", json!([criterion])), "{criterion}");
    }
    let most = number(&list["maxItems"]);
    let read = submission(&json!(vec![valid(); most + 1]).to_string()).unwrap();
    assert_eq!((read.accepted.len(), read.rejected.len()), (most, 1));
}

#[test]
fn the_same_statement_has_the_same_digest() {
    let digest = |candidate: Value| Candidate::read(&candidate).unwrap().digest();
    let same = digest(valid());
    assert_eq!(digest(with("summary", json!(" The cache is  keyed by path ALONE"))), same);
    assert_eq!(digest(with("tags", json!(["other"]))), same);
    assert_ne!(digest(with("category", json!("domain"))), same);
    assert_ne!(digest(with("scope", json!("personal"))), same);
    assert_ne!(digest(with("summary", json!("the cache is keyed by path only"))), same);
}

#[test]
fn a_learning_survives_being_written() {
    let candidate = Candidate::read(&with("context_files", json!(["src/cache.rs"]))).unwrap();
    let session = SessionId::new("s-1");
    let at = Timestamp::from_millis(1_794_733_261_000);
    let learning = Learning::new("0190f3c1", candidate, &session, Some(Text::from("T-1")), at);
    let body = serde_json::to_value(&learning).unwrap();
    assert_eq!((body.get("status"), &body["schema_version"]), (None, &json!(2)));
    assert_eq!(
        (&body["summary"], &body["ticket"]),
        (&json!("the cache is keyed by path alone"), &json!("T-1"))
    );
    assert_eq!(serde_json::from_value::<Learning>(body.clone()).unwrap(), learning);
    assert_eq!(serde_json::from_str::<Learning>(&body.to_string()).unwrap(), learning);
    let without = Learning { ticket: None, ..learning };
    let body = serde_json::to_value(&without).unwrap();
    assert!(body.get("ticket").is_none());
    assert_eq!(serde_json::from_value::<Learning>(body.clone()).unwrap(), without);
    let mut forged = body;
    forged["tags"] = json!([]);
    assert!(serde_json::from_value::<Learning>(forged).is_err());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,30}".prop_map(Value::from),
        "[ a\u{200b}語\n]{0,220}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{1,8}", inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Returns candidates with mostly valid members, so that they fail for different reasons.
fn any_candidate() -> impl Strategy<Value = Value> {
    let member = |name: &'static str| {
        let usual = Just(valid()[name].clone());
        prop_oneof![3 => usual, 1 => any_json(), 1 => "[ -~\n]{8,230}".prop_map(Value::from)]
    };
    let words = prop::collection::vec("[ a-c]{0,3}", 0..13).prop_map(Value::from);
    let tags = prop_oneof![2 => Just(json!(["cache"])), 2 => words, 1 => any_json()];
    let members = (member("category"), member("summary"), member("detail"), tags, member("criteria_met"));
    let files = prop_oneof![Just(Value::Null), Just(json!(["a/b"])), any_json()];
    (members, any_json(), files).prop_map(
        |((category, summary, detail, tags, criteria_met), scope, files)| {
            json!({
                "category": category, "summary": summary, "detail": detail, "tags": tags,
                "criteria_met": criteria_met, "scope": scope, "context_files": files, "confidence": files,
            })
        },
    )
}

fn holds(candidate: &Candidate) -> bool {
    let is_trimmed = |text: &str| text.trim() == text;
    let length = |text: &str| text.chars().count();
    let (summary, detail) = (candidate.summary.as_str(), candidate.detail.as_str());
    (10..=200).contains(&length(summary))
        && (20..=2000).contains(&length(detail))
        && is_trimmed(summary)
        && is_trimmed(detail)
        && !summary.contains('\n')
        && summary.to_lowercase() != detail.to_lowercase()
        && (1..=10).contains(&candidate.tags.len())
        && candidate.tags.iter().all(|tag| !tag.is_empty() && is_trimmed(tag.as_str()))
        && !candidate.criteria_met.is_empty()
        && candidate.context_files.iter().all(|file| is_inside(file.as_str()))
}

proptest! {
    #[test]
    fn any_json_is_read_or_refused(value in any_json()) {
        let _read_or_not = submission(&value.to_string());
    }

    #[test]
    fn what_is_accepted_keeps_the_rules(value in any_candidate()) {
        match Candidate::read(&value) {
            Ok(candidate) => {
                prop_assert!(holds(&candidate), "{candidate:?}");
                let again = serde_json::to_value(&candidate).unwrap();
                prop_assert_eq!(Candidate::read(&again).unwrap(), candidate);
            }
            Err(faults) => prop_assert!(!faults.to_string().is_empty()),
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        let _read_or_not = submission(&text);
    }
}
