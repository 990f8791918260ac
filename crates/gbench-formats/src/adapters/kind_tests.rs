//! The kinds of this crate's cases (`tests/case_files`): a harness's name, or one of `OTHERS`.
//!
//! ```text
//! question                              given
//! read, list, refusal                   stdout, file PATH; list: own, or `own, the same each time`
//! run, count, list_words, no_list_words command and cases, a word or name a line; amount: seconds, of warm-up, samples
//! recognised                            command; program, with \0 for NUL
//! detect, targets (of cmake)            tree PATH
//! layout and targets, of pairs, kernels
//!   or sources EXTENSION                tree PATH; roots, ignore; words for targets
//! read (of result-files)                result PATH; file PATH beside it
//! read (of described)                   rows; parameters, conditions
//! ```
//!
//! A text that is given has no newline at its end; if one is needed, an empty line follows.

use std::fmt::Write as _;

use case_files::{Answer, walk};

use super::formats::{Described, DescribedMetric, ResultFile, RunReading, recognised};
use super::layouts::{
    LayoutCases, LayoutRequest, PassedOver, PythonCall, PythonCase, SourceCases, find, source_pairs, targets,
};
use super::*;

const OTHERS: [&str; 4] = ["cmake", "described", "layouts", "result-files"];

#[test]
fn every_case_is_answered_as_its_file_says() {
    let kinds = ALL.iter().map(|adapter| adapter.name()).chain(OTHERS);
    let answer: Answer = |given| answer(given.kind, given.question, &Given(given));
    walk(env!("CARGO_MANIFEST_DIR"), kinds.map(|kind| (kind, answer)), 600);
}

/// The answer of a case, without a newline at its end.
struct Given<'a>(&'a case_files::Given<'a>);

impl Given<'_> {
    fn get(&self, head: &str) -> Option<String> {
        self.0.get(head).map(without_newline)
    }

    /// Lines of the part with that head: `command`, `cases`, `roots`, `ignore`, `words`.
    fn lines(&self, head: &str) -> Vec<String> {
        self.get(head).map_or_else(Vec::new, |text| text.split('\n').map(str::to_owned).collect())
    }

    /// Parts with a path after the word: `file`, `tree`, `result`.
    fn paths(&self, word: &str) -> Vec<(String, String)> {
        self.0.paths(word).into_iter().map(|(path, text)| (path, without_newline(text))).collect()
    }

    fn tree(&self) -> MemoryTree {
        let paths = self.paths("tree");
        let files: Vec<_> = paths.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        MemoryTree::of(files)
    }

    fn files(&self) -> OutputFiles {
        OutputFiles(self.paths("file").into_iter().map(|(path, text)| (path, text.into_bytes())).collect())
    }

    /// Seconds of measuring, seconds of warm-up, samples.
    fn amount(&self) -> Amount {
        let Some(text) = self.get("amount") else { return Amount::LEAST };
        let [seconds, warmup, samples] = text.split(' ').collect::<Vec<_>>()[..] else { panic!("{text}") };
        let number = |text: &str| text.parse().unwrap();
        Amount { seconds: number(seconds), warmup: number(warmup), samples: samples.parse().unwrap() }
    }
}

fn answer(subject: &str, head: &str, given: &Given) -> String {
    match (subject, head.split_once(' ').unwrap_or((head, ""))) {
        ("cmake", ("targets", "")) => return cmake_answer(given),
        ("layouts", ("layout", layout)) => return layout_answer(layout, given),
        ("layouts", ("targets", layout)) => return targets_answer(layout, given),
        ("described", ("read", "")) => return described_answer(given),
        ("result-files", ("read", "")) => return result_answer(given),
        _ => {}
    }
    let adapter = Harness::named(subject).expect("a harness").0;
    match head {
        "read" => left(given, |output| match read(adapter, output) {
            Ok(readings) => readings.iter().map(reading_text).collect(),
            Err(error) => error_text(&error),
        }),
        "list" => left(given, |output| {
            let own = given.get("own").map(|own| (own, false));
            let own = own.or_else(|| given.get("own, the same each time").map(|own| (own, true)));
            let (own, steady) = own.unwrap_or_default();
            match list_beside(adapter, output, own.as_bytes(), steady) {
                Ok(cases) => cases.iter().map(|case| format!("{}\n", name_text(case))).collect(),
                Err(error) => error_text(&error),
            }
        }),
        "refusal" => left(given, |output| format!("{:?}", adapter.refusal(output))),
        "detect" => detected_text(&adapter.detect(&given.tree())),
        "run" => asked(given, |ask| adapter.run(ask)),
        "list_words" => asked(given, |ask| adapter.list(ask)),
        "no_list_words" => asked(given, |ask| adapter.list_none(ask)),
        "count" => asked(given, |ask| adapter.count(ask)),
        "recognised" => {
            let bytes = given.get("program").unwrap_or_default().replace("\\0", "\0");
            let program = Program { command: &given.lines("command"), bytes: bytes.as_bytes() };
            if adapter.recognises(&program) { "yes" } else { "no" }.to_owned()
        }
        _ => panic!("no harness answers `{head}`"),
    }
}

