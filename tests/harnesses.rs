//! Cases of a benchmark harness from a suite file to the verdict. The harness is `fixtures/programs/harness.rs`, which takes
//! Google Benchmark's words and makes its times up from side, case and process, so that a test sees the same numbers
//! every time.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use gbench_ci::compare::{Row, Verdict, VerdictDocument};
use gbench_ci::model::{CaseRecord, FailureKind, Outcome, ParamValue, RunRecord};
use gbench_ci::store::read_comparison;

use crate::support::cli::{newest, ran, runs};
use crate::support::harness;
use crate::support::repository::Repository;

/// A suite with the harness as its one benchmark. `more`: further lines of it.
fn suite(gate: &str, more: &str) -> String {
    let program = harness().to_str().unwrap();
    format!(
        "[suite]\nname = \"s\"\n[gate]\nwatch = false\n{gate}\n[[benchmark]]\nid = \"h\"\n\
         harness = \"google-benchmark\"\ncommand = [\"{program}\"]\niterations = 5\n{more}\n"
    )
}

/// Of the gate: no controls, and a file for all processes.
fn open(log: &Path) -> String {
    format!("controls = 0\nwritable = ['{}']", log.display())
}

/// A folder with the suite and what the harness is to do.
fn folder(conf: &str, more: &str) -> tempfile::TempDir {
    let folder = crate::support::tempdir().unwrap();
    std::fs::write(folder.path().join("gbench.toml"), suite("", more)).unwrap();
    std::fs::write(folder.path().join("harness.conf"), conf).unwrap();
    folder
}

/// Two commits whose harness does one thing and another.
fn repository(base: &str, head: &str, gate: &str, more: &str) -> Repository {
    let suite = suite(gate, more);
    Repository::new(&[("gbench.toml", &suite), ("harness.conf", base)], &[("harness.conf", head)])
}

fn case_name(row: &Row) -> String {
    match &row.case.params["case"] {
        ParamValue::Text(name) => name.clone(),
        other => panic!("{other:?}"),
    }
}

fn by_verdict(document: &VerdictDocument) -> BTreeMap<Verdict, Vec<String>> {
    let mut found: BTreeMap<Verdict, Vec<String>> = BTreeMap::new();
    document.rows.iter().for_each(|row| found.entry(row.verdict).or_default().push(case_name(row)));
    found
}

/// Starts of a side by its log: those that listed, and how many cases each other one was asked for.
fn starts(log: &Path, side: &str) -> (usize, Vec<usize>) {
    let text = std::fs::read_to_string(log).unwrap();
    let of_side: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(&format!("{side} "))).collect();
    let asked = of_side.iter().filter_map(|count| count.parse().ok()).collect();
    (of_side.iter().filter(|count| **count == "list").count(), asked)
}

#[test]
fn f2_a_run_has_a_case_for_each_that_the_harness_lists_and_one_process_measures_them_all() {
    let folder = folder("cases 3\nskip case_1\nlog log\n", "processes = 4");
    ran(folder.path(), "run --quiet").exits(0);
    let record = newest(folder.path());
    let names: Vec<String> = record.cases.iter().map(|case| case.id.to_string()).collect();
    assert_eq!(names, ["s/h[case=case_0]", "s/h[case=case_1]", "s/h[case=case_2]"]);
    let time = record.cases[0].metrics.iter().find(|metric| metric.name == "time").unwrap();
    assert_eq!((time.unit.as_str(), time.processes.len(), time.processes[0].values.len()), ("ns", 4, 5));
    assert!(matches!(&record.cases[1].outcome, Outcome::Skipped { cause, .. } if cause == "not here"));
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    // The one that skipped itself is not asked for again. A second listing says what the program prints by itself.
    assert_eq!(starts(&folder.path().join("log"), name), (2, vec![3, 2, 2, 2]));
}

