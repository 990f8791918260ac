//! The kinds of document that can be reported, distinguished by their schema.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::format::Options;
use super::record::view::run::{RunStatus, RunView};
use super::sweep::SweepTables;
use super::sweep::fields::UnknownField;
use super::sweep::request::SweepRequest;
use gbench_compare::{Merged, SCHEMA_MERGED, SCHEMA_VERDICT, VERDICTS_READ, VerdictDocument};
use gbench_model::{Exit, Fault, Result, RunRecord, SCHEMA_RECORD, SCHEMAS_READ};

/// A document read back.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    Verdict(Box<VerdictDocument>),
    Merged(Box<Merged>),
    Record(Box<RunRecord>),
}

impl Input {
    /// Reads a document from JSON text. `path` is only used in errors.
    pub fn parse(path: &Path, text: &str) -> Result<Self> {
        let text: Arc<str> = text.into();
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| {
            let next = "give a verdict (verdict.json) or a run record (record.json), whole and unedited";
            Fault::in_text(path, &text, place(&text, &error), format!("not JSON: {}", plain(&error)), next)
        })?;
        match value.get("schema").and_then(serde_json::Value::as_str) {
            Some(schema) if VERDICTS_READ.contains(&schema) => Ok(Input::Verdict(document(path, &text)?)),
            Some(SCHEMA_MERGED) => Ok(Input::Merged(document(path, &text)?)),
            Some(schema) if SCHEMAS_READ.contains(&schema) => {
                let record: Box<RunRecord> = document(path, &text)?;
                if let Some(twice) = record.repeated() {
                    let what = format!("{twice} appears twice");
                    return Err(Fault::at_path(path, what, "give a record that gbench-ci wrote, unedited"));
                }
                Ok(Input::Record(record))
            }
            Some(other) => {
                let what = format!("this version does not support the schema `{other}`");
                let documents = format!("`{SCHEMA_VERDICT}` or `{SCHEMA_RECORD}`");
                let next = format!("give a document of {documents}, or use the version that wrote it");
                Err(Fault::at_path(path, what, next))
            }
            None => {
                let what = "the document does not say what it is: it has no `schema`";
                Err(Fault::at_path(path, what, "give a verdict or a run record that gbench-ci wrote"))
            }
        }
    }

    /// The exit code of the document; `None` if it has an unknown one.
    pub fn exit(&self) -> Option<Exit> {
        match self {
            Input::Verdict(document) => Exit::from_repr(document.exit_code),
            Input::Merged(document) => Exit::from_repr(document.exit_code),
            Input::Record(record) => Some(match RunView::new(record).status() {
                RunStatus::Measured => Exit::Pass,
                RunStatus::Failed | RunStatus::Incomplete => Exit::Failed,
            }),
        }
    }

    /// Its sweep; `None` for merged verdicts, which have several suites and machines.
    pub fn sweep(&self, request: &SweepRequest) -> Option<Result<SweepTables, UnknownField>> {
        match self {
            Input::Verdict(document) => Some(SweepTables::of_verdict(document, request)),
            Input::Merged(_) => None,
            Input::Record(record) => Some(SweepTables::of_record(record, request)),
        }
    }

    /// Writes the report. Errors: only those of `out`.
    pub fn render(&self, options: &Options, out: &mut dyn io::Write) -> io::Result<()> {
        match self {
            Input::Verdict(document) => super::verdict(document, options, out),
            Input::Merged(document) => super::verdict::render::merged(document, options, out),
            Input::Record(record) => super::record(record, options, out),
        }
    }
}

fn document<T: DeserializeOwned>(path: &Path, text: &Arc<str>) -> Result<Box<T>> {
    serde_json::from_str(text).map_err(|error| {
        let next = "use the file as gbench-ci wrote it; if it was not edited, use the version that wrote it";
        Fault::in_text(path, text, place(text, &error), plain(&error), next)
    })
}

/// The position where reading stopped, as a span of one character.
fn place(text: &str, error: &serde_json::Error) -> std::ops::Range<usize> {
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let start = (before + error.column().saturating_sub(1)).min(text.len());
    let start = (0..=start).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let end = start + text[start..].chars().next().map_or(0, char::len_utf8);
    start..end
}

/// The message without the position, which the fault already contains.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split_once(" at line ").map_or(text.clone(), |(message, _)| message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::test_support as records;
    use crate::test_support as documents;
    use gbench_model::Location;

    fn fault(text: &str) -> Fault {
        Input::parse(Path::new("v.json"), text).unwrap_err()
    }

    #[test]
    fn a_document_is_known_by_its_schema() {
        let verdict = documents::one_regressed();
        let text = serde_json::to_string(&verdict).unwrap();
        let parsed = Input::parse(Path::new("v.json"), &text).unwrap();
        assert_eq!(parsed, Input::Verdict(Box::new(verdict)));
        let record = records::named("mixed");
        let text = serde_json::to_string(&record).unwrap();
        let parsed = Input::parse(Path::new("r.json"), &text).unwrap();
        assert_eq!(parsed, Input::Record(Box::new(record)));
    }

    #[test]
    fn a_document_stands_for_an_exit_code() {
        let verdict = |code| {
            let document = gbench_compare::VerdictDocument { exit_code: code, ..documents::one_regressed() };
            Input::Verdict(Box::new(document)).exit()
        };
        assert_eq!(verdict(1), Some(Exit::Regression));
        assert_eq!(verdict(99), None);
        assert_eq!(Input::Record(Box::new(records::named("mixed"))).exit(), Some(Exit::Failed));
    }

    #[test]
    fn a_strange_field_is_pointed_at() {
        let mut value = serde_json::to_value(documents::one_regressed()).unwrap();
        value["sentense"] = "x".into();
        let fault = fault(&serde_json::to_string_pretty(&value).unwrap());
        assert!(fault.what.contains("unknown field `sentense`"), "{}", fault.what);
        assert!(matches!(fault.place, Location::Text { .. }));
    }

    #[test]
    fn a_place_never_splits_a_character() {
        for cut in 0..40 {
            let text: String = "{\"ü\": \"ééé\",\n\"b\": ééé".chars().take(cut).collect();
            let _ = fault(&text);
        }
    }
}
