//! Trees of pairs and of kernels, and the cases that are found in them.

use serde_json::json;

use super::*;
use crate::adapters::MemoryTree;

fn found_with(layout: Layout, roots: &[&str], ignore: &[&str], files: &[(&str, &str)]) -> LayoutCases {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
    let (roots, ignore) = (owned(roots), owned(ignore));
    find(&LayoutRequest { layout, roots: &roots, ignore: &ignore }, &MemoryTree::of(files))
}

fn pairs(files: &[&str]) -> LayoutCases {
    let files: Vec<(&str, &str)> = files.iter().map(|path| (*path, "")).collect();
    found_with(Layout::Pairs, &[], &[], &files)
}

fn kernels(files: &[(&str, &str)]) -> LayoutCases {
    found_with(Layout::Kernels, &[], &[], files)
}

fn natives(found: &LayoutCases) -> Vec<&str> {
    found.cases.iter().map(|case| case.name.native.as_str()).collect()
}

/// `case[params] file`.
fn line(case: &PythonCase) -> String {
    let params: Vec<String> =
        case.name.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{}[{}] {}", case.name.case, params.join(","), case.call.file)
}

#[test]
fn s0_2_each_pair_of_a_folder_is_found_once() {
    let found = pairs(&[
        "ch1/baseline_moe.py",
        "ch1/optimized_moe.py",
        "ch1/optimized_moe_sparse.py",
        "ch1/helper.py",
        "baseline_alone.py",
        "ch1/test_baseline_moe.py",
        "ch1/baseline_moe.txt",
    ]);
    let lines: Vec<String> = found.cases.iter().map(line).collect();
    assert_eq!(
        lines,
        [
            "alone[variant=baseline] baseline_alone.py",
            "moe[chapter=ch1,variant=baseline] ch1/baseline_moe.py",
            "moe[chapter=ch1,variant=optimized] ch1/optimized_moe.py",
            "moe[chapter=ch1,technique=sparse,variant=optimized] ch1/optimized_moe_sparse.py",
        ]
    );
    assert_eq!(
        natives(&found),
        ["alone", "ch1:moe", "ch1:moe/optimized_moe", "ch1:moe/optimized_moe_sparse"]
    );
    assert_eq!(found.warnings, [""; 0]);
    let call = serde_json::to_value(&found.cases[1].call).unwrap();
    assert_eq!(call, json!({"way": "class", "file": "ch1/baseline_moe.py"}));
    assert_eq!(serde_json::from_value::<PythonCall>(call).unwrap(), found.cases[1].call);
}

#[test]
fn s0_3_the_longest_baseline_takes_an_optimized_file() {
    let files = [
        "c/baseline_moe.py",
        "c/optimized_moe.py",
        "c/optimized_moe_sparse.py",
        "c/optimized_moe_sparse_fast.py",
    ];
    let found = pairs(&files);
    let named = |found: &LayoutCases, word: &str| -> Vec<String> {
        targets(&found.cases, word).unwrap().into_iter().map(|case| case.name.native.clone()).collect()
    };
    assert_eq!(named(&found, "c:moe").len(), 4);
    assert_eq!(named(&found, "moe"), named(&found, "c:moe"));
    assert_eq!(named(&found, "c:moe_sparse"), ["c:moe", "c:moe/optimized_moe_sparse"]);
    assert_eq!(named(&found, "c").len(), 4);
    let found = pairs(&[files.as_slice(), &["c/baseline_moe_sparse.py"]].concat());
    assert_eq!(
        natives(&found),
        [
            "c:moe",
            "c:moe/optimized_moe",
            "c:moe_sparse",
            "c:moe_sparse/optimized_moe_sparse",
            "c:moe_sparse/optimized_moe_sparse_fast"
        ]
    );
    assert_eq!(named(&found, "moe_sparse").len(), 3);
    assert_eq!(named(&found, "moe_sparse_fast"), ["c:moe_sparse", "c:moe_sparse/optimized_moe_sparse_fast"]);
}

