//! Places of NVIDIA's libraries other than the driver's: the loader's path, a toolkit, a Python environment.

use std::env;
use std::fs;
use std::path::PathBuf;

/// Places to try in order. `names`: of the library, the newest first; `packages`: folders below `site-packages/nvidia`.
pub(super) fn candidates(names: &[&str], packages: &[&str]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
    let mut folders: Vec<PathBuf> = Vec::new();
    for home in toolkits() {
        folders.extend([home.join("lib64"), home.join("lib")]);
    }
    for environment in ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable) {
        for python in fs::read_dir(environment.join("lib")).into_iter().flatten().flatten() {
            let nvidia = python.path().join("site-packages/nvidia");
            folders.extend(packages.iter().map(|package| nvidia.join(package)));
        }
        folders.push(environment.join("lib"));
    }
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        found.extend(names.iter().map(|name| folder.join(name)).filter(|path| path.exists()));
    }
    found
}

pub(super) fn toolkits() -> impl Iterator<Item = PathBuf> {
    ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(variable).chain(["/usr/local/cuda".into()])
}

fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
