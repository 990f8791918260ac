//! Parse, dispatch, exit. Everything else is in the library.

fn main() -> std::process::ExitCode {
    gbench_ci::cli::main()
}
