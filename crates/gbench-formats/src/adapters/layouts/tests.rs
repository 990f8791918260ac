//! Texts of `bench.yaml` that no case of `fixtures/layouts` can contain.

use super::*;
use crate::adapters::MemoryTree;

fn kernels(files: &[(&str, &str)]) -> LayoutCases {
    let request = LayoutRequest { layout: Layout::Kernels, roots: &[], ignore: &[] };
    find(&request, &MemoryTree::of(files))
}

#[test]
fn s1_4_a_kernel_with_a_large_bench_yaml_is_a_case_that_fails() {
    let large = format!("# {}\n", "x".repeat(1 << 20));
    let found = kernels(&[("kernels/bench.yaml", &large), ("kernels/gelu.py", "")]);
    assert_eq!(found.cases[0].call.way, CallWay::Fault);
}

/// Attack A10: 34 kB of lists took 6.75 GiB.
#[test]
fn a10_a_bench_yaml_that_asks_for_millions_of_cases_is_a_case_that_fails() {
    let of = |precisions: usize, backends: usize| {
        let list =
            |name: &str, many: usize| -> String { (0..many).map(|at| format!("{name}{at}, ")).collect() };
        let text = format!("precisions: [{}]\nbackends: [{}]\n", list("p", precisions), list("b", backends));
        kernels(&[("kernels/bench.yaml", &text), ("kernels/gelu.py", "")]).cases
    };
    assert_eq!(of(50, 20).len(), 1000);
    let [refused] = &of(50, 21)[..] else { panic!("one case") };
    let said = "kernels/bench.yaml:1:1: 50 precisions with 21 backends are 1050 cases of a kernel, and 1000 are the most: list fewer";
    assert_eq!(refused.call.message.as_deref(), Some(said));
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
