//! The answer of a bisection, for a terminal, a page and programs.

use std::io;

use super::layout::emphasis::Emphasis;
use super::layout::escape::{markdown, markdown_code};
use super::layout::json;
use super::layout::markdown as page;
use super::layout::number::{signed_percent, value};
use super::layout::table::ReportTable;
use super::layout::terminal::{Style, TerminalLayout};
use gbench_model::text::{capitalized, count, percent, short_commit};
use gbench_model::{Better, BisectAnswer, BisectDocument, V1BisectCommit};

/// How a bisection is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum BisectFormat {
    Terminal,
    Markdown,
    Json,
}

/// Writes the answer. `resume`: the command that continues an unfinished bisection. Errors: only those of `out`.
pub fn bisection(
    document: &BisectDocument,
    resume: Option<&str>,
    format: BisectFormat,
    style: Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match format {
        BisectFormat::Terminal => out.write_all(terminal(document, resume, style).as_bytes()),
        BisectFormat::Markdown => out.write_all(in_markdown(document, resume).as_bytes()),
        BisectFormat::Json => json::render(document, out),
    }
}

fn terminal(document: &BisectDocument, resume: Option<&str>, style: Style) -> String {
    let mut layout = TerminalLayout::new(style);
    let (word, emphasis) = conclusion(document);
    layout.headline(word, &sentence(document), emphasis);
    if let Some(commit) = found(document) {
        layout.blank();
        layout.facts(&facts(commit));
    } else if !document.remaining.is_empty() {
        remaining(document).terminal(&mut layout, usize::MAX);
    }
    if !document.measured.is_empty() {
        let value = if document.metric.is_empty() { "figure" } else { document.metric.as_str() };
        measured(document, value).terminal(&mut layout, usize::MAX);
    }
    layout.list("Left out", Emphasis::Doubt, document.broken.iter().map(broken));
    layout.list("Warnings", Emphasis::Doubt, document.warnings.iter().map(|text| capitalized(text)));
    layout.blank();
    layout.line(&cost(document));
    if let Some(commit) = found(document) {
        layout.command("Look at it", &show(commit));
    }
    if let Some(resume) = resume {
        layout.command("Go on", resume);
    }
    layout.into_text()
}

fn in_markdown(document: &BisectDocument, resume: Option<&str>) -> String {
    let (word, emphasis) = conclusion(document);
    let word = capitalized(&word.to_lowercase());
    let mut text = format!(
        "## {} {}: {}\n\n{}\n\n",
        emphasis.look().sign,
        markdown(&word),
        markdown_code(&document.case.to_string()),
        markdown(&sentence(document))
    );
    if let Some(commit) = found(document) {
        text += &format!("{}\n", page::facts(&facts(commit), markdown));
    } else if !document.remaining.is_empty() {
        let table = remaining(document);
        page::part(&mut text, &table.title, &table.markdown("|---|---|---|---|", usize::MAX));
    }
    if !document.measured.is_empty() {
        let table = measured(document, "figure");
        let rule = "|---|---:|---:|---:|---:|---|";
        page::fold(&mut text, &table.title, &table.markdown(rule, usize::MAX));
    }
    let broken: Vec<String> = document.broken.iter().map(broken).collect();
    page::part(&mut text, "Left out", &page::bullets(&broken));
    page::part(&mut text, "Warnings", &page::bullets(&document.warnings));
    text += &markdown(&cost(document));
    for command in found(document).map(show).into_iter().chain(resume.map(str::to_owned)) {
        text += &format!("\n\n{}", markdown_code(&command));
    }
    text + "\n"
}

fn found(document: &BisectDocument) -> Option<&V1BisectCommit> {
    match (document.answer, document.remaining.as_slice()) {
        (BisectAnswer::Commit, [commit]) => Some(commit),
        _ => None,
    }
}

fn conclusion(document: &BisectDocument) -> (&'static str, Emphasis) {
    let found = if is_worse(document) == Some(false) { Emphasis::Good } else { Emphasis::Bad };
    match document.answer {
        BisectAnswer::Commit => ("FOUND", found),
        BisectAnswer::Commits => ("FOUND WITHIN A FEW COMMITS", found),
        BisectAnswer::Nothing => ("NOTHING FOUND", Emphasis::Good),
        BisectAnswer::Undecided => ("UNDECIDED", Emphasis::Doubt),
        BisectAnswer::Interrupted => ("INTERRUPTED", Emphasis::Doubt),
    }
}

fn is_worse(document: &BisectDocument) -> Option<bool> {
    let change = document.change?;
    match document.better? {
        Better::Lower => Some(change > 0.0),
        Better::Higher => Some(change < 0.0),
    }
}

