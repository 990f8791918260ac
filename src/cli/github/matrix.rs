//! `gbench-ci matrix`: the jobs of a matrix as one line of JSON for `strategy.matrix`.

use std::io::Write;

use crate::app::github::matrix::{jobs, json, set_output};
use crate::cli::terminal::write::wrote;
use crate::model::{Exit, Result, Shard};

/// Print the jobs of a matrix, one per machine and shard, as JSON for `strategy.matrix`
///
/// In a workflow, write `matrix: ${{ fromJSON(needs.plan.outputs.NAME) }}`. In the job, write
/// `runs-on: ${{ matrix.runner }}`, and pass `matrix.label` as `--label` and `matrix.shard` as `--shard`.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct MatrixArgs {
    /// Number of shards to split the suite of each machine into
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=Shard::MAX as i64))]
    shards: u32,
    /// Name of a machine and labels of its runner: h100=self-hosted,gpu,h100; repeatable [default: one machine without a
    /// name, on `self-hosted`]
    #[arg(long = "machine", value_name = "NAME=LABELS", num_args = 1..)]
    machines: Vec<String>,
    /// Also append the JSON under this name to the step's outputs, in the file named by GITHUB_OUTPUT
    #[arg(long, value_name = "NAME")]
    output: Option<String>,
}

pub(crate) fn run(args: &MatrixArgs, out: &mut impl Write) -> Result<Exit> {
    let text = json(jobs(&["self-hosted".into()], &args.machines, args.shards)?)?;
    if let Some(name) = &args.output {
        set_output(name, &text)?;
    }
    wrote(writeln!(out, "{text}"))?;
    Ok(Exit::Pass)
}
