//! Chooses the Python interpreter: the one in the suite file, else the active environment, else one in the benchmark's folder
//! or the gate's, else the first on PATH.

use std::env;
use std::path::{Path, PathBuf};

const ENVIRONMENTS: [&str; 2] = [".venv", "venv"];
const VIRTUAL_ENV: &str = "VIRTUAL_ENV";
const CONDA_PREFIX: &str = "CONDA_PREFIX";

/// The words that start the interpreter. `given`: from the suite file; may be empty. `dir`: the benchmark's folder. Errors: in
/// words, if there is none.
///
/// A comparison measures each commit in a separate tree, which has no environment unless a build makes one. Both sides then
/// use that of the folder in which the gate was started.
pub fn find_interpreter(given: &[String], dir: &Path) -> Result<Vec<String>, String> {
    let on_path = |names: &[&str]| {
        let path = env::var_os("PATH").unwrap_or_default();
        let mut all =
            names.iter().flat_map(|name| env::split_paths(&path).map(|at| at.join(name)).collect::<Vec<_>>());
        all.find(|at| at.is_file())
    };
    if let Some((program, rest)) = given.split_first() {
        let path = Path::new(program);
        let found = if path.is_absolute() {
            Some(path.to_owned()).filter(|path| path.is_file())
        } else if program.contains('/') {
            places(dir).map(|place| place.join(path)).find(|path| path.is_file())
        } else {
            on_path(&[program])
        };
        let found = found.ok_or_else(|| format!("the suite file's `interpreter` is not there: {program}"))?;
        return Ok([word(&found)].into_iter().chain(rest.iter().cloned()).collect());
    }
    let python = |folder: PathBuf| folder.join("bin/python");
    if let Some(folder) =
        env::var_os(VIRTUAL_ENV).map(PathBuf::from).filter(|folder| !folder.as_os_str().is_empty())
        && !python(folder.clone()).is_file()
    {
        // Another interpreter would measure with other packages.
        return Err(format!(
            "{VIRTUAL_ENV} names {}, which has no bin/python: activate an environment that is there, or unset it",
            folder.display()
        ));
    }
    let active = [VIRTUAL_ENV, CONDA_PREFIX].iter().filter_map(env::var_os).map(PathBuf::from);
    let beside = places(dir).flat_map(|place| ENVIRONMENTS.map(|name| place.join(name)));
    let environment = active.chain(beside).map(python).find(|path| path.is_file());
    let found = environment.or_else(|| on_path(&["python3", "python"]));
    Ok(vec![word(&found.ok_or_else(|| "no Python interpreter is found".to_owned())?)])
}

/// The benchmark's folder and its ancestors up to its repository, then the gate's folder.
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
