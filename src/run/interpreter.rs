//! The Python interpreter that measures: the one that the suite file names, else the environment that is active, else one that
//! stands in the benchmark's folder or in the gate's, else the first on PATH.

use std::env;
use std::path::{Path, PathBuf};

/// Folders of environments beside a project, as people call them.
const ENVIRONMENTS: [&str; 2] = [".venv", "venv"];
/// Variables that hold the folder of the active environment.
const ACTIVE: [&str; 2] = ["VIRTUAL_ENV", "CONDA_PREFIX"];

/// The words that start it. `given`: as the suite file says, empty: not at all. `dir`: the benchmark's folder. Errors: in words,
/// where there is none.
///
/// A comparison measures each commit in a tree of its own, which has no environment of its own unless a build makes one: then
/// that of the folder in which the gate was started is meant, for both sides.
pub(super) fn find(given: &[String], dir: &Path) -> Result<Vec<String>, String> {
    if let Some((program, rest)) = given.split_first() {
        let path = Path::new(program);
        let beside = || places(dir).map(|place| place.join(path)).find(|path| path.is_file());
        let missing = || format!("the suite file's `interpreter` is not there: {}", dir.join(path).display());
        let is_file = program.contains('/') && path.is_relative();
        let found = if is_file { beside().ok_or_else(missing)? } else { path.to_owned() };
        return Ok([word(&found)].into_iter().chain(rest.iter().cloned()).collect());
    }
    let active = ACTIVE.iter().filter_map(env::var_os).map(PathBuf::from);
    let beside = places(dir).flat_map(|place| ENVIRONMENTS.map(|name| place.join(name)));
    let environment =
        active.chain(beside).map(|folder| folder.join("bin/python")).find(|path| path.is_file());
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = || {
        let programs = ["python3", "python"];
        programs
            .iter()
            .find_map(|name| env::split_paths(&path).map(|at| at.join(name)).find(|at| at.is_file()))
    };
    let found = environment.or_else(on_path);
    let next = "install Python 3.8 or newer, or name it: `interpreter = \"/opt/venv/bin/python\"`";
    Ok(vec![word(&found.ok_or_else(|| format!("no Python interpreter is found; {next}"))?)])
}

/// The benchmark's folder and those above it up to its repository, then the gate's.
fn places(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let here = env::current_dir().unwrap_or_default();
    let chains = [dir.to_owned(), here].map(|start| {
        let mut at: Vec<PathBuf> = Vec::new();
        for folder in start.ancestors() {
            at.push(folder.to_owned());
            if folder.join(".git").exists() {
                break;
            }
        }
        at
    });
    chains.into_iter().flatten()
}

fn word(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
