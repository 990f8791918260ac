//! The tests that go through the public door. One binary, so that the project links once.

mod arrows;
mod cli_compare;
mod cli_faults;
mod cli_measure;
mod cli_records;
mod cli_run;
mod cli_selection;
mod cli_store;
mod compare_documents;
mod compare_pairing;
mod compare_rule;
mod doctor;
mod errors;
mod fake_nvml;
mod kill;
mod listing;
mod manifest;
mod manifest_git;
mod protocol;
mod report;
mod runner;
mod schema;
mod suite_file;
mod suite_reference;
mod support;
