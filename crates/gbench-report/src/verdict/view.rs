//! The view model of every format, computed once from the verdict document: groups, figures as text, and the summary of
//! each suite. A format only lays it out.

use std::collections::BTreeMap;

use strum::IntoEnumIterator;

use super::device_code::CodeView;
use super::method;
use super::summary::{Speedup, SuiteSummary, counts, counts_text};
use crate::layout::case_names::CaseNames;
use crate::layout::grouped::{MAX_NAMED, joined, named, together};
use crate::layout::number;
use crate::profile::moved::ProfilesView;
use gbench_compare::{Difference, Row, RowSide, SideSummary, Verdict, VerdictDocument};
use gbench_model::text::{capitalized, count, percent, short_commit};
use gbench_model::{FailureKind, Outcome, error_of_result, shell_word};

/// The document, sorted for reading.
pub(crate) struct VerdictView<'a> {
    pub document: &'a VerdictDocument,
    /// Rows that changed or could not be decided: one group per verdict, in the order of [`Verdict`], none empty.
    pub groups: Vec<VerdictGroup<'a>>,
    pub unchanged: Vec<RowView<'a>>,
    /// By name.
    pub suites: Vec<SuiteSummary>,
    /// Absent if nothing was compared.
    pub speedup: Option<Speedup>,
    /// Absent if no case has device code.
    pub code: Option<CodeView<'a>>,
    /// Absent if nothing was profiled.
    pub profiles: Option<ProfilesView<'a>>,
}

pub(crate) struct VerdictGroup<'a> {
    pub verdict: Verdict,
    /// One for each row of the document.
    pub lines: Vec<RowView<'a>>,
    /// As a page lists them: the cases of a build that failed are one line, whose name counts them.
    pub shown: Vec<RowView<'a>>,
}

impl<'a> VerdictGroup<'a> {
    fn new(verdict: Verdict, lines: Vec<RowView<'a>>) -> Self {
        let key = |(at, line): (usize, &RowView)| {
            let sides = [&line.row.base, &line.row.head];
            let own = if sides.into_iter().flatten().any(is_unbuilt) { None } else { Some(at) };
            (own, line.notes(), line.base.value.clone(), line.head.value.clone())
        };
        let keyed = lines.iter().enumerate().map(|(at, line)| (key((at, line)), line));
        let one_line = |same: Vec<&RowView<'a>>| {
            let names: Vec<&str> = same.iter().map(|line| line.name.as_str()).collect();
            let name = match names.as_slice() {
                [only] => (*only).to_owned(),
                several => format!("{}: {}", count(several.len(), "case"), named(several, MAX_NAMED)),
            };
            RowView { name, ..same[0].clone() }
        };
        let shown = together(keyed).into_iter().map(|(_, same)| one_line(same)).collect();
        Self { verdict, lines, shown }
    }

    pub(crate) fn title(&self) -> String {
        format!("{}: {}", capitalized(self.verdict.into_str()), self.lines.len())
    }
}

#[derive(Clone)]
pub(crate) struct RowView<'a> {
    pub row: &'a Row,
    /// The case, unambiguous within the document.
    pub name: String,
    pub base: SideView,
    pub head: SideView,
    /// `+10.2 % slower`; the interval if it is inconclusive; empty if there is nothing to compare.
    pub change: String,
    /// `+8.1 % to +12.4 %`; empty if `change` contains it.
    pub interval: String,
    /// `p < 0.001`, corrected over the suite; empty if the rule has none.
    pub p: String,
    /// `12`, the rounds up to the decision, and `±0.5 %`, the spread of the change between them; empty if no rounds
    /// decided.
    pub rounds: String,
    pub noise: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SideView {
    /// The centre with its unit; the outcome's word if there is none; `absent` if the side lacks the row.
    pub value: String,
    /// `±0.8 %`, the spread between processes.
    pub spread: String,
}

