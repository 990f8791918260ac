//! `gbench-ci doctor`: what this machine can and cannot measure, and what to do about it.

use std::io::{self, IsTerminal};

use clap::Args;
use serde::Serialize;

use crate::app::paths::current_folder;
use crate::cli::terminal::write::{write_json, wrote};
use crate::machine::{self, CheckSeverity, CheckSubject, MachineCheck, Readings};
use crate::micro::cuda;
use crate::model::{Exit, Fault, Manifest, Probe};
use crate::report::table;
use crate::supervise;

#[derive(Args, Clone, Debug)]
pub(crate) struct DoctorArgs {
    /// Print the checks and the readings that they use as JSON
    #[arg(long)]
    json: bool,
    /// Exit with code 5 if no GPU can be measured
    #[arg(long)]
    require_gpu: bool,
}

/// Exit code 0 where the processor can be measured, and a GPU too if one is required; else 5.
pub(crate) fn run(args: &DoctorArgs, out: &mut impl io::Write) -> Result<Exit, Fault> {
    let folder = current_folder()?;
    let manifest = machine::manifest(&folder);
    let readings = machine::readings(supervise::instruction_counter(), compiler(&manifest));
    let checks = machine::checks(&manifest, &readings);
    let obstacle = machine::gpu_obstacle(&manifest);
    let exit = exit(&checks, obstacle.is_none() || !args.require_gpu);
    if args.json {
        let document = Document {
            gpu: obstacle.is_none(),
            cpu: cpu_works(&checks),
            checks: &checks,
            readings: &readings,
        };
        wrote(write_json(&document, out))?;
    } else {
        let colour =
            io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let text = render(&manifest, &checks, obstacle.as_deref(), args.require_gpu, colour);
        wrote(out.write_all(text.as_bytes()))?;
    }
    Ok(exit)
}

/// The compiler for all cards of the machine, or the reason that none fits (failed if one is installed), and the next step.
fn compiler(manifest: &Manifest) -> (Probe<String>, Option<String>) {
    let gpus = manifest.gpu.known().into_iter().flat_map(|gpus| &gpus.devices);
    let capabilities = gpus.filter_map(|gpu| gpu.compute_capability.known()).map(String::as_str);
    match cuda::compiler_in_use(capabilities) {
        Ok(found) => (Probe::Known(found), None),
        Err(error) if error.is_of_absence() => (Probe::Absent(error.to_string()), cuda::next(&error)),
        Err(error) => (Probe::Failed(error.to_string()), cuda::next(&error)),
    }
}

#[derive(Serialize)]
struct Document<'a> {
    /// True if a GPU can be measured.
    gpu: bool,
    /// True if the processor, memory, disk and network can be.
    cpu: bool,
    checks: &'a [MachineCheck],
    readings: &'a Readings,
}

fn cpu_works(checks: &[MachineCheck]) -> bool {
    !checks.iter().any(|check| check.part == CheckSubject::Host && check.state == CheckSeverity::Problem)
}

fn exit(checks: &[MachineCheck], gpu_suffices: bool) -> Exit {
    if cpu_works(checks) && gpu_suffices { Exit::Pass } else { Exit::Machine }
}

/// The verdict first, then one row a check, then the counts.
fn render(
    manifest: &Manifest,
    checks: &[MachineCheck],
    obstacle: Option<&str>,
    gpu_needed: bool,
    colour: bool,
) -> String {
    let mut text = String::new();
    text.push_str(if cpu_works(checks) {
        "CPU, memory, disk and network can be measured here.\n"
    } else {
        "Nothing can be measured here until the host's problems are solved.\n"
    });
    match (obstacle, manifest.gpu.known()) {
        (None, Some(gpus)) if gpus.devices.len() == 1 => text.push_str("The GPU can be measured.\n"),
        (None, _) => text.push_str("The GPUs can be measured.\n"),
        (Some(_), _) if gpu_needed => text.push_str("No GPU can be measured here, and one is required.\n"),
        (Some(_), _) => text.push_str("No GPU can be measured here.\n"),
    }
    text.push('\n');
    let rows = checks.iter().map(|check| {
        let mut said = check.finding.clone();
        if !check.advice.is_empty() && check.state != CheckSeverity::Ok {
            said.push_str("\n-> ");
            said.push_str(&check.advice);
        }
        vec![format!(" {}", check.state.into_str()), check.name.clone(), said]
    });
    for line in table(&[], rows).lines() {
        text.push_str(&coloured(line, colour));
        text.push('\n');
    }
    let count = |state| checks.iter().filter(|check| check.state == state).count();
    let (problems, warnings) = (count(CheckSeverity::Problem), count(CheckSeverity::Warning));
    text.push_str(&format!("\n{} checks: {problems} problems, {warnings} warnings.\n", checks.len()));
    text
}

/// The state at the start of a line in its colour; the columns were laid out before, so that nothing shifts.
fn coloured(line: &str, colour: bool) -> String {
    let word = line.split_whitespace().next().unwrap_or("");
    let code = match word {
        "ok" => "32",
        "warning" => "33",
        "problem" => "31",
        _ => return line.to_owned(),
    };
    // A wrapped line is indented; a state is in the first column.
    if !colour || line.len() - line.trim_start().len() > 1 {
        return line.to_owned();
    }
    line.replacen(word, &format!("\u{1b}[{code}m{word}\u{1b}[0m"), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(part: CheckSubject, state: CheckSeverity) -> MachineCheck {
        MachineCheck {
            part,
            name: "clocks".into(),
            state,
            finding: "no sign of a lock, ok as it is or not".into(),
            advice: "lock them ".repeat(20).trim_end().into(),
        }
    }

    #[test]
    fn only_a_problem_of_the_host_or_a_missing_required_gpu_changes_the_exit_code() {
        let gpu_problem = [
            check(CheckSubject::Gpu, CheckSeverity::Problem),
            check(CheckSubject::Host, CheckSeverity::Warning),
        ];
        assert_eq!(exit(&gpu_problem, true), Exit::Pass);
        assert_eq!(exit(&gpu_problem, false), Exit::Machine);
        assert_eq!(exit(&[check(CheckSubject::Host, CheckSeverity::Problem)], true), Exit::Machine);
    }

    #[test]
    fn colour_changes_no_column_and_touches_states_alone() {
        let manifest = machine::manifest(std::path::Path::new("/"));
        let checks =
            [check(CheckSubject::Gpu, CheckSeverity::Problem), check(CheckSubject::Host, CheckSeverity::Ok)];
        let plain = render(&manifest, &checks, Some("no driver"), true, false);
        let coloured = render(&manifest, &checks, Some("no driver"), true, true);
        assert!(!plain.contains('\u{1b}'));
        assert!(plain.lines().all(|line| line.chars().count() <= 80), "{plain}");
        assert_eq!(coloured.matches("\u{1b}[0m").count(), 2);
        let stripped = ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[0m"]
            .iter()
            .fold(coloured, |text, escape| text.replace(escape, ""));
        assert_eq!(stripped, plain);
        assert!(plain.contains("-> lock them"));
        assert!(plain.contains("one is required"));
    }
}
