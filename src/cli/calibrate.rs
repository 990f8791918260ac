//! `gbench-ci calibrate`: the suite against itself, to learn what this machine can tell apart and what that costs.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::args::{OutputArgs, SelectionArgs, SettingsArgs, budget};
use super::terminal::progress::reporter;
use super::terminal::style;
use super::terminal::write::{check_place, write_json, wrote};
use crate::app::compare_commits::rule_of;
use crate::app::measure::{RoundsMeasuring, RunRequest};
use crate::app::paths::{project_root, shown};
use crate::app::scheduler::rounded;
use crate::app::stores::folder_of;
use crate::app::{calibration, positive_control as control, random};
use crate::compare::{Calibration, calibrate};
use crate::model::text::count;
use crate::model::{Comparison, ComparisonPolicy, Exit, Fault, Result, RunId};
use crate::report;
use crate::run::{Finished, NextRound, RoundsState, StoppingPolicy};
use crate::store::{ComparisonFolder, write_atomically};
use crate::suite::plan::{RoundsPlan, common_cases};
use crate::suite::{Benchmark, Suite};

/// Compare the suite with itself: what can be told apart here
///
/// Both sides are the working tree as it stands. The figures go to calibration.json in the store, where `compare` finds
/// them; the file holds the latest calibration alone. The records stay in artifacts/calibrations.
///
/// Exit codes: 0 calibrated; 1 the rule cried wolf, or missed a planted slowdown although the noise was low; 4 a case
/// failed or nothing was measured.
#[derive(clap::Args, Clone, Debug)]
pub struct CalibrateArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    settings: SettingsArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// Rounds that each case gets
    #[arg(long, value_name = "COUNT", default_value = "12", value_parser = clap::value_parser!(u32).range(4..=1000))]
    rounds: u32,
    /// Time for the rounds; cases that have fewer then say so
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true)]
    budget: Option<String>,
    /// Seed of the random run order, and of the tries [default: a fresh one]
    #[arg(long, alias = "coin", value_name = "NUMBER")]
    order_seed: Option<u64>,
    /// Leave out the built-in workload with more work on one side
    #[arg(long)]
    no_planted: bool,
    /// Store instead of the suite file's: dir:PATH; calibrations are kept in folders only
    #[arg(long, value_name = "ADDRESS")]
    store: Option<String>,
    /// What to print
    #[arg(long, value_enum, default_value = "terminal")]
    format: Format,
    /// Show what each row was measured by, too
    #[arg(long)]
    all: bool,
    /// Also write the calibration as JSON to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Terminal,
    Json,
}

pub fn run(args: &CalibrateArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    check_place("--json", args.json.as_deref())?;
    let budget = budget(args.budget.as_deref())?.unwrap_or(0.0);
    let request = RunRequest {
        selection: args.selection.request()?,
        settings: args.settings.request()?,
        output: args.output.request()?,
    };
    let suite = request.suite(builtins)?;
    let overrides = &request.settings.overrides;
    let home = project_root(&suite)?;
    let store = folder_of(&suite, args.store.as_deref())?.root().to_owned();
    let artifacts = home.join(&suite.run.artifacts.value).join("calibrations");
    let reporter = reporter(args.output.quiet);

    let seed = args.order_seed.unwrap_or_else(random::seed);
    let comparison = comparison(&suite, seed, overrides.threshold);
    let plan = RoundsPlan::new(&suite, &suite, &[], seed);
    let folder = ComparisonFolder::create(&artifacts, &comparison.id)?;
    let within = if budget > 0.0 { format!(", within {}", rounded(budget)) } else { String::new() };
    reporter.note(&format!(
        "{} against itself: {}, {}{within}",
        suite.name,
        count(plan.comparable(), "case"),
        count(args.rounds as usize, "round")
    ));
    let measuring = RoundsMeasuring {
        plan: &plan,
        sides: [(&suite, &home), (&suite, &home)],
        comparison: &comparison,
        folder: &folder,
        resume: Vec::new(),
    };
    let finished = measuring.carry_out(&mut Even { rounds: args.rounds, budget }, &reporter)?;
    let [base, head, ..] = finished.as_slice() else {
        return Err(Fault::defect("calibrate", "gave no two records"));
    };
    if let Some(signal) = head.interrupted {
        return interrupted(signal, out);
    }
    let mut calibration = calibrate(&base.record, &head.record, &comparison, args.rounds)?;
    if calibration.has_figures() && !args.no_planted {
        match control::planted(&artifacts, &home, seed, &reporter)? {
            control::Planted::Measured(control) => calibration.control = Some(control),
            control::Planted::Failed(why) => {
                calibration.warnings.push(format!("the planted slowdown could not be measured: {why}"));
            }
            control::Planted::Interrupted(signal) => return interrupted(signal, out),
        }
    }
    deliver(&calibration, &folder, &store, args, out)?;
    Ok(exit_of(&calibration, &finished))
}

