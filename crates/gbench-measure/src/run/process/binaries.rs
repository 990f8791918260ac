use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// True if a program is an executable file: by path if it contains a slash, relative to `dir`; else on PATH.
pub fn has_binary(name: &str, dir: &Path) -> bool {
    find_binary(name, dir).is_some()
}

pub(crate) fn find_binary(name: &str, dir: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let executable = |path: &PathBuf| {
        path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(dir.join(name)).filter(executable);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(executable)
}

/// A program by its usual name, or by the value of the variable that names it. Errors: the name or path that is not here.
pub(crate) fn find_named(name: &str, named: Option<OsString>) -> Result<PathBuf, String> {
    let named = named.filter(|value| !value.is_empty());
    let program = named.map_or_else(|| name.to_owned(), |value| value.to_string_lossy().into_owned());
    match find_binary(&program, Path::new(".")) {
        Some(path) => Ok(std::path::absolute(&path).unwrap_or(path)),
        None => Err(program),
    }
}