#[test]
fn a_line_that_the_program_prints_by_itself_is_no_case() {
    let cases = |says: &str| folder(&format!("cases 2\nsays {says}\n"), "");
    let loading = cases("Loading...");
    ran(loading.path(), "run --quiet --processes 1").exits(0);
    assert_eq!(newest(loading.path()).cases.len(), 2);
    ran(cases("time").path(), "run --quiet").exits(4).says("other text next to its list");
}

#[test]
fn f3_a_harness_of_100_cases_in_which_nothing_changed_is_started_at_most_10_times_a_side() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let conf = format!("cases 100\nlog {}\n", log.path().display());
    let repository = repository(&conf, &format!("{conf}\n"), &open(log.path()), "");
    repository.compare("HEAD~1..HEAD").exits(0);
    let document = repository.verdict();
    assert_eq!(by_verdict(&document)[&Verdict::Unchanged].len(), 100);
    for side in ["base", "head"] {
        let (listed, asked) = starts(log.path(), side);
        assert!(listed + asked.len() <= 10, "{side}: {listed} {asked:?}");
        assert_eq!((listed, asked[0]), (2, 100));
    }
}

#[test]
fn f3_a_change_of_one_case_is_found_in_processes_of_its_own() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let conf = format!("cases 40\nlog {}\n", log.path().display());
    let repository = repository(&conf, &format!("{conf}slow case_7 1.1\n"), &open(log.path()), "");
    repository.compare("HEAD~1..HEAD").exits(1);
    let found = by_verdict(&repository.verdict());
    assert_eq!(found[&Verdict::Regressed], ["case_7"]);
    assert_eq!(found[&Verdict::Unchanged].len(), 39);
    let (listed, asked) = starts(log.path(), "head");
    let (shared, alone): (Vec<usize>, Vec<usize>) = asked.into_iter().partition(|cases| *cases > 1);
    assert!(listed + shared.len() <= 10, "{shared:?}");
    // A red among few candidates takes at least 8 fresh rounds.
    assert!((8..=20).contains(&alone.len()), "{alone:?}");
    let [_, head] = sides(&repository);
    let case = head.cases.iter().find(|case| case.id.to_string() == "s/h[case=case_7]").unwrap();
    let kinds: Vec<bool> = case.processes.iter().map(|process| process.shared.is_some()).collect();
    assert!(kinds[..3].iter().all(|shared| *shared) && kinds[3..].iter().all(|shared| !shared), "{kinds:?}");
    // The verdict follows from the records alone.
    ran(repository.root(), "replay").exits(1).says("case=case_7");
}

#[test]
fn f3_what_another_case_leaves_behind_is_inconclusive_and_not_red() {
    let conf = "cases 20\n";
    let repository = repository(conf, &format!("{conf}after case_8 1.3\n"), "controls = 0", "");
    repository.compare("HEAD~1..HEAD").exits(0);
    let document = repository.verdict();
    let found = by_verdict(&document);
    assert_eq!(found[&Verdict::Inconclusive], ["case_8"]);
    let row = document.rows.iter().find(|row| case_name(row) == "case_8").unwrap();
    let why = serde_json::to_value(row.why.as_ref().unwrap()).unwrap();
    assert_eq!(why["code"], "shared-processes-differ");
    assert!(row.reason.contains("in its own processes"), "{}", row.reason);
    // Judged by shared processes, as the suite may ask for, it is one.
    let suite = suite("controls = 0", "isolation = \"shared\"");
    let shared = Repository::new(
        &[("gbench.toml", &suite), ("harness.conf", conf)],
        &[("harness.conf", "cases 20\nafter case_8 1.3\n")],
    );
    shared.compare("HEAD~1..HEAD").exits(1);
    assert_eq!(by_verdict(&shared.verdict())[&Verdict::Regressed], ["case_8"]);
}

