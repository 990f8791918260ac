//! Parse, dispatch, exit. Everything else is in the library.

use std::process::ExitCode;

use gbench_ci::{app, cli, machine, model, supervise};

fn main() -> ExitCode {
    // The hidden roles come before the command line is parsed: a child's start is part of every measurement.
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(role) if role == supervise::ARGUMENT => supervise::main(),
        Some(role) if role == machine::CLOCKS_ARGUMENT => machine::guard_clocks(arguments),
        Some(role) if role == model::line::MICRO_ARGUMENT => {
            app::micro_child(&arguments.next().unwrap_or_default().to_string_lossy())
        }
        Some(role) if role == model::line::CUBINS_ARGUMENT => cli::cubins::main(arguments),
        Some(role) if role == supervise::COUNT_ARGUMENT => supervise::count(arguments),
        _ => cli::main(),
    }
}
