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