#[test]
fn f3_each_case_has_processes_of_its_own_where_the_suite_asks_for_it() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let conf = format!("cases 5\nlog {}\n", log.path().display());
    let repository = repository(&conf, &format!("{conf}\n"), &open(log.path()), "isolation = \"process\"");
    repository.compare("HEAD~1..HEAD").exits(0);
    let (_, asked) = starts(log.path(), "head");
    assert!(asked.len() >= 15 && asked.iter().all(|cases| *cases == 1), "{asked:?}");
    let [base, _] = sides(&repository);
    assert!(base.cases.iter().flat_map(|case| &case.processes).all(|process| process.shared.is_none()));
}

#[test]
fn f4_a_harness_that_dies_at_case_37_of_100_costs_that_case_alone() {
    let repository = repository("cases 100\n", "cases 100\ncrash case_37\n", "controls = 0", "");
    repository.compare("HEAD~1..HEAD").exits(4).says("case_37");
    let found = by_verdict(&repository.verdict());
    assert_eq!(found[&Verdict::Invalid], ["case_37"]);
    assert_eq!(found[&Verdict::Unchanged].len(), 99);
    let folder = folder("cases 100\ncrash case_37\n", "processes = 2");
    ran(folder.path(), "run --quiet").exits(4);
    let record = newest(folder.path());
    let failed: Vec<&CaseRecord> = record.cases.iter().filter(|case| !case.outcome.is_measured()).collect();
    assert_eq!(failed.len(), 1);
    assert!(failed[0].outcome.cause().contains("SIGABRT"), "{:?}", failed[0].outcome);
}

/// Lists two cases, reports the first, and ends the gate by SIGINT before it has measured the second.
const INTERRUPTS: &str = r#"
[ -z "$BENCHMARK_LIST_TESTS" ] || { printf 'case_0\ncase_1\n'; exit; }
cat > "$BENCHMARK_OUT" <<'END'
{"context": {}, "benchmarks": [
{"name": "case_0", "run_name": "case_0", "run_type": "iteration", "repetition_index": 0, "iterations": 9,
 "real_time": 100, "cpu_time": 100, "time_unit": "ns"}
]}
END
gate=$(awk '/^PPid/ { print $2 }' /proc/$PPID/status)
kill -INT "$gate"
exec sleep infinity
"#;

#[test]
fn b20_a_run_that_is_stopped_keeps_the_cases_that_a_harness_has_reported() {
    let script = [("interrupts", INTERRUPTS.to_owned())];
    let folder = other("google-benchmark", "command = [\"sh\", \"interrupts\"]\nprocesses = 1", &script);
    ran(folder.path(), "run").exits(130).says("1 of 2 cases measured").says("SIGINT came before its turn");
    let record = newest(folder.path());
    assert_eq!(record.cases[0].metrics[0].processes[0].values, [100.0]);
    assert!(record.cases[1].processes.is_empty());
}

#[test]
fn f4_an_error_that_the_harness_reports_is_that_case_s() {
    let repository = repository("cases 4\n", "cases 4\nfail case_2\n", "controls = 0", "");
    repository.compare("HEAD~1..HEAD").exits(4);
    let document = repository.verdict();
    let row = document.rows.iter().find(|row| row.verdict == Verdict::Invalid).unwrap();
    assert_eq!(case_name(row), "case_2");
    assert!(row.reason.contains("no device"), "{}", row.reason);
}

#[test]
fn cases_that_one_side_alone_lists_are_new_or_missing() {
    let repository = repository("cases 3\n", "cases 4\n", "controls = 0", "");
    repository.compare("HEAD~1..HEAD").exits(0);
    assert_eq!(by_verdict(&repository.verdict())[&Verdict::New], ["case_3"]);
    let next = |verdict| {
        let rows = repository.verdict().rows;
        rows.into_iter().find(|row| row.verdict == verdict).map(|row| row.next).unwrap()
    };
    assert!(next(Verdict::New).contains("compared once it is on the base"), "{}", next(Verdict::New));
    repository.compare("HEAD..HEAD~1").exits(4);
    assert_eq!(by_verdict(&repository.verdict())[&Verdict::Missing], ["case_3"]);
    assert!(next(Verdict::Missing).contains("`failed = \"pass\"`"), "{}", next(Verdict::Missing));
}

