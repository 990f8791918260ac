use super::super::{Amount, OutputFiles, list, read};
use super::*;
use crate::adapters::detect::{BuildStep, MemoryTree};

const AMOUNT: Amount = Amount { seconds: 0.5, warmup: 0.1, samples: 5 };

fn command(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn run_of(words: &[&str], cases: &[&str]) -> Vec<String> {
    let command = command(words);
    PytestBenchmark.run(&CaseRequest { command: &command, cases, out: "/o", amount: AMOUNT }).unwrap().argv
}

fn reading(json: &str, xml: &str) -> Result<Vec<Reading>, ReadError> {
    let xml = format!("<testsuites><testsuite>{xml}</testsuite></testsuites>");
    let files = OutputFiles(
        [(FILE.to_owned(), json.as_bytes().to_vec()), (ENDS.to_owned(), xml.into_bytes())].into(),
    );
    read(&PytestBenchmark, &HarnessOutput { stdout: b"", files: &files })
}

fn report(benchmarks: &str) -> String {
    format!(r#"{{"version":"5.3.1","benchmarks":[{benchmarks}]}}"#)
}

const A: &str = r#"{"fullname":"t.py::a","stats":{"data":[0.25,0.5],"rounds":2,"iterations":10}}"#;
const A_PASSED: &str = r#"<testcase classname="t" name="a" file="t.py"/>"#;

#[test]
fn a_run_says_how_much_where_to_and_which_tests_in_their_order() {
    let argv = run_of(&["pytest"], &["b.py::z[a b]", "b.py::a[x::y]"]);
    assert_eq!(argv[0], "pytest");
    for word in [
        "--rootdir=.",
        "--benchmark-only",
        "--benchmark-json=/o/pytest-benchmark.json",
        "--junitxml=/o/pytest.xml",
        "--benchmark-min-time=0.100000000",
        "--benchmark-max-time=0.500000000",
        "--benchmark-min-rounds=5",
    ] {
        assert!(argv.iter().any(|other| other == word), "{word} in {argv:?}");
    }
    assert_eq!(argv[argv.len() - 2..], ["b.py::z[a b]", "b.py::a[x::y]"]);
}

#[test]
fn the_users_files_and_folders_give_way_to_the_asked_tests_and_options_stay() {
    let words = [
        "uv",
        "run",
        "python",
        "-m",
        "pytest",
        "benchmarks",
        "-k",
        "fast",
        "--maxfail",
        "1",
        "more",
        "--own",
        "v",
        "--own2",
        "benchmarks/",
    ];
    let argv = run_of(&words, &["benchmarks/b.py::a"]);
    let kept =
        ["uv", "run", "python", "-m", "pytest", "-k", "fast", "--maxfail", "1", "--own", "v", "--own2"];
    assert_eq!(argv[..kept.len()], kept);
    assert_eq!(argv[kept.len()], "--rootdir=.");
    let all = run_of(&words, &[]);
    assert_eq!(all[..words.len()], words);
}

#[test]
fn a_list_plans_and_measures_nothing() {
    let command = command(&["pytest", "b"]);
    let ask = CaseRequest { command: &command, cases: &[], out: "/o", amount: Amount::LEAST };
    let argv = PytestBenchmark.list(&ask).unwrap().argv;
    assert!(argv.iter().any(|word| word == "--setup-plan"));
    // A `--benchmark-disable` in the project's own options would make pytest refuse `--benchmark-only`.
    assert!(argv.iter().any(|word| word == "--benchmark-enable"));
    assert!(!argv.iter().any(|word| word.contains("json") || word.contains("xml")));
}

#[test]
fn a_listed_test_is_one_with_the_fixture_whatever_its_name() {
    let text = "SETUP    F benchmark\n        \
        b.py::t[a (fixtures used: x)] (fixtures used: benchmark, request)\n        \
        b.py::u (fixtures used: benchmark_data, request)\n        \
        b.py::v (fixtures used: benchmark, benchmark_weave).\n        b.py::w\n";
    let files = OutputFiles::default();
    let cases = list(&PytestBenchmark, &HarnessOutput { stdout: text.as_bytes(), files: &files }).unwrap();
    let names: Vec<&str> = cases.iter().map(|case| case.native.as_str()).collect();
    assert_eq!(names, ["b.py::t[a (fixtures used: x)]", "b.py::v"]);
}

#[test]
fn a_file_that_cannot_be_imported_ends_a_list() {
    let text = "b.py::v (fixtures used: benchmark)\n____ ERROR collecting b/test_x.py ____\n";
    let files = OutputFiles::default();
    let error =
        list(&PytestBenchmark, &HarnessOutput { stdout: text.as_bytes(), files: &files }).unwrap_err();
    assert_eq!(error.to_string(), "stdout:2: ERROR collecting b/test_x.py");
}

#[test]
fn a_test_that_fails_after_it_measured_gives_no_number() {
    let xml = r#"<testcase classname="t" name="a" file="t.py"><failure message="no&#10;more">x</failure></testcase>"#;
    let readings = reading(&report(A), xml).unwrap();
    assert_eq!(readings[0].end, End::Failed { message: "no".into() });
    assert!(readings[0].metrics.is_empty());
}

#[test]
fn a_test_whose_teardown_fails_too_gives_no_number() {
    let xml = format!(r#"{A_PASSED}<testcase classname="t" name="a"><error message="teardown"/></testcase>"#);
    let readings = reading(&report(A), &xml).unwrap();
    assert_eq!(readings.len(), 1);
    assert_eq!(readings[0].end, End::Failed { message: "teardown".into() });
}

#[test]
fn skipped_tests_have_their_reasons_and_tests_without_the_fixture_are_no_cases() {
    let xml = r#"<testcase classname="t.C" name="s" file="t.py"><skipped type="pytest.skip" message="no GPU"/></testcase>
        <testcase classname="t" name="x" file="t.py"><skipped type="pytest.xfail" message="known"/></testcase>
        <testcase classname="t" name="n" file="t.py"><skipped type="pytest.skip"
            message="Skipping non-benchmark (--benchmark-only active)."/></testcase>
        <testcase classname="" name="d.t"><skipped type="pytest.skip" message="collection skipped"/></testcase>"#;
    let readings = reading("", xml).unwrap();
    let ends: Vec<_> =
        readings.iter().map(|reading| (reading.case.native.as_str(), reading.end.clone())).collect();
    let skipped = |reason: &str| End::Skipped { reason: reason.into() };
    assert_eq!(ends, [("t.py::C::s", skipped("no GPU")), ("t.py::x", skipped("expected to fail: known"))]);
}

#[test]
fn a_test_that_passes_without_measuring_is_a_failure() {
    let xml = format!(r#"{A_PASSED}<testcase classname="t" name="b" file="t.py"/>"#);
    let readings = reading(&report(A), &xml).unwrap();
    assert_eq!(readings[0].metrics[0].values, [0.25, 0.5]);
    assert_eq!(readings[0].iterations, Some(20.0));
    assert!(matches!(&readings[1].end, End::Failed { message } if message.contains("measured nothing")));
}

#[test]
fn a_report_without_rounds_has_its_median() {
    let text = report(
        r#"{"fullname":"t.py::a","stats":{"median":0.5,"mean":0.6,"stddev":0.1,"rounds":9,"iterations":1}}"#,
    );
    let summary = SummaryReading { value: 0.5, stddev: Some(0.1), count: Some(9) };
    assert_eq!(reading(&text, A_PASSED).unwrap()[0].metrics[0].summary, Some(summary));
}

#[test]
fn what_is_missing_twice_or_of_an_unknown_version_is_refused() {
    let stats = |stats: &str| report(&format!(r#"{{"fullname":"t.py::a","stats":{stats}}}"#));
    for text in [
        format!(r#"{{"version":"6.0","benchmarks":[{A}]}}"#),
        format!(r#"{{"benchmarks":[{A}]}}"#),
        report(&format!("{A},{A}")),
        report(r#"{"stats":{"data":[1.0],"rounds":1,"iterations":1}}"#),
        report(r#"{"fullname":"t.py::a"}"#),
        stats(r#"{"data":[1.0],"rounds":2,"iterations":1}"#),
        stats(r#"{"data":[],"rounds":0,"iterations":1}"#),
        stats(r#"{"data":[1.0],"rounds":1}"#),
        stats(r#"{"rounds":1,"iterations":1}"#),
    ] {
        assert!(reading(&text, A_PASSED).is_err(), "{text}");
    }
    // Nothing says how it ended.
    let other = A_PASSED.replace("name=\"a\"", "name=\"b\"");
    assert!(reading(&report(A), &other).unwrap_err().to_string().contains("does not say how it ended"));
    let collection = r#"<testcase classname="" name="d.t"><error message="collection failure"/></testcase>"#;
    assert_eq!(reading("", collection).unwrap_err().to_string(), "case `d.t`: collection failure");
}

#[test]
fn names_of_the_xml_and_of_the_json_lead_to_each_other() {
    for (node, classname, name, file) in [
        ("a/b/test_x.py::C::D::t[x::y/z]", "a.b.test_x.C.D", "t[x::y/z]", "a/b/test_x.py"),
        ("test_x.py::t[a.py]", "test_x", "t[a.py]", "test_x.py"),
        // Inherited from a class of another file.
        ("b/test_y.py::TestY::t", "b.test_y.TestY", "t", "b/base.py"),
    ] {
        assert_eq!(junit_key(node), (classname.to_owned(), name.to_owned()));
        let case = TestCase {
            classname: classname.into(),
            name: name.into(),
            file: Some(file.into()),
            ends: vec![],
        };
        assert_eq!(node_id(&case), node);
    }
}

#[test]
fn files_with_the_fixture_are_proposed_by_project_with_an_environment() {
    let tree = MemoryTree::of([
        ("py/pyproject.toml", "[project]\nname='x'\n[dependency-groups]\ndev=['pytest-benchmark']\n"),
        ("py/tests/test_fast.py", "def test_it(\n    n: int, benchmark: Any,\n) -> None:\n    pass\n"),
        ("py/tests/test_plain.py", "def test_it(n):\n    benchmark(n)\n"),
        ("py/tests/conftest.py", "def helper(benchmark): pass\n"),
    ]);
    let detected = PytestBenchmark.detect(&tree);
    assert_eq!(detected.unclear, Vec::<String>::new());
    let found = &detected.found[0];
    assert_eq!(found.command, [".venv/bin/python", "-m", "pytest", "tests/test_fast.py"]);
    assert_eq!((found.name.as_str(), found.dir.as_str()), ("py", "py"));
    assert_eq!(found.files, ["py/tests/test_fast.py"]);
    let line =
        "python3 -m venv py/.venv && py/.venv/bin/python -m pip install --quiet -e py pytest-benchmark";
    assert_eq!(found.build, Some(BuildStep::Shell(line.into())));
}

#[test]
fn a_fixture_of_that_name_from_elsewhere_is_unclear() {
    let test = "def test_it(benchmark): pass\n";
    for (name, text, why) in [
        ("requirements.txt", "pytest-codspeed\n", "pytest-codspeed alone"),
        ("conftest.py", "def benchmark(): pass\n", "of the project's own"),
        ("README.md", "pytest-benchmark", "nothing in the project"),
    ] {
        let detected = PytestBenchmark.detect(&MemoryTree::of([("test_a.py", test), (name, text)]));
        assert!(detected.found.is_empty());
        assert!(detected.unclear[0].contains(why), "{:?}", detected.unclear);
    }
}

#[test]
fn pytest_alone_is_not_recognised() {
    let is = |words: &[&str]| PytestBenchmark.recognises(&Program { command: &command(words), bytes: b"" });
    assert!(is(&["python3", "-m", "pytest", "--benchmark-only"]));
    assert!(!is(&["pytest", "benchmarks"]));
    assert!(!is(&["./bench", "--benchmark-only"]));
}
