//! Programs that launch kernels, under a tracer: each kernel a case, each launch a sample. The tracer is a stand-in that prints the
//! tables of real versions, and the program is `fixtures/programs/kernels.sh`, whose times follow from side and process alone.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use gbench_ci::compare::{Verdict, VerdictDocument};
use gbench_ci::model::{CaseRecord, NoReference, Outcome, RunRecord};

use crate::fake_nvml;
use crate::support::cli::{Ran, command, ended, newest, ran};
use crate::support::profilers::{self, StandIns};
use crate::support::repository::{Repository, UNWATCHED};
use crate::support::tempdir;

const EIGHT: &str = "\
5000 6 128 256 void scale<float, (int)4>(const T1 *, T1 *, int)
4000 6 64 256 (anonymous namespace)::fill(float *, float)
9000 6 128 128 add_kernel_0d1d2d3de
9000 6 256 128 add_kernel_0d1d2d3de
30000 6 32 256 sm80_xmma_gemm_f16f16_f32_tn_n_tilesize128x128x32_kernel__5x_cublas
7000 6 128 256 void at::native::reduce<at::Half>(at::Half *)
6000 6 128 256 softmax
8000 6 128 256 norm(float *)
700 1 - - [CUDA memcpy HtoD]
";

fn suite(each: &str) -> String {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/programs/kernels.sh");
    format!(
        "[suite]\nname = \"s\"\n{UNWATCHED}controls = 0\n[[benchmark]]\nid = \"p\"\nharness = \"kernels\"\n\
         command = [\"sh\", \"{}\"]\nprocesses = 2\n{each}\n",
        program.display()
    )
}

fn equip(command: &mut Command, tools: &StandIns) {
    command.envs(tools.env());
    command.env("GBENCH_NVML_LIBRARY", fake_nvml::library("")).env("FAKE_NVML", "count=1 energy=!3");
}

fn folder(kernels: &str) -> tempfile::TempDir {
    let folder = tempdir().unwrap();
    std::fs::write(folder.path().join("gbench.toml"), suite("")).unwrap();
    std::fs::write(folder.path().join("kernels"), kernels).unwrap();
    folder
}

fn run(kernels: &str, mode: &str) -> (Ran, tempfile::TempDir) {
    let (folder, tools) = (folder(kernels), StandIns::new(mode));
    let mut command = command(folder.path(), "run --quiet");
    equip(&mut command, &tools);
    (ended(command), folder)
}

/// Two commits whose programs launch these kernels, compared.
fn compare(base: &str, head: &str, each: &str, mode: &str) -> (Ran, Repository) {
    let suite = suite(each);
    let repository = Repository::new(&[("gbench.toml", &suite), ("kernels", base)], &[("kernels", head)]);
    let tools = StandIns::new(mode);
    let mut command = command(repository.root(), "compare HEAD~1..HEAD --quiet --order-seed 1");
    equip(&mut command, &tools);
    (ended(command), repository)
}

fn by_verdict(document: &VerdictDocument) -> BTreeMap<Verdict, Vec<String>> {
    let mut found: BTreeMap<Verdict, Vec<String>> = BTreeMap::new();
    for row in &document.rows {
        let grid = row.case.params.get("grid").map(|grid| format!(" {grid}")).unwrap_or_default();
        let name = format!("{}{grid} {}", row.case.params["case"], row.metric);
        found.entry(row.verdict).or_default().push(name);
    }
    found
}

fn case<'r>(record: &'r RunRecord, name: &str) -> &'r CaseRecord {
    record.cases.iter().find(|case| case.id.to_string().contains(name)).unwrap()
}

fn values(case: &CaseRecord, metric: &str) -> Vec<f64> {
    let metric = case.metrics.iter().find(|found| found.name == metric).unwrap();
    metric.processes.iter().flat_map(|process| process.values.clone()).collect()
}