#[test]
fn s0_4_a_name_is_the_whole_suffix_and_its_beginning_an_alias_where_it_is_unambiguous() {
    let found = pairs(&["a/baseline_moe_dense.py", "a/optimized_moe_dense_x.py", "b/baseline_baseline_x.py"]);
    assert_eq!(natives(&found), ["a:moe_dense", "a:moe_dense/optimized_moe_dense_x", "b:baseline_x"]);
    assert_eq!(targets(&found.cases, "moe").unwrap().len(), 2);
    assert_eq!(targets(&found.cases, "a:moe").unwrap().len(), 2);
    let found = pairs(&["a/baseline_moe_dense.py", "a/baseline_moe_sparse.py", "b/baseline_moe_dense.py"]);
    let error = targets(&found.cases, "a:moe").unwrap_err();
    assert_eq!(error.to_string(), "`a:moe` may be a:moe_dense, a:moe_sparse");
    assert!(matches!(targets(&found.cases, "moe_dense"), Err(TargetError::Ambiguous { .. })));
    assert_eq!(targets(&found.cases, "b:moe").unwrap().len(), 1);
    let Err(TargetError::Unknown { near, .. }) = targets(&found.cases, "a:moe_dens") else { panic!() };
    assert_eq!(near[0], "a:moe_dense");
    for word in ["", ":", "x", "a:", "moe:a"] {
        let found = targets(&found.cases, word);
        assert_eq!(found.is_ok(), word == "a:", "{word}: {found:?}");
    }
}

#[test]
fn s0_5_folders_are_counted_and_orphans_are_told() {
    let files = [
        "ch10/baseline_a.py",
        "ch2/baseline_a10.py",
        "ch2/baseline_a9.py",
        "ch2/optimized_b.py",
        "capstone/baseline_c.py",
    ];
    let found = pairs(&files);
    assert_eq!(natives(&found), ["capstone:c", "ch2:a9", "ch2:a10", "ch10:a"]);
    assert_eq!(
        found.warnings,
        ["ch2/optimized_b.py is not measured: ch2 has no baseline_ file whose name it begins with"]
    );
    assert_eq!(found.orphans, ["ch2/optimized_b.py"]);
    let files: Vec<(&str, &str)> = files.iter().map(|path| (*path, "")).collect();
    let chosen = found_with(Layout::Pairs, &["ch*", "labs/*"], &["optimized_b.py", "ch10"], &files);
    assert_eq!(natives(&chosen), ["ch2:a9", "ch2:a10"]);
    assert_eq!(chosen.warnings, ["no file lies in the root `labs/*`"]);
    assert_eq!(chosen.passed_over.len(), 2);
    assert_eq!(chosen.passed_over[0].why, "`ch10` of `ignore` leaves it out");
    let wrong = found_with(Layout::Pairs, &["ch[1", "./ch10/"], &["{"], &files);
    assert_eq!(natives(&wrong), ["ch10:a"]);
    assert_eq!(wrong.warnings.len(), 2, "{:?}", wrong.warnings);
}

#[test]
fn odd_names_of_pairs_are_none() {
    let found = pairs(&[
        "a/baseline_.py",
        "a/optimized_.py",
        "a/optimized__x.py",
        "baseline_x.cu",
        "optimized_x_y.cu",
        "optimized_z.cu",
    ]);
    assert_eq!(natives(&found), [""; 0]);
    assert_eq!(found.orphans, ["a/optimized_.py", "a/optimized__x.py"]);
    assert_eq!(found.passed_over[0].path, "a/baseline_.py");
}

