//! Profilers on demand, by stand-ins: behind a run, for a confirmed regression, and by themselves. What is measured stays as it is.

use std::path::Path;

use gbench_ci::compare::{VerdictDocument, verdict_of};
use gbench_ci::model::{CaseRecord, ProfileFigure, ProfileOutcome, Profiler, RunRecord};
use gbench_ci::store::read_comparison;

use crate::support::cli::{Ran, command, ended, newest, runs};
use crate::support::fixture;
use crate::support::job;
use crate::support::profilers::{StandIns, missing, profile_folder, reports};
use crate::support::repository::{Repository, UNWATCHED, suite};

const TWO_CASES: &str = r#"
[suite]
name = "s"
[defaults]
processes = 2
[[benchmark]]
id = "a"
command = ["sh", "-c", "echo ran >> count; printf %s \"$GBENCH_NVTX\" > nvtx.$$"]
timing = "process"
[[benchmark]]
id = "b"
command = ["sh", "-c", "exit 3"]
timing = "process"
"#;

fn folder(suite: &str) -> tempfile::TempDir {
    let folder = crate::support::tempdir().unwrap();
    std::fs::write(folder.path().join("gbench.toml"), suite).unwrap();
    std::fs::write(folder.path().join("cost"), "2\n").unwrap();
    folder
}

fn with(folder: &Path, line: &str, env: &[(&'static str, String)]) -> Ran {
    let mut command = command(folder, line);
    command.envs(env.iter().map(|(name, value)| (name, value)));
    ended(command)
}

fn case<'r>(record: &'r RunRecord, name: &str) -> &'r CaseRecord {
    record.cases.iter().find(|case| case.id.benchmark.name() == name).unwrap()
}

#[test]
fn s0_21_s0_22_s0_26_a_run_keeps_the_reports_of_processes_that_are_in_no_metric() {
    let (folder, tools) = (folder(TWO_CASES), StandIns::new("well"));
    let ran = with(folder.path(), "run --quiet --benchmark a --profile nsys,ncu", &tools.env()).exits(0);
    let record = newest(folder.path());
    let a = case(&record, "a");
    assert_eq!(a.processes.len(), 2);
    assert!(a.metrics.iter().all(|metric| metric.processes.len() == 2));
    let run = runs(folder.path()).pop().unwrap();
    assert_eq!(reports(&run), ["000-s-a.ncu-rep", "000-s-a.nsys-rep"], "the database of nsys is gone");
    let [nsys, ncu] = a.profiles.as_slice() else { panic!("{:?}", a.profiles) };
    assert_eq!((nsys.profiler, ncu.profiler), (Profiler::Nsys, Profiler::Ncu));
    assert_eq!((&nsys.outcome, &ncu.outcome), (&ProfileOutcome::Taken, &ProfileOutcome::Taken));
    assert_eq!(nsys.version.as_deref(), Some("2022.4.2.1-df9881f"));
    assert_eq!(ncu.reports, ["profiles/000-s-a.ncu-rep"]);
    assert_eq!(nsys.kernels.len(), 2);
    let figures = &ncu.kernels[0].figures;
    assert_eq!(figures[&ProfileFigure::DramBytesRead], 32768.0);
    assert_eq!(figures[&ProfileFigure::Launches], 3.0);
    assert!((figures[&ProfileFigure::KernelTime] - 2e-6).abs() < 1e-12);
    // Two processes that were timed, and one for each profiler.
    assert_eq!(std::fs::read_to_string(folder.path().join("count")).unwrap().lines().count(), 4);
    ran.says("s/a, by ncu 2024.1.1.0").says("time of a launch");
}

#[test]
fn s0_24_ranges_are_on_in_processes_that_are_watched_alone() {
    let (folder, tools) = (folder(TWO_CASES), StandIns::new("well"));
    with(folder.path(), "run --quiet --benchmark a --profile ncu", &tools.env()).exits(0);
    let entries = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let said = entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("nvtx."));
    let mut said: Vec<String> = said.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    said.sort();
    assert_eq!(said, ["", "", "1"]);
    let calls = tools.calls();
    let started = calls.iter().find(|call| call.contains("-o ")).unwrap();
    assert!(started.contains("--target-processes all --log-file stderr"), "{started}");
    assert!(started.contains("gpu__time_duration.sum"), "{started}");
}

