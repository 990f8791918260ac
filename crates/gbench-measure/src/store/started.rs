//! The order in which runs and comparisons were started here, independent of the clock: ids sort by time, so a start under a
//! clock that is days ahead would remain the newest for days.

use std::path::{Path, PathBuf};

use gbench_model::{Fault, Result, RunId};

/// In the folder of a run or a comparison: its sequence number. It is a hidden file, which uploads leave out: the order of
/// starts elsewhere is meaningless here.
const NUMBER: &str = ".started";

/// Numbers a new folder of a run or a comparison in `artifacts`. Two folders made at the same time may have one number; then
/// the larger id comes last.
pub(super) fn note(artifacts: &Path, id: &RunId) -> std::io::Result<()> {
    let last = below(artifacts).filter_map(|folder| number_of(&folder)).max().unwrap_or(0);
    std::fs::write(artifacts.join(id.as_str()).join(NUMBER), format!("{}\n", last + 1))
}

/// `note` as a fault of the folder.
pub fn note_start(artifacts: &Path, id: &RunId) -> Result<()> {
    note(artifacts, id).map_err(|error| {
        let what = format!("the order of what was started here cannot be written down: {error}");
        Fault::at_path(artifacts.join(id.as_str()), what, "choose a writable folder with `--artifacts`")
    })
}

/// The folder below `artifacts` that was started last, of those that satisfy `fits`. Folders that were not started here
/// (downloaded ones, or those of an earlier version) come after all that were, sorted by id.
pub(super) fn newest(artifacts: &Path, fits: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    in_order(artifacts, fits).pop()
}

/// The folders below `artifacts` that satisfy `fits`, in that order, the newest at the end.
pub(super) fn in_order(artifacts: &Path, fits: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = below(artifacts).filter(|folder| fits(folder)).collect();
    folders.sort_by_cached_key(|folder| (number_of(folder), folder.file_name().map(ToOwned::to_owned)));
    folders
}

fn below(artifacts: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(artifacts).into_iter().flatten().flatten();
    let is_named = |entry: &std::fs::DirEntry| {
        entry.file_name().to_str().is_some_and(|name| name.parse::<RunId>().is_ok())
    };
    entries.filter(is_named).map(|entry| entry.path())
}

pub(super) fn number_of(folder: &Path) -> Option<u64> {
    std::fs::read_to_string(folder.join(NUMBER)).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n8_what_was_started_last_is_the_newest_and_not_what_has_the_largest_id() {
        let folder = tempfile::tempdir().unwrap();
        let ids =
            ["20301231T000000.000Z-000001", "20261121T000000.000Z-000002", "20261120T000000.000Z-000003"];
        let make = |id: &str| std::fs::create_dir(folder.path().join(id)).unwrap();
        let newest = |fits: &dyn Fn(&Path) -> bool| {
            newest(folder.path(), fits).map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        };
        assert_eq!(newest(&|_| true), None);
        // Under a clock that was ahead, and then under a correct one.
        for id in &ids[..2] {
            make(id);
            note(folder.path(), &id.parse().unwrap()).unwrap();
        }
        assert_eq!(newest(&|_| true).as_deref(), Some(ids[1]));
        // Not started here, whatever its id.
        make("20401231T000000.000Z-000009");
        assert_eq!(newest(&|_| true).as_deref(), Some(ids[1]));
        // A folder that is gone, or of another kind, is not the newest.
        make(ids[2]);
        note(folder.path(), &ids[2].parse().unwrap()).unwrap();
        assert_eq!(newest(&|_| true).as_deref(), Some(ids[2]));
        std::fs::remove_dir_all(folder.path().join(ids[2])).unwrap();
        assert_eq!(newest(&|_| true).as_deref(), Some(ids[1]));
        assert_eq!(newest(&|path| !path.ends_with(ids[1])).as_deref(), Some(ids[0]));
        for id in &ids[..2] {
            std::fs::remove_file(folder.path().join(id).join(NUMBER)).unwrap();
        }
        assert_eq!(newest(&|_| true).as_deref(), Some("20401231T000000.000Z-000009"));
    }
}
