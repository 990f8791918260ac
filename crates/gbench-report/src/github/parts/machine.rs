//! One machine of a comment: its verdict, the table of changes, reasons and next steps.

use std::collections::BTreeMap;

use strum::IntoEnumIterator;

use super::budget::{ByteBudget, ShortNames, Width, figure, prose};
use crate::layout::emphasis::Emphasis;
use crate::layout::grouped::joined;
use crate::layout::markdown::{MarkdownStyle, kernel_name};
use crate::profile::moved;
use crate::verdict::curves::CurveView;
use crate::verdict::markdown::{MAX_NAMED, Notes, differences};
use crate::verdict::method::certified;
use crate::verdict::rows::Shape;
use crate::verdict::view::{RowView, VerdictView};
use gbench_compare::{Conclusion, Group, Verdict};
use gbench_model::text::count;

/// Widths of names in a table: the first that fits all rows is used.
const WIDTHS: [Width; 6] = [
    Width { columns: 120, folding: true },
    Width { columns: 80, folding: true },
    Width { columns: 60, folding: true },
    Width { columns: 60, folding: false },
    Width { columns: 50, folding: false },
    Width { columns: 40, folding: false },
];

const MAX_NOTES: usize = 20;

/// Fewer bytes than any row has.
const MIN_ROW: usize = 30;

/// Bytes of a table without its rows.
const AROUND_A_TABLE: usize = 400;

pub(crate) struct MachineSection<'a> {
    pub group: &'a Group,
    pub view: &'a VerdictView<'a>,
    shape: Shape,
    /// Heading and sentence; empty for a single machine, which the opening describes.
    head: String,
    strict: String,
    /// Rows that changed or are undecided, most severe first; each with its text, empty if it does not fit.
    rows: Vec<(&'a RowView<'a>, String)>,
    names: BTreeMap<usize, ShortNames>,
    notes: String,
    profiles: String,
    curves: String,
    pub folded: String,
}

impl<'a> MachineSection<'a> {
    /// `alone`: the opening replaces the head. `None`: the section does not fit.
    pub(crate) fn new(
        group: &'a Group,
        view: &'a VerdictView<'a>,
        alone: bool,
        budget: &mut ByteBudget,
    ) -> Option<Self> {
        let head = if alone { String::new() } else { heading(group, view) };
        if !budget.take(head.len() + AROUND_A_TABLE) {
            return None;
        }
        let changed = || view.groups.iter().flat_map(|group| &group.shown);
        let (strict, _) = view.differences();
        let strict = if strict.is_empty() {
            String::new()
        } else {
            budget.fit(format!("Differs, and must agree for a comparison:\n\n{}\n", differences(&strict)))
        };
        let changes = changed().any(|line| !line.change.is_empty());
        Some(Self {
            group,
            view,
            shape: Shape { changes, p_values: false, verdicts: true, rounds: false, spreads: false },
            head,
            strict,
            rows: changed().map(|line| (line, String::new())).collect(),
            names: BTreeMap::new(),
            notes: String::new(),
            profiles: String::new(),
            curves: String::new(),
            folded: String::new(),
        })
    }

    /// Cuts the names of all rows to a width, because rows of other verdicts share the table.
    fn prepare(&mut self, width: Width) {
        let lines = self.rows.iter().map(|(line, _)| *line);
        self.names.entry(width.columns).or_insert_with(|| width.names(lines));
    }

    /// Reasons and next steps of the shown rows; shared ones are listed once.
    pub(crate) fn explain(&mut self, budget: &mut ByteBudget) {
        let shown = || self.rows.iter().filter(|(_, text)| !text.is_empty()).map(|(line, _)| *line);
        let names = ShortNames::new(shown().map(|line| line.name.as_str()), 64);
        let (name, prose) = (|text: &str| names.name(text), |text: &str| prose(text, 900));
        let style = MarkdownStyle { name: &name, prose: &prose, rows: usize::MAX, max_named: MAX_NAMED };
        let mut told = String::new();
        for verdict in Verdict::iter() {
            // An improved or new row needs no reason.
            let plain = matches!(verdict, Verdict::Improved | Verdict::New);
            let of = shown().filter(|line| line.row.verdict == verdict);
            let lines: Vec<&RowView> = of.filter(|line| !plain || !line.row.next.is_empty()).collect();
            let mut notes = Notes::new(&lines, &style);
            notes.together = budget.fit(notes.together);
            notes.items.truncate(MAX_NOTES);
            notes.items.retain(|item| budget.take(item.len() + 1));
            budget.set_aside(2);
            told += &notes.text();
        }
        self.notes = told;
    }

    /// Profilers' findings, base next to head, with the largest changes visible and the rest folded; without the rest, or
    /// omitted, if it does not fit.
    pub(crate) fn profile(&mut self, budget: &mut ByteBudget) {
        const MAX_FOLDED: usize = 20;
        let Some(profiles) = &self.view.profiles else { return };
        let prose = |text: &str| prose(text, 400);
        let part = |rows| {
            let style = MarkdownStyle { name: &kernel_name, prose: &prose, rows, max_named: MAX_NAMED };
            format!("\n**{}**\n\n{}", moved::TITLE, profiles.markdown(&style))
        };
        let parts = [MAX_FOLDED, 0].into_iter().map(part);
        self.profiles = parts.into_iter().find(|part| budget.take(part.len())).unwrap_or_default();
    }

