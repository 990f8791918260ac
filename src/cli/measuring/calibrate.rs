//! `gbench-ci calibrate`: the suite against itself, to learn what this machine can tell apart and what that costs.

use std::io::Write;
use std::path::PathBuf;

use crate::app::calibration::run::{CalibrateRequest, CalibrateResult, Calibrated, calibrate};
use crate::app::paths::shown;
use crate::cli::args::{MeasureArgs, PageFormat, budget};
use crate::cli::exit::of_signal;
use crate::cli::terminal::progress::reporter;
use crate::cli::terminal::style;
use crate::cli::terminal::write::{check_place, wrote};
use crate::model::{Budget, Exit, Result};
use crate::report;
use crate::store::write_atomically;
use crate::suite::Benchmark;

/// Compare the suite with itself: which changes can this machine detect?
///
/// Both sides are the working tree in its current state. The results are written to calibration.json in the store, where
/// `compare` reads them; the file contains only the latest calibration. The records are kept in artifacts/calibrations.
///
/// Exit codes: 0 calibrated; 1 the rule reported a change where there was none, or missed a planted slowdown although the
/// noise was low; 4 a case failed or nothing was measured.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct CalibrateArgs {
    #[command(flatten)]
    measure: MeasureArgs,
    /// Rounds per case
    #[arg(long, value_name = "COUNT", default_value = "12", value_parser = clap::value_parser!(u32).range(4..=1000))]
    rounds: u32,
    /// Time limit for the rounds; cases that get fewer rounds are marked
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true)]
    budget: Option<String>,
    /// Seed of the random run order and of the resampling [default: a fresh one]
    #[arg(long, alias = "coin", value_name = "NUMBER")]
    order_seed: Option<u64>,
    /// Leave out the built-in workload that does more work on one side
    #[arg(long)]
    no_planted: bool,
    /// Store instead of the suite file's: dir:PATH; calibrations are kept in folders only
    #[arg(long, value_name = "ADDRESS")]
    store: Option<String>,
    /// What to print
    #[arg(long, value_enum, default_value = "terminal")]
    format: PageFormat,
    /// Also show the noise components of every row
    #[arg(long)]
    all: bool,
    /// Also write the calibration as JSON to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(args: &CalibrateArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    check_place("--json", args.json.as_deref())?;
    let budget = budget(&args.budget)?.unwrap_or(Budget::UNLIMITED);
    let (run, positive_control) = (args.measure.request()?, !args.no_planted);
    let CalibrateArgs { rounds, order_seed, store, .. } = args.clone();
    let request = CalibrateRequest { budget, run, rounds, order_seed, positive_control, store };
    match calibrate(&request, builtins, &reporter(args.measure.is_quiet()))? {
        CalibrateResult::Done(calibrated) => {
            print(&calibrated, args, out)?;
            Ok(exit_of(&calibrated))
        }
        CalibrateResult::Interrupted(signal) => {
            let next = "begin again with fewer rounds or a `--budget`";
            wrote(writeln!(out, "interrupted: nothing is calibrated; {next}"))?;
            Ok(of_signal(signal))
        }
    }
}

fn print(calibrated: &Calibrated, args: &CalibrateArgs, out: &mut impl Write) -> Result<()> {
    let Calibrated { calibration, bytes, folder, stored, .. } = calibrated;
    if let Some(path) = &args.json {
        write_atomically(path, bytes)?;
    }
    if args.format == PageFormat::Json {
        return wrote(out.write_all(bytes).and_then(|()| out.flush()));
    }
    wrote(report::calibration::terminal(calibration, style::of_stdout(), args.all, out))?;
    let stored = stored.as_deref().map_or("nothing was".to_owned(), shown);
    wrote(writeln!(out, "\nrecords  {}\nkept     {stored}", shown(folder)))
}

fn exit_of(calibrated: &Calibrated) -> Exit {
    let it = &calibrated.calibration;
    let is_missed = it.control.as_ref().is_some_and(|control| control.is_missed());
    if !it.has_figures() {
        Exit::Failed
    } else if it.false_alarms.too_many(it.alpha) || is_missed {
        Exit::Regression
    } else if calibrated.has_failures {
        Exit::Failed
    } else {
        Exit::Pass
    }
}
