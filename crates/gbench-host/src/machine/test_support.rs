//! A tree of kernel files for tests.

use super::host::Root;

/// A made-up tree of kernel files.
pub(super) fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let root = Root::new(folder.path());
    (folder, root)
}
