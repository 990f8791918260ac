//! Kernels of cubins, fatbins and PTX that other compilers made, on the stand-in driver: `fixtures/gpu/code` has the files and how they
//! were made.

use std::path::Path;

use gbench_ci::compare::CodeState;
use gbench_ci::model::{CaseRecord, Outcome};

use crate::fake_cuda;
use crate::support::cli::{Ran, ended, newest};
use crate::support::gpu::StandIn;
use crate::support::kernels::{self, Gate};
use crate::support::{fixture, folder, folder_with};

const SAXPY: &str = "entry = 'saxpy'\ngrid = 1\nblock = 32\narguments = [{ value = 2, type = 'f32' }, { input = 'f32', length = 32 }, \
     { inout = 'f32', length = 32 }, { value = 32, type = 'i32' }]\n";
const SCALE: &str = "entry = 'scale'\ngrid = 1\nblock = 32\narguments = [{ inout = 'f32', length = 32 }, { value = 2, type = 'f32' }]\n";
const WEIGHTED: &str = "entry = 'ops::weighted'\ngrid = 1\nblock = 32\narguments = [{ input = 'f32', length = 32 }, \
     { output = 'f32', length = 32 }]\n";

fn suite(keys: &str) -> String {
    format!("[defaults]\nprocesses = 1\niterations = 3\n[[benchmark]]\nid = 'k'\n[benchmark.cuda]\n{keys}")
}

/// A run of one kernel of an image in `fixtures/gpu/code`, and its record.
fn run(stand_in: &StandIn, file: &str, keys: &str) -> (Ran, CaseRecord) {
    let folder = folder_with(&suite(&format!("image = '{file}'\n{keys}")));
    std::fs::copy(fixture(&format!("gpu/code/{file}")), folder.path().join(file)).unwrap();
    let ran = ended(stand_in.command(folder.path(), "run"));
    let case = newest(folder.path()).cases.remove(0);
    (ran, case)
}

/// The twins of the kernels of `images.cu`.
fn with_twins(stand_in: &StandIn, folder: &Path) -> StandIn {
    let kernels = [
        ("saxpy", "saxpy"),
        ("plain", "plain"),
        ("gathered", "gathered"),
        ("mapped", "mapped"),
        ("_ZN3ops8weightedEPKfPf", "ops::weighted"),
    ];
    let source = fixture("gpu/code/images.cu");
    let twins = fake_cuda::twins_of_kernels(&source, &kernels, &[], &folder.join("twins.so")).unwrap();
    stand_in.clone().with_twins(&twins.display().to_string())
}

#[test]
fn q3_each_form_of_an_image_is_measured_with_the_facts_of_its_code() {
    let Some(stand_in) = StandIn::new() else { return };
    let of_ptx = |version: &str| format!("PTX {version} by the driver for CUDA 13.5");
    for (file, sm, keys, compiler) in [
        ("images.cubin", 90, SAXPY, "CUDA 13.5.37".to_owned()),
        ("images.ptx", 90, SAXPY, of_ptx("8.4")),
        ("images.ptx", 120, SAXPY, of_ptx("8.4")),
        ("pair_plain.fatbin", 90, SCALE, "CUDA 13.5.37".to_owned()),
        ("pair_zstd.fatbin", 75, SCALE, "CUDA 13.5.37".to_owned()),
        ("pair_concat.fatbin", 100, SCALE, of_ptx("9.5")),
    ] {
        let stand_in = stand_in.clone().with(&format!("twins=none driver=13050 sm={sm}"));
        let (ran, case) = run(&stand_in, file, keys);
        assert_eq!(ran.code, 0, "{file}: {ran:?}");
        let code = case.device_code.unwrap();
        assert_eq!(
            (code.arch.as_str(), code.compiler.as_deref()),
            (&*format!("sm_{sm}"), Some(&*compiler)),
            "{file}"
        );
        let kernel = code.kernels.values().next().unwrap();
        assert!(
            code.kernels.len() == 1 && kernel.registers.unwrap() >= 4 && kernel.sha256.len() == 64,
            "{file}"
        );
    }
}

