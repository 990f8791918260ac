//! HIP kernels on the stand-in under the names of AMD's runtime, compiled by a real hiprtc. No card of AMD's has run any of this.

use std::path::Path;

use gbench_ci::compare::Verdict;
use gbench_ci::model::{CaseRecord, Outcome};
use tempfile::TempDir;

use crate::support::cli::{Ran, ended, newest};
use crate::support::folder_with;
use crate::support::gpu::StandIn;
use crate::support::kernels::{Gate, IGNORED, NOISE, SAXPY, Source, UNWATCHED, stand_in, suite};
use crate::support::repository::row;
use crate::support::tools;

const K: &str =
    "extern \"C\" __global__ void k(const float *x, float *y) { y[threadIdx.x] = 2.0f * x[threadIdx.x]; }";

/// A suite of the kernel `k`. `keys`: more lines of its table.
fn suite_of_k(keys: &str) -> TempDir {
    let folder = folder_with(&format!(
        "[defaults]\nprocesses = 1\niterations = 3\n[[benchmark]]\nid = 'k'\n[benchmark.cuda]\nfile = 'k.hip'\nentry = 'k'\ngrid = 1\n\
         block = 64\n{keys}\narguments = [{{ input = 'f32', length = 64, fill = 3 }}, {{ output = 'f32', length = 64 }}]\n"
    ));
    std::fs::write(folder.path().join("k.hip"), K).unwrap();
    folder
}

/// A card of AMD's, and the folder of its libraries.
fn on_hip(driver: &'static str, compiler: Option<&Path>) -> Option<(StandIn, TempDir)> {
    let libraries = TempDir::new().unwrap();
    let stand_in = StandIn::new()?.with("l2=2M twins=none").with_driver(driver);
    Some((stand_in.on_hip(libraries.path(), compiler), libraries))
}

fn ran(stand_in: &StandIn, folder: &TempDir) -> (Ran, CaseRecord) {
    let ran = ended(stand_in.command(folder.path(), "run"));
    (ran, newest(folder.path()).cases.remove(0))
}

fn is_skipped(outcome: &Outcome, why: &str) -> bool {
    matches!(outcome, Outcome::Skipped { .. }) && format!("{outcome:?}").contains(why)
}

#[test]
fn b35_a_slower_hip_kernel_is_red_and_a_wrong_one_invalid() {
    let (Some(stand_in), Some(compiler)) = (stand_in(), tools::hiprtc()) else { return };
    let libraries = TempDir::new().unwrap();
    let gate = Gate::new(&stand_in.on_hip(libraries.path(), Some(&compiler)), NOISE);
    let plain = SAXPY.replace("saxpy", "plain");
    let text = suite(&format!("{UNWATCHED}threshold = \"5%\"\n"), &[("saxpy", "saxpy.hip")], "")
        .replace("entry = \"saxpy\"\n", "entry = \"saxpy\"\nreference = { entry = \"plain\" }\n");
    let kernels: &[&str] = &["saxpy", "plain"];
    let right = format!("{SAXPY}{plain}");
    let source: Source = ("saxpy.hip", kernels, &right);
    gate.commit(&[source], &[("gbench.toml", &text), ("card", "kernel=0.2\n"), IGNORED]);
    gate.commit(&[], &[("card", "kernel=0.2 kernel.saxpy=0.24\n")]);
    gate.compare("--order-seed 1").exits(1);
    let verdict = gate.repository.verdict();
    let saxpy = row(&verdict, "saxpy", "time");
    assert_eq!(saxpy.verdict, Verdict::Regressed);
    assert!((saxpy.change.as_ref().unwrap().slowdown - 0.2).abs() < 0.03, "{:?}", saxpy.change);
    let case = gate.record("head").cases.remove(0);
    let code = case.device_code.as_ref().unwrap();
    assert_eq!(code.arch, "gfx90a");
    assert!(code.compiler.as_ref().unwrap().starts_with("hiprtc "), "{code:?}");
    assert!(code.kernels["saxpy"].registers.unwrap() > 0, "{code:?}");
    let notes = ["clock", "held_back", "l2", "arch"].map(|name| case.metadata[name].clone());
    let expected = serde_json::json!(["hip events", false, "cold, its lines written", "gfx90a"]);
    assert_eq!(serde_json::json!(notes), expected);
    assert!(case.metrics.iter().all(|metric| metric.name != "cycles"), "{:?}", case.metrics);

    let wrong = format!("{}{plain}", SAXPY.replace("i < n", "i < n - 1"));
    gate.commit(&[("saxpy.hip", kernels, &wrong)], &[("card", "kernel=0.2 kernel.saxpy=0.15\n")]);
    gate.compare("--order-seed 1").exits(4).says("the answer is off by");
    assert!(matches!(gate.record("head").cases[0].outcome, Outcome::Invalid { .. }));
    // The guards behind the buffers work here, too.
    gate.commit(&[source], &[("card", "kernel=0.2\n")]);
    let beyond = SAXPY.replace("y[i] = a * x[i] + y[i]", "{ y[i] = a * x[i] + y[i]; y[n] = 1; }");
    gate.commit(&[("saxpy.hip", kernels, &format!("{beyond}{plain}"))], &[("card", "kernel=0.2\n")]);
    gate.compare("--order-seed 1").exits(4).says("writes past the end of the buffer of argument 3");
}

