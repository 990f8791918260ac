//! The code that runs on the GPU: what programs and files say of it, in the record and between two of them.

use std::collections::BTreeMap;
use std::path::Path;

use gbench_ci::compare::*;
use gbench_ci::model::*;

use crate::support::cli::{command, ended, newest, ran, write};
use crate::support::folder_with;
use crate::support::records::{case_of, scale, standard};
use crate::support::rounds::{differences, sides, timed};

/// Kernels by name: the digit that their hash is made of, their registers and what they spill.
fn code(kernels: &[(&str, &str, u32, u64)]) -> DeviceCode {
    let kernel = |(name, digit, registers, spills): &(&str, &str, u32, u64)| {
        let code = KernelCode {
            sha256: digit.repeat(64),
            registers: Some(*registers),
            shared_bytes: Some(0),
            frame_bytes: Some(*spills),
            spill_store_bytes: Some(*spills),
            spill_load_bytes: Some(*spills),
        };
        ((*name).to_owned(), code)
    };
    let kernels: BTreeMap<_, _> = kernels.iter().map(kernel).collect();
    DeviceCode { arch: "sm_90".into(), compiler: Some("NVRTC 13.5".into()), kernels }
}

fn input(record: &RunRecord) -> SideInput<'_> {
    SideInput { record, name: "x".into() }
}

/// Two runs; each side's gemm ran this code and head's took `factor` times as long.
fn compared(base: Option<DeviceCode>, head: Option<DeviceCode>, factor: f64) -> VerdictDocument {
    let (mut a, mut b) = (standard(1), standard(2));
    case_of(&mut a, "kernels/gemm").device_code = base;
    case_of(&mut b, "kernels/gemm").device_code = head;
    scale(&mut b, "kernels/gemm", factor);
    compare(&input(&a), &input(&b), &Policy::default()).unwrap()
}

fn gemm(document: &VerdictDocument) -> &Row {
    document.rows.iter().find(|row| row.case.benchmark.as_str() == "kernels/gemm").unwrap()
}

#[test]
fn a_row_that_changed_names_the_kernels_that_did() {
    let base = code(&[("_Z5saxpyif", "1", 16, 0), ("copy", "2", 8, 0), ("old", "3", 9, 0)]);
    let head = code(&[("_Z5saxpyif", "4", 40, 520), ("copy", "2", 8, 0), ("fused", "5", 10, 0)]);
    for (factor, verdict) in [(1.5, Verdict::Regressed), (0.6, Verdict::Improved)] {
        let document = compared(Some(base.clone()), Some(head.clone()), factor);
        let row = gemm(&document);
        assert_eq!((row.verdict, row.device_code), (verdict, Some(CodeState::Changed)));
        for words in ["registers 16 -> 40", "spilled 0 B -> 1,040 B", "old (gone)", "fused (new)"] {
            assert!(row.reason.contains(words), "{}", row.reason);
        }
        let [case] = document.device_code.as_slice() else { panic!("{:?}", document.device_code) };
        let names: Vec<&str> = case.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(names, ["_Z5saxpyif", "old", "fused"]);
        assert_eq!(case.kernels[0].head.as_ref().unwrap().registers, Some(40));
        assert_eq!(case.base.as_ref().unwrap().kernels, 3);
        assert_eq!(document.noise_of_identical_code, None);
    }
}

#[test]
fn a_change_under_the_same_code_points_elsewhere_and_is_a_sample_of_noise() {
    for (factor, verdict) in [(1.5, Verdict::Regressed), (0.6, Verdict::Improved)] {
        let same = || Some(code(&[("saxpy", "1", 16, 0)]));
        let document = compared(same(), same(), factor);
        let row = gemm(&document);
        assert_eq!((row.verdict, row.device_code), (verdict, Some(CodeState::Identical)));
        let words =
            "device code is the same on both sides, so look at the host code, the inputs or the machine";
        assert!(row.reason.contains(words), "{}", row.reason);
        let noise = document.noise_of_identical_code.as_ref().unwrap();
        assert_eq!((noise.rows, &noise.case), (1, &row.case));
        assert_eq!(
            (noise.median, noise.largest),
            (noise.largest, row.change.as_ref().unwrap().slowdown.abs())
        );
    }
}

#[test]
fn device_code_decides_nothing() {
    let (base, head) = (code(&[("f", "1", 16, 0)]), code(&[("f", "2", 255, 9000)]));
    let plain = compared(None, None, 1.0);
    let document = compared(Some(base), Some(head), 1.0);
    assert_eq!((document.conclusion, document.exit_code), (plain.conclusion, plain.exit_code));
    assert_eq!(document.counts, plain.counts);
    // What did not change needs no word.
    assert_eq!(gemm(&document).reason, gemm(&plain).reason);
    assert_eq!(document.device_code[0].state, CodeState::Changed);
    assert!(plain.device_code.is_empty() && gemm(&plain).device_code.is_none());
}