#[test]
fn pairs_of_other_sources_have_the_same_names() {
    let files = ["ch2/baseline_x.cu", "ch2/optimized_x_y.cu", "ch2/optimized_z.cu", "ch2/baseline_x.py"];
    let tree = MemoryTree::of(files.map(|path| (path, "")));
    let found = source_pairs(&[], &[], "cu", &tree);
    let names: Vec<(&str, &str)> =
        found.cases.iter().map(|case| (case.name.native.as_str(), case.file.as_str())).collect();
    assert_eq!(names, [("ch2:x", "ch2/baseline_x.cu"), ("ch2:x/optimized_x_y", "ch2/optimized_x_y.cu")]);
    assert_eq!(found.orphans, ["ch2/optimized_z.cu"]);
}

const BENCH: &str = "\
# A comment.
problem_size:
  shape: [2, 1024]
  n: 64
  nested: [[1, 2], [3.0, x]]
  tolerance: 1.0e-5
  scale: 1e-3
  name: gelu
  causal: no
precisions: [fp32, fp16]
backends: [cpu, cuda]
iterations: 30
warmup: 3
seed: 1337
tolerances: {rmse: 1.0e-3, relative_error: 1e-2}
skip_conditions:
  - backend: cuda
    reason: \"CUDA not available\"
    check: \"not torch.cuda.is_available()\"
function_name: run
";

#[test]
fn s1_1_kernels_of_the_five_folders_are_found_once() {
    let files: Vec<(&str, &str)> = [
        "kernels/gelu.py",
        "kernels/deep/er/softmax.py",
        "src/kernels/a.py",
        "quasim/kernels/b.py",
        "integrations/kernels/c.py",
        "autonomous_systems_platform/services/backend/quasim/kernels/d.py",
        "other/kernels/e.py",
        "kernels2/f.py",
    ]
    .map(|path| (path, ""))
    .to_vec();
    let found = kernels(&files);
    assert_eq!(
        natives(&found),
        [
            "autonomous_systems_platform/services/backend/quasim/kernels/d",
            "integrations/kernels/c",
            "kernels/gelu",
            "kernels/deep/er/softmax",
            "quasim/kernels/b",
            "src/kernels/a"
        ]
    );
    assert_eq!(found.warnings, [""; 0]);
    let twice = found_with(Layout::Kernels, &["kernels", "kernels/deep", "**/er"], &[], &files);
    assert_eq!(natives(&twice), ["kernels/gelu", "kernels/deep/er/softmax"]);
    assert_eq!(targets(&found.cases, "gelu").unwrap()[0].call.file, "kernels/gelu.py");
}

#[test]
fn s1_2_what_is_left_out_is_listed() {
    let found = kernels(&[
        ("kernels/__init__.py", ""),
        ("kernels/test_gelu.py", ""),
        ("kernels/gelu.cu", ""),
        ("kernels/_private.py", ""),
        ("kernels/bench.yaml", ""),
        ("kernels/bench.yml", ""),
        ("x/test_y.py", ""),
    ]);
    assert_eq!(natives(&found), ["kernels/_private"]);
    let over: Vec<String> =
        found.passed_over.iter().map(|over| format!("{}: {}", over.path, over.why)).collect();
    assert_eq!(
        over,
        [
            "kernels/__init__.py: its name begins with __",
            "kernels/bench.yml: it is no Python file",
            "kernels/gelu.cu: it is no Python file",
            "kernels/test_gelu.py: its name begins with test_"
        ]
    );
    assert_eq!(found.warnings, ["kernels/bench.yml is not read: call it bench.yaml"]);
}

