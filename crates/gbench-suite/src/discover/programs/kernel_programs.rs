//! Programs that launch kernels: CUDA sources with a `main`, scripts with kernels of Triton or of an extension of torch, and
//! benchmarks that are scripts of torch next to kernels. Under a tracer each kernel is a case.

use std::path::Path;

use gbench_formats::adapters::{BuildStep, Harness, SourceTree, cmake_program};
use gbench_model::text::count;

use super::sources::is_program;
use super::{calibrating, makefile, started};
use crate::discover::cuda::code_text::CodeText;
use crate::discover::findings::{Discovered, Findings, id_word, leaf, literal};

/// Maximum number of proposed entries.
const MAX_PROGRAMS: usize = 20;

/// Words of a script whose kernels are not those of a library alone.
const OWN_KERNELS: [&str; 4] = ["@triton.jit", "cpp_extension", "load_inline(", "triton.testing"];

/// Runs before those that time a program as a whole.
pub(crate) fn add(folder: &Path, tree: &dyn SourceTree, findings: &mut Findings) {
    let has_kernels = tree.files().iter().any(|path| path.ends_with(".cu") || is_of_triton(tree, path));
    let (mut proposed, mut more) = (0, 0);
    for path in tree.files() {
        if findings.claimed.contains(path) {
            continue;
        }
        let found = match path.rsplit_once('.') {
            Some((_, "cu")) => source(tree, path),
            Some((_, "py")) => script(folder, tree, path, has_kernels),
            _ => None,
        };
        let Some(found) = found else { continue };
        findings.claimed.insert(path.clone());
        match found {
            Err(why_not) => findings.found.unclear.push(why_not),
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
    if more > 0 {
        let programs = count(more, "more program");
        findings.found.more.push(format!(
            "{programs} with kernels: the first {MAX_PROGRAMS} are proposed, write more entries like them"
        ));
    }
}

fn traced() -> Option<Harness> {
    Harness::named("kernels")
}

/// A CUDA source with a `main`, whose kernels may be in files that it includes. `None`: it is not one, or it calibrates itself
/// by a harness.
fn source(tree: &dyn SourceTree, path: &str) -> Option<Result<Discovered, String>> {
    let text = tree.text(path)?;
    let code = CodeText::new(&text).code;
    if !is_program(&code) || calibrating::by_text("cu", &text).is_some() {
        return None;
    }
    if let Some(found) = cmake_program(tree, path) {
        return Some(found.map(|found| Discovered {
            name: found.name,
            harness: traced(),
            command: found.command.iter().map(|word| literal(word)).collect(),
            build: found.build,
            binaries: found.binaries.into_iter().chain(["nvcc".to_owned()]).collect(),
            gpu: true,
            why: found.why,
            ..Discovered::default()
        }));
    }
    let (dir, file) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = file.strip_suffix(".cu")?;
    let by_make = makefile::builds(tree, dir, stem);
    let name = if by_make.is_none() && is_taken(tree, path) { format!("{stem}-cu") } else { stem.to_owned() };
    let built = path.replace(file, &name);
    let (build, why) = match by_make {
        Some(build) => (build, "a makefile builds it"),
        None if makefile::has_benchmarks(tree) => return None,
        None => {
            (["nvcc", "-O3", "-o", &built, path].map(str::to_owned).to_vec(), "complete the `build` command")
        }
    };
    let mut binaries = vec![build[0].clone(), "nvcc".to_owned()];
    binaries.dedup();
    Some(Ok(Discovered {
        name: id_word(stem),
        harness: traced(),
        command: vec![literal(&format!("./{name}"))],
        dir: dir.to_owned(),
        binaries,
        build: Some(BuildStep::Command(build.iter().map(|word| literal(word)).collect())),
        gpu: true,
        why: format!("{path} is a CUDA source with a main function; {why}"),
        ..Discovered::default()
    }))
}

/// True if a folder, or the program of another source, has the name of a source's program.
fn is_taken(tree: &dyn SourceTree, path: &str) -> bool {
    let Some(program) = path.strip_suffix(".cu") else { return false };
    let takes = |other: &String| {
        let rest = other.strip_prefix(program);
        rest.is_some_and(|rest| rest.starts_with('/') || [".c", ".cc", ".cpp", ".cxx"].contains(&rest))
    };
    tree.files().iter().any(takes)
}

fn is_of_triton(tree: &dyn SourceTree, path: &str) -> bool {
    path.ends_with(".py") && tree.text(path).is_some_and(|text| text.contains("@triton.jit"))
}

/// A script that can be started and has kernels, or measures those that it imports. `None`: it is not one.
fn script(
    folder: &Path,
    tree: &dyn SourceTree,
    path: &str,
    has_kernels: bool,
) -> Option<Result<Discovered, String>> {
    let stem = leaf(path).strip_suffix(".py")?;
    if stem.starts_with("test_") || ["conftest", "setup"].contains(&stem) || started::is_helper(stem) {
        return None;
    }
    let text = tree.text(path)?;
    let is_own = OWN_KERNELS.iter().any(|word| text.contains(word));
    let is_benchmark = has_kernels && started::is_named(stem) && text.contains("import torch");
    if !(is_own || is_benchmark) || !text.contains("__main__") {
        return None;
    }
    let what = if is_own { "with kernels" } else { "of torch, next to kernels" };
    Some(Ok(Discovered {
        name: id_word(stem),
        harness: traced(),
        command: vec!["python3".into(), literal(path)],
        binaries: vec!["python3".into()],
        gpu: true,
        fills_time: started::calibrates_with(folder, path, &text).is_some(),
        why: format!("{path} is a Python program {what}"),
        ..Discovered::default()
    }))
}