    /// A line for each curve with its points folded; without points, or omitted, if it does not fit.
    pub(crate) fn draw(&mut self, budget: &mut ByteBudget) {
        const MAX_CURVES: usize = 20;
        const MAX_POINTS: usize = 40;
        let curves = CurveView::all(self.view.document);
        if curves.is_empty() {
            return;
        }
        let prose = |text: &str| prose(text, 900);
        let style =
            MarkdownStyle { name: &kernel_name, prose: &prose, rows: MAX_POINTS, max_named: MAX_NAMED };
        // The most severe first, because not all of them may fit.
        let mut ordered: Vec<&CurveView> = curves.iter().collect();
        ordered.sort_by_key(|it| it.curve.verdict);
        let heading = budget.fit(format!("\n**{}**\n\n", CurveView::heading(&curves)));
        let fitting = ordered.iter().take(MAX_CURVES).map(|it| budget.fit(it.markdown(&style)));
        let lines: Vec<String> = fitting.take_while(|text| !text.is_empty()).collect();
        self.curves = heading + &lines.concat();
        if lines.len() < curves.len() {
            let left = count(curves.len() - lines.len(), "further curve");
            self.curves += &budget.fit(format!("\nThe report has {left}.\n"));
        }
    }

    /// Everything except the folded parts; `more` is where the omitted rows are.
    pub(crate) fn text(&self, more: &str) -> String {
        let mut text = format!("{}{}", self.head, self.strict);
        let shown = || self.rows.iter().map(|(_, text)| text.as_str()).filter(|text| !text.is_empty());
        if shown().next().is_some() {
            text += &self.shape.head();
            text.extend(shown());
        }
        text += &left_out(self.rows.len() - shown().count(), more);
        text += &self.notes;
        text += &self.curves;
        text += &self.profiles;
        if text.is_empty() { text } else { text.trim_end_matches('\n').to_owned() + "\n\n" }
    }
}

/// Where to find further rows; empty if there are none.
pub(crate) fn left_out(rows: usize, more: &str) -> String {
    match rows {
        0 => String::new(),
        1 => format!("\n1 further row is in {more}.\n"),
        rows => format!("\n{} are in {more}.\n", count(rows, "further row")),
    }
}

/// Gives rows of these verdicts to all machines in turn, with the longest names that let all of them fit.
pub(crate) fn fill(sections: &mut [MachineSection], verdicts: &[Verdict], budget: &mut ByteBudget) {
    let wanted = |section: &MachineSection| -> Vec<usize> {
        let rows = section.rows.iter().enumerate();
        rows.filter(|(_, (line, _))| verdicts.contains(&line.row.verdict)).map(|(index, _)| index).collect()
    };
    let wanted: Vec<Vec<usize>> = sections.iter().map(wanted).collect();
    let longest = wanted.iter().map(Vec::len).max().unwrap_or(0);
    let mut places = Vec::new();
    for rank in 0..longest {
        let each = wanted.iter().enumerate().filter_map(|(at, rows)| Some((at, *rows.get(rank)?)));
        places.extend(each);
    }
    let row = |sections: &[MachineSection], (at, index): (usize, usize), width: Width| {
        let section = &sections[at];
        let (line, _) = section.rows[index];
        section.shape.row(&width.case(line, &section.names[&width.columns]), line, figure)
    };
    let mut width = WIDTHS[WIDTHS.len() - 1];
    if places.len() * MIN_ROW <= budget.left() {
        for candidate in WIDTHS {
            sections.iter_mut().for_each(|section| section.prepare(candidate));
            let mut left = ByteBudget::new(budget.left());
            if places.iter().all(|place| left.take(row(sections, *place, candidate).len())) {
                width = candidate;
                break;
            }
        }
    }
    sections.iter_mut().for_each(|section| section.prepare(width));
    let rows: Vec<String> = places.iter().map(|place| budget.fit(row(sections, *place, width))).collect();
    for ((at, index), row) in places.into_iter().zip(rows) {
        sections[at].rows[index].1 = row;
    }
}

fn heading(group: &Group, view: &VerdictView) -> String {
    let verdict = &group.verdict;
    let label = if group.label.is_empty() { "unnamed" } else { &group.label };
    format!(
        "#### {} {}: {}\n\n{}\n\n{}\n\n",
        Emphasis::from(verdict.conclusion).look().sign,
        prose(label, 200),
        verdict.conclusion.into_str(),
        prose(&verdict.sentence, 1500),
        counts(view, ""),
    )
}

/// `15 rows: 2 regressed, 13 unchanged (certified within 2 %). Measured on NVIDIA H100.`
pub(crate) fn counts(view: &VerdictView, label: &str) -> String {
    let document = view.document;
    let certified = certified(view.unchanged.iter().map(|line| line.row));
    let certified = if certified.is_empty() { certified } else { format!(" ({certified})") };
    let machines = [&document.base.machine, &document.head.machine];
    let machine = match machines {
        [base, head] if base == head => prose(base, 300),
        [base, head] => format!("{} (base) and {} (head)", prose(base, 300), prose(head, 300)),
    };
    let place = match joined([&prose(label, 200), &machine], ", ") {
        none if none.is_empty() => none,
        _ if document.conclusion == Conclusion::Incomparable => String::new(),
        place => format!(" Measured on {place}."),
    };
    if document.rows.is_empty() {
        place.trim_start().to_owned()
    } else {
        format!("{}{certified}.{place}", prose(&view.counts(), 400))
    }
}
