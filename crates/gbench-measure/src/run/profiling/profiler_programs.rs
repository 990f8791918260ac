//! The programs of profilers: named by a variable, or on the path.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::step::step;
use crate::run::process::binaries::find_named;
use crate::run::process::executor::ExecutionEnd;
use crate::run::session::launcher::Launcher;
use gbench_model::{ProcessEnd, Profiler};
use gbench_suite::plan::PlannedCase;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum ProfilerProgram {
    Here(PathBuf),
    Missing {
        program: String,
    },
    /// It has no program: the Python driver contains it.
    Inside,
}

fn known_as(profiler: Profiler) -> Option<(&'static str, &'static str, &'static str)> {
    match profiler {
        Profiler::Nsys => Some(("nsys", "GBENCH_NSYS", "Nsight Systems")),
        Profiler::Ncu => Some(("ncu", "GBENCH_NCU", "Nsight Compute")),
        Profiler::Torch => None,
        Profiler::Memcheck | Profiler::Racecheck | Profiler::Initcheck | Profiler::Synccheck => {
            Some(("compute-sanitizer", "GBENCH_COMPUTE_SANITIZER", "Compute Sanitizer"))
        }
    }
}

fn find(profiler: Profiler, variable: impl Fn(&str) -> Option<OsString>) -> ProfilerProgram {
    let Some((name, named_by, _)) = known_as(profiler) else { return ProfilerProgram::Inside };
    match find_named(name, variable(named_by)) {
        Ok(path) => ProfilerProgram::Here(path),
        Err(program) => ProfilerProgram::Missing { program },
    }
}

fn here(profiler: Profiler) -> ProfilerProgram {
    find(profiler, |name| std::env::var_os(name))
}

fn advice(profiler: Profiler, program: &str) -> Option<String> {
    let (_, variable, product) = known_as(profiler)?;
    Some(format!("`{program}` is not here: install {product}, or name its program by {variable}"))
}

/// The missing profilers, each with advice.
pub fn missing_profilers(profilers: &[Profiler]) -> Vec<(Profiler, String)> {
    let missing = |profiler: &Profiler| match here(*profiler) {
        ProfilerProgram::Missing { program } => Some((*profiler, advice(*profiler, &program)?)),
        ProfilerProgram::Here(_) | ProfilerProgram::Inside => None,
    };
    profilers.iter().filter_map(missing).collect()
}

pub(super) struct Programs(Vec<Found>);

struct Found {
    profiler: Profiler,
    program: ProfilerProgram,
    version: Option<Option<String>>,
}

impl Programs {
    pub(super) fn find(profilers: &[Profiler]) -> Self {
        let found =
            |profiler: &Profiler| Found { profiler: *profiler, program: here(*profiler), version: None };
        Self(profilers.iter().map(found).collect())
    }

    pub(super) fn of(&self, profiler: Profiler) -> ProfilerProgram {
        let found = self.0.iter().find(|found| found.profiler == profiler);
        found.map_or_else(|| here(profiler), |found| found.program.clone())
    }

    pub(super) fn missing(&self) -> impl Iterator<Item = String> {
        self.0.iter().filter_map(|found| match &found.program {
            ProfilerProgram::Missing { program } => Some(format!(
                "nothing is profiled by {}: {}",
                found.profiler.into_str(),
                advice(found.profiler, program)?
            )),
            ProfilerProgram::Here(_) | ProfilerProgram::Inside => None,
        })
    }

    pub(super) fn version(
        &mut self,
        profiler: Profiler,
        program: &Path,
        case: &PlannedCase,
        launcher: &mut Launcher<'_>,
    ) -> Option<String> {
        let found = self.0.iter_mut().find(|found| found.profiler == profiler)?;
        if let Some(known) = &found.version {
            return known.clone();
        }
        let words = [program.to_string_lossy().into_owned(), "--version".into()];
        let execution = step(launcher, case, words.to_vec());
        let ended_well = execution.end == ExecutionEnd::Process(ProcessEnd::Exit(0));
        let said = String::from_utf8_lossy(&execution.stdout.bytes()).into_owned();
        let version = ended_well.then(|| version_in(&said)).flatten();
        found.version = Some(version.clone());
        version
    }
}

/// `NVIDIA Nsight Systems version 2022.4.2.1-df9881f` -> `2022.4.2.1-df9881f`; `Version 2022.3.0.0 (build 31729285)` likewise.
fn version_in(text: &str) -> Option<String> {
    let mut words = text.split_whitespace().skip_while(|word| !word.eq_ignore_ascii_case("version")).skip(1);
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    words.next().filter(is_version).map(|word| word.chars().take(60).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_what_stands_behind_the_word() {
        let ncu = "NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright (c) 2018-2022 NVIDIA Corporation\n\
                   Version 2022.3.0.0 (build 31729285) (public-release)\n";
        assert_eq!(version_in(ncu).unwrap(), "2022.3.0.0");
        assert_eq!(version_in("NVIDIA Nsight Systems version 2023.4.4.54-234433681190v0").unwrap().len(), 26);
        assert_eq!(version_in("usage: nsys [--version] COMMAND"), None);
    }

    #[test]
    fn s0_57_a_variable_names_the_program_and_nothing_else_is_taken_then() {
        let named = |value: &str| {
            let value = OsString::from(value);
            find(Profiler::Ncu, move |name| (name == "GBENCH_NCU").then(|| value.clone()))
        };
        assert_eq!(named("/bin/sh"), ProfilerProgram::Here("/bin/sh".into()));
        assert_eq!(named("/no/such/ncu"), ProfilerProgram::Missing { program: "/no/such/ncu".into() });
        assert_eq!(find(Profiler::Torch, |_| None), ProfilerProgram::Inside);
        assert!(advice(Profiler::Ncu, "ncu").unwrap().contains("GBENCH_NCU"));
    }
}