#[test]
fn s0_57_a_profiler_that_is_missing_is_one_warning_and_the_timing_stands() {
    let folder = folder(TWO_CASES);
    let ran = with(folder.path(), "run --benchmark a --profile nsys,ncu", &missing()).exits(0);
    assert_eq!(ran.err.matches("nothing is profiled by ncu").count(), 1, "{}", ran.err);
    let record = newest(folder.path());
    let a = case(&record, "a");
    assert!(a.outcome.is_measured() && a.metrics[0].processes.len() == 2);
    let program = "/no/such/profiler".to_owned();
    assert!(a.profiles.iter().all(|it| it.outcome == ProfileOutcome::Missing { program: program.clone() }));
    let told = record.warnings.iter().filter(|text| text.starts_with("nothing is profiled by"));
    assert_eq!(told.count(), 2, "{:?}", record.warnings);
    // Where it is required, nothing is measured first.
    let line = "run --quiet --benchmark a --profile ncu --require-profilers";
    with(folder.path(), line, &missing()).exits(5).says("is not here: install Nsight Compute");
    assert_eq!(runs(folder.path()).len(), 1);
}

#[test]
fn s0_15_a_profiler_that_hangs_is_killed_at_its_limit_and_the_timing_stands() {
    let text = TWO_CASES.replace("processes = 2", "processes = 2\ndeadlines = { profile = \"1s\" }");
    let (folder, tools) = (folder(&text), StandIns::new("hang"));
    // It was stopped: it would have gone on for ten minutes.
    let ran = with(folder.path(), "run --quiet --benchmark a --profile ncu", &tools.env()).exits(0);
    let record = newest(folder.path());
    let a = case(&record, "a");
    assert!(a.outcome.is_measured() && a.metrics[0].processes.len() == 2);
    assert_eq!(a.profiles[0].outcome, ProfileOutcome::TimedOut { limit: 1.0 });
    ran.says("not taken: it was stopped at its limit of 1s");
    let line = "run --quiet --benchmark a --profile ncu --require-profilers";
    with(folder.path(), line, &tools.env()).exits(4);
}

#[test]
fn e3_what_gives_no_figures_is_a_failure_with_its_cause() {
    let cause = |mode: &str, profiler: &str| {
        let (folder, tools) = (folder(TWO_CASES), StandIns::new(mode));
        let line = format!("run --quiet --benchmark a --profile {profiler}");
        with(folder.path(), &line, &tools.env()).exits(0);
        let record = newest(folder.path());
        match &case(&record, "a").profiles[0].outcome {
            ProfileOutcome::Failed { cause } => cause.clone(),
            other => panic!("{mode} {profiler}: {other:?}"),
        }
    };
    let failed = cause("fail", "ncu");
    assert!(
        failed.ends_with("failed to connect to the CUDA driver (stub libcuda.so[.1] on path?)"),
        "{failed}"
    );
    assert!(cause("bare", "ncu").starts_with("ncu ended well and left no report"));
    let silent = cause("silent", "ncu");
    assert!(silent.contains("ncu --import"), "{silent}");
    let nothing = cause("silent", "nsys");
    assert!(nothing.contains("gpukernsum") && !nothing.contains("could not be found"), "{nothing}");
    let cut = cause("cut", "ncu");
    assert!(cut.contains("line 5"), "{cut}");
    let stream = cause("stream", "nsys");
    assert!(stream.contains("000-s-a.qdstrm") && stream.contains("importer binary"), "{stream}");
}

#[test]
fn s0_76_the_suite_file_can_ask_and_the_command_line_can_refuse() {
    let text = TWO_CASES.to_owned() + "[profile]\nprofilers = [\"nsys\"]\ntrace = [\"cuda\"]\n";
    let (folder, tools) = (folder(&text), StandIns::new("well"));
    with(folder.path(), "run --quiet --benchmark a --no-profile", &tools.env()).exits(0);
    assert_eq!(tools.calls(), [""; 0]);
    assert!(case(&newest(folder.path()), "a").profiles.is_empty());
    with(folder.path(), "run --quiet --benchmark a", &tools.env()).exits(0);
    assert!(tools.calls().iter().any(|call| call.contains("--trace=cuda ")), "{:?}", tools.calls());
    with(folder.path(), "run --quiet --no-profile --require-profilers", &tools.env()).exits(2);
    std::fs::write(folder.path().join("gbench.toml"), TWO_CASES).unwrap();
    let line = "run --quiet --benchmark a --require-profilers";
    with(folder.path(), line, &tools.env()).exits(2).says("no profiler is asked for");
}

