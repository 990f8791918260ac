//! Base and head of profiled cases, side by side, with the largest changes first.

use super::figures::{by, named, not_taken, opened_with, unit, value};
use crate::layout::case_names::CaseNames;
use crate::layout::emphasis::Emphasis;
use crate::layout::grouped::together;
use crate::layout::markdown::{MarkdownStyle, details, stacked, table};
use crate::layout::number;
use crate::layout::terminal::TerminalLayout;
use gbench_compare::{ProfiledCase, VerdictDocument};
use gbench_model::text::count;
use gbench_model::{MovedFigure, ProfileFigure};

pub(crate) const SHOWN_ROWS: usize = 6;

pub(crate) const TITLE: &str = "Profiles of base and head: the largest changes first";

pub(crate) struct ProfilesView<'a>(Vec<CaseView<'a>>);

struct CaseView<'a> {
    name: String,
    profiled: &'a ProfiledCase,
    rows: Vec<[String; 5]>,
    /// The only kernel, which is named once.
    kernel: Option<&'a str>,
}

impl<'a> ProfilesView<'a> {
    pub(crate) fn new(document: &'a VerdictDocument) -> Option<Self> {
        let names = CaseNames::new(document.rows.iter().map(|row| &row.case));
        let view = |profiled: &'a ProfiledCase| {
            let kernel = profiled.moved.first().map(|figure| figure.kernel.as_str());
            let is_alone = profiled.moved.iter().all(|figure| Some(figure.kernel.as_str()) == kernel);
            CaseView {
                name: names.name(&profiled.case),
                profiled,
                rows: profiled.moved.iter().filter(|figure| figure.base != figure.head).map(row).collect(),
                kernel: kernel.filter(|_| is_alone),
            }
        };
        (!document.profiles.is_empty()).then(|| Self(document.profiles.iter().map(view).collect()))
    }

    /// `limit`: figures of a case.
    pub(crate) fn terminal(&self, page: &mut TerminalLayout, limit: usize) {
        page.heading(TITLE, Emphasis::Plain);
        for case in &self.0 {
            page.note("", &case.head());
            let shown = case.rows.iter().take(limit);
            if !case.rows.is_empty() {
                let cells = |row: &[String; 5]| {
                    let [kernel, figure, rest @ ..] = row.clone();
                    let first = if case.kernel.is_some() { figure } else { format!("{kernel}\n{figure}") };
                    std::iter::once(first).chain(rest).collect::<Vec<_>>()
                };
                let first = if case.kernel.is_some() { "figure" } else { "kernel, figure" };
                page.grid(&[first, "base", "head", "difference"], shown.map(cells));
            }
            if case.rows.len() > limit {
                page.note("", &format!("and {} more (listed with --all)", case.rows.len() - limit));
            }
            case.notes().iter().for_each(|(label, text)| page.note(label, text));
        }
    }

    /// The text below a heading: [`SHOWN_ROWS`] of each case, and up to `style.rows` folded.
    pub(crate) fn markdown(&self, style: &MarkdownStyle) -> String {
        let parts: Vec<String> = self.0.iter().map(|case| case.markdown(style)).collect();
        parts.join("\n")
    }
}

