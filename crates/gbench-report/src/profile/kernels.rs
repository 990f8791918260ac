//! The kernels of a run's cases, by profiler.

use super::figures::{by, is_clean, named, not_taken, opened_with, value};
use crate::layout::case_names::CaseNames;
use crate::layout::emphasis::Emphasis;
use crate::layout::escape::{markdown as prose, markdown_code as code};
use crate::layout::terminal::TerminalLayout;
use gbench_model::text::count;
use gbench_model::{KernelProfile, Profile, ProfileFigure, RunRecord};

const CLEAN: &str = "no error was found";
const MAX_KERNELS: usize = 10;
/// Figures of a kernel in a table of 80 columns.
const MAX_COLUMNS: usize = 4;

/// The candidates for these figures: the first ones that a profiler has.
const COLUMNS: [ProfileFigure; 8] = [
    ProfileFigure::KernelTime,
    ProfileFigure::Launches,
    ProfileFigure::SmThroughput,
    ProfileFigure::DramThroughput,
    ProfileFigure::MemoryThroughput,
    ProfileFigure::Occupancy,
    ProfileFigure::Registers,
    ProfileFigure::Instructions,
];

pub(crate) struct RunProfiles<'a>(Vec<(String, &'a Profile)>);

impl<'a> RunProfiles<'a> {
    pub(crate) fn of(record: &'a RunRecord) -> Self {
        let names = CaseNames::new(record.cases.iter().map(|case| &case.id));
        let of_case = record.cases.iter().map(|case| (names.name(&case.id), &case.profiles));
        Self(of_case.flat_map(|(name, profiles)| profiles.iter().map(move |it| (name.clone(), it))).collect())
    }

    pub(crate) fn taken(&self) -> usize {
        self.0.iter().filter(|(_, profile)| not_taken(profile).is_none()).count()
    }

    /// All are of sanitizers.
    pub(crate) fn are_checks(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|(_, profile)| profile.profiler.is_sanitizer())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// `place`: converts a report's path for display.
    pub(crate) fn terminal(&self, page: &mut TerminalLayout, all: bool, place: &dyn Fn(&str) -> String) {
        let limit = if all { usize::MAX } else { MAX_KERNELS };
        for (name, profile) in &self.0 {
            page.heading(&format!("{name}, by {}", by(profile)), Emphasis::Plain);
            if let Some(why) = not_taken(profile) {
                page.note("", &why);
            }
            if is_clean(profile) {
                page.note("", CLEAN);
            }
            let columns = columns(&profile.kernels);
            if !profile.kernels.is_empty() {
                let rows = profile.kernels.iter().take(limit).map(|kernel| cells(kernel, &columns));
                page.grid(&header(&columns), rows);
            }
            if profile.kernels.len() > limit {
                page.note("", &format!("and {} more, in the record", profile.kernels.len() - limit));
            }
            for report in &profile.reports {
                let with = opened_with(profile.profiler, report);
                page.note("open", &format!("{} with {with}", place(report)));
            }
        }
    }

    pub(crate) fn markdown(&self) -> String {
        let part = |(name, profile): &(String, &Profile)| {
            let mut text = format!("{}, by {}\n\n", code(name), prose(&by(profile)));
            if let Some(why) = not_taken(profile) {
                text += &format!("{}\n\n", prose(&why));
            }
            if is_clean(profile) {
                text += &format!("{CLEAN}\n\n");
            }
            let columns = columns(&profile.kernels);
            if !profile.kernels.is_empty() {
                text +=
                    &format!("| {} |\n|:--|{}\n", header(&columns).join(" | "), "--:|".repeat(columns.len()));
                for kernel in profile.kernels.iter().take(MAX_KERNELS) {
                    let cells = cells(kernel, &columns);
                    let mut shown = vec![code(&cells[0])];
                    shown.extend(cells[1..].iter().map(|cell| prose(cell)));
                    text += &format!("| {} |\n", shown.join(" | "));
                }
                let more = profile.kernels.len().saturating_sub(MAX_KERNELS);
                if more > 0 {
                    text += &format!("\nand {} more, in the JSON document.\n", count(more, "kernel"));
                }
                text += "\n";
            }
            for report in &profile.reports {
                let with = opened_with(profile.profiler, report);
                text += &format!("- Open {} with {}.\n", code(report), prose(with));
            }
            text
        };
        self.0.iter().map(part).collect::<Vec<_>>().join("\n")
    }
}

fn columns(kernels: &[KernelProfile]) -> Vec<ProfileFigure> {
    let known = |figure: &ProfileFigure| kernels.iter().any(|kernel| kernel.figures.contains_key(figure));
    COLUMNS.into_iter().filter(known).take(MAX_COLUMNS).collect()
}

fn header(columns: &[ProfileFigure]) -> Vec<&'static str> {
    std::iter::once("kernel").chain(columns.iter().map(|figure| named(*figure))).collect()
}

fn cells(kernel: &KernelProfile, columns: &[ProfileFigure]) -> Vec<String> {
    let of = |figure: &ProfileFigure| {
        kernel.figures.get(figure).map_or(String::new(), |number| value(*figure, *number))
    };
    std::iter::once(kernel.kernel.clone()).chain(columns.iter().map(of)).collect()
}
