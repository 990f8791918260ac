//! `gbench-ci profile`: cases of the suite under profilers, and nothing measured.

use std::io::Write;

use crate::app::measuring::session;
use crate::app::paths::shown;
use crate::app::request::profile::{ProfileRequest, of_profiles, profiles_of};
use crate::cli::args::{MeasureArgs, PageFormat, metrics, profiler_or_sanitizer};
use crate::cli::exit::of_signal;
use crate::cli::terminal::progress::reporter;
use crate::cli::terminal::style;
use crate::cli::terminal::write::{write_json, wrote};
use crate::model::{Exit, Fault, MetricSet, Outcome, OutcomeCode, Profiler, Result};
use crate::report::{profile_page, profiles_document};
use crate::run::Finished;
use crate::suite::Benchmark;

/// Run cases under profilers, without measuring, and show the profiles of their kernels
///
/// Each case runs in a separate process under each profiler. Reports keep the profilers' own suffixes, so that nsys-ui and
/// ncu-ui can open them.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct ProfileCommandArgs {
    /// Benchmarks by id or glob [default: everything that the flags select]
    #[arg(value_name = "CASE")]
    cases: Vec<String>,
    /// Profilers to run: nsys, ncu, torch, or memcheck, racecheck, initcheck, synccheck of compute-sanitizer [default: `profilers` in [profile], else nsys]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = profiler_or_sanitizer)]
    profile: Vec<Profiler>,
    /// Set of metrics that ncu collects: minimal, roofline or deep [default: `metrics` in [profile], else minimal]
    #[arg(long, value_name = "SET", value_parser = metrics)]
    profile_metrics: Option<MetricSet>,
    /// What to print
    #[arg(long, value_enum, default_value = "terminal")]
    format: PageFormat,
    #[command(flatten)]
    measure: MeasureArgs,
}

pub(crate) fn run(args: &ProfileCommandArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    let mut request = args.measure.request()?;
    request.refuse_where_nothing_is_timed()?;
    request.selection.selection.benchmarks.splice(0..0, args.cases.iter().cloned());
    let mut suite = request.suite(builtins)?;
    let named = (!args.profile.is_empty()).then(|| args.profile.clone());
    let of_suite = &suite.profile.profilers.value;
    let usual = of_suite.is_empty().then(|| vec![Profiler::Nsys]);
    // Here the profile is the task, so that a profiler that is missing is an error.
    let profile =
        ProfileRequest { profilers: named.or(usual), metrics: args.profile_metrics, required: true };
    profile.apply(&mut suite);
    let no_python = !suite.benchmarks.iter().any(|benchmark| benchmark.python().is_some());
    let only_torch = suite.profile.profilers.value.iter().all(|profiler| *profiler == Profiler::Torch);
    if only_torch && no_python {
        let next = "name nsys or ncu, or select a benchmark with `python`";
        return Err(Fault::at_flag(
            "--profile torch",
            "torch's profiler works in Python modules alone",
            next,
        ));
    }
    let reporter = reporter(args.measure.is_quiet());
    profile.check(&suite.profile, &reporter)?;
    if no_python && suite.profile.profilers.value.contains(&Profiler::Torch) {
        reporter.note("nothing is profiled by torch: its profiler works in Python modules alone");
    }
    let finished = session::profile(&suite, &reporter)?;
    let root = finished.folder.root();
    match args.format {
        PageFormat::Json => {
            let folder = shown(root).to_string();
            wrote(write_json(&profiles_document(&finished.record, &folder), out))?;
        }
        PageFormat::Terminal => {
            let place = |report: &str| shown(&root.join(report)).to_string();
            wrote(profile_page(&finished.record, style::of_stdout(), &place, out))?;
            wrote(writeln!(
                out,
                "\nrecord  {}\nlogs    {}",
                shown(&finished.folder.record_path()),
                shown(&root.join("logs"))
            ))?;
        }
    }
    Ok(exit_of(&finished))
}

fn exit_of(finished: &Finished) -> Exit {
    let is_profiled =
        |outcome: &Outcome| matches!(outcome, Outcome::NotRun { code: Some(OutcomeCode::ProfiledOnly), .. });
    let all_ran = finished.record.cases.iter().all(|case| is_profiled(&case.outcome));
    match (finished.interrupted, of_profiles(profiles_of(&finished.record))) {
        (Some(signal), _) => of_signal(signal),
        (None, Some(exit)) => exit,
        (None, None) if finished.gpu_missing && !all_ran => Exit::Machine,
        (None, None) if !all_ran => Exit::Failed,
        (None, None) => Exit::Pass,
    }
}
