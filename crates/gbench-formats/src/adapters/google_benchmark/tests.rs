use super::super::detect::MemoryTree;
use super::*;
use crate::adapters::{Amount, BuildStep, End, OutputFiles, STDERR, list, list_beside, read};
use gbench_model::ParamValue;

fn words(text: &[&str]) -> Vec<String> {
    text.iter().map(|word| (*word).to_owned()).collect()
}

fn asked(
    cases: &[&str],
    amount: Amount,
    of: fn(&GoogleBenchmark, &CaseRequest) -> Option<Invocation>,
) -> Vec<String> {
    let command = words(&["./bench"]);
    of(&GoogleBenchmark, &CaseRequest { command: &command, cases, out: "/out", amount }).unwrap().argv
}

const AMOUNT: Amount = Amount { seconds: 0.5, warmup: 0.0, samples: 5 };

fn files(text: &str) -> OutputFiles {
    OutputFiles([(FILE.to_owned(), text.as_bytes().to_vec())].into())
}

fn report(entries: &str) -> Result<Vec<Reading>, String> {
    let files = files(&format!("{{\"benchmarks\": [{entries}]}}"));
    read(&GoogleBenchmark, &HarnessOutput { stdout: b"", files: &files }).map_err(|error| error.to_string())
}

const ENTRY: &str = r#"{"name": "a", "run_name": "a", "run_type": "iteration", "repetitions": 1, "repetition_index": 0,
    "threads": 1, "iterations": 10, "real_time": 1.5, "cpu_time": 1.25, "time_unit": "ms"}"#;

#[test]
fn the_samples_share_the_seconds_and_the_filter_takes_the_names_as_they_are() {
    let argv = asked(&["BM_a<int>/8", "n (x+y).*"], AMOUNT, Adapter::run);
    assert!(argv.contains(&"--benchmark_out=/out/google-benchmark.json".to_owned()));
    assert!(argv.contains(&"--benchmark_min_time=0.100000".to_owned()));
    assert!(argv.contains(&"--benchmark_repetitions=5".to_owned()));
    assert_eq!(argv.last().unwrap(), r"--benchmark_filter=^(BM_a<int>/8|n \(x\+y\)\.\*)$");
    assert_eq!(asked(&[], AMOUNT, Adapter::list), words(&["./bench", "--benchmark_list_tests=true"]));
    assert!(!asked(&[], AMOUNT, Adapter::run).iter().any(|word| word.contains("filter")));
}

