//! (room under construction)
pub mod builtin;
mod look;
pub mod progress;
mod report;

use clap::Parser;

#[derive(Parser)]
#[command(name = "gbench-ci", version)]
enum Command {
    Report(report::Args),
}

pub fn main() -> std::process::ExitCode {
    let Command::Report(args) = Command::parse();
    match report::run(&args, &mut std::io::stdout().lock()) {
        Ok(exit) => exit.into(),
        Err(fault) => {
            eprintln!("error: {fault}");
            fault.exit.into()
        }
    }
}
