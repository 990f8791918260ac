//! The commands of this room: parse, dispatch, exit code.

mod doctor;
mod manifest;
mod table;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::model::{Exit, Fault};

#[derive(Parser)]
#[command(name = "gbench-ci", version)]
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

pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut out = io::stdout().lock();
    let result = match &cli.command {
        Command::Doctor(args) => doctor::run(args, &mut out),
        Command::Manifest(args) => manifest::run(args, &mut out),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(fault) => {
            let _ = writeln!(io::stderr(), "error: {fault}");
            fault.exit.into()
        }
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
