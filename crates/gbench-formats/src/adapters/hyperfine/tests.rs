use super::super::detect::MemoryTree;
use super::super::{Amount, OutputFiles, read};
use super::*;

fn command(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn run_of(words: &[&str], amount: Amount) -> Vec<String> {
    let command = command(words);
    Hyperfine.run(&CaseRequest { command: &command, cases: &[], out: "/o", amount }).unwrap().argv
}

fn reading(text: &str) -> Result<Vec<Reading>, ReadError> {
    let files = OutputFiles([(FILE.to_owned(), text.as_bytes().to_vec())].into());
    read(&Hyperfine, &HarnessOutput { stdout: b"", files: &files })
}

const AMOUNT: Amount = Amount { seconds: 0.5, warmup: 0.1, samples: 7 };
const OURS_ALL: [&str; 7] = [
    "hyperfine",
    "--style=none",
    "--ignore-failure",
    "--export-json=/o/hyperfine.json",
    "--min-runs=1",
    "--max-runs=7",
    "--min-benchmarking-time=0.500000",
];

#[test]
fn our_words_stand_before_the_users_and_in_place_of_those_that_say_the_same() {
    let words =
        ["hyperfine", "-i", "-r", "9", "-m3", "--max-runs=4", "--style", "full", "-N", "a b", "--runs"];
    let expected: Vec<&str> = OURS_ALL.into_iter().chain(["--warmup=1", "-N", "a b"]).collect();
    assert_eq!(run_of(&words, AMOUNT), expected);
}

#[test]
fn words_behind_two_dashes_are_commands_whatever_they_look_like() {
    let expected: Vec<&str> = OURS_ALL.into_iter().chain(["-w", "2", "--", "-r", "x"]).collect();
    assert_eq!(run_of(&["hyperfine", "-w", "2", "-r4", "--", "-r", "x"], AMOUNT), expected);
}

#[test]
fn a_list_runs_each_command_once_without_warm_up() {
    let command = command(&["nice", "/usr/bin/hyperfine", "--warmup", "3", "-w2", "true"]);
    let ask = CaseRequest { command: &command, cases: &[], out: "/o", amount: Amount::LEAST };
    let expected = [
        "nice",
        "/usr/bin/hyperfine",
        "--style=none",
        "--ignore-failure",
        "--export-json=/o/hyperfine.json",
        "--runs=1",
        "true",
    ];
    assert_eq!(Hyperfine.list(&ask).unwrap().argv, expected);
}

#[test]
fn a_command_that_fails_once_gives_no_number() {
    let text = r#"{"results":[{"command":"a","mean":1.0,"times":[1.0,1.0],"exit_codes":[0,3]},
        {"command":"b","mean":1.0,"times":[1.0,1.0],"exit_codes":[0,null]}]}"#;
    let readings = reading(text).unwrap();
    assert_eq!(readings[0].end, End::Failed { message: "the command ended with exit code 3".into() });
    assert_eq!(readings[1].end, End::Failed { message: "the command ended by a signal".into() });
    assert!(readings.iter().all(|reading| reading.metrics.is_empty()));
}

#[test]
fn a_time_of_zero_is_a_failure() {
    let text = r#"{"results":[{"command":"true","mean":0.0,"times":[0.0,0.001],"exit_codes":[0,0]}]}"#;
    let End::Failed { message } = &reading(text).unwrap()[0].end else { panic!("it is measured") };
    assert!(message.contains("less time than the shell"), "{message}");
}

#[test]
fn commands_alike_are_told_apart_by_their_parameters() {
    let text = r#"{"results":[
        {"command":"make","mean":1.0,"times":[1.0],"exit_codes":[0],"parameters":{"branch":"a"}},
        {"command":"make","mean":1.0,"times":[2.0],"exit_codes":[0],"parameters":{"branch":"b"}}]}"#;
    let readings = reading(text).unwrap();
    assert_eq!(readings[0].case.native, "make (branch = a)");
    assert_eq!(readings[1].case.case, "make");
    assert_eq!(readings[1].case.params["branch"], ParamValue::Text("b".into()));
}

#[test]
fn commands_alike_without_parameters_are_refused() {
    let one = r#"{"command":"make","mean":1.0,"times":[1.0],"exit_codes":[0]}"#;
    assert!(reading(&format!(r#"{{"results":[{one},{one}]}}"#)).is_err());
}

#[test]
fn layouts_units_and_keys_that_are_not_known_are_refused() {
    for text in [
        r#"{"schema_version":3,"results":[]}"#,
        r#"{"results":[{"command":"a","mean":1.0,"times":[1.0]}]}"#,
        r#"{"results":[{"command":"a","mean":1.0,"times":[1.0],"exit_codes":[0,0]}]}"#,
        r#"{"results":[{"mean":1.0,"times":[1.0],"exit_codes":[0]}]}"#,
        r#"{"schema_version":2,"results":[{"command":"a","measurements":[]}]}"#,
        r#"{"schema_version":2,"results":[{"command":"a","measurements":[{"exit_code":0}]}]}"#,
        r#"{"schema_version":2,"results":[{"command":"a","measurements":[
            {"time_wall_clock":{"value":1.0,"unit":"ms"},"exit_code":0}]}]}"#,
        r#"{"schema_version":2,"results":[{"command":"a","measurements":[
            {"time_wall_clock":{"value":1.0,"unit":"second"}}]}]}"#,
    ] {
        assert!(reading(text).is_err(), "{text}");
    }
}

#[test]
fn runs_that_are_not_kept_leave_their_median() {
    let text = r#"{"results":[{"command":"a","mean":2.0,"median":1.5,"stddev":0.1,"exit_codes":[0,0]}]}"#;
    let summary = SummaryReading { value: 1.5, stddev: Some(0.1), count: Some(2) };
    assert_eq!(reading(text).unwrap()[0].metrics[0].summary, Some(summary));
}

#[test]
fn scripts_that_call_it_are_named_and_not_guessed_at() {
    let tree = MemoryTree::of([
        ("bench.sh", "#!/bin/sh\n# hyperfine is needed\nmake && hyperfine -N './a'\n"),
        ("Makefile", "bench:\n\t@hyperfine './a'\n"),
        ("notes.sh", "echo see hyperfine\n"),
        ("README.md", "hyperfine './a'\n"),
    ]);
    let detected = Hyperfine.detect(&tree);
    assert!(detected.found.is_empty());
    assert_eq!(detected.unclear.len(), 2);
    assert!(detected.unclear[0].starts_with("Makefile:2 "), "{:?}", detected.unclear);
    assert!(detected.unclear[1].starts_with("bench.sh:3 "), "{:?}", detected.unclear);
}

#[test]
fn it_is_recognised_by_its_name_alone() {
    let is =
        |words: &[&str]| Hyperfine.recognises(&Program { command: &command(words), bytes: b"hyperfine" });
    assert!(is(&["/usr/bin/hyperfine", "true"]));
    assert!(!is(&["sh", "hyperfine.sh"]));
}
