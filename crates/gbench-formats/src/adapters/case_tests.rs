//! Cases below `crates/gbench-formats/fixtures`: what is given to a reader, and all that it answers.
//!
//! ```text
//! fixtures/<subject>/*.txt              a subject is a harness's name, or one of `OTHERS`
//!
//! What stands above the first case is about all of them.
//!
//! @@@ the name of a case
//! @@ stdout                             what is given, and below it a text
//! hello
//!
//! @@ read                               what is asked, and below it the answer
//! error at Stdout
//! stdout: ...
//!
//! asked                                 given
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
//! A text that is given has no newline at its end; where one belongs there, an empty line stands below it.
//! `UPDATE_CASES=1 cargo test -p gbench-formats case_tests` writes the answers anew: look at the diff.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use super::formats::{Described, DescribedMetric, ResultFile, RunReading, recognised};
use super::layouts::{
    LayoutCases, LayoutRequest, PassedOver, PythonCall, PythonCase, SourceCases, find, source_pairs, targets,
};
use super::*;

/// Subjects that are no harness.
const OTHERS: [&str; 4] = ["cmake", "described", "layouts", "result-files"];
/// A lower bound; fewer means that files were not found.
const AT_LEAST: usize = 509;

/// A head without its marks, such as `file a/b.json`, and what stands below it.
type Section = (String, String);

struct Case {
    name: String,
    given: Vec<Section>,
    answers: Vec<Section>,
}

/// What is answered, by the first word of its head.
const ANSWERS: [&str; 11] = [
    "count",
    "detect",
    "layout",
    "list",
    "list_words",
    "no_list_words",
    "read",
    "recognised",
    "refusal",
    "run",
    "targets",
];

/// The comment of a file, and its cases.
fn parsed(text: &str) -> Result<(String, Vec<Case>), String> {
    let is_head = |line: &str| line.starts_with("@@@ ") || line.starts_with("@@ ");
    if let Some(line) = text.lines().find(|line| line.trim_start().starts_with("@@") && !is_head(line)) {
        return Err(format!("`{line}` is not a head"));
    }
    let (comment, rest) = match text.find("@@@ ") {
        Some(at) if at == 0 || text[..at].ends_with('\n') => text.split_at(at),
        _ => return Err("it has no case".into()),
    };
    let mut cases: Vec<Case> = Vec::new();
    for part in rest.split("\n@@@ ").map(|part| part.strip_prefix("@@@ ").unwrap_or(part)) {
        let mut sections = part.split("\n@@ ");
        let name = sections.next().unwrap_or_default().to_owned();
        let mut case = Case { name, given: Vec::new(), answers: Vec::new() };
        let mut heads = BTreeSet::new();
        for section in sections {
            let (head, text) = section.split_once('\n').unwrap_or((section, ""));
            let is_answer = ANSWERS.contains(&head.split(' ').next().unwrap_or_default());
            let to = if is_answer { &mut case.answers } else { &mut case.given };
            to.push((head.to_owned(), if is_answer { text.trim_end_matches('\n') } else { text }.to_owned()));
            if !heads.insert(head) {
                return Err(format!("`{}` has `{head}` twice", case.name));
            }
        }
        if case.answers.is_empty() || case.name.contains('\n') {
            return Err(format!("`{}` asks for nothing, or has a text without a head", case.name));
        }
        if cases.iter().any(|other| other.name == case.name) {
            return Err(format!("`{}` stands there twice", case.name));
        }
        cases.push(case);
    }
    Ok((comment.to_owned(), cases))
}

fn written(comment: &str, cases: &[Case]) -> String {
    let mut text = comment.to_owned();
    for (place, case) in cases.iter().enumerate() {
        let blank = if place == 0 { "" } else { "\n" };
        writeln!(text, "{blank}@@@ {}", case.name).unwrap();
        for (head, body) in case.given.iter().chain(&case.answers) {
            let newline = if body.is_empty() { "" } else { "\n" };
            write!(text, "@@ {head}\n{body}{newline}").unwrap();
        }
    }
    text
}

/// What a case gives; each section of it has to be used.
struct Given<'a> {
    sections: &'a [Section],
    used: RefCell<BTreeSet<&'a str>>,
}