fn left(given: &Given, answer: impl FnOnce(&HarnessOutput) -> String) -> String {
    let files = given.files();
    answer(&HarnessOutput { stdout: given.get("stdout").unwrap_or_default().as_bytes(), files: &files })
}

fn asked(given: &Given, answer: impl FnOnce(&CaseRequest) -> Option<Invocation>) -> String {
    let (command, cases) = (given.lines("command"), given.lines("cases"));
    let cases: Vec<&str> = cases.iter().map(String::as_str).collect();
    let ask = CaseRequest { command: &command, cases: &cases, out: "/out", amount: given.amount() };
    let Some(Invocation { argv, env }) = answer(&ask) else { return "none".into() };
    let env = env.iter().map(|(name, value)| format!("with {name}={value}\n"));
    env.chain(argv.iter().map(|word| format!("{word}\n"))).collect()
}

fn error_text(ReadError { place, what }: &ReadError) -> String {
    format!("error at {place:?}\n{place}: {what}")
}

fn name_text(name: &CaseName) -> String {
    let CaseName { native, case, params } = name;
    if *name == CaseName::plain(native.as_str()) {
        return format!("{native:?}");
    }
    format!("{native:?} is {case:?} with {params:?}")
}

fn reading_text(reading: &Reading) -> String {
    let Reading { case, end, metrics, metadata, iterations } = reading;
    let mut text = format!("{}\n", name_text(case));
    if *end != End::Measured {
        writeln!(text, "  {end:?}").unwrap();
    }
    for MetricReading { name, unit, better, values, summary, judged } in metrics {
        write!(text, "  {name} in {unit:?}:").unwrap();
        if !values.is_empty() {
            write!(text, " {values:?}").unwrap();
        }
        if let Some(SummaryReading { value, stddev, count }) = summary {
            write!(text, " summary {value:?}, stddev {stddev:?}, count {count:?}").unwrap();
        }
        let better = better.map(|better| format!(", better {better:?}")).unwrap_or_default();
        writeln!(text, "{better}{}", if *judged { "" } else { ", not judged" }).unwrap();
    }
    for (name, value) in metadata {
        writeln!(text, "  metadata {name}: {value}").unwrap();
    }
    if let Some(iterations) = iterations {
        writeln!(text, "  iterations {iterations:?}").unwrap();
    }
    text
}

fn detected_text(Detected { found, unclear, seen }: &Detected) -> String {
    let mut text = String::new();
    for FoundBenchmark { name, command, build, dir, binaries, gpu, files, why } in found {
        writeln!(text, "found {name:?} in {dir:?}, by {files:?}: {why}").unwrap();
        writeln!(text, "  command {command:?}").unwrap();
        match build {
            None => {}
            Some(BuildStep::Command(words)) => writeln!(text, "  build {words:?}").unwrap(),
            Some(BuildStep::Shell(line)) => writeln!(text, "  build in a shell: {line}").unwrap(),
        }
        writeln!(text, "  needs {binaries:?}{}", if *gpu { " and a GPU" } else { "" }).unwrap();
    }
    for sentence in unclear {
        writeln!(text, "unclear: {sentence}").unwrap();
    }
    if !seen.is_empty() {
        writeln!(text, "seen {seen:?}").unwrap();
    }
    text
}

fn cmake_answer(given: &Given) -> String {
    let mut text = String::new();
    for target in super::source::cmake::targets(&given.tree()) {
        match target.found("") {
            Ok(found) => writeln!(text, "{} of {:?}", found.command.join(" "), target.sources).unwrap(),
            Err(place) => writeln!(text, "`{}` lies in `{}`", place.target, place.part).unwrap(),
        }
    }
    text
}

