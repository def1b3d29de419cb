//! Tests of forged proofs, changes over several files, budgets and units.

use sprag_syntax::reason::UnprovenReason;
use sprag_syntax::{
    ChangeSet, ChangedFile, Classification, Lang, NodeBudget, Proof, ProofStep, UnitKind, check, classify,
    units,
};

fn one<'a>(path: &'a str, before: &'a str, after: &'a str) -> ChangeSet<'a> {
    ChangeSet { files: vec![file(path, before, after)] }
}

fn file<'a>(path: &'a str, before: &'a str, after: &'a str) -> ChangedFile<'a> {
    ChangedFile {
        path_before: Some(path),
        path_after: Some(path),
        before: Some(before.as_bytes()),
        after: Some(after.as_bytes()),
    }
}

fn proof(change: &ChangeSet<'_>) -> Proof {
    match classify(change, NodeBudget::COMMIT).verdict {
        Classification::Proved(proof) => proof,
        other => panic!("not proved: {other:?}"),
    }
}

const BEFORE: &str = "def _load(x):\n    return x\n\n\ndef f():\n    return _load(1)\n";
const AFTER: &str = "def _fetch(x):\n    return x\n\n\ndef f():\n    return _fetch(1)\n";

#[test]
fn a_proof_is_about_these_sources_and_no_others() {
    let change = one("a.py", BEFORE, AFTER);
    let proof = proof(&change);
    assert!(check(&change, &proof).is_ok());
    assert!(check(&one("a.py", BEFORE, &AFTER.replace('1', "2")), &proof).is_err());
    assert!(check(&one("b.py", BEFORE, AFTER), &proof).is_err());
    assert!(check(&ChangeSet::default(), &proof).is_err());
}

#[test]
fn a_proof_without_its_steps_or_with_forged_ones_is_refused() {
    let change = one("a.py", BEFORE, AFTER);
    let honest = proof(&change);
    let forged = |tamper: &dyn Fn(&mut Proof)| {
        let mut proof = honest.clone();
        tamper(&mut proof);
        check(&change, &proof).is_err()
    };
    assert!(forged(&|proof| proof.steps.clear()));
    assert!(forged(&|proof| proof.level = "L1".to_owned()));
    assert!(forged(&|proof| proof.level = "L9".to_owned()));
    assert!(forged(&|proof| proof.rules = "other".to_owned()));
    assert!(forged(&|proof| proof.before_root = "00".to_owned()));
    assert!(forged(
        &|proof| proof.steps = vec![ProofStep::Rename { from: "f".to_owned(), to: "g".to_owned() }]
    ));
    // The checker itself refuses a rename with a foreign use, even if the proof asks for it.
    let (before, after) = ("def _run(j):\n    return j._run()\n", "def _go(j):\n    return j._go()\n");
    let mut claim = honest.clone();
    claim.steps = vec![ProofStep::Rename { from: "_run".to_owned(), to: "_go".to_owned() }];
    claim.files = proof(&one("a.py", before, before)).files;
    claim.files[0].after = proof(&one("a.py", after, after)).files[0].after.clone();
    let refused = check(&one("a.py", before, after), &claim).expect_err("one use is foreign");
    assert_eq!(refused.why, "rename of `_run`: a use of it may refer to another declaration");
}

#[test]
fn what_others_could_use_is_claimed_and_what_nobody_else_can_see_is_not() {
    let claims = |path: &str, before: &str, from: &str, to: &str| {
        let after = before.replace(from, to);
        let change = one(path, before, &after);
        let judged = classify(&change, NodeBudget::COMMIT);
        let Classification::Proved(proof) = &judged.verdict else {
            panic!("not proved: {:?}", judged.verdict)
        };
        assert_eq!(check(&change, proof), Ok(judged.claims.clone()));
        judged.claims.into_iter().collect::<Vec<_>>()
    };
    let names = ["load", "take"];
    assert_eq!(claims("a.py", "def load():\n    return 1\n\nx = load()\n", "load", "take"), names);
    // Python has no private names.
    assert_eq!(claims("a.py", BEFORE, "_load", "_take"), ["_load", "_take"]);
    assert_eq!(claims("a.rs", "pub fn load() {}\nfn g() { load() }\n", "load", "take"), names);
    assert_eq!(claims("a.rs", "fn load() {}\nfn g() { load() }\n", "load", "take"), [""; 0]);
    assert_eq!(
        claims("a.go", "package p\n\nfunc load() {}\n\nfunc G() { load() }\n", "load", "take"),
        [""; 0]
    );
    let own = "import {y} from './y';\nfunction load() { return y; }\nexport const x = load();\n";
    assert_eq!(claims("a.ts", own, "load", "take"), [""; 0]);
    assert_eq!(claims("a.ts", &own.replace("function", "export function"), "load", "take"), names);
    let class = "class A {\n  private static int load() { return 1; }\n  int g() { return load(); }\n}\n";
    assert_eq!(claims("A.java", class, "load", "take"), [""; 0]);
    assert_eq!(claims("A.java", &class.replace("private ", ""), "load", "take"), names);
    // A module below may import its names from here, and may have had this name from elsewhere.
    let globs = "mod child;\nuse other::*;\nfn f() { g(\"x\"); }\n";
    let after = globs.replace("fn f", "const NAME: &str = \"x\";\nfn f").replace("g(\"x\")", "g(NAME)");
    let judged = classify(&one("a.rs", globs, &after), NodeBudget::COMMIT);
    assert!(matches!(judged.verdict, Classification::Proved(_)), "{:?}", judged.verdict);
    assert_eq!(judged.claims.into_iter().collect::<Vec<_>>(), ["NAME"]);
    // Formatting and locals affect no other file.
    assert_eq!(claims("a.py", "def f():\n    load = 1\n    return load\n", "load", "take"), [""; 0]);
}