#[test]
fn a_filter_that_linux_would_refuse_is_left_off() {
    let names: Vec<String> = (0..10_000).map(|number| format!("BM_something/{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert!(asked(&names, AMOUNT, Adapter::run).iter().all(|word| word.len() < 128 * 1024));
    assert!(asked(&names[..1_000], AMOUNT, Adapter::run).last().unwrap().ends_with("BM_something/999)$"));
}

#[test]
fn names_give_the_parameters_that_the_library_names() {
    let name = case_name("BM_sort<int>/n:8/64/threads:2");
    assert_eq!(name.case, "BM_sort<int>/64");
    assert_eq!(name.params.len(), 2);
    assert_eq!(name.params.get("threads"), Some(&ParamValue::Int(2)));
    for plain in ["ns::fn<int, char>", "x:1", "a/\"q\" a:b:c", "a/:1", "a/b:"] {
        assert_eq!(case_name(plain), CaseName::plain(plain), "{plain}");
    }
}

#[test]
fn a_case_that_fails_or_skips_in_one_repetition_has_no_number() {
    let failed =
        ENTRY.replace("\"repetition_index\": 0", "\"error_occurred\": true, \"error_message\": \"no\"");
    let readings = report(&format!("{ENTRY}, {failed}")).unwrap();
    assert_eq!(readings[0].end, End::Failed { message: "no".into() });
    assert!(readings[0].metrics.is_empty());
    let skipped = ENTRY.replace("\"repetition_index\": 0", "\"skipped\": true, \"skip_message\": \"old\"");
    assert_eq!(report(&format!("{ENTRY}, {skipped}")).unwrap()[0].end, End::Skipped { reason: "old".into() });
    // A failure weighs more than a skip.
    let both = report(&format!("{failed}, {skipped}")).unwrap();
    assert_eq!(both[0].end, End::Failed { message: "no".into() });
}

#[test]
fn an_entry_that_is_not_understood_is_refused_with_its_place() {
    let wrong = [
        ("\"time_unit\": \"ms\"", "\"time_unit\": \"min\"", "time_unit"),
        ("\"real_time\": 1.5", "\"real_time\": null", "real_time"),
        ("\"cpu_time\": 1.25,", "", "cpu_time"),
        ("\"iterations\": 10", "\"iterations\": 0", "nothing ran"),
        ("\"run_type\": \"iteration\",", "", "before 1.5"),
        ("\"run_type\": \"iteration\"", "\"run_type\": \"new\"", "neither iteration nor aggregate"),
        ("\"run_name\": \"a\",", "", "run_name"),
        ("\"threads\": 1", "\"real_time\": 2", "twice"),
    ];
    for (from, to, said) in wrong {
        assert!(ENTRY.contains(from));
        let error = report(&ENTRY.replace(from, to)).unwrap_err();
        assert!(error.starts_with("google-benchmark.json:") && error.contains(said), "{error}");
    }
    let next = ENTRY.replace("index\": 0", "index\": 1");
    assert_eq!(report(&format!("{ENTRY}, {next}")).unwrap()[0].metrics[0].values, [1.5, 1.5]);
    assert!(report(&format!("{ENTRY}, {ENTRY}")).unwrap_err().contains("stands there twice"));
    assert!(
        report(&format!("{ENTRY}, {}", next.replace("\"ms\"", "\"us\"")))
            .unwrap_err()
            .contains("another one")
    );
}

#[test]
fn a_schema_of_another_version_is_refused() {
    for (version, known) in [(1, true), (2, false)] {
        let text =
            format!("{{\"context\": {{\"json_schema_version\": {version}}}, \"benchmarks\": [{ENTRY}]}}");
        let files = files(&text);
        let read = read(&GoogleBenchmark, &HarnessOutput { stdout: b"", files: &files });
        assert_eq!(read.is_ok(), known, "{read:?}");
    }
}

#[test]
fn aggregates_alone_are_a_summary() {
    let entry = |name: &str, value: f64| {
        format!(
            r#"{{"run_name": "a", "run_type": "aggregate", "aggregate_name": "{name}", "iterations": 3,
                "real_time": {value}, "cpu_time": 1, "time_unit": "us"}}"#
        )
    };
    let entries =
        [entry("mean", 2.0), entry("median", 1.5), entry("stddev", 0.5), entry("cv", 0.25)].join(",");
    let readings = report(&entries).unwrap();
    let summary = readings[0].metrics[0].summary.unwrap();
    assert_eq!((summary.value, summary.stddev, summary.count), (1.5, Some(0.5), Some(3)));
    // A family's complexity is about no case.
    let family = entry("BigO", 1.0).replace("\"a\"", "\"family\"");
    assert_eq!(report(&format!("{family}, {entries}")).unwrap().len(), 1);
}

#[test]
fn a_counter_is_shown_and_not_judged_and_is_left_out_where_it_is_no_number() {
    let with = |value: &str| {
        let entry = ENTRY.replace(
            "\"threads\"",
            &format!("\"bytes_per_second\": 5.0,\n\"hits %\": {value},\n\"threads\""),
        );
        report(&entry).unwrap().remove(0)
    };
    let reading = with("7");
    let names: Vec<&str> = reading.metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(names, ["time", "cpu_time", "bytes_per_second", "counter/hits__"]);
    assert!(reading.metrics[0].judged && reading.metrics[1..].iter().all(|metric| !metric.judged));
    for none in ["NaN", "-NaN", "Infinity", "-Infinity"] {
        let metrics = with(none).metrics;
        assert_eq!(metrics.len(), 3, "{none}: {metrics:?}");
    }
}

#[test]
fn times_that_are_not_numbers_are_refused() {
    for none in ["NaN", "Infinity", "\"1\"", "true"] {
        assert!(report(&ENTRY.replace("1.5,", &format!("{none},\n"))).is_err(), "{none}");
    }
}