#[test]
fn a_side_that_cannot_be_listed_fails_for_every_case_of_the_other() {
    let repository = repository("cases 3\n", "cases 3\nlists no\n", "controls = 0", "");
    repository.compare("HEAD~1..HEAD").exits(4).says("Google Benchmark could not be listed");
    assert_eq!(by_verdict(&repository.verdict())[&Verdict::Invalid], ["case_0", "case_1", "case_2"]);
    let folder = folder("cases 3\nlists no\n", "");
    ran(folder.path(), "run --quiet").exits(4).says("exit code 3; it ends: cannot list");
}

#[test]
fn a_build_that_fails_fails_every_case_of_the_other_side() {
    let suite = suite("controls = 0", "build = [\"sh\", \"build.sh\"]");
    let repository = Repository::new(
        &[("gbench.toml", &suite), ("harness.conf", "cases 2\n"), ("build.sh", "true\n")],
        &[("build.sh", "echo 'error: no such type'; exit 1\n")],
    );
    repository.compare("HEAD~1..HEAD").exits(4).says("error: no such type");
    assert_eq!(by_verdict(&repository.verdict())[&Verdict::Invalid], ["case_0", "case_1"]);
}

#[test]
fn cases_are_chosen_by_the_suite_file_and_by_the_command_line() {
    let folder = folder("cases 12\n", "cases = [\"case_1*\"]");
    let names = |record: &RunRecord| -> Vec<String> {
        record.cases.iter().map(|case| case.id.params["case"].to_string()).collect()
    };
    ran(folder.path(), "run --quiet --processes 1").exits(0);
    assert_eq!(names(&newest(folder.path())), ["case_1", "case_10", "case_11"]);
    ran(folder.path(), "run --quiet --processes 1 --param case=case_10").exits(0);
    assert_eq!(names(&newest(folder.path())), ["case_10"]);
    ran(folder.path(), "run --quiet --param case=case_2").exits(2).says("loosen it");
    std::fs::write(folder.path().join("gbench.toml"), suite("", "cases = [\"other*\"]")).unwrap();
    ran(folder.path(), "run --quiet").exits(4).says("loosen the patterns in `cases`");
}

#[test]
fn a_program_is_known_by_what_its_harness_leaves_in_it() {
    let folder = folder("cases 2\n", "");
    let auto = suite("", "").replace("\"google-benchmark\"", "\"auto\"");
    std::fs::write(folder.path().join("gbench.toml"), &auto).unwrap();
    ran(folder.path(), "run --quiet --processes 1").exits(0);
    assert_eq!(newest(folder.path()).cases.len(), 2);
    let unknown = auto.replace(harness().to_str().unwrap(), "/bin/true");
    std::fs::write(folder.path().join("gbench.toml"), unknown).unwrap();
    ran(folder.path(), "run --quiet").exits(4).says("name it: `harness` is one of");
}

#[test]
fn what_has_no_meaning_beside_a_harness_is_refused() {
    let refused = [
        ("matrix = {n = [1]}", "`matrix` cannot be combined with `harness`"),
        ("timing = \"process\"", "`timing` cannot be combined with `harness`"),
        ("isolation = \"proces\"", "`isolation` cannot be `proces`"),
        ("cases = [\"[*\"]", "is not a glob"),
        ("share = true", "`share` is for programs that speak the protocol"),
    ];
    for (more, words) in refused {
        let folder = folder("cases 1\n", more);
        ran(folder.path(), "run --quiet").exits(2).says(words);
    }
    let folder = folder("cases 1\n", "");
    let text = suite("", "");
    std::fs::write(
        folder.path().join("gbench.toml"),
        text.replace("\"google-benchmark\"", "\"google-bench\""),
    )
    .unwrap();
    ran(folder.path(), "run --quiet").exits(2).says("google-benchmark");
    for key in ["cases = [\"a\"]", "isolation = \"shared\""] {
        let text = text.replace("harness = \"google-benchmark\"", key);
        std::fs::write(folder.path().join("gbench.toml"), text).unwrap();
        ran(folder.path(), "run --quiet").exits(2).says("harness = \"criterion\"");
    }
}

