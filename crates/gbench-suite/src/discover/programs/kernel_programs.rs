//! Programs that launch kernels: sources of CUDA and HIP with a `main`, scripts with kernels of Triton or of an extension of
//! torch, benchmarks that are scripts next to kernels, and tests where there is nothing else. Under a tracer each kernel is a case.

use std::path::Path;

use gbench_formats::adapters::{BuildStep, CMakePrograms, NoPlace, SourceTree};
use gbench_model::text::{count, list};

use super::gpu_source::{GpuLanguage, GpuSource};
use super::kernel_scripts::{KernelScripts, NoScript, traced};
use super::makefile::MadeProgram;
use super::{calibrating, makefile, started};
use crate::discover::findings::{Discovered, Findings, id_word, leaf, literal};

/// Maximum number of proposed entries.
const MAX_PROGRAMS: usize = 20;
const MAX_TESTS: usize = 5;
const MAX_NAMED: usize = 3;

/// Why a program has no entry.
enum NoProgram {
    Arguments,
    Processes,
    Misplaced(NoPlace),
}

/// Runs before those that time a program as a whole.
pub(crate) fn add(folder: &Path, tree: &dyn SourceTree, cmake: &CMakePrograms, findings: &mut Findings) {
    let scripts = KernelScripts::of(folder, tree);
    let mut paths: Vec<String> = tree.files().to_vec();
    // Those that people look at first: benchmarks by their names, then what is near the top.
    paths.sort_by_key(|path| {
        let stem = leaf(path).split('.').next().unwrap_or_default();
        (!started::is_named(&stem.to_lowercase()), path.matches('/').count())
    });
    let (mut proposed, mut more) = (0, 0);
    let mut left_out = LeftOut::default();
    for path in &paths {
        if findings.claimed.contains(path) {
            continue;
        }
        let found = if path.ends_with(".py") {
            scripts.script(path).map(|found| found.map_err(NoProgram::from))
        } else {
            source(tree, cmake, path)
        };
        let Some(found) = found else { continue };
        findings.claimed.insert(path.clone());
        match found {
            Err(why_not) => left_out.note(path, why_not),
            Ok(_) if proposed == MAX_PROGRAMS => more += 1,
            Ok(entry) => {
                proposed += 1;
                // One that was built by hand would be outdated after a change of the source.
                findings
                    .found
                    .benchmarks
                    .retain(|other| (&other.command, &other.dir) != (&entry.command, &entry.dir));
                findings.found.benchmarks.push(entry);
            }
        }
    }
    if proposed == 0 && scripts.has_kernels && !findings.found.benchmarks.iter().any(|entry| entry.gpu) {
        for (path, test) in
            tree.files().iter().filter_map(|path| Some((path, scripts.test(path)?))).take(MAX_TESTS)
        {
            findings.claimed.insert(path.clone());
            findings.found.benchmarks.push(test);
        }
    }
    findings.found.unclear.extend(left_out.sentences());
    if more > 0 {
        let programs = count(more, "more program");
        findings.found.more.push(format!(
            "{programs} with kernels: the first {MAX_PROGRAMS} are proposed. Write more entries like them, or run `init` in a \
                folder of them"
        ));
    }
}

/// Programs without an entry, by the reason.
#[derive(Default)]
struct LeftOut {
    arguments: Vec<String>,
    processes: Vec<String>,
    misplaced: Vec<NoPlace>,
}

impl LeftOut {
    fn note(&mut self, path: &str, why: NoProgram) {
        match why {
            NoProgram::Arguments => self.arguments.push(path.to_owned()),
            NoProgram::Processes => self.processes.push(path.to_owned()),
            NoProgram::Misplaced(place) => self.misplaced.push(place),
        }
    }

    /// One for each reason.
    fn sentences(&self) -> impl Iterator<Item = String> {
        let of = |paths: &[String], needs: &str, next: &str| {
            let programs = count(paths.len(), "program");
            let (need, it) = if paths.len() == 1 { ("needs", "it") } else { ("need", "one of them") };
            let named = list(paths, MAX_NAMED);
            (!paths.is_empty())
                .then(|| format!("{programs} with kernels {need} {needs}: {named}. To measure {it}, {next}"))
        };
        let own = "write an entry with `harness = \"kernels\"`, its `build`";
        let arguments = of(&self.arguments, "arguments", &format!("{own}, and `command` with the arguments"));
        let processes = of(
            &self.processes,
            "a launcher such as `torchrun` or `mpirun`",
            &format!("{own}, and the launcher in `command`"),
        );
        let misplaced = NoPlace::sentence(&self.misplaced, "a target of CMake has a main function");
        [arguments, processes, misplaced].into_iter().flatten()
    }
}

