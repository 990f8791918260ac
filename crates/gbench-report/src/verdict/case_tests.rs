//! The cases of `fixtures/verdicts`: the view of a verdict before any format renders it.

use gbench_compare::VerdictDocument;

use super::device_code::CodeView;
use super::device_code::tests::pages;
use super::summary::SuiteSummary;
use crate::layout::case_names::CaseNames;
use crate::test_support as documents;

pub(crate) fn answer(question: &str, given: &str) -> String {
    let document: VerdictDocument = crate::kind_tests::given(given, documents::begin);
    match question {
        "suites" => {
            let names = CaseNames::new(document.rows.iter().map(|row| &row.case));
            SuiteSummary::all(&document.rows, &names).iter().map(suite).collect()
        }
        "device code" if CodeView::new(&document).is_none() => String::new(),
        "device code" => {
            let (terminal, markdown) = pages(&document, 60);
            format!("{terminal}--\n{markdown}")
        }
        _ => panic!("no verdict answers `{question}`"),
    }
}

fn suite(suite: &SuiteSummary) -> String {
    let mut text = format!("{}: {:?}", suite.name, suite.conclusion());
    if let Some(speedup) = &suite.speedup {
        let (mean, what) = (speedup.geometric_mean, speedup.over_what());
        text += &format!(", {mean:.12} over {what}; worst {:?}, best {:?}", speedup.worst, speedup.best);
    }
    text + "\n"
}
