//! The kinds of this crate's test cases; each has a folder of fixtures.

use super::*;
use case_files::{Answer, walk};

const KINDS: [(&str, Answer); 6] = [
    ("checks", checks::tests::answer),
    ("diffs", diff::tests::answer),
    ("environments", environment::tests::answer),
    ("hosts", host::tests::answer),
    ("telemetry", telemetry::tests::answer),
    ("tools", tools::tests::answer),
];

#[test]
fn every_case_is_answered_as_its_file_says() {
    walk(env!("CARGO_MANIFEST_DIR"), KINDS, 116);
}
