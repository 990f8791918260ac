//! Pairs of sources with a build step: `[benchmark.pairs]`, from finding them to their speedup.

use std::path::Path;

use gbench_ci::model::{CaseRecord, FailureKind, Outcome, RunRecord};

use crate::support::cli::{newest, ran};
use crate::support::folder;

const SUITE: &str = "[suite]\nname = \"s\"\n[gate]\nwatch = false\n[defaults]\nprocesses = 2\n\
    [[benchmark]]\nid = \"b\"\ncommand = [\"./{program}\"]\nbuild = [\"cc\", \"-o\", \"{program}\", \"{source}\"]\n\
    extract = [{ metric = \"time\", unit = \"ms\", regex = \"took ([0-9.]+) ms\" }]\n\
    [benchmark.pairs]\nextension = \"c\"\n";

fn program(milliseconds: &str) -> String {
    format!("#include <stdio.h>\nint main(void) {{ printf(\"took {milliseconds} ms\\n\"); return 0; }}\n")
}

fn case<'r>(record: &'r RunRecord, name: &str) -> &'r CaseRecord {
    record.cases.iter().find(|case| case.id.to_string() == name).unwrap_or_else(|| panic!("no case {name}"))
}

#[test]
fn s0_2_each_source_of_a_pair_is_built_and_measured_and_a_broken_one_costs_itself() {
    let [slow, fast, plain] = [program("8.0"), program("2.0"), program("5.0")];
    let folder = folder(&[
        ("gbench.toml", SUITE),
        ("ch2/baseline_gemm.c", &slow),
        ("ch2/optimized_gemm_tiled.c", &fast),
        ("ch10/baseline_sum.c", &plain),
        ("ch10/optimized_sum.c", "int main(void) { return not_there; }\n"),
        ("ch10/optimized_lost.c", &plain),
    ]);
    let run = ran(folder.path(), "run").exits(4);
    let run = run.says("ch10/optimized_lost.c is not measured").says("3 of 4 cases measured: 1 failed");
    run.says("4.00x").says("not_there");
    let record = newest(folder.path());
    assert_eq!(record.cases.len(), 4);
    let tiled = case(&record, "s/b[case=gemm,chapter=ch2,technique=tiled,variant=optimized]");
    assert_eq!(tiled.command, ["./ch2/optimized_gemm_tiled"]);
    assert_eq!(tiled.metrics[0].summary.as_ref().map(|summary| summary.median), Some(2.0));
    match &case(&record, "s/b[case=sum,chapter=ch10,variant=optimized]").outcome {
        Outcome::Failed { kind: FailureKind::Build, cause, advice } => {
            assert!(cause.contains("not_there"), "{cause}");
            assert!(advice.contains("logs/build-s-b-ch10-optimized_sum.c"), "{advice}");
        }
        other => panic!("{other:?}"),
    }
    // What is there tomorrow is measured tomorrow.
    std::fs::write(folder.path().join("ch2/optimized_gemm_wide.c"), &fast).unwrap();
    std::fs::write(folder.path().join("ch10/optimized_sum.c"), &plain).unwrap();
    ran(folder.path(), "run --quiet").exits(0);
    assert_eq!(newest(folder.path()).cases.len(), 5);
    ran(folder.path(), "run --quiet --target ch2:gemm_wide").exits(0);
    assert_eq!(newest(folder.path()).cases.len(), 2, "with the baseline that it is held against");
    ran(folder.path(), "list --cases").exits(0).says("s/b[case=sum,chapter=ch10,variant=baseline]");
}

#[test]
fn sources_are_built_from_the_benchmark_s_folder_and_what_a_case_lacks_is_empty() {
    let suite = SUITE
        .replace("id = \"b\"", "id = \"b\"\ndir = \"src\"")
        .replace("[\"./{program}\"]", "[\"./{program}\", \"x{technique}x\"]");
    let plain = program("5.0");
    let folder = folder(&[
        ("gbench.toml", &suite),
        ("src/ch1/baseline_sum.c", &plain),
        ("src/ch1/optimized_sum_wide.c", &plain),
    ]);
    ran(folder.path(), "run --quiet").exits(0);
    let commands: Vec<String> =
        newest(folder.path()).cases.iter().map(|case| case.command[1].clone()).collect();
    assert_eq!(commands, ["xx", "xwidex"]);
}