impl CaseView<'_> {
    fn head(&self) -> String {
        let kernel = self.kernel.map_or(String::new(), |kernel| format!(": {kernel}"));
        format!("{}, by {}{kernel}", self.name, by(&self.profiled.head))
    }

    fn sides(&self) -> [(&'static str, &gbench_model::Profile); 2] {
        [("base", &self.profiled.base), ("head", &self.profiled.head)]
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        let mut notes: Vec<(&'static str, String)> = Vec::new();
        match (self.rows.len(), self.profiled.moved.len()) {
            (_, 0) => {}
            (0, _) => notes.push(("", "every figure is the same on both sides".into())),
            (moved, all) if moved < all => {
                let same = count(all - moved, "other figure");
                notes.push(("", format!("the same on both sides: {same}")));
            }
            _ => {}
        }
        let [base, head] = self.sides().map(|(_, profile)| not_taken(profile));
        match (base, head) {
            (Some(base), Some(head)) if base == head => notes.push(("both", base)),
            (base, head) => {
                notes.extend(base.map(|why| ("base", why)));
                notes.extend(head.map(|why| ("head", why)));
            }
        }
        let reports = self.sides().into_iter().flat_map(|(side, profile)| {
            let opened = |report: &String| {
                (opened_with(self.profiled.head.profiler, report), format!("`{side}/{report}`"))
            };
            profile.reports.iter().map(opened).collect::<Vec<_>>()
        });
        let opened = together(reports).into_iter();
        notes
            .extend(opened.map(|(with, reports)| ("open", format!("{} with {with}", reports.join(" and ")))));
        notes
    }

    fn markdown(&self, style: &MarkdownStyle) -> String {
        let kernel = self.kernel.map_or(String::new(), |kernel| format!(": {}", (style.name)(kernel)));
        let by = (style.prose)(&by(&self.profiled.head));
        let mut text = format!("{}, by {by}{kernel}\n\n", (style.name)(&self.name));
        let (shown, rest) = self.rows.split_at(self.rows.len().min(SHOWN_ROWS));
        let rest = &rest[..rest.len().min(style.rows)];
        if !shown.is_empty() {
            text += &format!("{}\n", self.table(shown, style));
        }
        if !rest.is_empty() {
            let title = format!("{} more", count(rest.len(), "figure"));
            text += &format!("{}\n", details(&title, &self.table(rest, style)));
        }
        for (label, note) in self.notes() {
            text += &format!("- **{label}**: {}\n", (style.prose)(&note));
        }
        text
    }

    fn table(&self, rows: &[[String; 5]], style: &MarkdownStyle) -> String {
        let cells = |[kernel, figure, base, head, difference]: &[String; 5]| {
            let prose = |text: &String| (style.prose)(text);
            let first = match self.kernel {
                Some(_) => prose(figure),
                None => stacked(&(style.name)(kernel), &prose(figure)),
            };
            [first, prose(base), prose(head), prose(difference)]
        };
        let first = if self.kernel.is_some() { "figure" } else { "kernel, figure" };
        table(&format!("| {first} | base | head | difference |\n|:--|--:|--:|--:|"), rows.iter().map(cells))
    }
}

fn row(moved: &MovedFigure) -> [String; 5] {
    let MovedFigure { kernel, head_kernel, figure, base, head } = moved;
    let kernel = match head_kernel {
        Some(renamed) => format!("{kernel} -> {renamed}"),
        None => kernel.clone(),
    };
    let shown = |side: &Option<f64>| side.map_or_else(|| "absent".into(), |number| value(*figure, number));
    let (base_text, head_text) = match (base, head) {
        (Some(base), Some(head)) => number::pair(*base, *head, unit(*figure)),
        _ => (shown(base), shown(head)),
    };
    [kernel, named(*figure).to_owned(), base_text, head_text, difference(*figure, *base, *head)]
}

/// The difference in points for percentages, else as a share of the base. It is not a slowdown: a larger figure may be
/// better or worse.
fn difference(figure: ProfileFigure, base: Option<f64>, head: Option<f64>) -> String {
    match (base, head) {
        (Some(base), Some(head)) if figure.is_percent() => {
            let points = head - base;
            if points.abs() < 0.05 { "0 points".into() } else { format!("{points:+.1} points") }
        }
        (Some(base), Some(head)) if base == head => "0 %".into(),
        (Some(base), Some(head)) if base != 0.0 => number::signed_percent(head / base - 1.0),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::escape::{markdown, markdown_code};
    use crate::layout::terminal::Style;
    use crate::test_support as documents;

    fn pages(document: &VerdictDocument) -> (String, String) {
        let view = ProfilesView::new(document).unwrap();
        let mut page = TerminalLayout::new(Style::PLAIN);
        view.terminal(&mut page, SHOWN_ROWS);
        let style = MarkdownStyle { name: &markdown_code, prose: &markdown, rows: 60, max_named: 5 };
        (page.into_text(), view.markdown(&style))
    }

    #[test]
    fn a_document_without_profiles_has_no_part_of_them() {
        assert!(ProfilesView::new(&documents::one_regressed()).is_none());
    }

    #[test]
    fn e4_what_moved_most_stands_first_and_the_rest_is_folded() {
        let (terminal, markdown) = pages(&documents::named("profiled"));
        insta::assert_snapshot!("profiled_terminal", terminal);
        insta::assert_snapshot!("profiled_markdown", markdown);
    }

    #[test]
    fn e4_a_kernel_with_a_hostile_name_adds_no_cell_and_no_mention() {
        let mut document = documents::named("profiled");
        let name = "k|x<img src=x> @octo `a` http://evil \u{1b}[31m\u{202e}\n# head";
        for case in &mut document.profiles {
            case.moved.iter_mut().for_each(|figure| figure.kernel = name.into());
            case.moved.iter_mut().skip(1).take(1).for_each(|figure| figure.kernel = "other".into());
            case.head.reports = vec![name.into()];
        }
        let (terminal, page) = pages(&document);
        assert!(!terminal.contains('\u{1b}') && !page.contains('\u{1b}') && !page.contains('\u{202e}'));
        assert!(!page.contains("<img") && !page.contains("@octo") && !page.contains("http://"), "{page}");
        let rows = page.lines().filter(|line| line.starts_with("| <code>"));
        rows.for_each(|line| assert_eq!(line.matches('|').count(), 5, "{line}"));
        assert!(!page.lines().any(|line| line.starts_with('#')), "{page}");
    }
}
