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
        insta::assert_snapshot!(format!("terminal_{name}"), shown(&document, Format::Terminal, Style::PLAIN, false));
    }
}