#[test]
fn the_log_counts_every_run_of_every_thread_and_without_it_only_a_fixed_number_is_known() {
    let log = "-- LOG(0): Value passed-- LOG(2): Running a for 1\n-- LOG(2): Ran in 1/2\n-- LOG(2): Running a for 10\nRunning ./a\n";
    let entry = ENTRY.replace("\"threads\": 1", "\"threads\": 2");
    let mut files = files(&format!("{{\"benchmarks\": [{entry}]}}"));
    let count = |files: &OutputFiles| {
        read(&GoogleBenchmark, &HarnessOutput { stdout: b"", files }).unwrap()[0].iterations
    };
    assert_eq!(count(&files), None);
    files.0.insert(STDERR.into(), log.into());
    assert_eq!(count(&files), Some(22.0));
    let fixed = ENTRY.replace("\"run_name\": \"a\"", "\"run_name\": \"a/iterations:10\"");
    assert_eq!(report(&fixed).unwrap()[0].iterations, Some(10.0));
    // An argument of that name is no number of runs.
    let argument = fixed.replace("\"iterations\": 10", "\"iterations\": 640");
    assert_eq!(report(&argument).unwrap()[0].iterations, None);
}

#[test]
fn a_counting_process_says_its_runs_and_runs_a_fixed_case_more_often_for_more_seconds() {
    let with = |case, seconds| asked(&[case], Amount { seconds, ..AMOUNT }, Adapter::count);
    assert!(with("a", 0.5).contains(&"--v=2".to_owned()));
    assert!(with("a", 0.5).contains(&"--benchmark_repetitions=1".to_owned()));
    assert!(with("a", 0.5).contains(&"--benchmark_min_time=0.500000".to_owned()));
    // A number of iterations of its own takes no notice of the time.
    assert!(with("a/iterations:9", 0.1).contains(&"--benchmark_repetitions=10".to_owned()));
    assert!(with("a/iterations:9", 0.5).contains(&"--benchmark_repetitions=50".to_owned()));
}

#[test]
fn a_list_names_each_case_and_an_empty_one_is_refused() {
    let files = OutputFiles::default();
    let listed =
        |stdout: &str| list(&GoogleBenchmark, &HarnessOutput { stdout: stdout.as_bytes(), files: &files });
    assert_eq!(listed("BM_a\nBM_b/n:8\n").unwrap()[1].case, "BM_b");
    assert!(listed("\n").is_err());
    assert!(listed("BM_a\nBM_a\n").is_err());
}

#[test]
fn what_a_program_prints_by_itself_is_no_case() {
    let listed_as = |steady: bool, stdout: &str, own: &str| {
        let files = OutputFiles::default();
        let output = HarnessOutput { stdout: stdout.as_bytes(), files: &files };
        let cases = list_beside(&GoogleBenchmark, &output, own.as_bytes(), steady);
        let names = cases.map(|cases| cases.into_iter().map(|case| case.native).collect::<Vec<_>>());
        names.map_err(|error| error.to_string())
    };
    let listed = |stdout: &str, own: &str| listed_as(false, stdout, own);
    let own = "----\nLoading tables...\nready\n----\n";
    let list = format!("{own}BM_a\ntwo words/8\ndone\n");
    assert_eq!(listed(&list, &format!("{own}done\n")).unwrap(), ["BM_a", "two words/8"]);
    // One that has a word for it where nothing matches.
    assert_eq!(listed_as(true, "BM_a\n", "no benchmark matched\n").unwrap(), ["BM_a"]);
    // One that takes no notice of the filter.
    assert_eq!(listed("BM_a\n", "BM_a\n").unwrap(), ["BM_a"]);
    for (list, own) in [("loaded in 3 ms\nBM_a\n", "loaded in 4 ms\n"), ("Loading... BM_a\n", "Loading... ")]
    {
        let error = listed(list, own).unwrap_err();
        assert!(error.starts_with("stdout: the program prints text of its own beside its list"), "{error}");
    }
    let words = asked(&[], AMOUNT, Adapter::list_none);
    assert_eq!(words, ["./bench", "--benchmark_list_tests=true", "--benchmark_filter=^$"]);
}

