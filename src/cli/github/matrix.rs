//! `gbench-ci matrix`: the jobs of a matrix as one line of JSON for `strategy.matrix`.

use std::io::{self, Write};
use std::path::PathBuf;

use crate::app::github::matrix::{MeasuringJob, jobs, json, most_shards, set_output};
use crate::app::shards::{Balance, balanced, named};
use crate::cli::args::BalanceArgs;
use crate::cli::terminal::write::wrote;
use crate::model::{Exit, Fault, Result, Shard};
use crate::store::write_atomically;

/// Print the jobs of a matrix, one per machine and shard, as JSON for `strategy.matrix`
///
/// In a workflow, write `matrix: ${{ fromJSON(needs.plan.outputs.NAME) }}`. In the job, write
/// `runs-on: ${{ matrix.runner }}`, and pass `matrix.label` as `--label` and `matrix.shard` as `--shard`.
///
/// With `--balance`, shards are cut by the time that their cases took. Every job then needs the plan, too: pass
/// `needs.plan.outputs.NAME-plan` as `--shard-plan`.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct MatrixArgs {
    /// Number of shards to split the suite of each machine into [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=Shard::MAX as i64))]
    shards: Option<u32>,
    /// Name of a machine and labels of its runner: h100=self-hosted,gpu,h100; repeatable [default: one machine without a
    /// name, on `self-hosted`]
    #[arg(long = "machine", value_name = "NAME=LABELS", num_args = 1..)]
    machines: Vec<String>,
    #[command(flatten)]
    balance: BalanceArgs,
    /// File for the plan of `--balance`, which the jobs need
    #[arg(long, value_name = "FILE", requires = "balance")]
    plan: Option<PathBuf>,
    /// Also append the JSON under this name to the step's outputs, in the file named by GITHUB_OUTPUT; the plan of
    /// `--balance` is appended as NAME-plan
    #[arg(long, value_name = "NAME")]
    output: Option<String>,
}

pub(crate) fn run(args: &MatrixArgs, out: &mut impl Write) -> Result<Exit> {
    let of = |shards| jobs(&["self-hosted".into()], &args.machines, shards);
    let jobs = match args.balance.balance {
        Some(balance) => balanced_jobs(args, balance, of)?,
        None => of(args.shards.unwrap_or(1))?,
    };
    let text = json(jobs)?;
    if let Some(name) = &args.output {
        set_output(name, &text)?;
    }
    wrote(writeln!(out, "{text}"))?;
    Ok(Exit::Pass)
}

/// The jobs of a balanced cut, once its plan is where they find it.
fn balanced_jobs(
    args: &MatrixArgs,
    balance: Balance,
    of: impl Fn(u32) -> Result<Vec<MeasuringJob>>,
) -> Result<Vec<MeasuringJob>> {
    let sources = &args.balance.costs;
    if sources.is_empty() {
        let next = "name what was measured with `--costs`: a record, a folder of comparisons, or git:BRANCH";
        return Err(Fault::at_flag("--balance", "nothing shows how long the cases take", next));
    }
    if args.plan.is_none() && args.output.is_none() {
        let next = "write it into a file with `--plan FILE`, or into the step's outputs with `--output NAME`";
        return Err(Fault::at_flag("--balance", "the jobs need its plan to cut the suite alike", next));
    }
    let machines = of(1)?.len() as u32;
    let cut = balanced(balance, args.shards, most_shards(machines), named(sources)?)?;
    let jobs = of(cut.estimate.shards)?;
    for note in &cut.notes {
        // A standard error that is closed is not a reason to stop.
        let _ = writeln!(io::stderr(), "{note}");
    }
    let text = cut.plan.to_string();
    if let Some(file) = &args.plan {
        write_atomically(file, format!("{text}\n").as_bytes())?;
    }
    if let Some(name) = &args.output {
        set_output(&format!("{name}-plan"), &text)?;
        set_output(&format!("{name}-jobs"), &jobs.len().to_string())?;
    }
    Ok(jobs)
}