/// For `pairs`, `kernels` or `sources EXTENSION`.
fn layout_answer(layout: &str, given: &Given) -> String {
    if let Some(extension) = layout.strip_prefix("sources ") {
        let tree = given.tree();
        let found = source_pairs(&given.lines("roots"), &given.lines("ignore"), extension, &tree);
        let SourceCases { cases, warnings, passed_over, orphans } = found;
        let cases = cases.iter().map(|case| format!("{} from {}\n", name_text(&case.name), case.file));
        return cases.collect::<String>() + &beside_text(&warnings, &passed_over, &orphans);
    }
    let found = found(layout, given);
    let LayoutCases { cases, warnings, passed_over, orphans, kernels } = &found;
    let mut text = String::new();
    for PythonCase { name, call } in cases {
        let json = serde_json::to_value(call).unwrap();
        writeln!(text, "{}\n  {json}", name_text(name)).unwrap();
        assert_eq!(serde_json::from_value::<PythonCall>(json).unwrap(), *call);
    }
    text += &beside_text(warnings, passed_over, orphans);
    for kernel in kernels {
        writeln!(text, "kernel {}", serde_json::to_value(kernel).unwrap()).unwrap();
    }
    text
}

fn found(layout: &str, given: &Given) -> LayoutCases {
    let (layout, roots, ignore) = (layout.parse().unwrap(), given.lines("roots"), given.lines("ignore"));
    find(&LayoutRequest { layout, roots: &roots, ignore: &ignore }, &given.tree())
}

fn targets_answer(layout: &str, given: &Given) -> String {
    let found = found(layout, given);
    given.lines("words").iter().map(|word| target_text(&found.cases, word)).collect()
}

fn beside_text(warnings: &[String], passed_over: &[PassedOver], orphans: &[String]) -> String {
    let warnings = warnings.iter().map(|sentence| format!("warning: {sentence}\n"));
    let over = passed_over.iter().map(|PassedOver { path, why }| format!("passed over {path}: {why}\n"));
    warnings.chain(over).chain(orphans.iter().map(|path| format!("orphan {path}\n"))).collect()
}

fn target_text(cases: &[PythonCase], word: &str) -> String {
    match targets(cases, word) {
        Ok(found) => {
            let names: Vec<&str> = found.iter().map(|case| case.name.native.as_str()).collect();
            format!("{word:?}: {names:?}\n")
        }
        Err(error) => format!("{word:?}: {error}\n  {error:?}\n"),
    }
}

/// Rows that a suite file describes, with a time `ms`.
fn described_answer(given: &Given) -> String {
    let condition = |line: String| {
        let (name, value) = line.split_once('=').unwrap();
        (name.to_owned(), value.to_owned())
    };
    let described = Described {
        parameters: given.lines("parameters"),
        conditions: given.lines("conditions").into_iter().map(condition).collect(),
        metrics: vec![DescribedMetric {
            name: "time".into(),
            field: "ms".into(),
            unit: "ms".into(),
            ..DescribedMetric::default()
        }],
        case: "rows".into(),
        ..Described::default()
    };
    let none = OutputFiles::default();
    let rows = given.get("rows").unwrap();
    runs_text(formats::read(&described, &ResultFile { name: "f", bytes: rows.as_bytes(), beside: &none }))
}

fn result_answer(given: &Given) -> String {
    let beside = given.files();
    let [(name, text)] = &given.paths("result")[..] else { panic!("not one result") };
    let file = ResultFile { name, bytes: text.as_bytes(), beside: &beside };
    let known = recognised(&file);
    let answer: String = known.iter().map(|format| format!("known as {}\n", format.name())).collect();
    let [format] = known[..] else { return answer + "known as not one format" };
    answer + &runs_text(formats::read(format, &file))
}

fn runs_text(runs: Result<Vec<RunReading>, ReadError>) -> String {
    let mut text = String::new();
    match runs {
        Ok(runs) => {
            for RunReading { started, commit, facts, more, settings, readings, unread } in runs {
                writeln!(text, "run started {started:?}, commit {commit:?}").unwrap();
                for (name, value) in facts.into_iter().chain(more) {
                    writeln!(text, "fact {name}: {value}").unwrap();
                }
                for (name, value) in settings {
                    writeln!(text, "setting {name}: {value}").unwrap();
                }
                text.extend(readings.iter().map(reading_text));
                text.extend(unread.0.iter().map(|parts| format!("unread: {}\n", parts.sentence())));
            }
        }
        Err(error) => text += &error_text(&error),
    }
    text
}

fn without_newline(text: String) -> String {
    text.strip_suffix('\n').map_or(text.clone(), str::to_owned)
}
