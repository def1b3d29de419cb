//! Valid and invalid values.

use proptest::prelude::*;

use super::*;

#[test]
fn lengths_of_time() {
    for (text, seconds, shown) in [
        ("300", 300, "5m"),
        ("300s", 300, "5m"),
        ("1h30m", 5400, "1h30m"),
        ("7d", 604_800, "7d"),
        ("61s", 61, "1m1s"),
    ] {
        let read = Seconds::read(text).unwrap();
        assert_eq!((read.get(), read.to_string().as_str()), (seconds, shown));
    }
    for bad in ["", "0", "0s", "-1", "1.5h", "m", "5 m", "30m1h", "1m1m", "8d", "99999999999", "1x", "1é"] {
        assert!(Seconds::read(bad).is_err(), "{bad}");
    }
}

#[test]
fn amounts() {
    for (text, millionths, shown) in
        [("5", 5_000_000, "5.00"), ("12.5", 12_500_000, "12.50"), ("0.000001", 1, "0.000001")]
    {
        let read = Cost::read(text).unwrap();
        assert_eq!((read.millionths(), read.to_string().as_str()), (millionths, shown));
    }
    for bad in ["", "0", "0.0", "-1", "1e3", ".5", "5.", "1.0000001", "1000001", "$5", "é"] {
        assert!(Cost::read(bad).is_err(), "{bad}");
    }
}

#[test]
fn paths_stay_within() {
    for (text, path) in [(".", "."), ("./", "."), ("a//b/./c/", "a/b/c"), ("a..b", "a..b")] {
        assert_eq!(RelPath::read(text).unwrap().as_str(), path);
    }
    for bad in ["..", "a/../b", "/a", "~/a", "~", "a\\..\\b"] {
        assert_eq!(RelPath::read(bad).unwrap_err().code, ProblemCode::Traversal, "{bad}");
    }
    assert_eq!(RelPath::read("").unwrap_err().code, ProblemCode::BadValue);
}

#[test]
fn branches_and_names_are_no_options() {
    for good in ["main", "release/1.0", "a-b_c"] {
        assert!(BranchName::read(good).is_ok(), "{good}");
    }
    for bad in [
        "", "-f", "a b", "a..b", "a/", "/a", "a//b", "x.lock", "a@{1}", "HEAD", "@", "a~1", "$(x)", "a/.b",
        "a.",
    ] {
        assert!(BranchName::read(bad).is_err(), "{bad}");
    }
    assert!(
        Label::read("gpt-5.1:high/x@2").is_ok() && Label::read("-x").is_err() && Label::read("a b").is_err()
    );
}

#[test]
fn a_pattern_that_fits_nothing_fits_anything() {
    for weak in ["x*", "", ".*", "a|", "(?:)", "^", "$", "\\b|x", "^$"] {
        let code = RegexText::read(weak).unwrap_err().code;
        assert!(matches!(code, ProblemCode::WeakPattern | ProblemCode::BadPattern), "{weak}");
    }
    assert!(RegexText::read("^use auth;$").unwrap().regex().is_match("mod a;\nuse auth;\n"));
    // An expression that takes long to compile is refused.
    assert!(RegexText::read("((a{100}){100}){100}").is_err());
    assert!(RegexText::read(&"(".repeat(200)).is_err());
}

proptest! {
    #[test]
    fn any_text_is_a_value_or_a_mistake(text in "\\PC{0,60}") {
        fn back<T: Readable + ToString + PartialEq + std::fmt::Debug>(text: &str) {
            if let Ok(value) = T::read(text) {
                assert_eq!(T::read(&value.to_string()).unwrap(), value);
            }
        }
        back::<Seconds>(&text);
        back::<Cost>(&text);
        back::<RelPath>(&text);
        back::<FileGlob>(&text);
        back::<RegexText>(&text);
        back::<ShellLine>(&text);
        back::<BranchName>(&text);
        back::<Slug>(&text);
        back::<Label>(&text);
    }

    #[test]
    fn a_length_of_time_is_written_as_it_is_read(seconds in 1u32..700_000) {
        let time = Seconds::new(seconds);
        prop_assert_eq!(Seconds::read(&time.to_string()).unwrap(), time);
    }
}
