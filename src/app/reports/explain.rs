//! All that is known of the verdicts of one case: the verdict, its rows, and how rounds decided them.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::app::compare::records::policy;
use crate::app::ingest::IngestOptions;
use crate::app::store::comparison::{ArtifactsRequest, StoredComparison};
use crate::app::store::subject::Subject;
use crate::compare::{
    DecisionTrace, Policy, Row, SeqE, SideInput, VerdictDocument, compare_sides, decision_traces, named_sides,
};
use crate::model::{CaseId, Fault, Result, RunRecord, near};
use crate::report::Input;
use crate::report::explain::{Explained, Rowless};
use crate::suite::words::listed;
use crate::suite::{Benchmark, fitting};

#[derive(Clone, Debug, Default)]
pub(crate) struct ExplainRequest {
    /// The case as reports name it, its benchmark, or a glob.
    pub case: String,
    /// A comparison, a run or a document; `None` for the latest. Not with `base` and `head`.
    pub subject: Option<String>,
    /// Records that are named one by one.
    pub base: Option<PathBuf>,
    pub head: Option<PathBuf>,
    pub control: Option<PathBuf>,
    /// A glob: only the metrics that it fits.
    pub metric: Option<String>,
    pub artifacts: ArtifactsRequest,
}

pub(crate) enum Explanation {
    Verdict(Box<ExplainedVerdict>),
    /// Those of several machines that have the case, each with its label.
    Machines {
        machines: usize,
        verdicts: Vec<(String, ExplainedVerdict)>,
    },
    /// One run, which has no verdict: its record with the case and the metrics alone.
    Run(Box<RunRecord>),
}

/// One verdict, as far as it is about the case.
pub(crate) struct ExplainedVerdict {
    pub document: VerdictDocument,
    cases: Vec<CaseId>,
    traces: Vec<DecisionTrace>,
    metric: Option<String>,
}

pub(crate) fn explain(request: &ExplainRequest, builtins: &[Benchmark]) -> Result<Explanation> {
    let subject = match (&request.base, &request.head) {
        (Some(base), Some(head)) => {
            let control = request.control.as_deref();
            Subject::Comparison(Box::new(StoredComparison::read(base, head, control)?))
        }
        _ => Subject::find(
            request.subject.as_deref(),
            &request.artifacts,
            &IngestOptions::default(),
            builtins,
        )?,
    };
    let explained = |document: VerdictDocument, cases, traces| {
        let metric = request.metric.clone();
        ExplainedVerdict { document, cases, traces, metric }
    };
    let of_verdict = |document: VerdictDocument| {
        let cases = cases(&request.case, document.rows.iter().map(|row| &row.case))?;
        Ok(Explanation::Verdict(Box::new(explained(document, cases, Vec::new()))))
    };
    match subject {
        Subject::Comparison(stored) => {
            let sides = [&stored.base, &stored.head].into_iter().flat_map(|record| &record.cases);
            let cases = cases(&request.case, sides.map(|case| &case.id))?;
            let (document, traces) = judged(request, &stored, &cases)?;
            Ok(Explanation::Verdict(Box::new(explained(document, cases, traces))))
        }
        Subject::Document(Input::Verdict(document)) => of_verdict(*document),
        Subject::Document(Input::Merged(mut merged)) if merged.groups.len() == 1 => {
            of_verdict(merged.groups.remove(0).verdict)
        }
        Subject::Document(Input::Merged(merged)) => {
            let rows = merged.groups.iter().flat_map(|group| &group.verdict.rows);
            let cases = cases(&request.case, rows.map(|row| &row.case))?;
            let machines = merged.groups.len();
            let verdicts = merged.groups.into_iter().filter_map(|group| {
                let rows = group.verdict.rows.iter().map(|row| &row.case);
                let own: Vec<CaseId> = rows.filter(|case| cases.contains(case)).cloned().collect();
                (!own.is_empty()).then(|| (group.label, explained(group.verdict, own, Vec::new())))
            });
            Ok(Explanation::Machines { machines, verdicts: verdicts.collect() })
        }
        Subject::Document(Input::Record(record)) => of_run(request, record),
    }
}

fn of_run(request: &ExplainRequest, mut record: Box<RunRecord>) -> Result<Explanation> {
    let cases = cases(&request.case, record.cases.iter().map(|case| &case.id))?;
    record.cases.retain(|case| cases.contains(&case.id));
    if let Some(glob) = &request.metric {
        let fits = fitting("--metric", glob)?;
        let metrics = record.cases.iter().flat_map(|case| &case.metrics);
        let known: Vec<&str> = metrics.map(|metric| metric.name.as_str()).collect();
        if !known.is_empty() && !known.iter().any(|name| fits(name)) {
            return Err(no_metric(glob, &known));
        }
        record.cases.iter_mut().for_each(|case| case.metrics.retain(|metric| fits(&metric.name)));
    }
    Ok(Explanation::Run(record))
}