#[test]
fn the_command_profiles_and_measures_nothing() {
    let (folder, tools) = (folder(TWO_CASES), StandIns::new("well"));
    let ran = with(folder.path(), "profile a --quiet --profile ncu", &tools.env()).exits(0);
    ran.says("PROFILED: 1 profile taken of 1 case; nothing was measured").says("000-s-a.ncu-rep with ncu-ui");
    assert_eq!(std::fs::read_to_string(folder.path().join("count")).unwrap().lines().count(), 1);
    assert_eq!(reports(&profile_folder(folder.path())), ["000-s-a.ncu-rep"]);

    let json = with(folder.path(), "profile a --quiet --profile ncu --format json", &tools.env()).exits(0);
    let document: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(document["schema"], "gbench-ci/profiles/v1");
    assert_eq!(document["cases"][0]["profiles"][0]["kernels"][0]["figures"]["registers"], 32.0);
}

#[test]
fn the_command_fails_with_its_case_and_without_its_profiler() {
    let (folder, tools) = (folder(TWO_CASES), StandIns::new("well"));
    let ran = with(folder.path(), "profile b --quiet --profile ncu", &tools.env()).exits(4);
    ran.says("its process ended with exit code 3 under ncu");
    with(folder.path(), "profile a --quiet", &missing()).exits(5).says("install Nsight Systems");
    with(folder.path(), "profile a --quiet --profile torch", &tools.env()).exits(2);
    with(folder.path(), "profile nothing --quiet", &tools.env()).exits(2);
    with(folder.path(), "profile a --quiet --profile vtune", &tools.env()).exits(2);
}

/// A repository whose head is twice as slow in all of its cases.
fn slower() -> Repository {
    let gbench = suite(UNWATCHED, "");
    Repository::new(&[("gbench.toml", &gbench)], &[("cost", "2\n")])
}

