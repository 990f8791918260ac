//! (room under construction)
pub mod builtin;
pub mod progress;
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