fn comparison(suite: &Suite, seed: u64, threshold: Option<f64>) -> Comparison {
    let started = SystemTime::now();
    let gate = &suite.gate;
    Comparison {
        id: RunId::new(started, random::salt()),
        base: "this tree".into(),
        head: "this tree again".into(),
        head_changes: None,
        seed,
        interleaving: gate.interleaving.value,
        budget: None,
        rule: rule_of(gate, common_cases(suite, suite).len()),
        policy: ComparisonPolicy {
            inconclusive_fails: false,
            failed_fails: true,
            threshold,
            match_key: gate.match_key.iter().map(|(field, strict)| (field.clone(), strict.value)).collect(),
        },
        no_reference: None,
        suite_file: None,
    }
}

/// Every case gets the same rounds: what is decided early is measured on, because its noise is the question.
struct Even {
    rounds: u32,
    /// Seconds; 0: none.
    budget: f64,
}

impl StoppingPolicy for Even {
    fn next(&mut self, state: &RoundsState<'_>) -> NextRound {
        let rounds = |pair: &usize| state.pairs[*pair].rounds;
        let open: Vec<usize> = state.open().into_iter().filter(|pair| rounds(pair) < self.rounds).collect();
        match open.iter().map(rounds).min() {
            Some(fewest) => {
                NextRound::Measure(open.into_iter().filter(|pair| rounds(pair) == fewest).collect())
            }
            None => NextRound::Stop,
        }
    }

    fn may_start(&mut self, pair: usize, state: &RoundsState<'_>) -> bool {
        let round = state.pairs[pair].seconds_per_round().unwrap_or(0.0);
        self.budget <= 0.0 || state.seconds + round <= self.budget
    }
}

fn interrupted(signal: i32, out: &mut impl Write) -> Result<Exit> {
    wrote(writeln!(
        out,
        "interrupted: nothing is calibrated; begin again with fewer rounds or a `--budget`"
    ))?;
    Ok(if signal == 2 { Exit::Interrupted } else { Exit::Terminated })
}

/// Prints, and keeps where it can be found: nothing that was not measured replaces what was.
fn deliver(
    it: &Calibration,
    folder: &ComparisonFolder,
    store: &Path,
    args: &CalibrateArgs,
    out: &mut impl Write,
) -> Result<()> {
    let mut bytes = Vec::new();
    wrote(write_json(it, &mut bytes))?;
    folder.report("calibration.json", &bytes)?;
    let kept = it.has_figures().then(|| calibration::keep(store, &bytes)).transpose()?;
    if let Some(path) = &args.json {
        write_atomically(path, &bytes)?;
    }
    if args.format == Format::Json {
        return wrote(out.write_all(&bytes).and_then(|()| out.flush()));
    }
    wrote(report::calibration::terminal(it, style::of_stdout(), args.all, out))?;
    let kept = kept.map_or("nothing was".to_owned(), |path| shown(&path));
    wrote(writeln!(out, "\nrecords  {}\nkept     {kept}", shown(folder.root())))
}

fn exit_of(it: &Calibration, finished: &[Finished]) -> Exit {
    let failed = finished.iter().flat_map(|it| &it.record.cases).any(|case| case.outcome.is_failure());
    let blind = it.control.as_ref().is_some_and(|control| control.is_missed());
    match () {
        () if !it.has_figures() => Exit::Failed,
        () if it.false_alarms.too_many(it.alpha) || blind => Exit::Regression,
        () if failed => Exit::Failed,
        () => Exit::Pass,
    }
}