#[test]
fn q5b_each_kernel_of_a_program_is_a_case_and_each_launch_behind_the_first_a_sample() {
    for mode in ["well", "modern"] {
        let (ran, folder) = run(EIGHT, mode);
        ran.exits(0);
        let record = newest(folder.path());
        let names: Vec<String> = record.cases.iter().map(|case| case.id.to_string()).collect();
        assert_eq!(
            names,
            [
                "s/p[case=whole program]",
                "s/p[block=256,case=scale<float, 4>,grid=128]",
                "s/p[block=256,case=fill,grid=64]",
                "s/p[block=128,case=add_kernel,grid=128]",
                "s/p[block=128,case=add_kernel,grid=256]",
                "s/p[block=256,case=sm80_xmma_gemm_f16f16_f32_tn_n_tilesize128x128x32_kernel,grid=32]",
                "s/p[block=256,case=reduce<Half>,grid=128]",
                "s/p[block=256,case=softmax,grid=128]",
                "s/p[block=256,case=norm,grid=128]",
            ]
        );
        let fill = case(&record, "case=fill");
        let times = values(fill, "time");
        assert_eq!(times.len(), 2 * 5, "two processes, six launches each, without the first");
        assert!(times.iter().all(|time| (3900.0..4100.0).contains(time)), "{times:?}");
        assert_eq!(values(fill, "launches"), [6.0, 6.0]);
        assert!(fill.part_of_whole);
        let whole = case(&record, "whole program");
        assert!(!whole.part_of_whole);
        assert_eq!(values(whole, "launches"), [48.0, 48.0]);
        let (span, busy) = (values(whole, "gpu_span")[0], values(whole, "gpu_busy")[0]);
        // 900 ns pass between one launch and the next.
        assert_eq!(span - busy, 48.0 * 900.0);
        assert!((650.0..750.0 * 3.0).contains(&values(whole, "copy_to_device_time")[0]));
        assert_eq!(values(whole, "copy_to_device_bytes"), [1.049, 1.049]);
    }
}

#[test]
fn q5b_five_per_cent_in_one_kernel_of_eight_are_red_in_that_kernel_alone() {
    let slower = EIGHT.replace("\n7000 ", "\n7350 ");
    let (ran, repository) = compare(EIGHT, &slower, "target = 0.03\nmin_effect = 0.02", "well");
    ran.exits(1);
    let found = by_verdict(&repository.verdict());
    assert_eq!(found[&Verdict::Regressed], ["reduce<Half> 128 time"], "{found:#?}");
    assert_eq!(
        found.keys().copied().collect::<Vec<_>>(),
        [Verdict::Regressed, Verdict::Unchanged],
        "{found:#?}"
    );
}

/// A tracer that makes every launch a third longer, and 400 ns more: with `t` the time of a launch, base shows
/// `a t + b`, and head, slower by `d`, `a t (1 + d) + b`. Their ratio is `1 + d a t / (a t + b)`: 1 for equal kernels whatever
/// the tracer costs, and never more than `1 + d`.
#[test]
fn q5b_what_a_tracer_adds_to_both_sides_makes_no_difference() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/programs/kernels.sh");
    let traced =
        format!("env = {{ STAND_IN_SCALE = \"1.33\", STAND_IN_MORE = \"400\" }}\n# {}", program.display());
    let each = format!("target = 0.03\nmin_effect = 0.02\n{traced}");
    let (ran, repository) = compare(EIGHT, EIGHT, &each, "modern");
    ran.exits(0);
    let found = by_verdict(&repository.verdict());
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), [Verdict::Unchanged], "{found:#?}");
    let slower = EIGHT.replace("\n7000 ", "\n7700 ");
    let (ran, repository) = compare(EIGHT, &slower, &each, "modern");
    ran.exits(1);
    let document = repository.verdict();
    assert_eq!(by_verdict(&document)[&Verdict::Regressed], ["reduce<Half> 128 time"]);
    let row = document.rows.iter().find(|row| row.verdict == Verdict::Regressed).unwrap();
    let ratio = row.change.as_ref().unwrap().ratio;
    assert!((1.07..1.1).contains(&ratio), "{ratio}");
}