#[test]
fn s1_31_to_s1_34_bench_yaml_serves_each_file_of_its_folder() {
    let found = kernels(&[
        ("kernels/bench.yaml", BENCH),
        ("kernels/gelu.py", ""),
        ("kernels/silu.py", ""),
        ("kernels/sub/x.py", ""),
    ]);
    assert_eq!(found.warnings, [""; 0]);
    assert_eq!(
        natives(&found)[..5],
        [
            "kernels/gelu[precision=fp32,backend=cpu]",
            "kernels/gelu[precision=fp32,backend=cuda]",
            "kernels/gelu[precision=fp16,backend=cpu]",
            "kernels/gelu[precision=fp16,backend=cuda]",
            "kernels/silu[precision=fp32,backend=cpu]"
        ]
    );
    assert_eq!(natives(&found)[8..], ["kernels/sub/x"]);
    assert_eq!(
        line(&found.cases[3]),
        "kernels/gelu[backend=cuda,causal=false,n=64,name=gelu,nested=[[1,2],[3.0,\"x\"]],precision=fp16,\
         scale=0.001,shape=2x1024,tolerance=1e-5] kernels/gelu.py"
    );
    let call = serde_json::to_value(&found.cases[2].call).unwrap();
    assert_eq!(
        call,
        json!({
            "way": "function", "file": "kernels/gelu.py", "function": "run", "precision": "fp16", "backend": "cpu",
            "first_backend": true, "iterations": 30, "warmup": 3, "seed": 1337,
            "params": {"shape": [2, 1024], "n": 64, "nested": [[1, 2], [3.0, "x"]], "tolerance": 1.0e-5, "scale": 0.001,
                       "name": "gelu", "causal": false},
            "shared_tolerances": true, "tolerances": {"rmse": 0.001, "relative_error": 0.01},
            "skip_conditions": [{"backend": "cuda", "check": "not torch.cuda.is_available()", "reason": "CUDA not available"}],
        })
    );
    assert!(found.cases[0].call.first_precision && !found.cases[2].call.first_precision);
    let back: PythonCall = serde_json::from_value(call).unwrap();
    assert_eq!(back, found.cases[2].call);
    let bare = serde_json::to_value(&found.cases[8].call).unwrap();
    assert_eq!(bare, json!({"way": "function", "file": "kernels/sub/x.py"}));
}

#[test]
fn s1_4_a_kernel_with_a_broken_bench_yaml_is_a_case_that_fails() {
    for (text, says) in [
        ("backends: [cpu, off]\n", "kernels/bench.yaml:1:17: a word of `backends` is the boolean false"),
        ("a: [1\n", "kernels/bench.yaml:2:1: this is no YAML"),
        ("- 1\n", "kernels/bench.yaml:1:1: the file has to be a mapping of keys and values, and is a list"),
        ("problem_size:\n  backend: cpu\n", "kernels/bench.yaml:2:3: `backend` of `problem_size`"),
        ("problem_size: {a b: 1}\n", "kernels/bench.yaml:1:16: `a b` cannot be the name of an argument"),
        ("problem_size: [1]\n", "kernels/bench.yaml:1:15: `problem_size` has to be a mapping"),
        ("problem_size: {n: .nan}\n", "kernels/bench.yaml:1:19: this is no finite number"),
        (
            "iterations: many\n",
            "kernels/bench.yaml:1:13: `iterations` has to be a whole number of at least 1",
        ),
        ("seed: -1\n", "kernels/bench.yaml:1:7: `seed` has to be"),
        (
            "tolerances: {rmse: small}\n",
            "kernels/bench.yaml:1:20: `rmse` has to be a number of at least 0, and is a text",
        ),
        ("skip_conditions: {backend: cuda}\n", "kernels/bench.yaml:1:18: `skip_conditions` has to be a list"),
        ("function_name: a b\n", "kernels/bench.yaml:1:16: `a b` cannot be the name of a function"),
        ("a: \u{fffd}\n", "kernels/bench.yaml:1: the file is not UTF-8"),
    ] {
        let found = kernels(&[("kernels/bench.yaml", text), ("kernels/gelu.py", "import torch\n")]);
        let [case] = found.cases.as_slice() else { panic!("{text}: {:?}", found.cases) };
        assert_eq!((case.call.way, case.name.native.as_str()), (CallWay::Fault, "kernels/gelu"), "{text}");
        let message = case.call.message.as_deref().unwrap();
        assert!(message.starts_with(says), "{text}: {message}");
        assert_eq!(found.kernels[0].fault.as_deref(), Some(message));
    }
    let large = format!("# {}\n", "x".repeat(1 << 20));
    let found = kernels(&[("kernels/bench.yaml", &large), ("kernels/gelu.py", "")]);
    assert_eq!(found.cases[0].call.way, CallWay::Fault);
}