#[test]
fn each_case_has_the_image_that_its_parameters_name_and_one_that_is_missing_is_told_before_anything_runs() {
    let Some(stand_in) = StandIn::new() else { return };
    let suite = |kinds: &str| {
        format!(
            "[[benchmark]]\nid = 'k'\nmatrix = {{ kind = [{kinds}] }}\nprocesses = 1\niterations = 2\nburnin = '1ms'\n\
             [benchmark.cuda]\nimage = 'images.{{kind}}'\n{SAXPY}"
        )
    };
    let folder = folder_with(&suite("'cubin', 'ptx'"));
    for file in ["images.cubin", "images.ptx"] {
        std::fs::copy(fixture(&format!("gpu/code/{file}")), folder.path().join(file)).unwrap();
    }
    let stand_in = stand_in.with("twins=none driver=13050 sm=90");
    let ran = ended(stand_in.command(folder.path(), "run"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let cases = newest(folder.path()).cases;
    let compilers: Vec<_> =
        cases.into_iter().map(|case| case.device_code.unwrap().compiler.unwrap()).collect();
    assert_eq!(compilers, ["CUDA 13.5.37", "PTX 8.4 by the driver for CUDA 13.5"]);
    std::fs::write(folder.path().join("gbench.toml"), suite("'cubin', 'fatbin'")).unwrap();
    let ran = ended(stand_in.command(folder.path(), "run"));
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("`image = \"images.fatbin\"` is not there"), "{}", ran.err);
    std::fs::write(
        folder.path().join("gbench.toml"),
        suite("'../x'").replace("images.{kind}", "images/{kind}"),
    )
    .unwrap();
    let ran = ended(stand_in.command(folder.path(), "run"));
    assert!(ran.code == 2 && ran.err.contains("`images/../x` leaves"), "{}", ran.err);
}

#[test]
fn q3_an_image_that_the_driver_cannot_load_or_that_lacks_the_kernel_says_why_and_what_to_do() {
    let Some(stand_in) = StandIn::new() else { return };
    let entry = |entry: &str| SAXPY.replace("'saxpy'", &format!("'{entry}'"));
    let fewer = SAXPY.replace(", { value = 32, type = 'i32' }", "");
    let for_card = "`nvcc -gencode arch=compute_80,code=sm_80`";
    for (file, settings, keys, cause, advice) in [
        (
            "images.cubin",
            "sm=80",
            SAXPY,
            "images.cubin has no code for this card, sm_80, only for sm_90",
            for_card,
        ),
        ("images.ptx", "sm=80", SAXPY, "has no code for this card, sm_80, only for compute_90", for_card),
        ("pair_plain.fatbin", "sm=80", SCALE, "only for compute_90, sm_75, sm_90", for_card),
        (
            "images.cubin",
            "driver=12040",
            SAXPY,
            "images.cubin is of CUDA 13.5.37, and this driver is for CUDA 12.4",
            "build it with a toolkit of at most CUDA 12.4, or install driver 580 or newer",
        ),
        ("images.cubin", "driver=12040 newer=209", SAXPY, "is of CUDA 13.5.37", "driver 580 or newer"),
        (
            "images.ptx",
            "driver=12020",
            SAXPY,
            "images.ptx is of PTX 8.4, and this driver is for CUDA 12.2",
            "or build machine code (`nvcc -gencode arch=compute_90,code=sm_90`), or install a newer driver",
        ),
        (
            "images.cubin",
            "cuModuleLoadData=!200",
            SAXPY,
            "the driver does not load images.cubin",
            "build it again",
        ),
        ("images.ptx", "cuModuleLoadData=!218", SAXPY, "CUDA_ERROR_INVALID_PTX", "`ptxas -arch=sm_90` on it"),
        ("pair.o", "", SCALE, "library of the host", "let `image` be a cubin, a fatbin or PTX: `nvcc -cubin"),
        ("pair.cu", "", SCALE, "neither a cubin nor a fatbin", "let `image` be a cubin"),
        ("pair_to_link.cubin", "", SCALE, "still has to be linked", "let `image` be a cubin"),
        (
            "images.cubin",
            "",
            &entry("ops::blur"),
            "several kernels `ops::blur`: _ZN3ops4blurIdLi4EEEvPKT_PS1_, _ZN3ops4blurIfLi4EEEvPKT_PS1_",
            "write one of these symbols",
        ),
        (
            "images.ptx",
            "",
            &entry("axpy"),
            "no kernel `axpy`; it has gathered, mapped, ops::blur<double, 4>, ops::blur<float, 4>, ops::weighted, plain, saxpy",
            "write the readable name",
        ),
        (
            "images.cubin",
            "",
            &fewer,
            "`saxpy` takes 4 parameters (of 4, 8, 8, 4 bytes)",
            "in their order and types",
        ),
        (
            "images.ptx",
            "",
            &fewer,
            "`saxpy` takes 4 parameters (of 4, 8, 8, 4 bytes)",
            "in their order and types",
        ),
        ("images.cubin", "", WEIGHTED, "reads `ops::w`, which nothing sets", "data = { NAME"),
        (
            "images.cubin",
            "",
            &format!("{WEIGHTED}data = {{ v = {{ input = 'f32', length = 4 }} }}\n"),
            "images.cubin has no variable `v`; it has ops::w",
            "write the readable name",
        ),
    ] {
        let (ran, case) =
            run(&stand_in.clone().with(&format!("twins=none driver=13050 {settings}")), file, keys);
        let Outcome::Failed { cause: found, advice: next, .. } = &case.outcome else {
            panic!("{file} {settings}: {ran:?}")
        };
        assert!(
            ran.code == 4 && found.contains(cause) && next.contains(advice),
            "{file} {settings}: {} {found}\n{next}",
            ran.code
        );
    }
    // The image is not at fault for what the machine lacks.
    let (ran, case) = run(&stand_in.with("twins=none driver=13050 jit=none"), "images.ptx", SAXPY);
    let Outcome::Skipped { cause, advice, .. } = &case.outcome else { panic!("{ran:?}") };
    assert!(
        ran.code == 5 && cause.contains("221") && advice.contains("libnvidia-ptxjitcompiler"),
        "{cause} {advice}"
    );
}

#[test]
fn q3_a_build_step_may_make_the_image_and_each_side_has_its_own() {
    let Some(stand_in) = kernels::stand_in() else { return };
    let stand_in = stand_in.with("driver=13050");
    let text = suite(&format!("image = 'build/k.img'\n{SAXPY}"));
    let missing = folder(&[("gbench.toml", &text)]);
    ended(stand_in.command(missing.path(), "run"))
        .exits(2)
        .says("`image = \"build/k.img\"` is not there")
        .says("or name its compiler in `build`");
    let built =
        |line: &str| text.replace("id = 'k'\n", &format!("id = 'k'\nbuild = ['sh', '-c', '{line}']\n"));
    std::fs::write(missing.path().join("gbench.toml"), built("true")).unwrap();
    ended(stand_in.command(missing.path(), "run"))
        .exits(4)
        .says("there is no file")
        .says("`image` of `[benchmark.cuda]`");

    let gate = Gate::new(&stand_in, kernels::NOISE);
    let make = built("mkdir -p build && cp k.in build/k.img");
    let commit = |file: &str, note: &str| {
        std::fs::copy(fixture(&format!("gpu/code/{file}")), gate.repository.root().join("k.in")).unwrap();
        let files =
            [("gbench.toml", make.as_str()), ("card", "kernel=0.2\n"), ("note", note), kernels::IGNORED];
        gate.commit(&[kernels::SAXPY_FILE], &files);
    };
    let state = || {
        let verdict = gate.repository.verdict();
        verdict.rows.iter().find(|row| row.metric == "time").unwrap().device_code
    };
    commit("images.cubin", "1");
    commit("images.cubin", "2");
    gate.compare("").exits(0);
    assert_eq!(state(), Some(CodeState::Identical));
    commit("images.ptx", "3");
    gate.compare("");
    assert_eq!(state(), Some(CodeState::NotComparable));
    let compiler = |side: &str| gate.record(side).cases[0].device_code.clone().unwrap().compiler.unwrap();
    assert!(compiler("base").starts_with("CUDA 13.5") && compiler("head").starts_with("PTX 8.4"));
}

#[test]
fn q3_a_reference_and_data_are_taken_from_the_image() {
    let Some(stand_in) = StandIn::new() else { return };
    let twins = crate::support::tempdir().unwrap();
    let stand_in = with_twins(&stand_in, twins.path()).with("driver=13050");
    for file in ["images.cubin", "images.ptx"] {
        let (ran, case) =
            run(&stand_in, file, &format!("{SAXPY}reference = {{ entry = 'plain', block = 1 }}\n"));
        assert!(case.outcome.is_measured(), "{file}: {ran:?}");
        assert!(case.metrics.iter().any(|metric| metric.name == "error.max_abs_error"), "{file}");
        let answer = |fill: &str| {
            let data =
                format!("{WEIGHTED}data = {{ 'ops::w' = {{ input = 'f32', length = 4, fill = {fill} }} }}\n");
            let (ran, case) = run(&stand_in, file, &data);
            assert!(case.outcome.is_measured(), "{file}: {ran:?}");
            case.answer["output 1"].values.clone()
        };
        let (zeros, ones) = (answer("0"), answer("1"));
        assert!(
            zeros.iter().all(|value| *value == Some(0.0)) && ones.iter().all(|value| *value != Some(0.0)),
            "{file}"
        );
    }
}

#[test]
fn q3_clusters_and_cooperative_launches_are_asked_of_the_driver_and_what_does_not_fit_is_refused() {
    let Some(stand_in) = StandIn::new() else { return };
    let stand_in = stand_in.with("twins=none driver=13050");
    let keys = |launch: &str| SAXPY.replace("grid = 1\n", launch);
    let traces = crate::support::tempdir().unwrap();
    let trace = |name: &str, launch: &str| {
        let path = traces.path().join(name);
        let stand_in = stand_in.clone().with(&format!("trace={}", path.display()));
        let (ran, _) = run(&stand_in, "images.cubin", &keys(launch));
        assert_eq!(ran.code, 0, "{ran:?}");
        let text = std::fs::read_to_string(path).unwrap();
        let launches = text
            .lines()
            .filter(|line| line.starts_with("cuLaunchKernelEx") || line.starts_with("cuLaunchKernel saxpy"));
        let mut launches: Vec<String> = launches.map(str::to_owned).collect();
        launches.dedup();
        (launches, text)
    };
    for (name, launch, words) in [
        ("plain", "grid = 8\n", "cuLaunchKernel saxpy grid=8,1,1"),
        ("cluster", "grid = 8\ncluster = 2\n", "cluster=Some([2, 1, 1]) cooperative=false"),
        ("cooperative", "grid = 8\ncooperative = true\n", "cluster=None cooperative=true"),
        (
            "both",
            "grid = [8, 2]\ncluster = [4, 2]\ncooperative = true\n",
            "cluster=Some([4, 2, 1]) cooperative=true",
        ),
        ("large", "grid = 16\ncluster = 16\n", "cluster=Some([16, 1, 1])"),
    ] {
        let (launches, text) = trace(name, launch);
        assert!(
            !launches.is_empty() && launches.iter().all(|line| line.contains(words)),
            "{name}: {launches:?}"
        );
        assert_eq!(text.contains("cuFuncSetAttribute 14 1 -> 0"), name == "large", "{name}");
    }
    let refused = |settings: &str, launch: &str| {
        let (ran, case) = run(&stand_in.clone().with(settings), "images.ptx", &keys(launch));
        let (Outcome::Failed { cause, advice, .. } | Outcome::Skipped { cause, advice, .. }) = case.outcome
        else {
            panic!("{launch}: {ran:?}")
        };
        (ran.code, cause, advice)
    };
    // 32 blocks of a warp on each of 132 multiprocessors.
    let (code, cause, advice) = refused("", "grid = 4225\ncooperative = true\n");
    let words = "starts 4225 blocks, and at most 4224 of this kernel run on the card at the same time";
    assert!(code == 4 && cause.contains(words), "{cause}");
    assert!(advice.contains("at most 4224 blocks"), "{advice}");
    let (ran, case) = run(
        &stand_in.clone().with("sm=75"),
        "pair_zstd.fatbin",
        &SCALE.replace("grid = 1", "grid = 2\ncluster = 2"),
    );
    let Outcome::Skipped { cause, advice, .. } = case.outcome else { panic!("{ran:?}") };
    assert_eq!((ran.code, &*cause), (5, "clusters need compute capability 9.0; this card has 7.5"));
    assert!(advice.contains("compute_capability"), "{advice}");
    let (code, cause, advice) = refused("cuLaunchKernelEx=!912", "grid = 16\ncluster = 16\n");
    assert!(code == 4 && advice.contains("let `cluster` have fewer blocks"), "{cause}: {advice}");
    let (code, cause, _) = refused("cuLaunchKernelEx=!720", "grid = 16\ncooperative = true\n");
    assert!(code == 4 && cause.contains("720"), "{cause}");
    // A driver from before the call.
    let old = stand_in.clone().with_driver("old_driver");
    let (ran, case) = run(&old, "images.cubin", &keys("grid = 8\ncooperative = true\n"));
    let Outcome::Skipped { cause, advice, .. } = case.outcome else { panic!("{ran:?}") };
    assert!(
        ran.code == 5 && cause.contains("cuLaunchKernelEx") && advice == "install a newer driver",
        "{cause} {advice}"
    );
}