#[test]
fn code_of_another_compiler_or_architecture_is_not_compared() {
    let one = code(&[("f", "1", 16, 0)]);
    let other = code(&[("f", "2", 40, 0)]);
    let why = |base: Option<DeviceCode>, head: Option<DeviceCode>| {
        let document = compared(base, head, 1.5);
        let case = document.device_code[0].clone();
        assert_eq!((case.state, case.kernels.len()), (CodeState::NotComparable, 0));
        assert_eq!(gemm(&document).device_code, Some(CodeState::NotComparable));
        assert!(!gemm(&document).reason.contains("device code"), "{}", gemm(&document).reason);
        case.why.unwrap()
    };
    let (nvrtc, arch) = ("NVRTC 12.9".to_owned(), "sm_80".to_owned());
    assert_eq!(
        why(Some(DeviceCode { compiler: Some(nvrtc.clone()), ..one.clone() }), Some(other.clone())),
        CodeGap::OtherCompiler { base: nvrtc.clone(), head: "NVRTC 13.5".into() }
    );
    assert_eq!(
        why(Some(DeviceCode { arch: arch.clone(), ..one.clone() }), Some(one.clone())),
        CodeGap::OtherArchitecture { base: arch, head: "sm_90".into() }
    );
    assert_eq!(why(Some(one.clone()), None), CodeGap::OneSide { side: Side::Base });
    assert_eq!(why(None, Some(one.clone())), CodeGap::OneSide { side: Side::Head });
    // The same instructions are the same code, whoever made them.
    let same = compared(Some(DeviceCode { compiler: Some(nvrtc), ..one.clone() }), Some(one), 1.0);
    assert_eq!(same.device_code[0].state, CodeState::Identical);
}

#[test]
fn noise_is_over_all_times_of_identical_code_also_in_rounds() {
    let plan = |case: u32| timed(&format!("s/c{case}"), &differences(case, 0.0, 0.002, 12));
    let (mut base, mut head) = sides(&(0..5).map(plan).collect::<Vec<_>>());
    for (index, (a, b)) in base.cases.iter_mut().zip(&mut head.cases).enumerate() {
        a.device_code = Some(code(&[("f", "1", 16, 0)]));
        b.device_code = Some(code(&[("f", if index == 4 { "2" } else { "1" }, 16, 0)]));
    }
    let policy = Policy::of(base.comparison.as_ref().unwrap());
    let document = compare(&input(&base), &input(&head), &policy).unwrap();
    let noise = document.noise_of_identical_code.unwrap();
    let mut sizes: Vec<f64> = document
        .rows
        .iter()
        .filter(|row| row.device_code == Some(CodeState::Identical))
        .filter_map(|row| Some(row.change.as_ref()?.slowdown.abs()))
        .collect();
    sizes.sort_by(f64::total_cmp);
    assert_eq!((noise.rows, sizes.len()), (4, 4));
    assert_eq!((noise.median, noise.largest), ((sizes[1] + sizes[2]) / 2.0, sizes[3]));
}

#[test]
fn processes_of_one_side_that_disagree_are_no_comparison() {
    let (mut a, mut b) = (standard(1), standard(2));
    for record in [&mut a, &mut b] {
        case_of(record, "kernels/gemm").device_code = Some(code(&[("f", "1", 16, 0)]));
    }
    case_of(&mut b, "kernels/gemm").device_code_varies = true;
    let document = compare(&input(&a), &input(&b), &Policy::default()).unwrap();
    assert_eq!(document.device_code[0].why, Some(CodeGap::Varies { base: false, head: true }));
}

#[test]
fn reports_and_documents_tell_of_it_and_read_back() {
    let folder = crate::support::tempdir().unwrap();
    let (mut a, mut b) = (standard(1), standard(2));
    case_of(&mut a, "kernels/gemm").device_code = Some(code(&[("saxpy", "1", 16, 0)]));
    case_of(&mut b, "kernels/gemm").device_code = Some(code(&[("saxpy", "2", 40, 520)]));
    for record in [&mut a, &mut b] {
        record.schema = SCHEMA_RECORD.into();
        case_of(record, "io/read").device_code = Some(code(&[("read", "3", 8, 0)]));
    }
    scale(&mut b, "kernels/gemm", 1.5);
    write(folder.path(), "a.json", &a);
    write(folder.path(), "b.json", &b);
    let line = "compare a.json b.json --sessions 0";
    ran(folder.path(), line)
        .exits(1)
        .says("Device code: 1 changed, 1 identical")
        .says("saxpy: registers 16 -> 40, frame 0 B -> 520 B, spilled 0 B -> 1,040 B");
    let json = ran(folder.path(), &format!("{line} --format json")).exits(1);
    let document: VerdictDocument = serde_json::from_str(&json.out).unwrap();
    assert_eq!(document.device_code.len(), 2);
    ran(folder.path(), &format!("{line} --format csv")).exits(1).says("more_rounds,device_code");
    ran(folder.path(), &format!("{line} --format markdown")).exits(1).says("| `saxpy` | 16 -&#62; 40 |");
}

