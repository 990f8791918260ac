//! A verdict in every format: snapshots of each, and checks of all.

use quick_junit::Report;

use super::markdown;
use super::render::verdict;
use super::view::VerdictView;
use crate::format::{Format, Options};
use crate::layout::csv::number;
use crate::layout::terminal::Style;
use crate::layout::width::width;
use crate::test_support::{self as documents, snapshot, without_formulas};
use gbench_compare::{Row, Verdict, VerdictDocument};

fn written(document: &VerdictDocument, format: Format, style: Style, all: bool) -> String {
    let mut out = Vec::new();
    verdict(document, &Options { format, style, all }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn plain(document: &VerdictDocument, format: Format) -> String {
    written(document, format, Style::PLAIN, false)
}

fn report(document: &VerdictDocument) -> Report {
    Report::deserialize_from_str(&plain(document, Format::Junit)).unwrap()
}

#[test]
fn every_kind_of_document_reads_well() {
    for (name, document) in documents::all() {
        snapshot("verdict", "terminal", name, &plain(&document, Format::Terminal));
        snapshot("verdict", "markdown", name, &plain(&document, Format::Markdown));
        snapshot("verdict", "junit", name, &plain(&document, Format::Junit));
        if ["failed_and_missing", "one_regressed"].contains(&name) {
            snapshot("verdict", "csv", name, &plain(&document, Format::Csv));
        }
    }
}

#[test]
fn every_document_survives_the_way_out_and_back() {
    for (name, document) in documents::all() {
        let json = plain(&document, Format::Json);
        assert!(json.ends_with("}\n"), "{name}");
        assert_eq!(serde_json::from_str::<VerdictDocument>(&json).unwrap(), document);
        let lines = plain(&document, Format::Jsonl);
        let rows = lines.lines().map(|line| {
            let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
            let said = line.as_object_mut().unwrap().remove("name").unwrap();
            let row: Row = serde_json::from_value(line).unwrap();
            assert_eq!(said, row.case.to_string(), "{name}");
            row
        });
        assert_eq!(rows.collect::<Vec<_>>(), document.rows, "{name}");
        assert_eq!(without_formulas(&plain(&document, Format::Csv)), (42, document.rows.len()), "{name}");
        assert_eq!(report(&document).tests, document.rows.len().max(1), "{name}");
    }
    for value in [0.1 + 0.2, 1e300, -1.5e-320, 3.0] {
        assert_eq!(number(value).parse::<f64>().unwrap(), value);
    }
}

#[test]
fn a_terminal_gets_what_it_can_show_at_any_width() {
    let codes = regex::Regex::new("\u{1b}\\[[0-9;]*m").unwrap();
    for (name, document) in documents::all() {
        for (columns, all) in [(60, true), (80, false), (80, true), (120, true)] {
            for unicode in [true, false] {
                let style = Style { width: columns, color: false, unicode };
                let text = written(&document, Format::Terminal, style, all);
                // Only a single argument of a command may be wider: broken, it could not be pasted.
                for line in text.lines().filter(|line| line.trim_end_matches(" \\").trim().contains(' ')) {
                    assert!(width(line) <= usize::from(columns), "{name} at {columns}: {line}");
                }
            }
        }
        let styled = |style| written(&document, Format::Terminal, style, true);
        let ascii = styled(Style { unicode: false, ..Style::PLAIN });
        assert!(ascii.chars().all(|c| c == '\n' || !c.is_ascii_control() && c.is_ascii()), "{name}");
        let text = styled(Style::PLAIN);
        assert!(!text.contains('\u{1b}'), "{name}");
        let color = styled(Style { color: true, ..Style::PLAIN });
        assert!(color.contains("\u{1b}[1"), "{name}");
        assert_eq!(codes.replace_all(&color, ""), text, "colour changes no word of {name}");
    }
    // Names that differ at their end stay distinguishable.
    for columns in [60, 80, 120] {
        let style = Style { width: columns, ..Style::PLAIN };
        let text = written(&documents::long_names(), Format::Terminal, style, true);
        for index in 0..40 {
            assert!(text.contains(&format!("={index}]")), "n={index} at {columns}");
        }
    }
}

#[test]
fn a_flood_of_rows_is_counted_unless_all_are_asked_for_and_stays_below_the_limit_of_a_comment() {
    let mut document = documents::long_names();
    document.rows = document.rows.iter().cycle().take(10_000).cloned().collect();
    assert!(plain(&document, Format::Markdown).len() < 65_536);
    assert!(markdown::text(&VerdictView::new(&document), usize::MAX).len() > 1_000_000);
    document.rows.retain(|row| row.verdict == Verdict::Regressed);
    document.rows.truncate(300);
    assert!(plain(&document, Format::Terminal).contains("and 250 more (listed with --all)"));
    assert!(!written(&document, Format::Terminal, Style::PLAIN, true).contains("more (listed"));
}

#[test]
fn a_comparison_of_nothing_is_an_error_and_what_is_inconclusive_fails_where_policy_says_so() {
    let nothing = report(&documents::named("incomparable"));
    assert_eq!((nothing.tests, nothing.errors), (1, 1));
    let mut document = documents::named("inconclusive");
    assert_eq!((report(&document).failures, report(&document).errors), (0, 0));
    document.method.inconclusive_fails = true;
    assert_eq!(report(&document).failures, 2);
}

#[test]
fn a_hostile_document_adds_no_cell_and_no_mention_and_no_character_that_xml_forbids() {
    let mut document = documents::named("hostile");
    let page = markdown::text(&VerdictView::new(&document), usize::MAX);
    assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}'));
    assert!(!page.contains("@octo") && !page.contains("<img") && !page.contains("http://"));
    for line in page.lines().filter(|line| line.starts_with("| <code>s/x")) {
        assert_eq!(line.matches('|').count(), 5, "{line}");
    }
    document.rows[0].reason = "\u{0}\u{b}\u{fffe}\u{1b}[0m".into();
    let xml = plain(&document, Format::Junit);
    assert!(xml.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{fffe}'));
}