#[test]
fn unknown_keys_are_told_with_the_near_name() {
    let text = "problem_sizes: {n: 1}\nprecisions: fp16\nbackends:\nzebra: 1\ntolerances: {rsme: 1}\nprecision: [x]\nprecisions: [fp8, fp8, 16]\n";
    let found = kernels(&[("kernels/bench.yaml", text), ("kernels/a.py", ""), ("kernels/b.py", "")]);
    assert_eq!(natives(&found)[..2], ["kernels/a[precision=fp8]", "kernels/a[precision=16]"]);
    let says = [
        "kernels/bench.yaml:1:1: the file has no key `problem_sizes`, which is not read: is `problem_size` meant?",
        "kernels/bench.yaml:4:1: the file has keys that are not read: `zebra`; known are",
        "kernels/bench.yaml:5:14: `tolerances` has no key `rsme`, which is not read: is `rmse` meant?",
        "kernels/bench.yaml:6:1: the file has no key `precision`, which is not read: is `precisions` meant?",
        "kernels/bench.yaml:7:1: the key `precisions` stands here a second time: this one counts",
        "kernels/bench.yaml:7:19: `fp8` stands in `precisions` a second time, and counts once",
    ];
    assert_eq!(found.warnings.len(), says.len(), "{:#?}", found.warnings);
    for (warning, says) in found.warnings.iter().zip(says) {
        assert!(warning.starts_with(says), "{warning}");
    }
}

#[test]
fn s1_3_and_s1_14_the_manifest_of_a_kernel() {
    let found = kernels(&[
        ("kernels/bench.yaml", "problem_size: {n: 1}\n"),
        (
            "kernels/gelu.py",
            "import os\nimport torch\nfrom scipy.linalg import lu\nimport common\nfrom kernels.x import y\nfrom . import z\n",
        ),
        ("kernels/common.py", ""),
    ]);
    let manifest = serde_json::to_value(&found.kernels[1]).unwrap();
    assert_eq!(
        manifest,
        json!({"name": "gelu", "path": "kernels/gelu.py", "backend_guessed": "pytorch", "dependencies": ["scipy", "torch"],
               "config": {"problem_size": {"n": 1}}})
    );
}

#[test]
fn a_long_value_is_cut_and_keeps_its_identity() {
    let value = |last: u32| {
        let list: Vec<String> = (0..100).chain([last]).map(|number| number.to_string()).collect();
        let text = format!("problem_size: {{n: [{}]}}\n", list.join(","));
        let found = kernels(&[("kernels/bench.yaml", &text), ("kernels/a.py", "")]);
        found.cases[0].name.params["n"].to_string()
    };
    assert!(value(1).starts_with("0x1x2x3x") && value(1).len() < 60, "{}", value(1));
    assert_ne!(value(1), value(2));
}

/// Every copy of a document that lacks a byte, or has another one, is read or refused.
#[test]
fn damaged_copies_of_bench_yaml_never_panic() {
    let characters: Vec<char> = BENCH.chars().collect();
    let odd = ['\0', '\t', '\n', '[', '{', ':', '&', '*', '!', '%', '"', '|', '-', 'é', '\u{2028}'];
    for at in 0..characters.len() {
        let mut copies: Vec<String> = vec![characters[..at].iter().collect()];
        let mut lacking = characters.clone();
        lacking.remove(at);
        copies.push(lacking.into_iter().collect());
        for turn in 0..3 {
            let mut changed = characters.clone();
            changed[at] = odd[(3 * at + turn) % odd.len()];
            copies.push(changed.into_iter().collect());
        }
        for copy in copies {
            let found = kernels(&[("kernels/bench.yaml", &copy), ("kernels/gelu.py", "")]);
            assert!(!found.cases.is_empty(), "{copy}");
        }
    }
}