#[test]
fn q5b_kernels_that_became_one_are_gone_and_the_whole_decides() {
    let fused = EIGHT
        .replace("7000 6 128 256 void at::native::reduce<at::Half>(at::Half *)\n6000 6 128 256 softmax\n", "")
        .replace("8000 6 128 256 norm(float *)", "12000 6 128 256 reduce_softmax_norm(float *)");
    let (ran, repository) = compare(EIGHT, &fused, "target = 0.03\nmin_effect = 0.02", "well");
    ran.exits(0).says("3 are gone");
    let document = repository.verdict();
    let found = by_verdict(&document);
    assert_eq!(found[&Verdict::Improved], ["whole program gpu_span", "whole program gpu_busy"], "{found:#?}");
    assert_eq!(found[&Verdict::Gone], ["norm 128 ", "reduce<Half> 128 ", "softmax 128 "], "{found:#?}");
    assert_eq!(found[&Verdict::New], ["reduce_softmax_norm 128 "]);
    let gone = document.rows.iter().find(|row| row.verdict == Verdict::Gone).unwrap();
    assert!(gone.reason.contains("the rows of the whole decide"), "{}", gone.reason);

    // The same, and slower as a whole.
    let slow = fused.replace("12000 6", "90000 6");
    let (ran, repository) = compare(EIGHT, &slow, "", "well");
    ran.exits(1);
    let regressed = &by_verdict(&repository.verdict())[&Verdict::Regressed];
    assert!(regressed.iter().all(|row| row.starts_with("whole program gpu_")), "{regressed:?}");
}

#[test]
fn q5b_a_renamed_kernel_is_gone_and_new() {
    let renamed = EIGHT.replace("softmax", "online_softmax");
    let (ran, repository) = compare(EIGHT, &renamed, "", "modern");
    ran.exits(0);
    let found = by_verdict(&repository.verdict());
    assert_eq!(found[&Verdict::Gone], ["softmax 128 "], "{found:#?}");
    assert_eq!(found[&Verdict::New], ["online_softmax 128 "]);
}

#[test]
fn q5b_a_kernel_that_some_processes_of_head_do_not_launch_is_missing_and_not_gone() {
    let some = EIGHT.replace("8000 6 128 256 norm", "exit-if-odd\n8000 6 128 256 norm");
    let (ran, repository) =
        compare(&EIGHT.replace("700 1", "0 0"), &some.replace("700 1", "0 0"), "", "well");
    ran.exits(4);
    let found = by_verdict(&repository.verdict());
    assert_eq!(found[&Verdict::Missing], ["norm 128 "], "{found:#?}");
    assert!(!found.contains_key(&Verdict::Gone), "{found:#?}");
}

#[test]
fn q5b_a_kernel_that_is_gone_where_the_whole_is_not_decided_is_missing() {
    let ungated = "metrics = { gpu_span = { gate = false }, gpu_busy = { gate = false } }";
    let (ran, repository) = compare(EIGHT, &EIGHT.replace("softmax", "online_softmax"), ungated, "well");
    ran.exits(4);
    assert_eq!(by_verdict(&repository.verdict())[&Verdict::Missing], ["softmax 128 "]);
}

#[test]
fn q5b_a_kernel_that_is_launched_once_is_not_compared_with_later_launches() {
    let once = EIGHT.replace("\n30000 6 32", "\n30000 1 32");
    let (ran, repository) = compare(&once, EIGHT, "", "well");
    let found = by_verdict(&repository.verdict());
    ran.says("1 is gone");
    assert_eq!((found[&Verdict::Gone].len(), found[&Verdict::New].len()), (1, 1), "{found:#?}");
}

