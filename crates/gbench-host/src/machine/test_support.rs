//! Fake kernel files, and manifests of machines with a fault, for tests.

use serde_json::Value;

use super::host::Root;
use gbench_model::Manifest;

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

/// The manifest of a healthy machine with the changes in `lines`: `/place/in/it = value`, in JSON.
pub(super) fn spoilt(lines: &str) -> Manifest {
    let mut manifest = serde_json::to_value(gbench_model::test_support::manifest()).unwrap();
    for line in lines.lines() {
        let (place, value) = line.split_once(" = ").unwrap();
        let (parent, key) = place.rsplit_once('/').unwrap();
        let value = serde_json::from_str(value).unwrap();
        match manifest.pointer_mut(parent).unwrap() {
            Value::Object(fields) => drop(fields.insert(key.to_owned(), value)),
            other => other[key.parse::<usize>().unwrap()] = value,
        }
    }
    serde_json::from_value(manifest).unwrap()
}