impl<'a> Given<'a> {
    /// The one of that head: `stdout`, `own`, `amount`.
    fn get(&self, head: &str) -> Option<&'a str> {
        let (head, text) = self.sections.iter().find(|(other, _)| other == head)?;
        self.used.borrow_mut().insert(head);
        Some(text)
    }

    /// Lines of the one of that head: `command`, `cases`, `roots`, `ignore`, `words`.
    fn lines(&self, head: &str) -> Vec<&'a str> {
        self.get(head).map_or_else(Vec::new, |text| text.split('\n').collect())
    }

    fn owned(&self, head: &str) -> Vec<String> {
        self.lines(head).into_iter().map(str::to_owned).collect()
    }

    /// Those with a path behind the word: `file`, `tree`, `result`.
    fn paths(&self, word: &str) -> Vec<(&'a str, &'a str)> {
        let of_word = |(head, text): &'a Section| {
            let path = head.strip_prefix(word)?.strip_prefix(' ')?;
            self.used.borrow_mut().insert(head);
            Some((path, text.as_str()))
        };
        self.sections.iter().filter_map(of_word).collect()
    }

    fn files(&self) -> OutputFiles {
        let owned = |(path, text): (&str, &str)| (path.to_owned(), text.as_bytes().to_vec());
        OutputFiles(self.paths("file").into_iter().map(owned).collect())
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
        "detect" => detected_text(&adapter.detect(&MemoryTree::of(given.paths("tree")))),
        "run" => asked(given, |ask| adapter.run(ask)),
        "list_words" => asked(given, |ask| adapter.list(ask)),
        "no_list_words" => asked(given, |ask| adapter.list_none(ask)),
        "count" => asked(given, |ask| adapter.count(ask)),
        "recognised" => {
            let bytes = given.get("program").unwrap_or_default().replace("\\0", "\0");
            let program = Program { command: &given.owned("command"), bytes: bytes.as_bytes() };
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
    let (command, cases) = (given.owned("command"), given.lines("cases"));
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
    if text.is_empty() { "nothing".into() } else { text }
}

fn cmake_answer(given: &Given) -> String {
    let mut text = String::new();
    for target in cmake::targets(&MemoryTree::of(given.paths("tree"))) {
        match target.found("") {
            Ok(found) => writeln!(text, "{} of {:?}", found.command.join(" "), target.sources).unwrap(),
            Err(why_not) => writeln!(text, "{why_not}").unwrap(),
        }
    }
    if text.is_empty() { "nothing".into() } else { text }
}

/// Of `pairs`, `kernels` or `sources EXTENSION`.
fn layout_answer(layout: &str, given: &Given) -> String {
    if let Some(extension) = layout.strip_prefix("sources ") {
        let tree = MemoryTree::of(given.paths("tree"));
        let found = source_pairs(&given.owned("roots"), &given.owned("ignore"), extension, &tree);
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
    if text.is_empty() { "nothing".into() } else { text }
}

fn found(layout: &str, given: &Given) -> LayoutCases {
    let (layout, roots, ignore) = (layout.parse().unwrap(), given.owned("roots"), given.owned("ignore"));
    find(&LayoutRequest { layout, roots: &roots, ignore: &ignore }, &MemoryTree::of(given.paths("tree")))
}

/// The cases that each of `words` means.
fn targets_answer(layout: &str, given: &Given) -> String {
    let found = found(layout, given);
    given.lines("words").into_iter().map(|word| target_text(&found.cases, word)).collect()
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
        parameters: given.owned("parameters"),
        conditions: given.owned("conditions").into_iter().map(condition).collect(),
        metrics: vec![DescribedMetric {
            name: "time".into(),
            field: "ms".into(),
            unit: "ms".into(),
            better: None,
            optional: false,
        }],
        case: "rows".into(),
        ..Described::default()
    };
    let none = OutputFiles::default();
    let rows = given.get("rows").unwrap();
    runs_text(formats::read(&described, &ResultFile { name: "f", bytes: rows.as_bytes(), beside: &none }))
}

/// The format that knows a file, and what it reads.
fn result_answer(given: &Given) -> String {
    let beside = given.files();
    let [(name, text)] = given.paths("result")[..] else { panic!("not one result") };
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
            for RunReading { started, commit, facts, readings } in runs {
                writeln!(text, "run started {started:?}, commit {commit:?}").unwrap();
                for (name, value) in facts {
                    writeln!(text, "fact {name}: {value}").unwrap();
                }
                text.extend(readings.iter().map(reading_text));
            }
        }
        Err(error) => text += &error_text(&error),
    }
    text
}

