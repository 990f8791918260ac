//! The only room that knows the whole route: one file a command, its arguments, its exit codes, its hints.

mod builtin;
mod doctor;
mod manifest;
mod measure;
mod progress;
mod table;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::model::{Exit, Fault};

/// The regression gate for GPU code: measure, compare, decide, report
#[derive(Parser)]
#[command(name = "gbench-ci", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Say what this machine can and cannot measure, and what to do about it
    Doctor(doctor::Args),
    /// Show or compare what runs ran on
    Manifest(manifest::Args),
}

/// Runs the command line of this process. A panic is a defect, and says so: exit code 70.
pub fn main() -> ExitCode {
    let result = std::panic::catch_unwind(|| dispatch(&Cli::parse().command));
    match result {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(fault)) => {
            // Somebody who closes standard error does not want to know.
            let _ = writeln!(io::stderr(), "error: {fault}");
            fault.exit.into()
        }
        Err(_) => {
            let _ = writeln!(
                io::stderr(),
                "error: gbench-ci itself failed (above); please report this with the command line"
            );
            Exit::Internal.into()
        }
    }
}

fn dispatch(command: &Command) -> Result<Exit, Fault> {
    let mut out = io::stdout().lock();
    match command {
        Command::Doctor(args) => doctor::run(args, &mut out),
        Command::Manifest(args) => manifest::run(args, &mut out),
    }
}

/// The folder that the command was started in.
fn current_folder() -> Result<PathBuf, Fault> {
    std::env::current_dir().map_err(|error| {
        Fault::at(".", format!("the current folder is gone: {error}"), "change to one that exists")
    })
}

/// Standard output that takes no more.
fn output_fault(error: io::Error) -> Fault {
    Fault::at("stdout", error, "write to a place that takes the output").exits(Exit::Internal)
}