#[test]
fn who_imports_a_moved_file_must_be_there() {
    let judge = |before: &'static str, after: &'static str, text: &'static str| {
        let moved =
            ChangedFile { path_before: Some(before), path_after: Some(after), ..file(before, text, text) };
        let judged = classify(&ChangeSet { files: vec![moved] }, NodeBudget::COMMIT);
        assert!(matches!(judged.verdict, Classification::Proved(_)), "{:?}", judged.verdict);
        judged.claims.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(judge("a/util.py", "b/util.py", "x = 1\n"), ["util"]);
    assert_eq!(judge("src/ui/index.ts", "src/view/index.ts", "export const x = 1;\n"), ["ui"]);
    assert_eq!(judge("p/a.go", "q/a.go", "package p\n\nfunc f() int { return 1 }\n"), ["p"]);
}

#[test]
fn a_name_is_followed_through_an_import_of_the_change() {
    let library =
        ("src/a.ts", "export function load() { return 1; }\n", "export function fetch1() { return 1; }\n");
    let user = (
        "src/b.ts",
        "import {load} from './a';\nexport const x = load();\n",
        "import {fetch1} from './a';\nexport const x = fetch1();\n",
    );
    let other = (
        "src/b.ts",
        "import {load} from './c';\nexport const x = load();\n",
        "import {fetch1} from './c';\nexport const x = fetch1();\n",
    );
    let both = |user: (&'static str, &'static str, &'static str)| ChangeSet {
        files: vec![file(library.0, library.1, library.2), file(user.0, user.1, user.2)],
    };
    let judged = classify(&both(user), NodeBudget::COMMIT);
    assert!(matches!(judged.verdict, Classification::Proved(_)), "{:?}", judged.verdict);
    assert_eq!(judged.api.renamed, [("load".to_owned(), "fetch1".to_owned())]);
    // Another module has a function of that name too.
    assert_eq!(
        classify(&both(other), NodeBudget::COMMIT).verdict,
        Classification::Unproven(UnprovenReason::RenameEscapes)
    );
}

#[test]
fn a_moved_file_takes_its_importers_along_or_stays() {
    let moved = |before: &'static str, after: &'static str, text: &'static str| ChangedFile {
        path_before: Some(before),
        path_after: Some(after),
        ..file(before, text, text)
    };
    let judge = |moved: ChangedFile<'static>, other: ChangedFile<'static>| {
        let change = ChangeSet { files: vec![moved, other] };
        matches!(classify(&change, NodeBudget::COMMIT).verdict, Classification::Proved(_))
    };
    let script = || moved("src/util.ts", "src/lib/util.ts", "export const x = 1;\n");
    assert!(!judge(
        script(),
        file("src/a.ts", "import {x} from './util';\n", "import {x} from './util'; // a\n")
    ));
    assert!(judge(
        script(),
        file("src/a.ts", "import {x} from './other';\n", "import {x} from './other'; // a\n")
    ));
    let python = || moved("a/util.py", "b/util.py", "x = 1\n");
    assert!(!judge(python(), file("m.py", "from a.util import x\n", "from a.util import x  # a\n")));
    assert!(judge(python(), file("m.py", "from a.tool import x\n", "from a.tool import x  # a\n")));
    let go = || moved("p/a.go", "q/a.go", "package p\n\nfunc f() int { return 1 }\n");
    assert!(!judge(go(), file("p/b.go", "package p\n", "package p // a\n")));
    assert!(judge(go(), file("r/b.go", "package r\n", "package r // a\n")));
}