/// What is wrong with a file's cases: answers that have changed, which then stand in `cases`, and what no new answer mends.
fn wrongs(subject: &str, cases: &mut [Case]) -> (Vec<String>, Vec<String>) {
    let (mut changed, mut wrong) = (Vec::new(), Vec::new());
    for Case { name, given, answers } in cases {
        let given = Given { sections: given, used: RefCell::default() };
        for (head, expected) in answers {
            let Ok(found) = catch_unwind(AssertUnwindSafe(|| answer(subject, head, &given))) else {
                wrong.push(format!("`{name}` panics at {head}"));
                continue;
            };
            let found = found.trim_end_matches('\n').to_owned();
            if *expected != found {
                changed.push(format!("`{name}` expects of {head}:\n{expected}\nand it is:\n{found}"));
                *expected = found;
            }
        }
        let used = given.used.borrow();
        let unused = given.sections.iter().filter(|(head, _)| !used.contains(head.as_str()));
        wrong.extend(unused.map(|(head, _)| format!("`{name}` gives `{head}`, which nothing uses")));
    }
    (changed, wrong)
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn every_case_is_answered_as_its_file_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let writes = std::env::var_os("UPDATE_CASES").is_some();
    let (mut wrong, mut count) = (Vec::new(), 0);
    let mut missing: BTreeSet<&str> = ALL.iter().map(|adapter| adapter.name()).chain(OTHERS).collect();
    for folder in sorted(&root) {
        let subject = folder.file_name().unwrap().to_str().unwrap();
        if !missing.remove(subject) {
            wrong.push(format!("{subject} is no subject"));
            continue;
        }
        let files = sorted(&folder);
        assert!(!files.is_empty(), "{subject} is empty");
        for path in files {
            let name = path.strip_prefix(&root).unwrap().display();
            let text = fs::read_to_string(&path).unwrap_or_default();
            let (comment, mut cases) = match parsed(&text) {
                Ok(parsed) if path.extension().is_some_and(|end| end == "txt") => parsed,
                Ok(_) => panic!("{name} does not end with .txt"),
                Err(error) => panic!("{name}: {error}"),
            };
            count += cases.len();
            let is_plain = written(&comment, &cases) == text;
            let (changed, unmended) = wrongs(subject, &mut cases);
            let mut found = unmended;
            if writes {
                fs::write(&path, written(&comment, &cases)).unwrap();
            } else {
                found.extend(changed);
                found.extend((!is_plain).then(|| "UPDATE_CASES=1 writes it in another way".into()));
            }
            wrong.extend(found.into_iter().map(|found| format!("{name}: {found}")));
        }
    }
    assert!(missing.is_empty(), "no cases of {missing:?}");
    assert!(count >= AT_LEAST, "only {count} cases");
    assert!(wrong.is_empty(), "{} are wrong\n\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn what_is_wrong_with_a_case_is_told_with_its_name() {
    for (text, says) in [
        ("", "it has no case"),
        ("@@@a\n@@ list\n", "`@@@a` is not a head"),
        ("text @@@ a\n@@ list\n", "it has no case"),
        ("@@@ a\n@@ stdout\nx\n", "`a` asks for nothing"),
        ("@@@ a\ntext\n@@ list\n", "`a\ntext` asks for nothing, or has a text without a head"),
        ("@@@ a\n@@ list\n\n@@@ a\n@@ list\n", "`a` stands there twice"),
        ("@@@ a\n@@ stdout\nx\n@@ stdout\nx\n@@ list\n", "`a` has `stdout` twice"),
    ] {
        assert!(parsed(text).err().unwrap().starts_with(says), "{text}");
    }
    for (text, says) in [
        (
            "@@@ a\n@@ stdout\n{\"tests\": [{\"name\": \"t\"}]}\n@@ list\n\"u\"\n",
            "`a` expects of list:\n\"u\"",
        ),
        ("@@@ a\n@@ recognised\n", "`a` expects of recognised:\n\nand it is:\nno"),
        ("@@@ a\n@@ stdout\nx\n@@ recognised\nno\n", "`a` gives `stdout`, which nothing uses"),
        ("@@@ a\n@@ targets pairs\n", "`a` panics at targets pairs"),
    ] {
        let (comment, mut cases) = parsed(text).unwrap();
        assert_eq!(written(&comment, &cases), text);
        let (changed, wrong) = wrongs("ctest", &mut cases);
        let told = [changed, wrong].concat();
        assert!(told.len() == 1 && told[0].starts_with(says), "{text}: {told:?}");
    }
}
