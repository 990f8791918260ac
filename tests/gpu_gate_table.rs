//! D2 in full: 100 whole comparisons of six kernels on the stand-in, half of them with one kernel 3 % slower. Too long for a test: `just
//! gpu-gate`.

use std::time::Instant;

use gbench_ci::compare::Verdict;

use crate::support::kernels::{Gate, SIX, falsely_red, six, stand_in};
use crate::support::repository::row;

const COMPARISONS: u64 = 50;
const SLOWER: f64 = 1.03;

/// What some comparisons took, the middle one and the largest.
fn spread(mut of: Vec<f64>) -> String {
    of.sort_by(f64::total_cmp);
    format!("{:.0} ({:.0})", of[of.len() / 2], of[of.len() - 1])
}

fn processes(gate: &Gate) -> f64 {
    std::fs::metadata(gate.repository.root().join(".git/gpu/processes")).unwrap().len() as f64
}

#[test]
#[ignore = "prints a table in about a quarter of an hour: just gpu-gate"]
fn d2_fifty_comparisons_without_a_change_and_fifty_with_one() {
    let stand_in = stand_in().expect("the tools are installed: .ci/run tools");
    println!(
        "| head | comparisons | exit 0 | exit 1 | exit 3 | other | planted found | false red rows | of | processes | seconds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let mut missed = Vec::new();
    for (head, has_planted) in [("nothing changed", false), ("one kernel 3 % slower", true)] {
        let (mut exits, mut found, mut false_rows) = ([0; 4], 0, 0);
        let (mut counts, mut seconds) = (Vec::new(), Vec::new());
        for number in 0..COMPARISONS {
            let slow = has_planted.then_some(number as usize % 6);
            let gate = six(&stand_in, number + 1000 * u64::from(has_planted), slow.map(|at| (at, SLOWER)));
            let begun = Instant::now();
            let ran = gate.compare(&format!("--order-seed {number}"));
            seconds.push(begun.elapsed().as_secs_f64());
            counts.push(processes(&gate));
            exits[match ran.code {
                0 => 0,
                1 => 1,
                3 => 2,
                _ => 3,
            }] += 1;
            if ![0, 1].contains(&ran.code) {
                println!("<!-- {head}, {number}: {}\n{} -->", ran.code, ran.out);
            }
            let verdict = gate.repository.verdict();
            false_rows += falsely_red(&verdict, slow);
            if let Some(at) = slow {
                let name = SIX[at].0;
                match row(&verdict, name, "time").verdict {
                    Verdict::Regressed => found += 1,
                    other => missed.push((number, name, other)),
                }
            }
        }
        let [green, red, open, other] = exits;
        let rows = COMPARISONS * if has_planted { 5 } else { 6 };
        let found = if has_planted { found.to_string() } else { "-".into() };
        println!(
            "| {head} | {COMPARISONS} | {green} | {red} | {open} | {other} | {found} | {false_rows} | {rows} | {} | {} |",
            spread(counts),
            spread(seconds)
        );
        assert!(has_planted || red == 0, "red without a change");
    }
    println!("not found: {missed:?}");
    assert!(missed.len() <= 1, "{missed:?}");
}
