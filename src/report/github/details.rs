//! The folded details of a comment: all results, the machines and what differs in them, the method and what was checked.

use super::budget::{ByteBudget, prose};
use super::machine::MachineSection;
use super::table::{Shape, Width};
use crate::compare::{Difference, VerdictDocument};
use crate::model::text::count;
use crate::report::layout::escape::markdown_block;
use crate::report::layout::markdown::details;
use crate::report::verdict::markdown::{differences, suites};
use crate::report::verdict::method;
use crate::report::verdict::view::{RowView, VerdictView};

/// Names in a table of what did not change.
const WIDTH: Width = Width { columns: 120, folding: true };

/// The parts in reading order, as far as there is room; method and machines come before results, of which at most
/// `rows` are listed. `more`: where the rest is.
pub(super) fn folded(
    section: &MachineSection,
    rows: usize,
    commands: &Commands,
    more: &str,
    budget: &mut ByteBudget,
) -> String {
    let digest = section.digest;
    let method = budget.fit(method(digest, commands));
    let machines = budget.fit(machines(digest.document));
    let results = results(digest, rows, more, budget);
    let parts = [results, machines, method];
    let present: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    present.join("\n")
}

/// The commands of the document that are shown.
pub(super) enum Commands {
    /// None: a stranger's job wrote them.
    Hidden,
    /// All but the one that stands above already. `files`: how to get the files that they read.
    But { above: Option<String>, files: String },
}

fn method(digest: &VerdictView, shown: &Commands) -> String {
    let document = digest.document;
    let mut facts = Vec::new();
    if let Some(in_rounds) = &document.method.rounds {
        facts.push(("measured", method::measured(document, in_rounds)));
        facts.push(("sure", method::sureness(document, in_rounds)));
        facts.extend(method::checks(in_rounds).into_iter().map(|check| ("checked", check)));
        facts.extend(method::next(document).map(|next| ("next", next)));
    }
    let mut inside: String =
        facts.iter().map(|(label, text)| format!("- **{label}**: {}\n", prose(text, 1500))).collect();
    if !inside.is_empty() {
        inside += "\n";
    }
    inside += &format!("{}{}\n", prose(&digest.method(), 3000), margins(document));
    let (commands, files) = match shown {
        Commands::Hidden => (Vec::new(), ""),
        Commands::But { above, files } => {
            let own = Some(document.reproduce.clone());
            let own = own.filter(|command| !command.is_empty() && Some(command) != above.as_ref());
            (own.into_iter().chain(digest.explain()).collect(), files.as_str())
        }
    };
    if !commands.is_empty() {
        let what = match document.method.rounds {
            Some(_) => "The same verdict again, and why, from the records of the job",
            None => "The same again, with the files of the job",
        };
        inside += &format!("\n{what}: {files}\n\n{}", markdown_block("sh", &commands.join("\n")));
    }
    let title = match document.method.rounds {
        Some(_) => "How it was measured, decided and checked",
        None => "How it was decided",
    };
    details(title, &inside)
}

/// The meaning of the margins beside the verdicts.
fn margins(document: &VerdictDocument) -> &'static str {
    match document.method.rounds {
        Some(_) => {
            " The margin of a regressed or improved row is the change that it lies beyond; that of an inconclusive one, the \
             change within which it would count as unchanged."
        }
        None => "",
    }
}

fn machines(document: &VerdictDocument) -> String {
    let mut inside = String::new();
    for (label, side) in [("base", &document.base), ("head", &document.head)] {
        inside += &format!("- **{label}**: {}\n", prose(&VerdictView::side(document, side), 900));
    }
    let noted: Vec<&Difference> = document.differences.iter().filter(|field| !field.strict).collect();
    let title = match noted.len() {
        0 => "Environment: nothing differs".to_owned(),
        some => format!("Environment: {}", count(some, "difference")),
    };
    if !noted.is_empty() {
        inside += &format!("\n{}", differences(&noted));
    }
    // Of a comparison that was refused, the table above says what differs.
    let title = if document.differences.iter().any(|field| field.strict) { "Environment" } else { &title };
    details(title, &inside)
}

fn results(digest: &VerdictView, rows: usize, more: &str, budget: &mut ByteBudget) -> String {
    let lines = &digest.unchanged;
    let several = digest.suites.len() > 1 && digest.speedup.is_some();
    let around = 400 + more.len();
    if lines.is_empty() && !several || !budget.take(around) {
        return String::new();
    }
    let suites = if several { budget.fit(suites(digest)) } else { String::new() };
    let mut inside = String::new();
    let shape = Shape::of_results(lines);
    let names = WIDTH.names(lines.iter().take(rows));
    let row =
        |line: &RowView| Some(shape.row(line, WIDTH.folding, &names)).filter(|row| budget.take(row.len()));
    let table: Vec<String> = lines.iter().take(rows).map_while(row).collect();
    if !table.is_empty() {
        inside += &shape.head();
        inside += &table.concat();
    }
    let left_out = lines.len() - table.len();
    if left_out > 0 {
        let verb = if left_out == 1 { "is" } else { "are" };
        inside += &format!("\n{} {verb} in {more}.\n", count(left_out, "further row"));
    }
    let mut title = if lines.is_empty() { "Suites and speed".to_owned() } else { digest.unchanged_title() };
    if !suites.is_empty() {
        let blank = if inside.is_empty() { "" } else { "\n" };
        inside += &format!("{blank}{suites}");
        title += if lines.is_empty() { "" } else { "; suites and speed" };
    }
    if table.is_empty() && suites.is_empty() { String::new() } else { details(&title, &inside) }
}