#[test]
fn q5b_a_program_that_ends_early_has_failed_and_nothing_of_it_counts() {
    let early = EIGHT.replace("7000 6", "exit 3\n7000 6");
    let (ran, folder) = run(&early, "well");
    ran.exits(4).says("kernels of a program could not be listed: exit code 3").says("run it by hand: `sh ");
    assert!(newest(folder.path()).cases.iter().all(|case| case.outcome.is_failure()));
    // On head alone, where base has its kernels: each is a case that failed, after one process.
    let (ran, repository) = compare(EIGHT, &early, "", "well");
    ran.exits(4);
    assert!(by_verdict(&repository.verdict()).contains_key(&Verdict::Invalid));
}

#[test]
fn q5b_a_program_without_a_kernel_has_failed_with_the_next_step() {
    let (ran, folder) = run("700 1 - - [CUDA memcpy HtoD]\n", "well");
    ran.exits(4).says("it launched no kernel on a GPU");
    let record = newest(folder.path());
    assert!(
        matches!(&record.cases[0].outcome, Outcome::Failed { advice, .. } if advice.contains("let the program use the GPU"))
    );
    run("", "well").0.exits(4).says("it launched no kernel on a GPU");
}

#[test]
fn q5b_a_tracer_that_is_missing_broken_or_too_old_is_what_the_machine_lacks() {
    for (mode, cause) in [
        ("broken", "the tracer did not start the program"),
        ("ancient", "has neither of the reports"),
        ("stream", "its importer is not installed"),
    ] {
        let (ran, folder) = run(EIGHT, mode);
        ran.exits(5).says(cause);
        assert!(matches!(newest(folder.path()).cases[0].outcome, Outcome::Skipped { .. }), "{mode}");
    }
    let (folder, tools) = (folder(EIGHT), StandIns::new("well"));
    let mut without = command(folder.path(), "run --quiet");
    equip(&mut without, &tools);
    without.envs(profilers::missing()).env("GBENCH_ROCPROFV3", "/no/such/tracer");
    ended(without).exits(5).says("neither `nsys` nor `rocprofv3` is on PATH").says("install Nsight Systems");
    let mut without = command(folder.path(), "run --quiet");
    equip(&mut without, &tools);
    without.env("GBENCH_NVML_LIBRARY", "/no/such/library");
    ended(without).exits(5).says("no GPU can be used here");
}

#[test]
fn q5b_a_table_of_another_version_says_which_and_what_to_do() {
    let (ran, _folder) = run(EIGHT, "future");
    ran.exits(4)
        .says("no column `Name`: NVIDIA Nsight Systems version 2022.4.2.1-df9881f prints another one");
}

#[test]
fn a_suite_file_takes_no_counting_of_a_traced_program() {
    let folder = tempdir().unwrap();
    std::fs::write(folder.path().join("gbench.toml"), suite("count = \"auto\"")).unwrap();
    ran(folder.path(), "list").exits(2).says("`count` does not work with kernels of a program");
}

#[test]
fn built_in_benchmarks_alone_are_no_pass_and_the_headline_says_that_nothing_of_the_repository_was_measured() {
    let suite = format!(
        "[suite]\nname = \"s\"\n{UNWATCHED}controls = 0\n[[benchmark]]\nid = \"cpu_flops\"\nbuiltin = \"cpu_flops\"\n\
         iterations = 2\nwarmup = 0\n"
    );
    let repository = Repository::new(&[("gbench.toml", &suite)], &[]);
    let ran = repository.compare("HEAD~1..HEAD --rounds 4");
    // Whatever the machine did to the rows meanwhile.
    assert_ne!(ran.code, 0, "{ran:?}");
    ran.says("No line of the repository was measured: its benchmarks are all built in");
    assert_eq!(repository.verdict().method.no_reference, Some(NoReference::OnlyBuiltIn));
}