#[test]
fn a_comparison_that_was_cut_off_goes_on_in_the_processes_that_it_would_have_had() {
    let conf = "cases 6\n";
    let repository = repository(conf, &format!("{conf}slow case_1 1.2\n"), "controls = 1", "");
    repository.compare("HEAD~1..HEAD --rounds 5 --order-seed 7").exits(3);
    let id = repository.latest().file_name().unwrap().to_str().unwrap().to_owned();
    repository.compare(&format!("--resume {id} --rounds 40")).exits(1);
    let fewer = format!("compare --resume {id} --rounds 4");
    ran(repository.root(), &fewer).exits(1).says("`--rounds` allows more, not fewer");
    let whole = Repository::new(
        &[("gbench.toml", &suite("controls = 1", "")), ("harness.conf", conf)],
        &[("harness.conf", "cases 6\nslow case_1 1.2\n")],
    );
    whole.compare("HEAD~1..HEAD --order-seed 7").exits(1);
    let values = |repository: &Repository| -> Vec<Vec<(Option<u32>, Vec<f64>)>> {
        let of_case = |case: &CaseRecord| {
            let processes = case.processes.iter().map(|process| process.shared);
            let time = case.metrics.iter().find(|metric| metric.name == "time").unwrap();
            processes.zip(time.processes.iter().map(|process| process.values.clone())).collect()
        };
        sides(repository).iter().flat_map(|side| side.cases.iter().map(of_case)).collect()
    };
    assert_eq!(values(&repository), values(&whole));
}

#[test]
fn b32_a_comparison_whose_build_leaves_files_is_resumed_with_the_cases_that_it_began_with() {
    let build = "build = { shell = \"touch left-by-the-build\" }";
    let repository = repository("cases 6\n", "cases 6\nslow case_1 1.2\n", "", build);
    repository.compare("HEAD~1..HEAD --rounds 5 --param case=case_1,case_2 --controls 2").exits(3);
    for side in sides(&repository) {
        assert!(!side.manifest.git.known().unwrap().dirty.any());
    }
    // The working tree is another one by now, and the head was a commit.
    std::fs::write(repository.root().join("harness.conf"), "cases 2\n").unwrap();
    repository.compare("--resume --rounds 40").exits(1);
    let [_, head] = sides(&repository);
    assert_eq!(head.cases.len(), 2);
    assert!(head.cases.iter().any(|case| case.processes.len() > 5), "{:?}", head.cases);
}

#[test]
fn e11_one_process_shows_how_long_a_round_takes_and_what_it_shortened_stays_short_when_resumed() {
    let files = crate::support::tempdir().unwrap();
    let path = |name: &str| files.path().join(name).display().to_string();
    let conf = format!("cases 20\npause 600 {}\nlog {}\n", path("awake"), path("log"));
    let gate = format!("writable = ['{}']", files.path().display());
    let repository = repository(&conf, &format!("{conf}slow case_1 1.2\n"), &gate, "");
    let duration = |record: &RunRecord| {
        let of_case =
            record.cases.iter().map(|case| case.config["duration"].value.as_str().unwrap().to_owned());
        of_case.collect::<std::collections::BTreeSet<String>>()
    };
    // A process sleeps for longer than the fifth of the budget that one may take. Without a control there would be time for a round.
    let said = ran(repository.root(), "compare HEAD~1..HEAD --budget 2s --order-seed 7").exits(3);
    let said =
        said.says("one process of each harness, to see how long a round takes").says("warning: a round");
    let said = said.says("2s has room for 1 round").says("`--budget");
    said.says("`cases` in the suite file").says("or count its instructions, which the noise does not reach");
    let [base, head] = sides(&repository);
    assert_eq!([duration(&base), duration(&head)], [["10ms".to_owned()].into(), ["10ms".to_owned()].into()]);
    assert_eq!(base.cases[0].config["duration"].origin.to_string(), "--budget");
    let (_, asked) = starts(&files.path().join("log"), "base");
    assert_eq!(
        asked.len(),
        base.cases[0].processes.len() + 1,
        "no process of a control, one beside the rounds"
    );
    // Awake and with more time it is decided, by the times that it was begun with and without another trial.
    std::fs::write(files.path().join("awake"), "").unwrap();
    let id = repository.latest().file_name().unwrap().to_str().unwrap().to_owned();
    let flat = |ran: crate::support::cli::Ran| ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
    let resumed = flat(ran(repository.root(), &format!("compare --resume {id} --budget 1h")).exits(1));
    assert!(!resumed.contains("how long a round takes"), "{resumed}");
    assert_eq!(
        sides(&repository).map(|side| duration(&side)),
        [["10ms".to_owned()].into(), ["10ms".to_owned()].into()]
    );
    // A process that is quick shortens nothing.
    let quick = flat(ran(repository.root(), "compare HEAD~1..HEAD --budget 1h").exits(1));
    assert!(quick.contains("how long a round takes") && !quick.contains("warning: a round"), "{quick}");
    assert_eq!(duration(&sides(&repository)[0]), ["100ms".to_owned()].into());
}

