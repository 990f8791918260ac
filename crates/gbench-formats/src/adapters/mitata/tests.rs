use super::*;
use crate::adapters::detect::MemoryTree;
use crate::adapters::{Amount, OutputFiles, read};

fn read_text(text: &str) -> Result<Vec<Reading>, ReadError> {
    read(&Mitata, &HarnessOutput { stdout: text.as_bytes(), files: &OutputFiles::default() })
}

fn one(runs: &str) -> String {
    format!(
        r#"{{"layout":[{{"name":null}},{{"name":"g"}}],"benchmarks":[{{"alias":"a","group":1,"runs":[{runs}]}}]}}"#
    )
}

#[test]
fn the_script_alone_says_what_runs() {
    let command = ["node".to_owned(), "b.mjs".to_owned()];
    let ask = CaseRequest { command: &command, cases: &["x"], out: "/out", amount: Amount::LEAST };
    assert_eq!(Mitata.run(&ask).unwrap().argv, command);
    assert!(!Mitata.about().filters);
}

#[test]
fn points_of_one_name_are_told_apart_by_their_arguments() {
    let run =
        |n: u32| format!(r#"{{"name":"a","args":{{"n":{n}}},"stats":{{"p50":2,"avg":3,"samples":[1,2]}}}}"#);
    let readings = read_text(&format!("hello\n{}\n", one(&format!("{},{}", run(1), run(2))))).unwrap();
    assert_eq!(readings[1].case.native, "g > a n=2");
    assert_eq!(
        (readings[1].case.case.as_str(), &readings[1].case.params["n"]),
        ("g > a", &ParamValue::Int(2))
    );
    let summary = SummaryReading { value: 2.0, stddev: None, count: Some(2) };
    assert_eq!((readings[0].metrics[0].summary, readings[0].metrics[1].judged), (Some(summary), false));
}

#[test]
fn an_error_is_a_failure_and_missing_figures_are_refused() {
    let readings =
        read_text(&one(r#"{"name":"a","error":{"message":"bad"},"stats":{"p50":1,"avg":1}}"#)).unwrap();
    assert_eq!(readings[0].end, End::Failed { message: "bad".into() });
    for (run, why) in [
        (r#"{"name":"a"}"#, "stdout: benchmarks[0].runs[0].stats: it is missing"),
        (
            r#"{"name":"a","stats":{"avg":1}}"#,
            "stdout: benchmarks[0].runs[0].stats.p50: it is missing, or `avg` is",
        ),
        (
            r#"{"name":"a","stats":{"p50":1,"avg":1,"samples":[]}}"#,
            "stdout: benchmarks[0].runs[0].stats.samples: nothing ran",
        ),
    ] {
        assert_eq!(read_text(&one(run)).unwrap_err().to_string(), why);
    }
    let unknown = one("").replace(r#""group":1"#, r#""group":"g""#);
    assert!(read_text(&unknown).unwrap_err().to_string().contains("no version that is known"));
    assert!(
        read_text(r#"{"benchmarks":[{"alias":"a"}]}"#)
            .unwrap_err()
            .to_string()
            .contains("name: it is missing")
    );
}

#[test]
fn scripts_that_print_json_are_found_and_others_told_about() {
    let tree = MemoryTree::of([
        ("package.json", r#"{"devDependencies":{"mitata":"1"}}"#),
        ("package-lock.json", "{}"),
        ("bench/a.mjs", "import { run } from 'mitata'\nawait run({ format: 'json' })\n"),
        ("bench/b.js", "const { run } = require(\"mitata\")\nrun()\n"),
        ("bench/c.ts", "import { run } from 'mitata'\nawait run({ format: 'json' })\n"),
        ("lib.js", "export const run = () => 'mitata'\n"),
    ]);
    let detected = Mitata.detect(&tree);
    assert_eq!(detected.found.len(), 1);
    assert_eq!(detected.found[0].command, ["node", "bench/a.mjs"]);
    assert_eq!(detected.found[0].name, "bench-a");
    assert_eq!(detected.unclear.len(), 2);
    assert!(detected.unclear[0].starts_with("bench/b.js uses mitata and does not print JSON"));
}

#[test]
fn a_script_is_recognised_where_it_prints_json() {
    let command = ["node".to_owned(), "b.mjs".to_owned()];
    let known = |bytes| Mitata.recognises(&Program { command: &command, bytes });
    assert!(known(b"import { run } from 'mitata'; run({ format: 'json' })"));
    assert!(!known(b"import { run } from 'mitata'; run()") && !known(b"run({ format: 'json' })"));
}