fn sentence(document: &BisectDocument) -> String {
    let BisectDocument { case, metric, .. } = document;
    let ends = format!("{}..{}", short_commit(&document.good.commit), short_commit(&document.bad.commit));
    let change = match (document.change, document.low, document.high) {
        (Some(change), Some(low), Some(high)) => {
            format!("{} ({} to {})", signed_percent(change), signed_percent(low), signed_percent(high))
        }
        _ => "an unknown share".to_owned(),
    };
    let certain = certain(document.probability);
    let commits = count(document.commits as usize, "commit");
    match document.answer {
        BisectAnswer::Commit => {
            let id = document.remaining.first().map_or("", |commit| short_commit(&commit.commit));
            format!("{id} changed {metric} of {case} by {change}; {certain}, of {commits} in {ends}")
        }
        BisectAnswer::Commits => {
            let broken = document.remaining.iter().filter(|commit| commit.broken.is_some()).count();
            format!(
                "one of {} changed {metric} of {case} by {change}; {certain}. They cannot be distinguished: {} of them cannot \
                 be measured",
                count(document.remaining.len(), "commit"),
                broken
            )
        }
        BisectAnswer::Nothing => {
            let what = if document.any { "changed" } else { "made it worse" };
            format!(
                "nothing in {ends} {what}: {metric} of {case} differs by {change} between the ends; {certain}"
            )
        }
        BisectAnswer::Undecided | BisectAnswer::Interrupted => {
            let asked = percent(document.confidence);
            let so_far = if document.remaining.is_empty() {
                "nothing is known yet".to_owned()
            } else {
                let commits = count(document.remaining.len(), "commit");
                format!("{commits} have {} together", told(document.probability))
            };
            format!(
                "{so_far}, and {asked} are asked for; that nothing changed has {}. {metric} of {case} differs by {change} \
                 between {ends}",
                told(document.innocent)
            )
        }
    }
}

/// A probability in words: in steps of a tenth of a percent, and never 0 or 1 unless it is exactly that.
fn told(probability: f64) -> String {
    match probability {
        low if low < 0.001 => "< 0.1 %".to_owned(),
        high if high > 0.999 => "> 99.9 %".to_owned(),
        other => percent((other * 1000.0).round() / 1000.0),
    }
}

fn certain(probability: f64) -> String {
    format!("{} certain", told(probability))
}

fn facts(commit: &V1BisectCommit) -> [(&'static str, String); 4] {
    [
        ("commit", commit.commit.clone()),
        ("subject", commit.subject.clone()),
        ("author", commit.author.clone()),
        ("date", day(commit)),
    ]
}

fn day(commit: &V1BisectCommit) -> String {
    commit.authored.get(..10).unwrap_or_default().to_owned()
}

fn remaining(document: &BisectDocument) -> ReportTable {
    let row = |commit: &V1BisectCommit| {
        let why = if commit.broken.is_some() { " (cannot be measured)" } else { "" };
        let subject = format!("{}{why}", commit.subject);
        vec![short_commit(&commit.commit).to_owned(), day(commit), told(commit.probability), subject]
    };
    let columns = ["commit", "authored", "probability", "subject"];
    ReportTable::new("What remains".into(), columns, document.remaining.iter().map(row), Vec::new())
}

/// `figure`: the name of the measured figure.
fn measured(document: &BisectDocument, figure: &str) -> ReportTable {
    let row = |commit: &V1BisectCommit| {
        let change = match (commit.value, document.good.value) {
            (Some(own), Some(good)) if commit.commit != document.good.commit => {
                signed_percent(own / good - 1.0)
            }
            _ => "-".to_owned(),
        };
        vec![
            short_commit(&commit.commit).to_owned(),
            commit.processes.to_string(),
            commit.value.map_or("-".to_owned(), |figure| value(figure, &document.unit)),
            change,
            told(commit.behind),
            commit.subject.clone(),
        ]
    };
    let columns = ["commit", "processes", figure, "to good", "has the change", "subject"];
    ReportTable::new("What was measured".into(), columns, document.measured.iter().map(row), Vec::new())
}

fn broken(commit: &V1BisectCommit) -> String {
    let why = commit.broken.as_deref().unwrap_or_default();
    format!("{} {}: {why}", short_commit(&commit.commit), commit.subject)
}

fn cost(document: &BisectDocument) -> String {
    format!(
        "{} and {} in {}; a process varies by {}. Kept in {}.",
        count(document.processes as usize, "process"),
        count(document.builds as usize, "build"),
        count(document.rounds as usize, "round"),
        document.noise.map_or("an unknown share".to_owned(), percent),
        document.folder
    )
}

fn show(commit: &V1BisectCommit) -> String {
    format!("git show {}", commit.commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(answer: BisectAnswer) -> BisectDocument {
        let undecided: BisectDocument =
            serde_json::from_str(include_str!("../documents/bisection.json")).unwrap();
        let mut document = BisectDocument { answer, ..undecided };
        document.remaining.truncate(match answer {
            BisectAnswer::Nothing => 0,
            BisectAnswer::Commit => 1,
            _ => 2,
        });
        document
    }

    fn written(answer: BisectAnswer, format: BisectFormat) -> String {
        let mut out = Vec::new();
        let resume = Some("gbench-ci bisect --resume 20261121T100102.345Z-3f9a2c");
        let resume = resume.filter(|_| answer == BisectAnswer::Undecided);
        bisection(&document(answer), resume, format, Style::PLAIN, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_answer_reads_well() {
        let answers =
            [BisectAnswer::Commit, BisectAnswer::Commits, BisectAnswer::Nothing, BisectAnswer::Undecided];
        let pages = answers.map(|answer| written(answer, BisectFormat::Terminal));
        assert!(pages.iter().all(|page| page.lines().all(|line| line.chars().count() <= 80)));
        insta::assert_snapshot!(pages.join("\n========\n"));
    }

    #[test]
    fn a_page_shows_what_others_wrote_as_text() {
        insta::assert_snapshot!(written(BisectAnswer::Commit, BisectFormat::Markdown));
    }

    #[test]
    fn the_document_survives_the_way_out_and_back() {
        let text = written(BisectAnswer::Commits, BisectFormat::Json);
        let back: BisectDocument = serde_json::from_str(&text).unwrap();
        assert_eq!(back, document(BisectAnswer::Commits));
    }
}
