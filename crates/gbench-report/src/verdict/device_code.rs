//! Changes of the device code in reports: cases whose kernels changed, reasons against a comparison, and the noise of
//! unchanged cases.

use crate::layout::case_names::CaseNames;
use crate::layout::emphasis::Emphasis;
use crate::layout::grouped::{named, together};
use crate::layout::markdown::{MarkdownStyle, table};
use crate::layout::terminal::TerminalLayout;
use gbench_compare::{CaseCode, CodeState, KernelChange, VerdictDocument};
use gbench_model::text::{capitalized, count};

const MAX_KERNELS: usize = 5;

pub(crate) struct CodeView<'a> {
    /// By name, each with its case.
    changed: Vec<(String, &'a CaseCode)>,
    identical: usize,
    /// Why code cannot be compared, and the names of the cases.
    gaps: Vec<(String, Vec<String>)>,
    noise: Option<String>,
}

impl<'a> CodeView<'a> {
    pub(crate) fn new(document: &'a VerdictDocument) -> Option<Self> {
        let cases = &document.device_code;
        let names = CaseNames::new(cases.iter().map(|case| &case.case));
        let of = |state| cases.iter().filter(move |case| case.state == state);
        let why = |case: &CaseCode| case.why.as_ref().map(ToString::to_string).unwrap_or_default();
        let gaps = of(CodeState::NotComparable).map(|case| (why(case), names.name(&case.case)));
        let noise = document.noise_of_identical_code.as_ref();
        (!cases.is_empty()).then(|| Self {
            changed: of(CodeState::Changed).map(|case| (names.name(&case.case), case)).collect(),
            identical: of(CodeState::Identical).count(),
            gaps: together(gaps),
            noise: noise
                .map(|noise| format!("{}; the largest is {}", noise.sentence(), names.name(&noise.case))),
        })
    }

    pub(crate) fn title(&self) -> String {
        let gaps: usize = self.gaps.iter().map(|(_, names)| names.len()).sum();
        let counts =
            [(self.changed.len(), "changed"), (self.identical, "identical"), (gaps, "not comparable")];
        let told =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
        format!("Device code: {}", told.collect::<Vec<_>>().join(", "))
    }

    /// `max_named`: names of a list; `limit`: cases that are listed.
    pub(crate) fn terminal(&self, page: &mut TerminalLayout, limit: usize, max_named: usize) {
        let kernels = if limit == usize::MAX { limit } else { MAX_KERNELS };
        page.heading(&self.title(), Emphasis::Plain);
        for (name, case) in self.changed.iter().take(limit) {
            page.note("-", &format!("{name}: {}", case.told(kernels)));
        }
        if self.changed.len() > limit {
            page.note("", &format!("and {} more (listed with --all)", self.changed.len() - limit));
        }
        for (why, names) in &self.gaps {
            page.note("-", &format!("not comparable, {why}: {}", named(names, max_named)));
        }
        if let Some(noise) = &self.noise {
            page.note("noise", noise);
        }
    }

    pub(crate) fn markdown(&self, style: &MarkdownStyle) -> String {
        let mut parts = Vec::new();
        let kernels =
            || self.changed.iter().flat_map(|(name, case)| case.kernels.iter().map(move |it| (name, it)));
        if !self.changed.is_empty() {
            let rows = kernels().take(style.rows).map(|(name, kernel)| row(name, kernel, style));
            let header =
                "| case | kernel | registers | shared | frame | spilled |\n|:--|:--|--:|--:|--:|--:|";
            let mut text = table(header, rows);
            let all: usize = self.changed.iter().map(|(_, case)| case.differing()).sum();
            let shown = kernels().count().min(style.rows);
            if all > shown {
                text += &format!("\nand {} more, in the JSON document.\n", count(all - shown, "kernel"));
            }
            parts.push(text);
        }
        let gaps = self.gaps.iter().map(|(why, names)| {
            let names: Vec<String> = names.iter().map(|name| (style.name)(name)).collect();
            format!("- Not comparable, {}: {}.\n", (style.prose)(why), named(&names, style.max_named))
        });
        let gaps: String = gaps.collect();
        parts.extend((!gaps.is_empty()).then_some(gaps));
        parts.extend(self.noise.as_ref().map(|noise| format!("{}.\n", (style.prose)(&capitalized(noise)))));
        parts.join("\n")
    }
}

fn row(name: &str, kernel: &KernelChange, style: &MarkdownStyle) -> [String; 6] {
    let [registers, shared, frame, spilled] = kernel.figures().map(|figure| (style.prose)(&figure));
    let word = match (&kernel.base, &kernel.head) {
        (Some(_), Some(_)) => String::new(),
        _ => format!(" ({})", kernel.word()),
    };
    let shown = format!("{}{word}", (style.name)(&kernel.shown_name()));
    [(style.name)(name), shown, registers, shared, frame, spilled]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::layout::escape::{markdown, markdown_code};
    use crate::layout::terminal::Style;
    use crate::test_support as documents;
    use gbench_compare::VerdictDocument;

    pub(in crate::verdict) fn pages(document: &VerdictDocument, rows: usize) -> (String, String) {
        let view = CodeView::new(document).unwrap();
        let mut page = TerminalLayout::new(Style::PLAIN);
        view.terminal(&mut page, rows, 5);
        let style = MarkdownStyle { name: &markdown_code, prose: &markdown, rows, max_named: 5 };
        (page.into_text(), format!("{}\n{}", view.title(), view.markdown(&style)))
    }

    #[test]
    fn a_flood_of_kernels_with_hostile_names_stays_a_bounded_table() {
        let mut document = documents::named("device_code");
        let name = format!("a|b <img src=x> @octo {}\u{1b}[31m", "x".repeat(5000));
        for kernel in &mut document.device_code[0].kernels {
            kernel.name.clone_from(&name);
        }
        document.device_code[0].more = 9000;
        let (terminal, markdown) = pages(&document, 2);
        assert!(markdown.len() < 4000 && markdown.contains("9001 kernels more"), "{markdown}");
        assert!(!markdown.contains("<img") && !markdown.contains("@octo") && !markdown.contains('\u{1b}'));
        let table = markdown.lines().filter(|line| line.starts_with("| <code>"));
        table.for_each(|line| assert_eq!(line.matches('|').count(), 7, "{line}"));
        assert!(!terminal.contains('\u{1b}') && terminal.lines().all(|line| line.chars().count() <= 80));
    }
}
