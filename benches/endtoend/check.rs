//! `--check`: the repository itself. Both sides have the same machine code, and every workload takes about the time that
//! its name says.

use std::error::Error;

use crate::comparison::run;
use crate::repository::{Commits, Part, benchmark};
use crate::table::markdown;
use crate::workloads::Workload;

/// How far a time may lie from its nominal one, either way: another machine is another machine.
const FACTOR: f64 = 3.0;

/// The fewest rounds that there are, with the slower head, without load. True where all is as it should be.
pub fn check(commits: &Commits) -> Result<bool, Box<dyn Error>> {
    let (document, _) =
        run(commits, Part::Slower, &["--order-seed", "1", "--rounds", "4", "--controls", "0"])?;
    let mut good = true;
    let mut rows = Vec::new();
    for workload in Workload::all() {
        let name = benchmark(workload);
        let row = document.rows.iter().find(|row| row.case.benchmark.as_str() == name);
        let sides = row.and_then(|row| Some((row.base.as_ref()?.centre?, row.head.as_ref()?.centre?)));
        let (base, head) = sides.ok_or_else(|| format!("{name} was not measured on both sides"))?;
        let near = [base, head]
            .iter()
            .all(|time| (workload.seconds() / FACTOR..=workload.seconds() * FACTOR).contains(time));
        good &= near;
        rows.push(vec![
            workload.name(),
            workload.steps().to_string(),
            format!("{:.3}", base * 1e3),
            format!("{:.3}", head * 1e3),
            format!("{:+.1} %", 100.0 * (head / base - 1.0)),
            if workload.is_planted() { "3 % more work" } else { "" }.to_owned(),
            if near { "" } else { "FAR FROM NOMINAL" }.to_owned(),
        ]);
    }
    println!("{}", markdown(&["workload", "steps", "base ms", "head ms", "change", "", ""], &rows));
    let program = |side: &str| std::fs::read(commits.root().join(".gbench/trees").join(side).join("chains"));
    let equal = program("base")? == program("head")?;
    println!("The programs of both sides are {}.", if equal { "equal, byte by byte" } else { "DIFFERENT" });
    Ok(good && equal)
}