/// A benchmark of two processes, which send these lines beside a time; `$GBENCH_REQUEST` tells them apart.
fn protocol(lines: &str, more: &str) -> tempfile::TempDir {
    let folder = folder_with(&format!(
        "[suite]\nname = 's'\n[[benchmark]]\nid = 'x'\nprocesses = 2\ntiming = 'protocol'\n\
         command = ['sh', 'emit.sh']\n{more}"
    ));
    let script = format!(
        "case \"$GBENCH_REQUEST\" in *'\"process\":0'*) n=0;; *) n=1;; esac\n\
         cat > \"$GBENCH_EVENTS\" <<END\n{TIME}\n{lines}\n{{\"event\":\"end\"}}\nEND\n"
    );
    std::fs::write(folder.path().join("emit.sh"), script).unwrap();
    folder
}

const TIME: &str = r#"{"event":"samples","metric":"time","values":[1.0,1.1,1.2],"unit":"s"}"#;

fn event(kernels: &[(&str, &str, u32)]) -> String {
    let kernel = |(name, hash, registers): &(&str, &str, u32)| {
        format!(r#""{name}":{{"sha256":"{hash}","registers":{registers},"shared_bytes":128}}"#)
    };
    let kernels: Vec<String> = kernels.iter().map(kernel).collect();
    let kernels = kernels.join(",");
    format!(r#"{{"event":"device_code","arch":"sm_90","compiler":"NVRTC 13.5","kernels":{{{kernels}}}}}"#)
}

#[test]
fn what_a_program_says_of_its_code_is_in_the_record_with_exact_figures() {
    let (one, other) = ("1a".repeat(32), "2b".repeat(32));
    let lines = format!("{}\n{}", event(&[("f", &one, 16)]), event(&[("g", &other, 40)]));
    let folder = protocol(&lines, "");
    ran(folder.path(), "run --quiet").exits(0);
    let case = newest(folder.path()).cases.remove(0);
    let code = case.device_code.unwrap();
    assert_eq!((code.arch.as_str(), code.compiler.as_deref()), ("sm_90", Some("NVRTC 13.5")));
    assert_eq!(code.kernels.keys().collect::<Vec<_>>(), ["f", "g"]);
    assert!(!case.device_code_varies && case.warnings.is_empty(), "{:?}", case.warnings);
    let of = |name: &str| case.metrics.iter().find(|metric| metric.name == name);
    let registers = of("code.registers").unwrap();
    assert!(registers.processes.iter().all(|process| process.values == [40.0]));
    assert_eq!((registers.unit.as_str(), registers.better), ("", Some(Better::Lower)));
    assert_eq!(of("code.shared_bytes").unwrap().unit, "B");
    assert!(of("code.spill_bytes").is_none(), "nothing is made up");
    let declared = &case.declared["code.registers"];
    assert_eq!((declared.gate, declared.exact), (Some(false), Some(true)));
}

#[test]
fn figures_of_the_code_are_judged_where_a_rule_says_so() {
    let record = |registers: u32, rule: &str| {
        let folder = protocol(&event(&[("f", &"1a".repeat(32), registers)]), rule);
        ran(folder.path(), "run --quiet").exits(0);
        newest(folder.path())
    };
    let rule = "[benchmark.metrics.'code.registers']\ngate = true\n";
    let judged = |base: u32, head: u32, rule: &str| {
        let document =
            compare(&input(&record(base, rule)), &input(&record(head, rule)), &Policy::default()).unwrap();
        document.rows.iter().find(|row| row.metric == "code.registers").map(|row| row.verdict)
    };
    assert_eq!(judged(16, 40, rule), Some(Verdict::Regressed));
    assert_eq!(judged(40, 16, rule), Some(Verdict::Improved));
    assert_eq!(judged(40, 40, rule), Some(Verdict::Unchanged));
    assert_eq!(judged(16, 40, ""), None);
}

#[test]
fn processes_that_run_different_code_are_told_of() {
    let folder =
        protocol(&event(&[("f", &"1a".repeat(32), 16), ("g", &format!("${{n}}{}", "0".repeat(63)), 8)]), "");
    ran(folder.path(), "run --quiet").exits(0).says("its processes ran different device code: `g`");
    let case = newest(folder.path()).cases.remove(0);
    assert!(case.device_code_varies && case.device_code.is_some());
}

#[test]
fn a_hostile_event_is_refused_by_its_key() {
    let folder = protocol(&event(&[("f", "x", 16)]), "");
    ran(folder.path(), "run --quiet").exits(4).says("`kernels.f.sha256` of event `device_code` is \"x\"");
}

#[test]
fn files_that_tell_nothing_are_a_warning_and_no_failure() {
    let folder = protocol("", "device_code = ['build/*.cubin', 'lib.so']\nbuild = ['sh', 'build.sh']\n");
    std::fs::write(folder.path().join("build.sh"), "echo nothing > lib.so\n").unwrap();
    ran(folder.path(), "run --quiet").exits(0);
    let case = newest(folder.path()).cases.remove(0);
    assert_eq!((case.outcome, case.device_code), (Outcome::Measured, None));
    assert_eq!(case.warnings.len(), 2, "{:?}", case.warnings);
    assert_eq!(case.warnings[0], "`device_code`: no file fits `build/*.cubin`");
    assert!(case.warnings[1].starts_with("`device_code`: lib.so cannot be used: "), "{}", case.warnings[1]);
    for (wrong, what) in [
        ("'../x'", "`../x` leaves the benchmark's folder"),
        ("'/x'", "`/x` leaves the benchmark's folder"),
        ("'a[b'", "`a[b` is not a glob"),
        ("", "`device_code` is empty"),
    ] {
        let folder = protocol("", &format!("device_code = [{wrong}]\n"));
        ran(folder.path(), "run --quiet").exits(2).says(what);
    }
}

#[test]
fn what_the_program_says_stands_above_what_files_hold() {
    let folder = protocol(&event(&[("f", &"1a".repeat(32), 16)]), "device_code = ['none.cubin']\n");
    ran(folder.path(), "run --quiet").exits(0);
    let case = newest(folder.path()).cases.remove(0);
    assert_eq!(case.device_code.unwrap().kernels.len(), 1);
    assert!(!case.device_code_varies);
}

/// A benchmark whose build step leaves this file of real compilers' output.
fn built(fixture: &str) -> tempfile::TempDir {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/gpu/code").join(fixture);
    let folder = protocol("", "device_code = ['build/*.bin']\nbuild = ['sh', 'build.sh']\n");
    std::fs::copy(file, folder.path().join("compiled")).unwrap();
    std::fs::write(folder.path().join("build.sh"), "mkdir -p build; cp compiled build/kernels.bin\n")
        .unwrap();
    folder
}

#[test]
fn files_are_read_after_the_build_and_compared() {
    let recorded = |fixture: &str| {
        let folder = built(fixture);
        ran(folder.path(), "run --quiet").exits(0);
        newest(folder.path())
    };
    let state = |base: &str, head: &str| {
        let (base, head) = (recorded(base), recorded(head));
        let document = compare(&input(&base), &input(&head), &Policy::default()).unwrap();
        document.device_code[0].clone()
    };
    let same = state("base.cubin", "lineinfo_other_name.fatbin");
    assert_eq!((same.state, same.kernels), (CodeState::Identical, Vec::new()));
    let changed = state("base.cubin", "maxrregcount.fatbin");
    assert_eq!(changed.state, CodeState::Changed);
    let registers = |code: &Option<KernelCode>| code.as_ref().unwrap().registers;
    assert!(changed.kernels.iter().all(|it| registers(&it.head) <= Some(24)), "{changed:?}");
    assert!(changed.kernels.iter().any(|it| registers(&it.base) > registers(&it.head)), "{changed:?}");
    let other = state("base.cubin", "base_12.9.cubin");
    assert!(matches!(other.why, Some(CodeGap::OtherCompiler { .. })), "{other:?}");
    let record = recorded("base.cubin");
    assert!(record.cases[0].metrics.iter().any(|metric| metric.name == "code.registers"));
}

#[test]
fn of_several_architectures_without_a_gpu_all_count() {
    let folder = built("nvrtc_13.5.fatbin");
    // No GPU for the gate to know, whatever the machine has.
    let mut command = command(folder.path(), "run --quiet");
    command.env("GBENCH_NVML_LIBRARY", folder.path().join("none.so"));
    ended(command).exits(0);
    let code = newest(folder.path()).cases.remove(0).device_code.unwrap();
    assert_eq!(code.arch, "sm_100, sm_75, sm_80, sm_90");
    assert!(code.kernels.keys().all(|name| name.starts_with("sm_")), "{:?}", code.kernels.keys());
}
