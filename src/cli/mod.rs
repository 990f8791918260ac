//! The command line: one file a command turns its flags into a request for `app`, prints the value that comes back and picks
//! the exit code. `args` are the shared flags, `terminal` is the reader's terminal.

mod args;
pub mod cubins;
mod exit;
mod github;
mod measuring;
mod results;
mod self_doc;
mod setup;
pub mod terminal;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use github::{accept, guard, matrix, merge, publish};
use measuring::{bisect, calibrate, ci, compare, profile, run};
use results::{baseline, explain, export, gc, history, ingest, manifest, replay, report, site};
use setup::{config, demo, describe, discover, doctor, init, list};

use crate::app::builtins;
use crate::github::commands;
use crate::model::{Exit, Fault, Result};

/// The regression gate for GPU code: measure, compare, decide, report
#[derive(Parser)]
#[command(name = "gbench-ci", version, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 pass, 1 regression, 2 usage or configuration error, 3 inconclusive
(nothing was decided, a case is probably worse, or the policy forbids undecided
cases), 4 something failed or is missing, 5 the machine cannot do this, 6 the
result could not be published, 70 internal error, 130 or 143 interrupted";

#[derive(Subcommand)]
enum Command {
    Init(init::InitArgs),
    Discover(discover::DiscoverArgs),
    List(list::ListArgs),
    Describe(describe::DescribeArgs),
    Config(config::ConfigArgs),
    Run(Box<run::RunArgs>),
    Profile(Box<profile::ProfileCommandArgs>),
    Compare(Box<compare::CompareArgs>),
    Ci(Box<ci::CiArgs>),
    Calibrate(Box<calibrate::CalibrateArgs>),
    Baseline(baseline::BaselineArgs),
    Ingest(Box<ingest::IngestCommandArgs>),
    Report(report::ReportArgs),
    Export(export::ExportArgs),
    History(history::HistoryArgs),
    Site(Box<site::SiteArgs>),
    Gc(gc::GcArgs),
    Bisect(Box<bisect::BisectArgs>),
    Publish(Box<publish::PublishArgs>),
    Accept(accept::AcceptArgs),
    Merge(merge::MergeArgs),
    Matrix(matrix::MatrixArgs),
    Explain(explain::ExplainArgs),
    Replay(replay::ReplayArgs),
    /// Show this machine and its tools, or compare those of two runs
    Manifest(manifest::ManifestArgs),
    /// Report what this machine can and cannot measure, and how to fix it
    Doctor(doctor::DoctorArgs),
    Guard(guard::GuardArgs),
    Demo(demo::DemoArgs),
    Schema(self_doc::SchemaArgs),
    Completions(self_doc::CompletionsArgs),
    Man(self_doc::ManArgs),
}

/// Runs the command line of this process. A panic is a defect, and is reported as one: exit code 70.
pub fn main() -> ExitCode {
    // Without it a write beyond `ulimit -f` ends this process with a signal and no message. A limit that cannot be set is kept.
    let _ = crate::run::outlive_file_size_limit();
    let result = std::panic::catch_unwind(|| dispatch(&Cli::parse().command));
    match result {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(fault)) => {
            // A closed standard error leaves no reader.
            let _ = report_fault(&fault);
            fault.exit.into()
        }
        Err(_) => {
            let what = "gbench-ci itself failed, as said above";
            let _ = writeln!(io::stderr(), "error: {what}\n  next: please report it with the command line");
            Exit::Internal.into()
        }
    }
}

fn report_fault(fault: &Fault) -> io::Result<()> {
    let mut err = io::stderr().lock();
    let color = terminal::style::stderr_has_color();
    if std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
        // The job's runner must not obey what a fault quotes.
        let mut err = commands::CommandEscaper::new(err);
        terminal::error::render_fault(fault, color, &mut err)?;
        return err.finish().map(drop);
    }
    terminal::error::render_fault(fault, color, &mut err)?;
    err.flush()
}

fn dispatch(command: &Command) -> Result<Exit> {
    let mut out = terminal::write::Output::new(io::stdout().lock());
    // `ci` does so by itself, once it has begun again without its tokens.
    if let Command::Run(_)
    | Command::Profile(_)
    | Command::Compare(_)
    | Command::Calibrate(_)
    | Command::Bisect(_)
    | Command::Config(_)
    | Command::Describe(_) = command
    {
        terminal::write::announce_environment()?;
    }
    // Where `disk_io` puts its file; also right for a folder that has gone, where nothing else works either.
    let builtins = || builtins::benchmarks(&std::env::current_dir().unwrap_or(Path::new(".").into()));
    match command {
        Command::Init(args) => init::run(args, &builtins(), &mut out),
        Command::Discover(args) => discover::run(args, &mut out),
        Command::List(args) => list::run(args, &builtins(), &mut out),
        Command::Describe(args) => describe::run(args, &builtins(), &mut out),
        Command::Config(args) => config::run(args, &builtins(), &mut out),
        Command::Run(args) => run::run(args, &builtins(), &mut out),
        Command::Profile(args) => profile::run(args, &builtins(), &mut out),
        Command::Compare(args) => compare::run(args, &builtins(), &mut out),
        Command::Ci(args) => ci::run(args, &builtins(), &mut out),
        Command::Calibrate(args) => calibrate::run(args, &builtins(), &mut out),
        Command::Baseline(args) => baseline::run(args, &builtins(), &mut out),
        Command::Ingest(args) => ingest::run(args, &builtins(), &mut out),
        Command::Report(args) => report::run(args, &builtins(), &mut out),
        Command::Export(args) => export::run(args, &builtins(), &mut out),
        Command::History(args) => history::run(args, &builtins(), &mut out),
        Command::Site(args) => site::run(args, &builtins(), &mut out),
        Command::Gc(args) => gc::run(args, &builtins(), &mut out),
        Command::Bisect(args) => bisect::run(args, &builtins(), &mut out),
        Command::Publish(args) => publish::run(args, &builtins(), &mut out),
        Command::Accept(args) => accept::run(args, &mut out),
        Command::Merge(args) => merge::run(args, &mut out),
        Command::Matrix(args) => matrix::run(args, &mut out),
        Command::Explain(args) => explain::run(args, &builtins(), &mut out),
        Command::Replay(args) => replay::run(args, &builtins(), &mut out),
        Command::Manifest(args) => manifest::run(args, &mut out),
        Command::Doctor(args) => doctor::run(args, &mut out),
        Command::Guard(args) => guard::run(args, &mut out),
        Command::Demo(args) => demo::run(args, &mut out),
        Command::Schema(args) => self_doc::schema(args, &mut out),
        Command::Completions(args) => self_doc::completions(args, &mut Cli::command(), &mut out),
        Command::Man(args) => self_doc::man(args, Cli::command(), &mut out),
    }
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_names_every_exit_code() {
        for exit in Exit::iter() {
            assert!(EXIT_CODES.contains(&exit.code().to_string()), "{exit:?}");
        }
    }
}
