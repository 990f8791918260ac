//! The reports of comparisons in rounds, whole, as a new user meets them.

use gbench_ci::compare::VerdictDocument;
use gbench_ci::report::{self, Format, Options, Style};

use crate::support::stories;

fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path("snapshots/rounds");
    settings.set_omit_expression(true);
    settings
}

fn shown(document: &VerdictDocument, format: Format, style: Style, all: bool) -> String {
    let mut out = Vec::new();
    report::verdict(document, &Options { format, style, all }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn documents() -> [(&'static str, VerdictDocument); 3] {
    [
        ("red", stories::red().verdict()),
        ("open", stories::open().verdict()),
        ("clean", stories::clean().verdict()),
    ]
}

#[test]
fn a_red_an_open_and_a_clean_run_read_well_at_eighty_columns() {
    let _bound = settings().bind_to_scope();
    for (name, document) in documents() {
        let text = shown(&document, Format::Terminal, Style::PLAIN, false);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(format!("terminal_{name}"), text);
    }
}

#[test]
fn every_other_format_says_the_same_of_rounds() {
    let _bound = settings().bind_to_scope();
    for (name, document) in documents() {
        for format in [Format::Markdown, Format::Csv, Format::Junit] {
            insta::assert_snapshot!(
                format!("{}_{name}", format.into_str()),
                shown(&document, format, Style::PLAIN, false)
            );
        }
    }
}

#[test]
fn each_report_says_what_was_measured_how_sure_it_is_and_what_to_do() {
    let flat = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let [red, open, clean] =
        documents().map(|(_, document)| flat(shown(&document, Format::Terminal, Style::PLAIN, false)));
    for text in [&red, &open, &clean] {
        for said in [
            "a fresh process of base and one of head",
            "randomised order (seed 1234)",
            "40 at most",
            "any false red",
        ] {
            assert!(text.contains(said), "{said} in {text}");
        }
        assert!(text.contains("gbench-ci replay 20261121T110000.000Z-c0ffee"), "{text}");
        assert!(
            text.contains("gbench-ci explain kernels/") || text.contains("gbench-ci explain memory/"),
            "{text}"
        );
    }
    assert!(red.contains("worse over") && red.contains("with 99 % confidence for the whole suite"), "{red}");
    assert!(red.contains("git log -p 9f1c2e7ab0..02ab45cd66"), "{red}");
    assert!(open.contains("rounds find") && open.contains("resume the comparison"), "{open}");
    assert!(
        clean.contains("Unchanged: 8, certified within 2 %")
            && clean.contains("nothing to do")
            && clean.contains("none of them changed"),
        "{clean}"
    );
}

#[test]
fn markdown_of_rounds_is_read_by_the_host_as_tables_and_lists() {
    for (name, document) in documents() {
        let page = shown(&document, Format::Markdown, Style::PLAIN, false);
        for table in page.split("\n\n").filter(|block| block.starts_with("| ")) {
            let columns: Vec<usize> = table.lines().map(|line| line.matches('|').count()).collect();
            assert!(columns.iter().all(|count| *count == columns[0]), "{name}: {table}");
        }
        assert!(page.contains("- **how**: ") && page.contains("- **risk**: "), "{page}");
    }
}