#[test]
fn b35_without_a_runtime_a_compiler_or_a_card_a_hip_kernel_is_skipped_with_what_to_install() {
    let Some((without_compiler, _libraries)) = on_hip("", None) else { return };
    let folder = suite_of_k("");
    let (said, case) = ran(&without_compiler, &folder);
    assert!(
        is_skipped(&case.outcome, "no compiler for HIP kernels: hiprtc is not here"),
        "{:?}",
        case.outcome
    );
    said.exits(5).says("hip-runtime-amd");
    let (_, case) = ran(&without_compiler.clone().with("count=0"), &folder);
    assert!(is_skipped(&case.outcome, "no GPU is here that HIP can use"), "{:?}", case.outcome);
    // The machine may have the runtime: the loader finds these files first, and cannot open them.
    let nothing = TempDir::new().unwrap();
    for version in 5..=7 {
        std::fs::write(nothing.path().join(format!("libamdhip64.so.{version}")), "none\n").unwrap();
    }
    let mut command = without_compiler.command(folder.path(), "run");
    ended({
        command.env("LD_LIBRARY_PATH", nothing.path());
        command
    })
    .exits(5)
    .says("libamdhip64-5");
    let outcome = newest(folder.path()).cases.remove(0).outcome;
    assert!(is_skipped(&outcome, "no HIP runtime: libamdhip64.so is not here"), "{outcome:?}");
}

#[test]
fn b35_an_old_hip_without_what_it_can_do_without_measures() {
    let Some(compiler) = tools::hiprtc() else { return };
    let Some((old, _libraries)) = on_hip("old_driver", Some(&compiler)) else { return };
    let (said, case) = ran(&old, &suite_of_k(""));
    said.exits(0);
    assert_eq!((&case.outcome, &case.metadata["hip"]), (&Outcome::Measured, &50_221_153.into()));
}

#[test]
fn b35_errors_of_hip_have_its_names_and_what_it_lacks_is_refused() {
    let Some(compiler) = tools::hiprtc() else { return };
    let Some((stand_in, _libraries)) = on_hip("", Some(&compiler)) else { return };
    let cause = |settings: &str, keys: &str| {
        let (_, case) = ran(&stand_in.clone().with(settings), &suite_of_k(keys));
        format!("{:?}", case.outcome)
    };
    for (settings, words) in [
        ("cuMemAlloc_v2=!2", "hipMalloc: hipErrorOutOfMemory (2): out of memory"),
        ("cuLaunchKernel=!700", "hipErrorIllegalAddress (700): an illegal memory access was encountered"),
        ("cuModuleLoadData=!209", "hipModuleLoadData: hipErrorNoBinaryForGpu (209)"),
    ] {
        let cause = cause(settings, "");
        assert!(cause.contains(words), "{settings}: {cause}");
    }
    for (keys, what) in [
        ("cluster = 1", "`cluster`"),
        ("cooperative = true", "`cooperative`"),
        ("sustained = 1", "`sustained`"),
    ] {
        let cause = cause("", keys);
        let words = format!("{what} is for NVIDIA's cards, and this source is for AMD's");
        assert!(cause.contains(&words), "{cause}");
    }
    let broken = suite_of_k("");
    std::fs::write(broken.path().join("k.hip"), K.replace("2.0f", "TWO")).unwrap();
    let (_, case) = ran(&stand_in, &broken);
    let outcome = format!("{:?}", case.outcome);
    assert!(
        outcome.contains("k.hip cannot be compiled for gfx90a") && outcome.contains("'TWO'"),
        "{outcome}"
    );
}
