//! The kinds of this crate's cases: a folder of fixtures each.

use case_files::{Answer, walk};

use crate::benchmark::kernel_number;
use crate::cases::selection;
use crate::reader::file_patterns;
use crate::settings::environment;
use crate::{discover, suite_case_tests, words};

/// In addition to those of `discover`.
const KINDS: [(&str, Answer); 6] = [
    ("environments", environment::tests::answer),
    ("kernel-numbers", kernel_number::tests::answer),
    ("paths", file_patterns::tests::answer),
    ("selections", selection::tests::answer),
    ("suites", suite_case_tests::suite),
    ("words", words::tests::answer),
];

#[test]
fn every_case_is_answered_as_its_file_says() {
    walk(env!("CARGO_MANIFEST_DIR"), KINDS.into_iter().chain(discover::tests::KINDS), 473);
}
