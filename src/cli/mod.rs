//! From the command line to the rooms and back to an exit code.

pub mod config;
pub mod describe;
pub mod init;
pub mod list;
pub mod output;
pub mod render;
pub mod selection;

use std::io::{self, IsTerminal, Write};

use clap::Parser;

use crate::model::{Component, Exit, Result};
use crate::suite::{Action, Benchmark};

#[derive(clap::Parser)]
#[command(name = "gbench-ci", version)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    List(list::Args),
    Describe(describe::Args),
    Config(config::Args),
    Init(init::Args),
}

/// The catalogue of the micro suite.
fn builtins() -> Vec<Benchmark> {
    const MEMBERS: [(&str, Component); 5] = [
        ("cpu_flops", Component::Cpu),
        ("mem_bandwidth", Component::Ram),
        ("mem_latency", Component::Ram),
        ("disk_io", Component::Storage),
        ("net_bandwidth", Component::Network),
    ];
    let member = |(name, component): (&str, Component)| {
        let id = format!("micro/{name}").parse().ok()?;
        let mut benchmark = Benchmark::new(id, Action::Builtin(name.into()), ".".into());
        benchmark.components = vec![component];
        benchmark.timing = crate::model::Timing::Protocol;
        Some(benchmark)
    };
    MEMBERS.into_iter().filter_map(member).collect()
}

pub fn main() -> std::process::ExitCode {
    let line = Line::parse();
    let exit = dispatch(&line.command, &mut io::stdout().lock()).unwrap_or_else(|fault| {
        let mut err = io::stderr().lock();
        let color = err.is_terminal();
        // Nobody is left to tell when stderr is closed.
        let _ = render::render_fault(&fault, color, &mut err).and_then(|()| err.flush());
        fault.exit
    });
    exit.into()
}

fn dispatch(command: &Command, out: &mut impl Write) -> Result<Exit> {
    let builtins = builtins();
    match command {
        Command::List(args) => list::run(args, &builtins, out),
        Command::Describe(args) => describe::run(args, &builtins, out),
        Command::Config(args) => config::run(args, &builtins, out),
        Command::Init(args) => init::run(args, &builtins, out),
    }
}