#[test]
fn a_step_without_a_source_in_it_runs_once_for_all_of_its_folder() {
    let [slow, fast] = [program("8.0"), program("2.0")];
    let make = "all:\n\techo >> built\n\tfor it in *.c; do cc -o $${it%.c}_sm90 $$it; done\n";
    let suite = SUITE
        .replace("[\"./{program}\"]", "[\"./{program}_sm90\"]")
        .replace("[\"cc\", \"-o\", \"{program}\", \"{source}\"]", "[\"make\", \"-C\", \"{folder}\"]");
    let folder = folder(&[
        ("gbench.toml", &suite),
        ("ch2/baseline_gemm.c", &slow),
        ("ch2/optimized_gemm.c", &fast),
        ("ch2/Makefile", make),
    ]);
    ran(folder.path(), "run --quiet").exits(0);
    let record = newest(folder.path());
    let measured = record.cases.iter().filter(|case| case.outcome.is_measured()).count();
    assert_eq!(measured, 2, "{:?}", record.cases);
    assert_eq!(std::fs::read_to_string(folder.path().join("ch2/built")).unwrap().lines().count(), 1);
}

#[test]
fn init_writes_an_entry_for_cuda_pairs_and_leaves_those_out_that_a_module_starts() {
    let files = ["ch1/baseline_a.cu", "ch1/optimized_a.cu", "ch2/baseline_b.cu", "ch2/optimized_b.cu"];
    let modules = ["ch2/baseline_b.py", "ch2/optimized_b.py"];
    let main = "int main() { return 0; }\n";
    let no_program = [("ch3/baseline_c.cu", "__global__ void c() {}\n"), ("ch3/optimized_c.cu", "")];
    let modules = modules.map(|path| (path, "PROGRAMS = [\"baseline_b\", \"optimized_b\"]\n"));
    let files = files.iter().map(|path| (*path, main)).chain(modules);
    let files: Vec<(&str, &str)> = files.chain(no_program).collect();
    let folder = folder(&files);
    let init = ran(folder.path(), "init").exits(0);
    let init = init.says("2 CUDA sources of pairs have no `main`");
    init.says(
        "because the Python modules of the same names start them: ch2/baseline_b.cu, ch2/optimized_b.cu",
    );
    let text = std::fs::read_to_string(folder.path().join("gbench.toml")).unwrap();
    let entry = "id = \"cuda_pairs\"\ncommand = [\"./{program}\"]\n\
        build = [\"nvcc\", \"-O3\", \"-o\", \"{program}\", \"{source}\"]\n\
        requires = { binary = [\"nvcc\"], gpus = 1 }\n\n\
        [benchmark.pairs]\nextension = \"cu\"\nroots = [\"ch1\"]\n";
    assert!(text.contains(entry), "{text}");
    ran(folder.path(), "discover --verbose").exits(0).says("the Python module of the same name starts it");
    let listed = ran(folder.path(), "list --cases --benchmark cuda_pairs").exits(0);
    listed.says("case=a,chapter=ch1,variant=optimized");
    if !Path::new("/dev/nvidiactl").exists() {
        // Skipped with what is missing, and never green.
        let run = ran(folder.path(), "run --benchmark cuda_pairs");
        assert_ne!(run.code, 0);
        run.says("2 cases - skipped");
    }
}

#[test]
fn what_pairs_of_sources_cannot_have_is_refused() {
    for (more, what) in [
        ("[benchmark.matrix]\nn = [1]\n", "`matrix` cannot be combined with `pairs`"),
        ("roots = [\"ch[\"]\n", "`ch[` is not a glob"),
    ] {
        let folder = folder(&[("gbench.toml", &format!("{SUITE}{more}"))]);
        ran(folder.path(), "list").exits(2).says(what);
    }
    let no_program = SUITE.replace("[\"./{program}\"]", "[\"./{programm}\"]");
    let shell = SUITE.replace("command = [\"./{program}\"]", "shell = \"true\"");
    let no_extension = SUITE.replace("extension = \"c\"", "");
    for (text, what) in [
        (no_program, "write `program`"),
        (shell, "`pairs` is for programs that are built from sources"),
        (no_extension, "extension"),
    ] {
        let folder = folder(&[("gbench.toml", &text)]);
        ran(folder.path(), "list").exits(2).says(what);
    }
    let line = SUITE.replace("[\"cc\", \"-o\", \"{program}\", \"{source}\"]", "{ shell = \"cc {source}\" }");
    let folder_of_line = folder(&[("gbench.toml", &line)]);
    ran(folder_of_line.path(), "list").exits(2).says("`{source}` is not replaced in a shell line");
    let folder = folder(&[("gbench.toml", SUITE), ("other.c", "")]);
    ran(folder.path(), "run").exits(4).says("its folders contain no pair of sources");
}
