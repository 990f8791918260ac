//! The cases of `fixtures/records`: the view of a run before any format renders it.
//!
//! They begin with a named run of `test_support`; with `contest [[benchmark, [medians of processes]], ..]`, or with `pair
//! [[medians of the baseline], [of the optimized case]]`.

use gbench_model::RunRecord;
use serde_json::Value;

use super::test_support as records;
use super::view::run::RunView;
use crate::layout::table::ReportTable;

pub(crate) fn answer(question: &str, given: &str) -> String {
    let record = run(given);
    let view = RunView::new(&record);
    let of_tables = |tables: &[ReportTable]| tables.iter().map(table).collect();
    match question {
        "context" => view.context().iter().map(|(label, text)| format!("{label}: {text}\n")).collect(),
        "command" => view.command(),
        "status" => format!("{:?}", view.status()),
        "troubled" => {
            let troubled = view.troubled.iter();
            troubled.map(|(case, name)| format!("{}: {name}\n", case.outcome.into_str())).collect()
        }
        "lines" => {
            let line = |line: &super::view::metric::MetricView| {
                format!("{}: {}, {}, {}\n", line.title(), line.median, line.spread_text(), line.effort)
            };
            view.lines.iter().map(line).collect()
        }
        "shown" | "shown with all" => {
            let (lines, left_out) = view.shown_lines(question.ends_with("all"));
            let lines: String = lines.iter().map(|line| format!("{}\n", line.title())).collect();
            format!("{lines}{left_out} left out")
        }
        "ranking" => ranking(&view),
        "findings" => {
            let findings = view.findings.iter();
            findings.map(|finding| format!("{}\n  {}\n", finding.fact, finding.next)).collect()
        }
        "resources" => {
            let rows = view.resources.iter().map(|of| of.row(of.name.clone()).join(" | ") + "\n");
            format!("{}{} unknown", rows.collect::<String>(), view.unknown_resources)
        }
        "tables" => of_tables(&view.tables),
        "telemetry" => of_tables(view.telemetry.as_slice()),
        _ => panic!("no run answers `{question}`"),
    }
}

pub(super) fn run(given: &str) -> RunRecord {
    crate::kind_tests::given(given, begin)
}

pub(super) fn begin(word: &str, of: Value) -> RunRecord {
    let medians = |of: &Value| -> Vec<f64> { serde_json::from_value(of.clone()).unwrap() };
    match word {
        "contest" => {
            let answers = of.as_array().unwrap().iter();
            let answers = answers.map(|it| records::answer(it[0].as_str().unwrap(), &medians(&it[1])));
            records::record_of(answers.collect())
        }
        "run" => {
            let cases = of.as_array().unwrap().iter();
            let case = |it: &Value| {
                records::measured(it[0].as_str().unwrap(), it[1].as_i64().unwrap(), &medians(&it[2]))
            };
            records::record_of(cases.map(case).collect())
        }
        "pair" => {
            let member = |variant, of| records::member(&[("case", "a"), ("variant", variant)], &medians(of));
            records::record_of(vec![member("baseline", &of[0]), member("optimized", &of[1])])
        }
        name => records::named(name),
    }
}

fn ranking(view: &RunView) -> String {
    let mut text = String::new();
    for problem in &view.problems {
        text += &format!("{}\n", problem.title);
        for entry in &problem.entries {
            let place = view.lines[entry.line].place.as_ref().unwrap();
            text += format!("{} {} {}", place.rank, entry.name, place.text()).trim_end();
            text += "\n";
        }
        text += &format!("{}.\n", problem.conclusion);
    }
    let placed = view.lines.iter().filter(|line| line.place.is_some()).count();
    format!("{text}{placed} of {} lines have a place", view.lines.len())
}

fn table(table: &ReportTable) -> String {
    let lines = [&table.columns].into_iter().chain(&table.rows).map(|cells| cells.join(" | "));
    let lines = [table.title.clone()].into_iter().chain(lines).chain(table.notes.iter().cloned());
    lines.map(|line| line.trim_end().to_owned() + "\n").collect()
}
