use super::super::detect::{BuildStep, MemoryTree};
use super::super::{Amount, Harness, OutputFiles, list, read};
use super::*;

const AMOUNT: Amount = Amount { seconds: 0.5, warmup: 0.1, samples: 5 };

fn command(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The words before and behind the program.
fn run_of(words: &[&str], cases: &[&str]) -> (Vec<String>, Vec<String>) {
    let command = command(words);
    let argv = Asv.run(&CaseRequest { command: &command, cases, out: "/o", amount: AMOUNT }).unwrap().argv;
    let place = argv.iter().position(|word| word == START).unwrap();
    (argv[..place].to_vec(), argv[place + 1..].to_vec())
}

const FOUND_ALL: &str = r#"{"version":2,
    "s.time_p":{"type":"time","unit":"seconds","params":[["1","2"],["'a b'","\"it's\"","1.5"]],"param_names":["n","t"]},
    "s.time_a":{"type":"time","unit":"seconds","params":[],"param_names":[]},
    "s.track_a":{"type":"track","unit":"ms","params":[]},
    "s.track_b":{"type":"track","unit":"objects","params":[]},
    "s.mem_a":{"type":"memory","unit":"bytes","params":[]}}"#;

fn results(rows: &str) -> String {
    format!(
        r#"{{"version":2,"result_columns":["result","params","stats_number","samples"],"results":{{{rows}}}}}"#
    )
}

fn beside(selected: &str, more: &str) -> String {
    format!(
        r#"{{"asv":"0.6.6","selected":{{{selected}}},"attributes":{{{more}}},"stderr":{{"s.time_a":"x\n\nValueError: no\n"}}}}"#
    )
}

fn readings(found: &str, results: &str, beside: &str) -> Result<Vec<Reading>, ReadError> {
    let files = [(FOUND, found), (RESULTS, results), (BESIDE, beside)];
    let files = OutputFiles(files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).into());
    read(&Asv, &HarnessOutput { stdout: b"", files: &files })
}

const A: &str = r#""s.time_a":null"#;

#[test]
fn asv_is_started_by_the_python_that_the_user_means() {
    for (words, start) in [
        (&["asv", "run"][..], &["python3", "-c"][..]),
        (&["asv"], &["python3", "-c"]),
        (&["uv", "run", "asv", "run"], &["uv", "run", "python3", "-c"]),
        (&["venv/bin/asv", "run"], &["venv/bin/python", "-c"]),
        (&["python3.11", "-m", "asv", "run"], &["python3.11", "-c"]),
    ] {
        assert_eq!(run_of(words, &[]).0, start, "{words:?}");
    }
    let takes = |words: &[&str]| Harness(&Asv).takes(&command(words));
    assert!(!takes(&["make", "bench"]) && !takes(&["sh", "-c", "asv run", "sh"]) && takes(Asv.example()));
    assert!(Harness(&Asv).counts());
}

#[test]
fn a_run_keeps_the_users_words_and_picks_whole_names() {
    let (_, words) =
        run_of(&["asv", "run", "--config", "b/asv.conf.json"], &["s.T.time_p(10, 'a|b')", "s.time_a"]);
    let start =
        ["/o", "run", "--python=same", "--no-pull", "--config", "b/asv.conf.json", "--record-samples"];
    assert_eq!(words[..start.len()], start);
    let picked = ["--bench", r"^s\.T\.time_p\(10, 'a\|b'\)$", "--bench", r"^s\.time_a$"];
    let place = words.iter().position(|word| word == "--bench").unwrap();
    assert_eq!(words[place..place + 4], picked);
    for attribute in
        ["rounds=1", "repeat=(1,100,0.500000)", "sample_time=0.100000000", "warmup_time=0.100000"]
    {
        let place = words.iter().position(|word| word == attribute).unwrap();
        assert_eq!(words[place - 1], "-a");
    }
}