fn compare(repository: &Repository, flags: &str, env: &[(&'static str, String)]) -> Ran {
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
    repository.compare_with(&format!("HEAD~1..HEAD --order-seed 1 --controls 0 {flags}"), &env)
}

/// What decides, without what profilers add to it.
fn decision(document: &VerdictDocument) -> VerdictDocument {
    VerdictDocument { profiles: Vec::new(), ..document.clone() }
}

#[test]
fn e4_a_confirmed_regression_has_base_and_head_side_by_side_in_report_and_comment() {
    let (repository, tools) = (slower(), StandIns::new("well"));
    let ran = compare(&repository, "--profile ncu", &tools.env()).exits(1);
    let document = repository.verdict();
    let profiled: Vec<&str> = document.profiles.iter().map(|it| it.case.benchmark.name()).collect();
    assert_eq!(profiled.len(), 3, "of four regressions the worst three");
    let first = &document.profiles[0];
    assert!(document.rows[..3].iter().any(|row| row.case == first.case));
    // Eight times as many bytes moved more than twice the time.
    assert_eq!(first.moved[0].figure, ProfileFigure::DramBytesRead);
    assert_eq!((first.moved[0].base, first.moved[0].head), (Some(4096.0), Some(32768.0)));
    assert_eq!(first.moved[1].figure, ProfileFigure::KernelTime);
    assert_eq!(first.base.reports.len(), 1);
    let latest = repository.latest();
    for side in ["base", "head"] {
        let kept = reports(&latest.join(side));
        assert_eq!(kept.len(), 3, "{kept:?}");
        assert!(kept.iter().all(|name| name.ends_with(&format!(".{side}.ncu-rep"))), "{kept:?}");
    }
    ran.says("Profiles of base and head")
        .says("DRAM read")
        .says("4.000 KiB")
        .says("the same on both sides: 7 other figures");
    let markdown = std::fs::read_to_string(latest.join("reports/verdict.md")).unwrap();
    assert!(markdown.contains("| DRAM read | 4.000 KiB | 32.000 KiB | +700 % |"), "{markdown}");
    assert!(!markdown.contains("registers of a thread"), "what did not move is counted alone: {markdown}");

    // What stands in files is the same: judged again, it says the same, and the comment is made of it.
    let (base, head, control) = read_comparison(&latest).unwrap();
    assert_eq!(verdict_of(&base, &head, control.as_ref()).unwrap(), document);
}

#[test]
fn e4_the_comment_of_a_pull_request_shows_what_moved_most() {
    let gbench = job::suite(3, "");
    let main = [("gbench.toml", gbench.as_str()), ("work", &job::work(&[1.0; 3])), ("cost", "1\n")];
    let topic = [("work", job::work(&[1.0, 1.5, 1.0])), ("cost", "2\n".to_owned())];
    let topic = topic.each_ref().map(|(name, text)| (*name, text.as_str()));
    let (checkout, tools) = (job::Checkout::over(&main, &topic), StandIns::new("well"));
    let mut step = checkout.step("pull_request.synchronize", "ci --quiet --profile ncu");
    step.envs(tools.env());
    ended(step).exits(1);
    assert_eq!(checkout.job().flags, ["--profile=ncu"]);
    assert!(checkout.summary().contains("DRAM read"), "{}", checkout.summary());
    let line = format!("publish {} --dry-run", checkout.comparison().display());
    let ran = checkout.ran("pull_request.synchronize", &line).exits(0);
    let row =
        ran.out.lines().find(|line| line.starts_with("| DRAM read |")).unwrap_or_else(|| panic!("{ran:?}"));
    assert_eq!(row.replace('\u{a0}', " "), "| DRAM read | 4.000 KiB | 32.000 KiB | +700 % |");
    assert!(ran.out.contains("Profiles of base and head"), "{ran:?}");
}

#[test]
fn e4_a_profiler_that_hangs_or_is_missing_changes_neither_verdict_nor_exit_code_unless_required() {
    let each = "deadlines = { profile = \"1s\" }";
    let gbench = suite(UNWATCHED, each);
    let repository = Repository::new(&[("gbench.toml", &gbench)], &[("cost", "2\n")]);
    let hanging = StandIns::new("hang");
    let ran = compare(&repository, "--profile ncu", &hanging.env()).exits(1);
    ran.says("not taken: it was stopped at its limit of 1s");
    let document = repository.verdict();
    let (base, head, control) = read_comparison(&repository.latest()).unwrap();
    let strip = |mut record: RunRecord| {
        record.cases.iter_mut().for_each(|case| case.profiles.clear());
        record
    };
    let plain = verdict_of(&strip(base), &strip(head), control.as_ref()).unwrap();
    assert_eq!(plain, decision(&document));
    let required = compare(&repository, "--profile ncu --require-profilers", &hanging.env()).exits(4);
    required.says("exit code 4: a profile was not taken").says("the verdict itself is 1");

    let ran = compare(&repository, "--profile ncu", &missing()).exits(1);
    ran.says("`/no/such/profiler` is not here");
    let mut loud = command(repository.root(), "compare HEAD~1..HEAD --controls 0 --profile ncu");
    loud.envs(missing());
    let loud = ended(loud).exits(1);
    assert_eq!(loud.err.matches("nothing is profiled by ncu").count(), 1, "{}", loud.err);
    compare(&repository, "--profile ncu --require-profilers", &missing()).exits(5);
}

#[test]
fn nothing_is_profiled_where_nothing_regressed_and_no_stored_run_is() {
    let gbench = suite(UNWATCHED, "");
    let repository = Repository::new(&[("gbench.toml", &gbench)], &[]);
    let tools = StandIns::new("well");
    compare(&repository, "--profile ncu", &tools.env());
    assert_eq!(tools.calls(), [""; 0]);
    assert!(repository.verdict().profiles.is_empty());
    let record = repository.latest().join("base/results/record.json");
    let mut stored = command(repository.root(), "compare --profile ncu");
    stored.args([&record, &record]);
    ended(stored).exits(2).says("a stored run cannot be profiled");
}

/// The real program, where `GBENCH_TEST_NSYS` names one: a program without a kernel is an honest failure, and its report is there.
#[test]
fn s0_21_the_real_nsys_sees_no_kernel_in_a_program_of_the_cpu() {
    let Some(nsys) = std::env::var_os("GBENCH_TEST_NSYS") else {
        println!("SKIPPED: GBENCH_TEST_NSYS names no nsys");
        return;
    };
    let folder = folder(TWO_CASES);
    let env = [("GBENCH_NSYS", nsys.into_string().unwrap())];
    let ran = with(folder.path(), "profile a --quiet --profile nsys", &env).exits(4);
    ran.says("shows no kernel");
    let kept = reports(&profile_folder(folder.path()));
    assert_eq!(kept, ["000-s-a.nsys-rep"]);
}

/// Two kernels of one example, of which the second one has no bank conflicts.
#[test]
fn a_real_pair_shows_what_moved_most_first() {
    let read = |name: &str| {
        let bytes = std::fs::read(fixture("profile/ncu/2024.1.1").join(name)).unwrap();
        gbench_ci::profile::read_ncu_csv(&bytes).unwrap()
    };
    let (base, head) = (read("raw-transposeCoalesced.csv"), read("raw-transposeNoBankConflicts.csv"));
    let moved = gbench_ci::compare::moved_most(&base, &head);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("snapshots/profile");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_json_snapshot!("moved@transpose", moved));
    assert!(moved.iter().all(|figure| figure.head_kernel.is_some()), "each side has one kernel");
}