impl<'a> VerdictView<'a> {
    pub(crate) fn new(document: &'a VerdictDocument) -> Self {
        let names = CaseNames::new(document.rows.iter().map(|row| &row.case));
        let mut by_verdict: BTreeMap<Verdict, Vec<RowView<'a>>> = BTreeMap::new();
        for row in &document.rows {
            by_verdict.entry(row.verdict).or_default().push(RowView::new(row, names.name(&row.case)));
        }
        let unchanged = by_verdict.remove(&Verdict::Unchanged).unwrap_or_default();
        let groups = Verdict::iter()
            .filter_map(|verdict| Some(VerdictGroup::new(verdict, by_verdict.remove(&verdict)?)))
            .collect();
        let suites = SuiteSummary::all(&document.rows, &names);
        let speedup = Speedup::over(document.rows.iter(), &names);
        let code = CodeView::new(document);
        Self { document, groups, unchanged, suites, speedup, code, profiles: ProfilesView::new(document) }
    }

    /// All rows, the changed ones first.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &RowView<'a>> {
        self.groups.iter().flat_map(|group| &group.lines).chain(&self.unchanged)
    }

    /// `41 rows: 2 regressed, 1 missing, 38 unchanged; 2 rows of accuracy: 2 unchanged`: an error of a result is not a
    /// speed.
    pub(crate) fn counts(&self) -> String {
        let (accuracy, others): (Vec<&Row>, Vec<&Row>) =
            self.document.rows.iter().partition(|row| error_of_result(&row.metric).is_some());
        let told = |rows: &[&Row], what: &str| {
            let counts = counts_text(&counts(rows.iter().copied()));
            (!rows.is_empty()).then(|| format!("{}{what}: {counts}", count(rows.len(), "row")))
        };
        let parts: Vec<String> =
            [told(&others, ""), told(&accuracy, " of accuracy")].into_iter().flatten().collect();
        if parts.is_empty() { "nothing was compared".into() } else { parts.join("; ") }
    }

    /// Label and text: both sides, and the measurement and decision in rounds.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        let document = self.document;
        let mut facts = self.sides().to_vec();
        if let Some(in_rounds) = &document.method.rounds {
            facts.push(("how", method::measured(document, in_rounds)));
            facts.push(("risk", method::risk(document, in_rounds)));
            facts.extend(method::next(document).map(|next| ("next", next)));
        }
        facts
    }

    pub(crate) fn sides(&self) -> [(&'static str, String); 2] {
        [("base", self.side(&self.document.base)), ("head", self.side(&self.document.head))]
    }

    pub(crate) fn differences(&self) -> (Vec<&'a Difference>, Vec<&'a Difference>) {
        self.document.differences.iter().partition(|difference| difference.strict)
    }

    /// `main at 1a2b3c4d (branch main): 40 of 41 cases measured on NVIDIA H100`.
    fn side(&self, side: &SideSummary) -> String {
        let mut text = side.name.clone();
        // In rounds, the name of a side contains its commit.
        let commit = side.commit.as_deref().map(short_commit);
        if let Some(commit) = commit.filter(|commit| !side.name.contains(commit)) {
            text += &format!(" at {commit}");
        }
        let branch = side.branch.as_ref().filter(|branch| **branch != side.name);
        let branch = branch.map_or(String::new(), |branch| format!("branch {branch}"));
        // In rounds, the name of a working tree shows its changes.
        let dirty = side.dirty && self.document.replayed().is_empty();
        match joined([&branch, if dirty { "with uncommitted changes" } else { "" }], ", ") {
            none if none.is_empty() => {}
            notes => text += &format!(" ({notes})"),
        }
        let cases = count(side.cases as usize, "case");
        let measured = if side.measured == side.cases {
            format!("{cases} measured")
        } else {
            format!("{} of {cases} measured", side.measured)
        };
        let machine = if side.machine.is_empty() { "" } else { " on " };
        format!("{text}: {measured}{machine}{}", side.machine)
    }

    pub(crate) fn unchanged_title(&self) -> String {
        let certified = method::certified(self.unchanged.iter().map(|line| line.row));
        joined([&format!("Unchanged: {}", self.unchanged.len()), &certified], ", ")
    }

    /// The purpose of the document's command.
    pub(crate) fn again(&self) -> &'static str {
        match self.document.method.rounds {
            Some(_) => "Judge the same records again with",
            None => "Compare again with",
        }
    }

    /// The command that explains the row most worth it; only a comparison in rounds has one.
    pub(crate) fn explain(&self) -> Option<String> {
        let row = method::worth_explaining(self.document)?;
        let [comparison] = self.document.replayed().try_into().ok()?;
        let case = shell_word(&row.case.to_string());
        Some(format!("gbench-ci explain {case} {comparison}"))
    }

    pub(crate) fn method(&self) -> String {
        let method = &self.document.method;
        if method.tested == 0 {
            return format!("Rule {}; no row was tested.", method.rule);
        }
        if let Some(in_rounds) = &method.rounds {
            return method::method(self.document, in_rounds);
        }
        let sessions = method.sessions.as_ref().map_or(String::new(), |sessions| {
            format!(
                " How much sessions differ is taken from {}; a row needs {} of them.",
                count(sessions.runs as usize, "stored run"),
                sessions.needed
            )
        });
        let by_share = self.document.rows.iter().filter(|row| row.margin.is_none());
        let threshold = match method::Extent::new(by_share.map(|row| row.threshold)) {
            None => String::new(),
            Some(extent) => {
                let each = if extent.is_one() { "" } else { ", as the suite sets it for each row" };
                format!(" A change matters from {} on{each}.", extent.text(percent))
            }
        };
        format!(
            "Rule {}: over {} tested together, the chance of any false verdict is at most {}.{threshold} Figures \
             are geometric means over processes' medians; ± is their spread. Plus is worse and minus is better. The range \
             is the interval on which the verdict rests.{sessions}",
            method.rule,
            count(method.tested as usize, "row"),
            percent(method.alpha),
        )
    }
}