#[test]
fn a_name_is_not_followed_where_its_module_is_taken_whole_or_another_package_stands_beside() {
    let judge = |files: Vec<ChangedFile<'static>>| classify(&ChangeSet { files }, NodeBudget::COMMIT).verdict;
    let library = || {
        file(
            "a.ts",
            "export function load() { return 1; }\nexport const y = load();\n",
            "export function read1() { return 1; }\nexport const y = read1();\n",
        )
    };
    let whole = "import * as a from './a';\nexport const t = Object.keys(a).join();\n";
    assert!(matches!(judge(vec![library()]), Classification::Proved(_)));
    assert_eq!(
        judge(vec![library(), file("b.ts", whole, whole)]),
        Classification::Unproven(UnprovenReason::RenameEscapes)
    );
    let package = || {
        file(
            "p/a.go",
            "package p\n\nfunc load() int { return 1 }\n",
            "package p\n\nfunc read1() int { return 1 }\n",
        )
    };
    let user = |name: &str| -> ChangedFile<'static> {
        let (before, after) = match name {
            "p" => (
                "package p\n\nfunc use() int { return load() }\n",
                "package p\n\nfunc use() int { return read1() }\n",
            ),
            _ => (
                "package p_test\n\nfunc use() int { return load() }\n",
                "package p_test\n\nfunc use() int { return read1() }\n",
            ),
        };
        file("p/a_test.go", before, after)
    };
    assert!(matches!(judge(vec![package(), user("p")]), Classification::Proved(_)));
    assert_eq!(
        judge(vec![package(), user("p_test")]),
        Classification::Unproven(UnprovenReason::RenameEscapes)
    );
}

#[test]
fn a_line_that_only_the_language_sees_is_not_read() {
    let hidden = [
        ("a.py", "# note\nrun()\n", "# note\rhalt()\nrun()\n"),
        ("A.java", "class A {\n // a\n}\n", "class A {\n // a \\u000a int b;\n}\n"),
        ("a.js", "class A { get; x() {} }\n", "class A { get\n x() {} }\n"),
    ];
    for (path, before, after) in hidden {
        let verdict = classify(&one(path, before, after), NodeBudget::COMMIT).verdict;
        assert_eq!(verdict, Classification::Unproven(UnprovenReason::ParseError), "{path}");
    }
}

#[test]
fn a_budget_is_counted_in_nodes() {
    let many = "def f():\n    return 1\n".repeat(2000);
    let changed = format!("{many}# more\n");
    let change = one("a.py", &many, &changed);
    assert_eq!(
        classify(&change, NodeBudget::WRITE).verdict,
        Classification::Unproven(UnprovenReason::TooLarge)
    );
    assert!(matches!(classify(&change, NodeBudget::COMMIT).verdict, Classification::Proved(_)));
    // For a single write the prover does not search for steps.
    let renamed = one("a.py", BEFORE, AFTER);
    assert_eq!(
        classify(&renamed, NodeBudget::WRITE).verdict,
        Classification::Unproven(UnprovenReason::Ambiguous)
    );
}

#[test]
fn units_keep_their_hash_through_formatting_and_comments() {
    let source = "struct S;\n\nimpl S {\n    /// Says.\n    fn open(&self) -> u8 {\n        1\n    }\n}\n";
    let formatted = "struct S;\nimpl S {\n    // said\n    fn open(&self) -> u8 { (1) }\n}\n";
    let (left, right) = (units(Lang::Rust, source.as_bytes()), units(Lang::Rust, formatted.as_bytes()));
    let shown: Vec<(&str, UnitKind, u32, u32)> = left
        .iter()
        .map(|unit| (unit.name.as_str(), unit.kind, *unit.lines.start(), *unit.lines.end()))
        .collect();
    assert_eq!(shown, [("S", UnitKind::Type, 1, 1), ("S.open", UnitKind::Function, 5, 7)]);
    let hashes = |list: &[sprag_syntax::Unit]| list.iter().map(|unit| unit.hash.clone()).collect::<Vec<_>>();
    assert_eq!(hashes(&left), hashes(&right));
    assert!(left[0].hash.starts_with("unit1:"));
    let other = units(Lang::Rust, source.replace('1', "2").as_bytes());
    assert_ne!(other[1].hash, left[1].hash);
    assert!(units(Lang::Rust, b"fn (").is_empty());
}

#[test]
fn trees_as_deep_as_they_may_be_are_walked_on_a_usual_stack() {
    for (path, open, close) in [("a.js", "[", "]"), ("a.py", "[", "]"), ("a.rs", "[", "]")] {
        let source = |depth: usize, value: &str| {
            let nested = format!("{}{value}{}", open.repeat(depth), close.repeat(depth));
            match path {
                "a.rs" => format!("fn f(a: u8) -> T {{ let b = a; return {nested}; }}"),
                "a.py" => format!("def f(a):\n    b = a\n    return {nested}\n"),
                _ => format!("function f(a) {{ const b = a; return {nested}; }}"),
            }
        };
        let (before, after) = (source(380, "b"), source(380, "b").replace('b', "c"));
        let judged = classify(&one(path, &before, &after), NodeBudget::COMMIT);
        assert!(matches!(judged.verdict, Classification::Proved(_)), "{path}: {:?}", judged.verdict);
        let deep = source(20_000, "b");
        let verdict = classify(&one(path, &deep, &deep.replace('b', "c")), NodeBudget::COMMIT).verdict;
        assert_eq!(verdict, Classification::Unproven(UnprovenReason::TooLarge), "{path}");
    }
}