#[test]
fn a_list_has_every_combination_with_the_last_parameter_the_fastest() {
    let files = OutputFiles([(FOUND.to_owned(), FOUND_ALL.as_bytes().to_vec())].into());
    let cases = list(&Asv, &HarnessOutput { stdout: b"", files: &files }).unwrap();
    let names: Vec<&str> =
        cases.iter().map(|case| case.native.as_str()).filter(|name| name.contains("time_p")).collect();
    let expected = ["(1, 'a b')", "(1, \"it's\")", "(1, 1.5)", "(2, 'a b')", "(2, \"it's\")", "(2, 1.5)"];
    assert_eq!(names, expected.map(|params| format!("s.time_p{params}")));
    let second = &cases.iter().find(|case| case.native == names[1]).unwrap().params;
    assert_eq!(second["n"], ParamValue::Int(1));
    assert_eq!(second["t"], ParamValue::Text("it's".into()));
}

#[test]
fn samples_are_read_and_only_those_of_the_picked_combinations() {
    let row = r#""s.time_p":[[NaN,0.5,NaN,NaN,null,Infinity],[],[null,2,null,null,null,1],[null,[0.25,0.5],null,null,null,null]]"#;
    let all = readings(FOUND_ALL, &results(row), &beside(r#""s.time_p":[1,4]"#, "")).unwrap();
    let names: Vec<&str> = all.iter().map(|reading| reading.case.native.as_str()).collect();
    assert_eq!(names, ["s.time_p(1, \"it's\")", "s.time_p(2, \"it's\")"]);
    assert_eq!(all[0].metrics[0].values, [0.25, 0.5]);
    assert_eq!(all[0].iterations, None);
    assert!(matches!(all[1].end, End::Failed { .. }));
    // An infinite result is no number.
    assert!(readings(FOUND_ALL, &results(row), &beside(r#""s.time_p":[5]"#, "")).is_err());
}

#[test]
fn null_is_a_failure_with_the_last_line_that_it_said_and_nan_is_a_skip() {
    let of = |cell: &str, said: &str| {
        let text = beside(A, "").replace("x\\n\\nValueError: no\\n", said);
        readings(FOUND_ALL, &results(&format!(r#""s.time_a":[{cell},[]]"#)), &text).unwrap()[0].end.clone()
    };
    assert_eq!(of("null", "x\\n\\nValueError: no\\n"), End::Failed { message: "ValueError: no".into() });
    assert_eq!(of("[null]", ""), End::Failed { message: "asv has no result for it".into() });
    assert_eq!(of("[NaN]", "\\nasv: skipped: no GPU \\n"), End::Skipped { reason: "no GPU".into() });
}

#[test]
fn executions_are_known_where_their_number_is_given_and_nothing_warms_up() {
    let of = |attributes: &str| {
        let row = r#""s.time_a":[[0.5],[],[3],[[0.25,0.5]]]"#;
        readings(FOUND_ALL, &results(row), &beside(A, attributes)).unwrap()[0].iterations
    };
    assert_eq!(of(r#""number":3,"warmup_time":0.0"#), Some(6.0));
    assert_eq!(of(r#""number":3"#), None);
    assert_eq!(of(r#""number":3,"warmup_time":0.1"#), None);
    assert_eq!(of(r#""warmup_time":0"#), None);
}

#[test]
fn figures_of_a_known_unit_are_judged_and_others_are_shown() {
    let rows = r#""s.track_a":[[2.0],[]],"s.track_b":[[7],[]],"s.mem_a":[[64],[]]"#;
    let selected = r#""s.mem_a":null,"s.track_a":null,"s.track_b":null"#;
    let all = readings(FOUND_ALL, &results(rows), &beside(selected, "")).unwrap();
    let metrics: Vec<_> = all.iter().map(|reading| &reading.metrics[0]).collect();
    let short: Vec<_> = metrics
        .iter()
        .map(|metric| (metric.name.as_str(), metric.unit.as_str(), metric.values[0], metric.judged))
        .collect();
    assert_eq!(
        short,
        [("memory", "B", 64.0, true), ("value", "ms", 2.0, true), ("value", "objects", 7.0, false)]
    );
}

#[test]
fn other_versions_units_and_shapes_are_refused() {
    let row = r#""s.time_a":[[0.5],[],[1],[[0.5]]]"#;
    let good = (FOUND_ALL.to_owned(), results(row), beside(A, ""));
    assert!(readings(&good.0, &good.1, &good.2).is_ok());
    for (found, results, beside) in [
        (good.0.replace("\"version\":2", "\"version\":3"), good.1.clone(), good.2.clone()),
        (good.0.replace("\"unit\":\"seconds\"", "\"unit\":\"hours\""), good.1.clone(), good.2.clone()),
        (good.0.replace("\"type\":\"time\"", "\"type\":\"future\""), good.1.clone(), good.2.clone()),
        (good.0.clone(), good.1.replace("\"version\":2", "\"version\":1"), good.2.clone()),
        (good.0.clone(), good.1.replace("\"samples\"", "\"other\""), good.2.clone()),
        (good.0.clone(), good.1.replace("[[0.5],", "[[0.5,0.5],"), good.2.clone()),
        (good.0.clone(), good.1.replace("[[0.5]]]", "[[\"x\"]]]"), good.2.clone()),
        (good.0.clone(), good.1.replace("[[0.5]]]", "[[]]]"), good.2.clone()),
        (good.0.clone(), good.1.replace("s.time_a", "s.time_b"), good.2.clone()),
        (good.0.clone(), good.1.clone(), good.2.replace("s.time_a\":null", "s.time_b\":null")),
    ] {
        assert!(readings(&found, &results, &beside).is_err(), "{found}\n{results}\n{beside}");
    }
}

#[test]
fn more_combinations_than_fit_into_memory_are_refused() {
    let list = format!("[{}]", vec!["\"1\""; 100].join(","));
    let params = vec![list.as_str(); 20].join(",");
    let found =
        format!(r#"{{"version":2,"s.time_a":{{"type":"time","unit":"seconds","params":[{params}]}}}}"#);
    let error = readings(&found, &results(""), &beside("", "")).unwrap_err();
    assert_eq!(error.to_string(), "benchmarks.json: s.time_a.params: they have too many combinations");
}

#[test]
fn a_configuration_with_comments_is_proposed_with_what_its_matrix_needs() {
    let config = r#"{
        // "benchmark_dir": "no \" quote",
        "project": "sample", "repo": "..", /* "x": */
        "benchmark_dir": "./suite/", "matrix": {"req": {"numpy": ["1.26", "2"], "pip+six": [""], "scipy": [">1"]}},
    }"#;
    let tree = MemoryTree::of([
        ("bench/asv.conf.json", config),
        ("bench/suite/__init__.py", ""),
        ("bench/suite/a.py", "def time_a(): pass\n"),
        ("pyproject.toml", "[build-system]\n"),
    ]);
    let detected = Asv.detect(&tree);
    let found = &detected.found[0];
    assert_eq!(found.command, [".venv/bin/python", "-m", "asv", "run"]);
    assert_eq!((found.name.as_str(), found.dir.as_str()), ("sample", "bench"));
    assert_eq!(found.files, ["bench/asv.conf.json", "bench/suite/__init__.py", "bench/suite/a.py"]);
    let line = "python3 -m venv bench/.venv && bench/.venv/bin/python -m pip install --quiet -e . asv \
                numpy==1.26 six 'scipy>1'";
    assert_eq!(found.build, Some(BuildStep::Shell(line.into())));
}

#[test]
fn a_configuration_that_cannot_be_read_or_has_no_benchmarks_is_unclear() {
    let tree =
        MemoryTree::of([("a/asv.conf.json", "{\"repo\": "), ("b/asv.conf.json", "{}"), ("b/setup.py", "")]);
    let detected = Asv.detect(&tree);
    assert!(detected.found.is_empty());
    assert!(detected.unclear[0].starts_with("a/asv.conf.json cannot be read"), "{:?}", detected.unclear);
    assert!(detected.unclear[1].contains("b/benchmarks, where no benchmark"), "{:?}", detected.unclear);
}

#[test]
fn asv_is_recognised_by_its_name() {
    let is = |words: &[&str]| Asv.recognises(&Program { command: &command(words), bytes: b"" });
    assert!(is(&["asv", "run"]));
    assert!(is(&["python3", "-m", "asv"]));
    assert!(!is(&["python3", "asv.py"]));
}