impl ExplainedVerdict {
    /// The rows of the case with their traces, and the cases that have none. Errors: a metric that no row has.
    pub(crate) fn rows(&self) -> Result<(Vec<Explained<'_>>, Vec<Rowless<'_>>)> {
        let document = &self.document;
        let mut by_row: HashMap<(&CaseId, &str), &DecisionTrace> = HashMap::new();
        by_row.extend(self.traces.iter().map(|trace| ((&trace.case, trace.metric.as_str()), trace)));
        let fits = self.metric.as_deref().map(|glob| fitting("--metric", glob)).transpose()?;
        // A case that failed has a row without a metric, which speaks for each of them.
        let is_meant = |metric: &str| metric.is_empty() || fits.as_ref().is_none_or(|fits| fits(metric));
        let is_of_program = |row: &&Row| {
            row.likeliest().is_some() && self.cases.iter().any(|case| case.benchmark == row.case.benchmark)
        };
        let is_chosen = |row: &&Row| self.cases.contains(&row.case) || is_of_program(row);
        let of_case: Vec<_> = document.rows.iter().filter(is_chosen).collect();
        let rows: Vec<Explained> = of_case
            .iter()
            .filter(|row| is_meant(&row.metric))
            .map(|row| {
                let trace = by_row.get(&(&row.case, row.metric.as_str())).copied();
                Explained { document, row, trace: trace.filter(|_| row.sequence.is_some()) }
            })
            .collect();
        if let (true, false, Some(glob)) = (rows.is_empty(), of_case.is_empty(), &self.metric) {
            return Err(no_metric(glob, &of_case.iter().map(|row| row.metric.as_str()).collect::<Vec<_>>()));
        }
        let has_row = |case: &&CaseId| of_case.iter().any(|row| row.case == **case);
        let rowless = self.cases.iter().filter(|case| !has_row(case));
        let rowless = rowless.map(|case| Rowless { case, reason: why_no_row(document) }).collect();
        Ok((rows, rowless))
    }
}

fn no_metric(glob: &str, known: &[&str]) -> Fault {
    let next = format!("use one of {}", listed(known));
    Fault::at_flag(format!("--metric {glob}"), "no metric of the case is called so", next)
}

fn judged(
    request: &ExplainRequest,
    stored: &StoredComparison,
    cases: &[CaseId],
) -> Result<(VerdictDocument, Vec<DecisionTrace>)> {
    let (base, head) = (&stored.base, &stored.head);
    let Some(comparison) = base.comparison.as_deref().filter(|_| head.comparison.is_some()) else {
        // Records that were measured apart: judged as `compare BASE HEAD` judges them without a suite file.
        let side = |record, path: &Option<PathBuf>, usual: &str| {
            let name = path.as_ref().map_or(usual.to_owned(), |path| path.display().to_string());
            SideInput { record, name }
        };
        let (base, head) = (side(base, &request.base, "base"), side(head, &request.head, "head"));
        return Ok((compare_sides(&base, &head, None, &policy(None, None))?, Vec::new()));
    };
    let document = stored.verdict()?;
    let rule = SeqE::of(comparison).ended_as(comparison, [base, head]);
    let [base, head] = named_sides(base, head, comparison);
    let traces = decision_traces(&rule, &base, &head, &Policy::of(comparison), |id| cases.contains(id))?;
    Ok((document, traces))
}

/// The cases that the words mean: by their whole name, else by benchmark, else by glob.
pub(crate) fn cases<'c>(text: &str, ids: impl Iterator<Item = &'c CaseId>) -> Result<Vec<CaseId>> {
    let mut seen = std::collections::HashSet::new();
    let all: Vec<&CaseId> = ids.filter(|id| seen.insert(*id)).collect();
    let chosen = |fits: &dyn Fn(&CaseId) -> bool| -> Vec<CaseId> {
        all.iter().filter(|id| fits(id)).map(|id| (*id).clone()).collect()
    };
    let exact = chosen(&|id| id.to_string() == text);
    let of_benchmark = chosen(&|id| id.benchmark.as_str() == text || id.benchmark.name() == text);
    // A name such as `gemm[n=8]` is a glob too, of something else; one that is no glob at all fits nothing.
    let fits = fitting(text, text).ok();
    let by_glob = chosen(&|id| {
        let names = [id.to_string(), id.benchmark.to_string(), id.benchmark.name().to_owned()];
        fits.as_ref().is_some_and(|fits| names.iter().any(|name| fits(name)))
    });
    if let Some(found) = [exact, of_benchmark, by_glob].into_iter().find(|found| !found.is_empty()) {
        return Ok(found);
    }
    let known: Vec<String> = all.iter().map(|id| id.to_string()).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let next = match near(text, &known).as_slice() {
        [] if known.is_empty() => "give a comparison or a run that holds cases".to_owned(),
        [] => format!("use one of {}", listed(&known)),
        [one] => format!("write `{one}`"),
        several => format!("write one of {}", listed(several)),
    };
    Err(Fault::at_flag(text, "no case is called so there", next))
}

fn why_no_row(document: &VerdictDocument) -> String {
    if document.differences.iter().any(|difference| difference.strict) {
        return document.sentence.clone();
    }
    "it has no row, for neither side measured it, or its metrics are shown and not judged (`gate = false`); the \
     warnings of `gbench-ci replay` name it"
        .into()
}
