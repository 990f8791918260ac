//! In which order runs and comparisons were started here, whatever the clock said: ids sort by it, and one start under a
//! clock that is days ahead would be the newest for as long.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::model::{Result, RunId};

/// A line for each start, the oldest first.
const LIST: &str = ".started";

/// Writes down that a run or a comparison was started in the folder `artifacts`.
///
/// One write for a whole line, so that gates that start at once do not mix theirs.
pub fn note(artifacts: &Path, id: &RunId) -> std::io::Result<()> {
    let mut list = File::options().create(true).append(true).open(artifacts.join(LIST))?;
    list.write_all(format!("{id}\n").as_bytes())
}

/// The folder below `artifacts` that was started last, of those that `fits`. What was not started here, such as what
/// somebody downloaded, or what an earlier version wrote, comes after all that was; among such the largest id counts.
pub fn newest(artifacts: &Path, fits: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let list = std::fs::read(artifacts.join(LIST)).unwrap_or_default();
    let list = String::from_utf8_lossy(&list);
    let places: HashMap<&str, usize> = list.lines().enumerate().map(|(place, id)| (id, place)).collect();
    let entries = std::fs::read_dir(artifacts).ok()?.flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let ids = names.filter(|name| name.parse::<RunId>().is_ok() && fits(&artifacts.join(name)));
    let newest = ids.max_by_key(|name| (places.get(name.as_str()).copied(), name.clone()))?;
    Some(artifacts.join(newest))
}

/// [`note`] as a fault of the folder.
pub fn note_start(artifacts: &Path, id: &RunId) -> Result<()> {
    note(artifacts, id).map_err(|error| {
        let what = format!("what was started here cannot be written down: {error}");
        let next = "choose a writable folder with `--artifacts`";
        crate::model::Fault::at_path(artifacts.join(LIST), what, next)
    })
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
        // Under a clock that was ahead, and then under one that was right.
        for id in &ids[..2] {
            make(id);
            note(folder.path(), &id.parse().unwrap()).unwrap();
        }
        assert_eq!(newest(&|_| true).as_deref(), Some(ids[1]));
        // Not started here, whatever its id.
        make("20401231T000000.000Z-000009");
        assert_eq!(newest(&|_| true).as_deref(), Some(ids[1]));
        // One that is gone, or of another kind, is not the newest.
        note(folder.path(), &ids[2].parse().unwrap()).unwrap();
        assert_eq!(newest(&|_| true).as_deref(), Some(ids[1]));
        assert_eq!(newest(&|path| !path.ends_with(ids[1])).as_deref(), Some(ids[0]));
        std::fs::remove_file(folder.path().join(LIST)).unwrap();
        assert_eq!(newest(&|_| true).as_deref(), Some("20401231T000000.000Z-000009"));
    }
}
