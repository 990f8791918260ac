use super::*;
use crate::adapters::detect::MemoryTree;
use crate::adapters::{BuildStep, End, OutputFiles, read};
use gbench_model::ParamValue;

const HEAD: &str = "goos: linux\npkg: example.com/a\n";

fn read_text(text: &str) -> Result<Vec<Reading>, ReadError> {
    read(&GoTest, &HarnessOutput { stdout: text.as_bytes(), files: &OutputFiles::default() })
}

fn refusal(text: &str) -> String {
    read_text(text).unwrap_err().to_string()
}

fn ask<'a>(command: &'a [String], cases: &'a [&'a str]) -> CaseRequest<'a> {
    CaseRequest { command, cases, out: "/out", amount: Amount { seconds: 0.2, warmup: 0.1, samples: 4 } }
}

fn command(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

#[test]
fn a_binary_gets_flags_with_a_prefix_and_a_pattern_for_exactly_the_cases() {
    let command = command("./a.test");
    let odd = ["example.com/a:BenchmarkT/n=8/a.b+c(d)|x", "BenchmarkX"];
    let words = GoTest.run(&ask(&command, &odd)).unwrap().argv;
    assert_eq!(
        words,
        [
            "./a.test",
            "-test.run=^$",
            "-test.v=true",
            "-test.benchmem=true",
            "-test.timeout=0",
            "-test.benchtime=0.050000s",
            "-test.count=4",
            r"-test.bench=^BenchmarkT$/^n=8$/^a\.b\+c\(d\)\|x$|^BenchmarkX$",
        ]
    );
    let listed = GoTest.list(&ask(&command, &[])).unwrap().argv;
    assert!(listed.contains(&"-test.benchtime=1x".into()) && listed.contains(&"-test.bench=.".into()));
}

#[test]
fn go_test_gets_the_packages_of_the_cases_and_its_own_arguments_stay_last() {
    let run = |line: &str, cases: &[&str]| GoTest.run(&ask(&command(line), cases)).unwrap().argv.join(" ");
    let flags = "-vet=off -run=^$ -v=true -benchmem=true -timeout=0 -benchtime=0.050000s -count=4";
    let case = ["example.com/a:BenchmarkX"];
    let expected = format!("go test -race -tags x example.com/a {flags} -bench=^BenchmarkX$ -args -y");
    assert_eq!(run("go test -race -tags x ./... ./b -args -y", &case), expected);
    let expected = format!("/usr/bin/go1.22 -C b test ./... {flags} -bench=.");
    assert_eq!(run("/usr/bin/go1.22 -C b test ./...", &[]), expected);
    // Files have no import path to ask for.
    let expected = format!("go test a_test.go {flags} -bench=^BenchmarkX$");
    assert_eq!(run("go test a_test.go", &["command-line-arguments:BenchmarkX"]), expected);
    let expected = format!("go test example.com/a {flags} -bench=^BenchmarkX$");
    assert_eq!(run("go test", &case), expected);
}

#[test]
fn executions_are_not_counted() {
    assert_eq!(GoTest.count(&ask(&command("./a.test"), &["BenchmarkX"])), None);
    assert!(!crate::adapters::Harness(&GoTest).counts());
}

#[test]
fn the_number_of_processors_is_no_part_of_a_name_and_a_name_may_end_like_one() {
    let text = |result: &str| format!("{HEAD}BenchmarkX/last-8\n{result} \t 5\t 7 ns/op\nPASS\n");
    for (result, processors) in [("BenchmarkX/last-8-2", 2), ("BenchmarkX/last-8", 1)] {
        let reading = read_text(&text(result)).unwrap().remove(0);
        assert_eq!(reading.case.native, "example.com/a:BenchmarkX/last-8");
        assert_eq!(
            (reading.case.case.as_str(), &reading.metadata["gomaxprocs"]),
            ("BenchmarkX/last-8", &processors.into())
        );
    }
    let several = format!("{HEAD}BenchmarkX\nBenchmarkX \t 5\t 7 ns/op\nBenchmarkX-2 \t 5\t 7 ns/op\nPASS\n");
    assert!(refusal(&several).starts_with("stdout:5: `BenchmarkX` ran with 1 and with 2 processors"));
}

#[test]
fn levels_with_a_key_are_parameters() {
    let text = format!("{HEAD}BenchmarkX/n=8/k=a-4/=x/b\nBenchmarkX/n=8/k=a-4/=x/b-2 \t 5\t 7 ns/op\nPASS\n");
    let case = read_text(&text).unwrap().remove(0).case;
    assert_eq!(case.case, "BenchmarkX/=x/b");
    assert_eq!(case.params["n"], ParamValue::Int(8));
    assert_eq!(case.params["k"], ParamValue::Text("a-4".into()));
}

#[test]
fn equal_names_of_two_packages_are_two_cases() {
    let one = |package: &str| {
        format!("pkg: {package}\nBenchmarkX\nBenchmarkX \t 5\t 7 ns/op\nPASS\nok  \t{package}\t1s\n")
    };
    let readings = read_text(&format!("{}{}", one("a"), one("b"))).unwrap();
    let names: Vec<&str> = readings.iter().map(|reading| reading.case.native.as_str()).collect();
    assert_eq!(names, ["a:BenchmarkX", "b:BenchmarkX"]);
}

#[test]
fn a_failure_after_a_sample_leaves_no_number_and_its_parent_is_no_case() {
    let text = format!(
        "{HEAD}BenchmarkG\nBenchmarkG/x\nBenchmarkG/x \t 5\t 7 ns/op\n    x_test.go:3: bad\n--- FAIL: BenchmarkG/x\n\
         --- FAIL: BenchmarkG\nBenchmarkS\n    x_test.go:9: no GPU\n--- SKIP: BenchmarkS\nFAIL\n"
    );
    let ends: Vec<End> = read_text(&text).unwrap().into_iter().map(|reading| reading.end).collect();
    let failed = End::Failed { message: "x_test.go:3: bad".into() };
    assert_eq!(ends, [failed, End::Skipped { reason: "x_test.go:9: no GPU".into() }]);
}

#[test]
fn a_panic_is_a_failure_where_go_test_says_the_end_and_refused_where_nobody_does() {
    let died =
        format!("{HEAD}BenchmarkA\nBenchmarkA \t 5\t 7 ns/op\nBenchmarkB\npanic: dead\n\ngoroutine 1:\n");
    let readings = read_text(&format!("{died}exit status 2\nFAIL\texample.com/a\t0.1s\nFAIL\n")).unwrap();
    assert_eq!((readings.len(), &readings[0].end), (2, &End::Measured));
    assert_eq!(readings[1].end, End::Failed { message: "panic: dead".into() });
    assert!(refusal(&died).contains("the program stopped in or after `BenchmarkB`"));
}

#[test]
fn packages_that_fail_outside_of_their_benchmarks_are_refused() {
    let good = format!("{HEAD}BenchmarkA\nBenchmarkA \t 5\t 7 ns/op\n");
    for (rest, why) in [
        ("PASS\nok  \ta\t1s\nFAIL\tb [build failed]\nFAIL\n", "this package does not build"),
        ("PASS\nexit status 1\nFAIL\texample.com/a\t1s\n", "this package's program failed, and no benchmark"),
        ("FAIL\n", "it failed, and none of its benchmarks says so"),
        ("panic: late\nFAIL\texample.com/a\t1s\n", "the package fails between its benchmarks: panic: late"),
    ] {
        assert!(refusal(&format!("{good}{rest}")).ends_with(why), "{rest}");
    }
}

#[test]
fn lines_that_are_no_measurement_are_refused_with_their_place() {
    let line = |line: &str| format!("{HEAD}BenchmarkA\n{line}\nPASS\n");
    for (text, why) in [
        ("BenchmarkA \t 0\t 7 ns/op", "stdout:4: `BenchmarkA` ran no iteration"),
        ("BenchmarkA \t 5", "stdout:4: `BenchmarkA` has no value"),
        ("BenchmarkA \t 5\t 7", "stdout:4: `7` has no unit"),
        ("BenchmarkA \t 5\t x ns/op", "stdout:4: `x` is not a number"),
        (
            "BenchmarkB \t 5\t 7 ns/op",
            "stdout:4: `BenchmarkB` does not follow its name on a line of its own, as with `-v`",
        ),
        ("BenchmarkA \t 5\t 7 a%\t 8 a#", "stdout:4: `a#` and `a%` are one name"),
    ] {
        assert_eq!(refusal(&line(text)), why);
    }
    assert!(refusal(&line("BenchmarkA \t 5\t NaN ns/op")).contains("is NaN"));
}

#[test]
fn own_metrics_are_judged_where_their_direction_is_known() {
    let text = format!(
        "{HEAD}Unit p99-ns better=lower\nBenchmarkA\nBenchmarkA \t 5\t 7 ns/op\t 3 MB/s\t 9 p99-ns\t 4 hits\t 2 req/s\nPASS\n"
    );
    let reading = read_text(&text).unwrap().remove(0);
    let judged: Vec<(&str, bool)> = reading.metrics.iter().map(|it| (it.name.as_str(), it.judged)).collect();
    assert_eq!(judged, [("time", true), ("MB/s", false), ("p99-ns", true), ("hits", false), ("req/s", true)]);
}

#[test]
fn what_a_benchmark_prints_does_not_hide_its_line() {
    let text = format!(
        "{HEAD}BenchmarkA\nBenchmarkA is fine\nso BenchmarkA 5 7\nhello BenchmarkA-2 \t 5\t 7 ns/op\nPASS\n"
    );
    assert_eq!(read_text(&text).unwrap()[0].metrics[0].values, [7.0]);
}

#[test]
fn a_package_with_benchmarks_is_found_and_built_once() {
    let bench = "package a\n\nfunc BenchmarkX(b *testing.B) {\n}\nfunc Benchmark(b *testing.B) {}\n";
    let tree = MemoryTree::of([
        ("go.mod", "module example.com/sample/v2\n"),
        ("x_test.go", bench),
        ("sub/y_test.go", bench),
        ("sub/z_test.go", "package a\nfunc TestX(t *testing.T) {}\nfunc Benchmarks(b *testing.B) {}\n"),
        ("testdata/t_test.go", bench),
        ("inner/go.mod", "module inner\n"),
        ("inner/a/a_test.go", bench),
        (
            "tagged/t_test.go",
            "//go:build linux && integration\n\npackage a\nfunc BenchmarkX(b *testing.B) {}\n",
        ),
        (
            "linux/t_test.go",
            "//go:build linux && go1.20 && !race\n\npackage a\nfunc BenchmarkX(b *testing.B) {}\n",
        ),
    ]);
    let detected = GoTest.detect(&tree);
    let found: Vec<(&str, &str, &str)> = detected
        .found
        .iter()
        .map(|found| (found.name.as_str(), found.dir.as_str(), found.command[0].as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("sample", "", "./sample.test"),
            ("inner-a", "inner/a", "./inner-a.test"),
            ("linux", "linux", "./linux.test"),
            ("sub", "sub", "./sub.test"),
        ]
    );
    let build = |place: usize| detected.found[place].build.clone().unwrap();
    assert_eq!(build(3), BuildStep::Command(command("go test -c -o sub/sub.test ./sub")));
    assert_eq!(build(1), BuildStep::Shell("cd inner && go test -c -o a/inner-a.test ./a".into()));
    assert_eq!(detected.found[3].files, ["sub/y_test.go"]);
    assert_eq!(detected.unclear.len(), 1);
    assert!(
        detected.unclear[0]
            .starts_with("tagged/t_test.go has benchmarks for `//go:build linux && integration`")
    );
    let loose = GoTest.detect(&MemoryTree::of([("x_test.go", bench)]));
    assert!(loose.found.is_empty() && loose.unclear[0].contains("no go.mod lies above it"));
}

#[test]
fn go_test_and_its_binaries_are_recognised() {
    let known = |line: &str, bytes: &[u8]| GoTest.recognises(&Program { command: &command(line), bytes });
    assert!(known("go test ./...", b"") && known("go1.22 -C x test .", b""));
    assert!(known("./x", b"..._testmain.go...test.benchtime..."));
    assert!(!known("go run .", b"") && !known("gotcha test", b"") && !known("./x", b"test.benchtime"));
}
