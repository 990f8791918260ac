//! The page and the document of cases that were profiled and not measured.

use std::io::{self, Write};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

use super::kernels::RunProfiles;
use crate::layout::emphasis::Emphasis;
use crate::layout::terminal::{Style, TerminalLayout};
use gbench_model::text::count;
use gbench_model::{CaseId, Outcome, OutcomeCode, Profile, RunRecord};

pub(crate) const SCHEMA_PROFILES: &str = "gbench-ci/profiles/v1";

/// The document of `profile --format json`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "Profiles"))]
pub struct V1Profiles<'a> {
    /// `gbench-ci/profiles/v1`
    pub schema: &'static str,
    /// The folder of the profiles' `reports`.
    pub folder: String,
    pub cases: Vec<V1ProfiledCase<'a>>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct V1ProfiledCase<'a> {
    pub case: &'a CaseId,
    /// Why it was not even profiled; absent if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'a Outcome>,
    pub profiles: &'a [Profile],
}

/// The cases of a record whose profiles are in `folder`.
pub fn profiles_document<'a>(record: &'a RunRecord, folder: &str) -> V1Profiles<'a> {
    let case = |case: &'a gbench_model::CaseRecord| V1ProfiledCase {
        case: &case.id,
        outcome: Some(&case.outcome).filter(|outcome| !is_profiled(outcome)),
        profiles: &case.profiles,
    };
    let cases = record.cases.iter().map(case).collect();
    V1Profiles { schema: SCHEMA_PROFILES, folder: folder.to_owned(), cases }
}

fn is_profiled(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::NotRun { code: Some(OutcomeCode::ProfiledOnly), .. })
}

/// A table of kernels for each case and profiler. `place`: converts the path of a report for display.
pub fn profile_page(
    record: &RunRecord,
    style: Style,
    place: &dyn Fn(&str) -> String,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut page = TerminalLayout::new(style);
    let profiles = RunProfiles::of(record);
    let (taken, all) = (profiles.taken(), profiles.len());
    let not_run: Vec<_> = record.cases.iter().filter(|case| !is_profiled(&case.outcome)).collect();
    let whole = taken == all && not_run.is_empty();
    let (done, thing, state) = if profiles.are_checks() {
        ("CHECKED", "check", "without an error")
    } else {
        ("PROFILED", "profile", "taken")
    };
    let (word, emphasis) = if whole { (done, Emphasis::Good) } else { ("FAILED", Emphasis::Bad) };
    let taken = if taken == all { count(all, thing) } else { format!("{taken} of {}", count(all, thing)) };
    let cases = count(record.cases.len(), "case");
    page.headline(word, &format!("{taken} {state} of {cases}; nothing was measured."), emphasis);
    for case in not_run {
        page.heading(&case.id.to_string(), Emphasis::Bad);
        page.note("why", &case.outcome.cause());
        page.note("next", case.outcome.advice());
    }
    profiles.terminal(&mut page, true, place);
    out.write_all(page.into_text().as_bytes())
}