impl From<NoScript> for NoProgram {
    fn from(why: NoScript) -> Self {
        match why {
            NoScript::Arguments => Self::Arguments,
            NoScript::Processes => Self::Processes,
        }
    }
}

/// A source with a `main`, whose kernels may be in files that it includes. `None`: it is not one, it launches nothing, or it
/// calibrates itself by a harness.
fn source(tree: &dyn SourceTree, cmake: &CMakePrograms, path: &str) -> Option<Result<Discovered, NoProgram>> {
    let source = GpuSource::read(tree, path)?;
    if !source.launches() || calibrating::by_text("cu", &source.text).is_some() {
        return None;
    }
    if source.is_of_several_processes() {
        return Some(Err(NoProgram::Processes));
    }
    let (dir, file) = path.rsplit_once('/').unwrap_or(("", path));
    let entry = if let Some(made) = makefile::builds(tree, dir, file) {
        let MadeProgram { build, program, arguments } = made;
        let command = [format!("./{program}")].into_iter().chain(arguments);
        Discovered {
            command: command.map(|word| literal(&word)).collect(),
            dir: dir.to_owned(),
            binaries: vec!["make".into()],
            build: Some(BuildStep::Command(build.iter().map(|word| literal(word)).collect())),
            why: format!(
                "{path} is a {} source with a main function; a makefile builds it",
                source.language.title()
            ),
            ..Discovered::default()
        }
    } else if let Some(found) = cmake.program(path) {
        let found = match found {
            Ok(found) => found,
            Err(place) => return Some(Err(NoProgram::Misplaced(place))),
        };
        Discovered {
            name: found.name,
            command: found.command.iter().map(|word| literal(word)).collect(),
            build: found.build,
            binaries: found.binaries,
            why: found.why,
            ..Discovered::default()
        }
    } else if makefile::has_benchmarks(tree) {
        return None;
    } else {
        by_compiler(tree, path, &source)?
    };
    if entry.command.len() == 1 && source.needs_arguments() {
        return Some(Err(NoProgram::Arguments));
    }
    let mut binaries = entry.binaries;
    // ROCm's compiler is mostly not on PATH, and its makefiles and CMake find it.
    if source.language == GpuLanguage::Cuda || binaries.is_empty() {
        binaries.push(source.language.compiler().to_owned());
    }
    let name = if entry.name.is_empty() { named(path, &entry.command) } else { entry.name };
    Some(Ok(Discovered { name, harness: traced(), binaries, gpu: true, ..entry }))
}

/// The name of a program; that of its folder, if it is called like many others.
fn named(path: &str, command: &[String]) -> String {
    const USUAL: [&str; 5] = ["a", "main", "run", "src", "test"];
    let program = command.first().map_or("", |word| leaf(word));
    let program = [".exe", ".out"].iter().find_map(|end| program.strip_suffix(end)).unwrap_or(program);
    let above = leaf(path.rsplit_once('/').map_or("", |(folder, _)| folder));
    match program {
        _ if above.is_empty() || !USUAL.contains(&program) => id_word(program),
        _ => id_word(above),
    }
}

fn by_compiler(tree: &dyn SourceTree, path: &str, source: &GpuSource) -> Option<Discovered> {
    let (stem, extension) = path.rsplit_once('.')?;
    let output = if is_taken(tree, path) { format!("{stem}-{extension}") } else { stem.to_owned() };
    let build = source.compiled(path, &output)?;
    Some(Discovered {
        command: vec![literal(&format!("./{}", leaf(&output)))],
        dir: path.rsplit_once('/').map_or("", |(dir, _)| dir).to_owned(),
        build: Some(BuildStep::Command(build.iter().map(|word| literal(word)).collect())),
        why: format!(
            "{path} is a {} source with a main function; complete the `build` command",
            source.language.title()
        ),
        ..Discovered::default()
    })
}

/// True if a folder, or the program of another source, has the name of a source's program.
fn is_taken(tree: &dyn SourceTree, path: &str) -> bool {
    let Some((program, own)) = path.rsplit_once('.') else { return false };
    let takes = |other: &String| {
        let rest = other.strip_prefix(program);
        rest.is_some_and(|rest| {
            let end = rest
                .strip_prefix('.')
                .is_some_and(|end| end != own && ["c", "cc", "cpp", "cxx", "cu", "hip"].contains(&end));
            rest.starts_with('/') || end
        })
    };
    tree.files().iter().any(takes)
}
