//! The folded details of a comment: all results, the machines and their differences, the method and its checks.

use super::budget::{ByteBudget, Width, figure, prose};
use super::machine::{MachineSection, left_out};
use crate::layout::escape::markdown_block;
use crate::layout::grouped::joined;
use crate::layout::markdown::{MarkdownStyle, details, facts, kernel_name};
use crate::sweep::SweepTables;
use crate::verdict::markdown::{MAX_NAMED, differences, suites};
use crate::verdict::method;
use crate::verdict::rows::Shape;
use crate::verdict::view::{RowView, VerdictView};
use gbench_model::text::{capitalized, count};

const WIDTH: Width = Width { columns: 120, folding: true };

/// The parts in reading order, as far as they fit; method and machines precede the results, of which at most `rows` are
/// listed. `more`: where to find the rest.
pub(crate) fn folded(
    section: &MachineSection,
    rows: usize,
    commands: Option<&JobCommands>,
    more: &str,
    budget: &mut ByteBudget,
) -> String {
    let view = section.view;
    let method = budget.fit(method(view, commands));
    let machines = budget.fit(machines(view));
    let code = device_code(view, rows, budget);
    let sweep = by_parameters(view, rows, budget);
    let results = results(view, rows, more, budget);
    joined([&code, &results, &sweep, &machines, &method], "\n")
}

/// Changes in the GPU's machine code; omitted if they do not fit.
fn device_code(view: &VerdictView, rows: usize, budget: &mut ByteBudget) -> String {
    const MAX_KERNELS: usize = 40;
    let Some(code) = &view.code else { return String::new() };
    let told = |text: &str| prose(text, 400);
    let style =
        MarkdownStyle { name: &kernel_name, prose: &told, rows: rows.min(MAX_KERNELS), max_named: MAX_NAMED };
    budget.fit(details(&code.title(), &code.markdown(&style)))
}

/// The speed of head by the parameters of a sweep, one part per parameter.
fn by_parameters(view: &VerdictView, rows: usize, budget: &mut ByteBudget) -> String {
    let tables = SweepTables::overview(view.document).markdown(rows);
    let parts: Vec<String> = tables
        .into_iter()
        .map(|(title, table)| budget.fit(details(&prose(&capitalized(&title), 300), &table)))
        .filter(|part| !part.is_empty())
        .collect();
    parts.join("\n")
}

/// Commands of the document to show, except the one that is already above.
pub(crate) struct JobCommands {
    pub above: Option<String>,
    /// How to get the files that they read.
    pub files: String,
}

fn method(view: &VerdictView, shown: Option<&JobCommands>) -> String {
    let document = view.document;
    let mut told = Vec::new();
    if let Some(in_rounds) = &document.method.rounds {
        told.push(("measured", method::measured(document, in_rounds)));
        told.push(("risk", method::risk(document, in_rounds)));
        told.extend(method::checks(document, in_rounds).into_iter().map(|check| ("checked", check)));
        told.extend(method::next(document).map(|next| ("next", next)));
    }
    let mut inside = facts(&told, |text| prose(text, 1500));
    if !inside.is_empty() {
        inside += "\n";
    }
    let (title, margins, again) = match document.method.rounds {
        Some(_) => (
            "How it was measured, decided and checked",
            MARGINS,
            "The same verdict again, and why, from the records of the job",
        ),
        None => ("How it was decided", "", "The same again, with the files of the job"),
    };
    inside += &format!("{}{margins}\n", prose(&view.method(), 3000));
    if let Some(JobCommands { above, files }) = shown {
        let own = Some(document.reproduce.clone());
        let own = own.filter(|command| !command.is_empty() && Some(command) != above.as_ref());
        let commands: Vec<String> = own.into_iter().chain(view.explain()).collect();
        if !commands.is_empty() {
            inside += &format!("\n{again}: {files}\n\n{}", markdown_block("sh", &commands.join("\n")));
        }
    }
    details(title, &inside)
}

/// The meaning of the margins next to the verdicts.
const MARGINS: &str = " The margin of a regressed or improved row is the change that it lies beyond; that of an \
                       inconclusive one, the change within which it would count as unchanged.";

fn machines(view: &VerdictView) -> String {
    let mut inside = facts(&view.sides(), |text| prose(text, 900));
    let (strict, noted) = view.differences();
    let title = match noted.len() {
        // For a refused comparison, the table above lists the differences.
        _ if !strict.is_empty() => "Environment".to_owned(),
        0 => "Environment: nothing differs".to_owned(),
        some => format!("Environment: {}", count(some, "difference")),
    };
    if !noted.is_empty() {
        inside += &format!("\n{}", differences(&noted));
    }
    details(&title, &inside)
}

fn results(view: &VerdictView, rows: usize, more: &str, budget: &mut ByteBudget) -> String {
    let lines = &view.unchanged;
    let several = view.suites.len() > 1 && view.speedup.is_some();
    let around = 400 + more.len();
    if lines.is_empty() && !several || !budget.take(around) {
        return String::new();
    }
    let suites = if several { budget.fit(suites(view)) } else { String::new() };
    let mut inside = String::new();
    let shape = Shape { p_values: false, ..Shape::new(lines) };
    let names = WIDTH.names(lines.iter().take(rows));
    let row = |line: &RowView| {
        let row = shape.row(&WIDTH.case(line, &names), line, figure);
        budget.take(row.len()).then_some(row)
    };
    let table: Vec<String> = lines.iter().take(rows).map_while(row).collect();
    if !table.is_empty() {
        inside += &shape.head();
        inside += &table.concat();
    }
    inside += &left_out(lines.len() - table.len(), more);
    let mut title = if lines.is_empty() { "Suites and speed".to_owned() } else { view.unchanged_title() };
    if !suites.is_empty() {
        let blank = if inside.is_empty() { "" } else { "\n" };
        inside += &format!("{blank}{suites}");
        title += if lines.is_empty() { "" } else { "; suites and speed" };
    }
    if table.is_empty() && suites.is_empty() { String::new() } else { details(&title, &inside) }
}