fn is_unbuilt(side: &RowSide) -> bool {
    matches!(side.outcome, Outcome::Failed { kind: FailureKind::Build, .. })
}

impl<'a> RowView<'a> {
    pub(super) fn new(row: &'a Row, name: String) -> Self {
        let [base, head] = number::centres(row);
        let (mut change, mut interval) = (String::new(), String::new());
        if let Some(measured) = &row.change {
            let percent = number::signed_percent;
            change = format!("{} {}", percent(measured.slowdown), number::word(row));
            if measured.low != measured.high {
                interval = format!("{} to {}", percent(measured.low), percent(measured.high));
            }
            // An undecided change has only a range, not a figure.
            if row.verdict == Verdict::Inconclusive && !interval.is_empty() {
                change = std::mem::take(&mut interval);
                if row.known_change().is_none() {
                    change = "unknown".into();
                }
            }
        }
        // For rows within their threshold the p-value adds nothing to the interval.
        let p = row.change.as_ref().filter(|_| row.verdict != Verdict::Unchanged);
        let p = p.and_then(|change| change.adjusted_p).map_or(String::new(), number::p_value);
        let (mut base, mut head) =
            (SideView::new(row.base.as_ref(), base), SideView::new(row.head.as_ref(), head));
        let (mut rounds, mut noise) = (String::new(), String::new());
        if let Some(sequence) = &row.sequence {
            rounds = sequence.rounds.to_string();
            // One round shows no deviation.
            if sequence.rounds > 1 {
                noise = number::spread(sequence.noise);
            }
            // Both sides drift together, so the spread of one side is meaningless for the change.
            base.spread.clear();
            head.spread.clear();
        }
        Self { row, name, base, head, change: change.trim_end().to_owned(), interval, p, rounds, noise }
    }

    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.name, self.row.metric).trim_end().to_owned()
    }

    pub(crate) fn evidence(&self) -> String {
        joined([&self.interval, &self.p], ", ")
    }

    pub(crate) fn notes(&self) -> Vec<(&'static str, String)> {
        let trace = self.row.trace().unwrap_or_default().to_owned();
        [("why", self.row.reason.clone()), ("trace", trace), ("next", self.row.next.clone())]
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .collect()
    }
}

impl SideView {
    fn new(side: Option<&RowSide>, centre: Option<String>) -> Self {
        let Some(side) = side else { return Self { value: "absent".into(), spread: String::new() } };
        let value = centre.unwrap_or_else(|| side.outcome.into_str().to_owned());
        let spread = match (side.centre, side.spread) {
            (Some(_), Some(spread)) => number::spread(spread),
            (Some(_), None) if side.processes == 1 => "1 process".into(),
            _ => String::new(),
        };
        Self { value, spread }
    }
}