/// The records of base and head.
fn sides(repository: &Repository) -> [RunRecord; 2] {
    let (base, head, _) = read_comparison(&repository.latest()).unwrap();
    [base, head]
}

/// A folder with a suite of one benchmark of this harness and command, and with scripts.
fn other(harness: &str, command: &str, scripts: &[(&str, String)]) -> tempfile::TempDir {
    let folder = crate::support::tempdir().unwrap();
    let suite = format!(
        "[suite]\nname = \"s\"\n[gate]\nwatch = false\n[[benchmark]]\nid = \"h\"\nharness = \"{harness}\"\n{command}\n"
    );
    std::fs::write(folder.path().join("gbench.toml"), suite).unwrap();
    for (name, text) in scripts {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

#[test]
fn a_program_that_is_too_old_is_said_to_be_and_what_is_needed() {
    // What Criterion.rs 0.3.6 prints.
    let old = "echo \"error: Found argument '--quiet' which wasn't expected, or isn't valid in this context\" >&2; exit 1\n";
    let folder = other("criterion", "command = [\"sh\", \"old\"]", &[("old", old.into())]);
    ran(folder.path(), "list --cases").says("version 0.3 or older").says("`criterion` 0.4 or later");
}

#[test]
fn cases_that_cannot_be_listed_are_named_with_their_reason_and_an_exit_code() {
    let build = "build = { shell = \"echo 'a.c:1:2: error: no such thing' >&2; exit 7\" }";
    let missing = "requires = { binary = [\"no-such-program\"] }";
    for (more, cause, advice) in [
        (build, "exit code 7: a.c:1:2: error: no such thing", "run the build step by hand"),
        (missing, "the program `no-such-program` is not on PATH", "install `no-such-program`"),
    ] {
        let folder = folder("cases 3\n", more);
        let told = ran(folder.path(), "list --cases").exits(4).says(cause).says(advice);
        assert!(!told.out.contains("asks"), "{}", told.out);
        assert!(told.out.contains("0 cases and those of 1 harness that could not be listed"), "{}", told.out);
        let told = ran(folder.path(), "list --cases --json").exits(4);
        let list: serde_json::Value = serde_json::from_str(&told.out).unwrap();
        let why = &list["benchmarks"][0]["not_listed"];
        assert!(why["cause"].as_str().unwrap().contains(cause), "{why}");
        assert!(why["advice"].as_str().unwrap().contains(advice), "{why}");
        ran(folder.path(), "list").exits(0).says("`--cases` asks");
    }
    // As in a run, what is skipped here is no failure beside what is not.
    let folder = folder("cases 3\n", missing);
    let path = folder.path().join("gbench.toml");
    let more = "[[benchmark]]\nid = \"i\"\ntiming = \"process\"\ncommand = [\"true\"]\n";
    std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + more).unwrap();
    ran(folder.path(), "list --cases").exits(0).says("is not on PATH");
}

#[test]
fn a_build_that_failed_for_listing_is_not_run_again_and_its_output_is_kept() {
    let build =
        "build = { shell = \"echo run >> builds; echo 'a.c:1:2: error: no such thing' >&2; exit 7\" }";
    let folder = folder("cases 3\n", build);
    ran(folder.path(), "run").exits(4).says("build of s/h failed after").says("logs/build-s-h.stderr.log");
    assert_eq!(std::fs::read_to_string(folder.path().join("builds")).unwrap(), "run\n");
    assert!(matches!(
        &newest(folder.path()).cases[0].outcome,
        Outcome::Failed { kind: FailureKind::Build, .. }
    ));
    let log = runs(folder.path()).pop().unwrap().join("logs/build-s-h.stderr.log");
    assert_eq!(std::fs::read_to_string(log).unwrap(), "a.c:1:2: error: no such thing\n");
}

#[test]
fn names_in_cases_may_have_brackets_and_a_pattern_for_nothing_is_named() {
    let script = "case \"$BENCHMARK_LIST_TESTS\" in true) echo 'a[10]'; echo a1; echo 'b<int,8>'; echo 'c[l-1]'; echo d;; esac\n";
    let more = "command = [\"sh\", \"bench\"]\ncases = [\"a[10]\", \"b*\", \"c[l-1]\", \"x*\"]";
    let folder = other("google-benchmark", more, &[("bench", script.into())]);
    let told = ran(folder.path(), "list --cases").exits(0).says("s/h[case=a[10]]");
    assert!(told.out.contains("[case=c[l-1]]") && !told.out.contains("[case=a1]"), "{}", told.out);
    told.says("warning: s/h: no case of its harness is meant by `x*` in `cases`");
    let told = ran(folder.path(), "list --cases --param case=b<int,8>").exits(0).says("1 case ");
    assert!(!told.out.contains("a[10]"), "{}", told.out);
}

#[test]
fn a_command_that_the_words_of_its_harness_have_no_place_in_is_refused_with_one_that_has() {
    for command in ["command = [\"make\", \"bench\"]", "shell = \"asv run\""] {
        let refused = ran(other("asv", command, &[]).path(), "list").exits(2);
        refused.says("airspeed velocity").says(r#"`command = ["python3", "-m", "asv", "run"]`"#);
    }
    ran(other("asv", "command = [\"taskset\", \"-c\", \"1\", \"asv\"]", &[]).path(), "list").exits(0);
}

#[test]
fn a_program_behind_env_and_cargo_is_started_directly_with_its_variables() {
    let cargo = "test \"$A\" = 1 || exit 9\ncase \"$*\" in *--no-run*) ;; *) exit 8;; esac\n\
                 echo \"{\\\"reason\\\":\\\"compiler-artifact\\\",\\\"manifest_path\\\":\\\"$PWD/Cargo.toml\\\",\
                 \\\"target\\\":{\\\"kind\\\":[\\\"bench\\\"],\\\"name\\\":\\\"x\\\"},\\\"executable\\\":\\\"$PWD/x\\\"}\"\n";
    let program = format!("test \"$A\" = 1 || exit 7\nexec {} \"$@\"\n", harness().display());
    let scripts = [("cargo", cargo.to_owned()), ("x", program), ("harness.conf", "cases 1\n".into())]
        .map(|(name, text)| (name, if name == "harness.conf" { text } else { format!("#!/bin/sh\n{text}") }));
    let command = "command = [\"env\", \"A=1\", \"./cargo\", \"bench\", \"--bench\", \"x\"]\nprocesses = 1";
    let folder = other("google-benchmark", command, &scripts);
    ran(folder.path(), "run --quiet").exits(0);
    assert_eq!(newest(folder.path()).cases[0].id.to_string(), "s/h[case=case_0]");
}