#[test]
fn a_program_with_the_library_inside_or_beside_it_is_known() {
    let knows = |bytes: &str| GoogleBenchmark.recognises(&Program { command: &[], bytes: bytes.as_bytes() });
    assert!(knows("benchmark_list_tests\0benchmark_min_time"));
    // Debian's library is a shared one.
    assert!(knows("_ZN9benchmark10InitializeEPiPPcPFvvE\0libbenchmark.so.1debian"));
    assert!(!knows("cp libbenchmark.so.1 build/"));
    assert!(!knows("_ZN9benchmark3runEv"));
}

const SOURCE: &str = "#include <benchmark/benchmark.h>\nBENCHMARK(f);\nBENCHMARK_MAIN();\n";

fn detected(files: &[(&str, &str)]) -> Detected {
    GoogleBenchmark.detect(&MemoryTree::of(files))
}

#[test]
fn targets_of_cmake_that_link_the_library_are_found() {
    let detected = detected(&[
        (
            "CMakeLists.txt",
            "project(x)\noption(X_BENCHMARKS \"build them\" OFF)\nif(X_BENCHMARKS)\n add_subdirectory(bench) # here\nendif()\n",
        ),
        (
            "bench/CMakeLists.txt",
            "foreach(name a b)\n add_executable(${name}_bench ${name}.cc)\n target_link_libraries(${name}_bench PRIVATE benchmark::benchmark)\nendforeach()\nadd_executable(tool tool.cc)",
        ),
        ("bench/a.cc", SOURCE),
        ("bench/b.cc", SOURCE),
        ("bench/tool.cc", "int main() {}"),
    ]);
    assert_eq!(detected.unclear, [""; 0]);
    let commands: Vec<&str> = detected.found.iter().map(|found| found.command[0].as_str()).collect();
    assert_eq!(commands, ["./build/bench/a_bench", "./build/bench/b_bench"]);
    let build = "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DX_BENCHMARKS=ON && cmake --build build --target a_bench -j $(nproc)";
    assert_eq!(detected.found[0].build, Some(BuildStep::Shell(build.into())));
    assert_eq!(detected.found[0].files, ["bench/a.cc"]);
}

#[test]
fn a_rule_of_make_is_found_and_a_source_alone_is_compiled() {
    let detected = detected(&[
        ("bench/Makefile", "fast: fast.cc\n\tc++ -O2 -o fast fast.cc -lbenchmark -lpthread\n"),
        ("bench/fast.cc", SOURCE),
        ("lone bench.cpp", &SOURCE.replace("BENCHMARK_MAIN();", "")),
        ("x.py", "import google_benchmark as benchmark\nbenchmark.main()\n"),
    ]);
    let commands: Vec<String> = detected.found.iter().map(|found| found.command.join(" ")).collect();
    assert_eq!(commands, ["./bench/fast", "./build/lone bench", "python3 x.py"]);
    assert_eq!(detected.found[0].build, Some(BuildStep::Shell("make -C bench fast".into())));
    let build = "mkdir -p build && c++ -O2 -std=c++17 -o 'build/lone bench' 'lone bench.cpp' -lbenchmark_main -lbenchmark -lpthread";
    assert_eq!(detected.found[1].build, Some(BuildStep::Shell(build.into())));
}

#[test]
fn what_another_build_system_builds_is_said_and_what_has_no_benchmark_is_not() {
    let detected = detected(&[
        ("a/BUILD.bazel", "cc_binary(name = \"x\")"),
        ("a/x.cc", SOURCE),
        ("b/CMakeLists.txt", "my_benchmark(y)"),
        ("b/y.cc", SOURCE),
        ("c/helper.cc", "#include <benchmark/benchmark.h>\nvoid f();\n"),
        ("c/other.cc", "#include \"my_benchmark.h\"\nBENCHMARK(f);\n"),
    ]);
    assert_eq!(detected.found, []);
    assert_eq!(detected.unclear.len(), 2, "{:?}", detected.unclear);
    assert!(detected.unclear[0].contains("a/x.cc") && detected.unclear[1].contains("b/CMakeLists.txt"));
}

#[test]
fn a_program_is_recognised_by_the_flags_that_only_this_library_leaves() {
    let command = words(&["./bench"]);
    let known = |bytes: &[u8]| GoogleBenchmark.recognises(&Program { command: &command, bytes });
    assert!(known(b"\0benchmark_list_tests\0benchmark_min_time\0"));
    assert!(!known(b"benchmark_min_time"));
}
