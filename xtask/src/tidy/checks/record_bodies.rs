//! Checks that records are read and written by type. A rename misses a member that code reads by its name, so
//! only the files that define records touch a body.

use crate::tidy::checks::is_product;
use crate::tidy::source::{Place, Source};
use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};

pub const CHECK: Check =
    Check { name: "record_bodies", about: "no member of a record's body by its name", find };

fn find(tree: &Tree) -> Vec<Finding> {
    let files = tree.rust.iter().filter(|source| is_product(&source.path) && !defines_records(&source.path));
    files.flat_map(lookups).collect()
}

fn defines_records(path: &str) -> bool {
    path.ends_with("/records.rs") || path.contains("/records/")
}

fn lookups(source: &Source) -> Vec<Finding> {
    let found =
        [". body [", ". body . get (", ". body . get_mut ("].into_iter().flat_map(|it| source.find(it));
    let by_name = found.filter(|rest| rest[0].place == Place::Product);
    // A body that is kept as raw text has a `get` without a name.
    let by_name = by_name.filter(|rest| !(rest[2].text == "." && rest[5].text == ")"));
    let what = "a member of a record's body by its name: read the record by its type";
    by_name.map(|rest| Finding::new(&source.path, rest[1].line, what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_of_records_looks_into_a_body() {
        let text = "fn f() {\n record.body[\"id\"];\n record.body.get(\"id\");\n raw.body.get();\n body.len();\n}\n\
                    #[cfg(test)] mod tests { fn f() { record.body[\"id\"]; } }";
        let lines = |path: &str| -> Vec<usize> {
            find(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect()
        };
        assert_eq!(lines("crates/x/src/a.rs"), [2, 3]);
        assert!(lines("crates/x/src/records.rs").is_empty());
        assert!(lines("crates/x/src/records/gate.rs").is_empty());
        assert!(lines("xtask/src/a.rs").is_empty());
    }
}
