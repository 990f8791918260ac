//! A sweep of two implementations over many shapes: one command measures it, and the report says which wins where, by how much,
//! and whether that is more than noise.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::cli::ran;

/// LayerNorm twice: once with mean and variance computed anew for every entry, once with both computed once a row.
const LAYER_NORM: &str = r#"
def naive(row):
    mean = lambda: sum(row) / len(row)
    variance = lambda: sum((entry - mean()) ** 2 for entry in row) / len(row)
    return [(entry - mean()) / (variance() + 1e-5) ** 0.5 for entry in row]


def fused(row):
    mean = sum(row) / len(row)
    scale = (sum((entry - mean) ** 2 for entry in row) / len(row) + 1e-5) ** -0.5
    return [(entry - mean) * scale for entry in row]


def rows(batch_size, sequence_length, tensor_dimension):
    return [[(7 * at + row) % 13 / 13 for at in range(tensor_dimension)] for row in range(batch_size * sequence_length)]


def run_benchmark(implementation, batch_size, sequence_length, tensor_dimension):
    norm = {"naive": naive, "fused": fused}[implementation]
    return [norm(row) for row in rows(batch_size, sequence_length, tensor_dimension)]


def reference_result(batch_size, sequence_length, tensor_dimension):
    return [naive(row) for row in rows(batch_size, sequence_length, tensor_dimension)]
"#;

/// Says times of its own: twice as long for `naive`, but at dimension 16, where both take the same. Each process and
/// implementation is off by up to a tenth.
const SELF_TIMED: &str = r#"
import os, random


def run_benchmark(implementation, batch_size, sequence_length, tensor_dimension):
    factor = 2.0 if implementation == "naive" and tensor_dimension > 16 else 1.0
    noise = random.Random("%d %s %d %d %d" % (os.getpid(), implementation, batch_size, sequence_length, tensor_dimension))
    return factor * batch_size * sequence_length * tensor_dimension * noise.uniform(0.9, 1.1)
"#;

fn suite(way: &str) -> String {
    format!(
        "[[benchmark]]\nid = 'norm'\n[benchmark.matrix]\nimplementation = ['naive', 'fused']\nbatch_size = [1, 2, 3]\n\
         sequence_length = [1, 2, 3]\ntensor_dimension = [16, 24, 32, 48]\n[benchmark.python]\nfile = 'norm.py'\nway = '{way}'\n"
    )
}

/// The two tables that hold the implementations against each other; `None` without Python.
fn compared(folder: &Path, module: &str, way: &str, run: &str) -> Option<(Vec<Value>, Vec<Value>)> {
    if !Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no python3");
        return None;
    }
    fs::write(folder.join("norm.py"), module).unwrap();
    fs::write(folder.join("gbench.toml"), suite(way)).unwrap();
    ran(folder, &format!("run --quiet {run}")).exits(0).says("72 cases measured");
    let out = ran(folder, "report --group-by implementation --format json").exits(0).out;
    let document: Value = serde_json::from_str(&out).unwrap();
    let rows = |table: usize| document["tables"][table]["rows"].as_array().unwrap().clone();
    Some((rows(0), rows(1)))
}

#[test]
fn c6_one_command_measures_a_sweep_of_36_shapes_and_the_report_says_which_implementation_wins_where() {
    let folder = crate::support::tempdir().unwrap();
    let run = "--processes 3 --duration 10ms --burnin-seconds 1ms";
    let Some((groups, best)) = compared(folder.path(), LAYER_NORM, "function", run) else { return };
    assert_eq!(
        (&groups[0]["implementation"], &groups[1]["implementation"]),
        (&"fused".into(), &"naive".into())
    );
    // Its work is a small part of the other's, also on a machine that does much else.
    assert!(groups[0]["best at"].as_u64().unwrap() > 30, "{groups:?}");
    assert_eq!(best.len(), 36);
    for row in &best {
        let point = row["point"].as_str().unwrap();
        assert!(point.starts_with("batch_size=") && point.contains(", sequence_length="), "{point}");
        assert_ne!(row["best"], row["next"], "{point}");
    }
    let margins = best.iter().filter(|row| row["margin"].as_f64().unwrap() > 1.5);
    assert!(margins.count() > 30, "{best:?}");
    // In the terminal each point is readable, and the shapes can be looked at by themselves.
    let page = ran(folder.path(), "report --group-by implementation").exits(0);
    let page = page.says("Times worse than the best of each point, in the geometric mean: fused 1.0");
    page.says("A point is batch_size, sequence_length, tensor_dimension.").says(" 1, 2, 24 fused ");
    let by = ran(folder.path(), "report --by tensor_dimension --group-by implementation").exits(0);
    by.says("tensor_dimension fused naive");
}

#[test]
fn c6_a_margin_that_is_no_more_than_the_noise_is_said_to_be_chance() {
    let folder = crate::support::tempdir().unwrap();
    let run = "--processes 5 --iterations 1 --warmup 0";
    let Some((groups, best)) = compared(folder.path(), SELF_TIMED, "self-timed", run) else { return };
    let (equal, apart): (Vec<&Value>, Vec<&Value>) =
        best.iter().partition(|row| row["point"].as_str().unwrap().ends_with("tensor_dimension=16"));
    assert_eq!((equal.len(), apart.len()), (9, 27));
    for row in apart {
        assert_eq!((&row["best"], &row["against noise"]), (&"fused".into(), &"clear".into()), "{row}");
        assert!((1.6..2.5).contains(&row["margin"].as_f64().unwrap()), "{row}");
    }
    // Chance calls one in twenty clear.
    let chance = equal.iter().filter(|row| row["against noise"] == "may be chance").count();
    assert!(chance >= 5, "{equal:?}");
    assert!(groups[0]["clear"].as_u64().unwrap() >= 27, "{}", groups[0]);
    assert!(groups[1]["clear"].as_u64().unwrap() <= 4, "{}", groups[1]);
}
